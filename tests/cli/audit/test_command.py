"""``deniable audit command``: verdicts, exit codes and errors."""

import pytest

from tests.cli.audit.programs import program


@pytest.mark.parametrize("text", ["food and/or wine", "Rome.", "3.14", "no/such.txt", "long " * 100])
def test_texts_that_look_like_files(call, text):
    """A text is a text, whatever it looks like and however long it is."""
    options = ["--inputs", text, "other", "--claim", "9", "--samples", "64", "--lines"]
    assert call("audit", "command", program("swap.py"), *options).code == 0


@pytest.mark.parametrize("lines", [[], ["--lines"]])
def test_a_command_on_two_texts(call, lines):
    """A program in any language is audited on two texts, and stops when it is convinced."""
    options = ["--inputs", "I love rome", "I love paris", "--claim", "0.5", "--samples", "200", *lines]
    result = call("audit", "command", program("swap.py"), *options)
    assert (result.code, result.err) == (1, "")
    assert "anytime-valid, stopped when convinced" in result.text


def test_a_command_on_pairs_of_texts(call):
    """Two files with a text a line make pairs, whose trials are pooled, each at its distance."""
    options = ["--inputs", "@one.txt", "@other.txt", "--claim", "5", "--samples", "300", "--lines"]
    result = call("audit", "command", program("swap.py"), *options)
    assert (result.code, result.err) == (0, "")
    assert "2 pooled pairs" in result.text


def test_distances_from_a_file(call, place):
    """The distances of pairs can lie in a file; they must be as many as the pairs."""
    (place / "apart.txt").write_text("1\n0.1\n")
    options = ["--inputs", "@one.txt", "@other.txt", "--claim", "3", "--samples", "300", "--lines"]
    assert call("audit", "command", program("swap.py"), *options, "--distance", "apart.txt").code == 1
    (place / "apart.txt").write_text("1\n")
    result = call("audit", "command", program("swap.py"), *options, "--distance", "apart.txt")
    assert result.code == 2
    assert "one distance for each pair. Got shape (1,) for 2." in result.err


def test_a_final_line_feed_is_part_of_the_output(call, place):
    """A program that ends its answer with a line feed for one input only is refuted."""
    (place / "ends.sh").write_text('read text\nif [ "$text" = a ]; then echo 3; else printf 3; fi\n')
    options = ["--inputs", "a", "b", "--claim", "1", "--samples", "100"]
    assert call("audit", "command", "sh ends.sh", *options).code == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Missing argument 'COMMAND'"),
        (["cat"], "Missing option '--inputs'"),
        (["", "--inputs", "a", "b"], "COMMAND must be a program and its arguments"),
        (["'", "--inputs", "a", "b"], "cannot be parsed"),
        (["cat", "--inputs", "a", "a"], "must be two different texts. Got 'a' twice."),
        (["cat", "--inputs", "@one.txt", "@swap.py"], "the same number of lines, since they make pairs. Got 2 and"),
        (["cat", "--inputs", "@no.txt", "@no2.txt"], "The file 'no.txt' cannot be read"),
        (["cat", "--inputs", "one.txt", "other.txt"], "The input 'one.txt' is a file here: write @one.txt to read it."),
        (["cat", "--inputs", "a", "b", "--epsilon", "1"], "--epsilon. The claim of a black box is --claim, not"),
        (["/none/such", "--inputs", "a", "b"], "cannot be run: No such file"),
        (["true", "--inputs", "a", "b"], "wrote nothing for the input"),
        (["false", "--inputs", "a", "b"], "failed with exit code 1"),
        (["sleep 9", "--inputs", "a", "b", "--run-timeout", "0.2"], "did not end within 0.2 seconds"),
        (["cat", "--inputs", "a", "b", "--run-timeout", "0"], "The 'run_timeout' parameter of audit"),
        (["echo a", "--lines", "--inputs", "a", "b"], "answer each line by one line"),
        (["cat", "--lines", "--inputs", "a\nb", "c"], "must be one line"),
        (["cat", "--inputs", "a", "b", "--batched"], "No such option: --batched"),
    ],
)
def test_what_cannot_be_run(call, refused, arguments, message):
    """Wrong options are one line and exit code 2."""
    assert message in refused(call("audit", "command", *arguments, "--claim", "1"))
