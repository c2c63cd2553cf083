"""``deniable audit callable, command, outputs``: verdicts, exit codes and what cannot be audited."""

import json
import shlex
import signal
import sys

import numpy as np
import pytest

from tests.cli.commands.train.helpers import fails

SWAP = shlex.join([sys.executable, "swap.py"])
deep = pytest.mark.deep


@pytest.fixture
def audit(call, mechanisms):
    """Return a function that audits a callable of the module of mechanisms, on a claim of 1."""

    def auditing(name, *options, claim=("--claim", "1")):
        return call("audit", "callable", f"{mechanisms}:{name}", *claim, *options)

    return auditing


def test_a_callable_that_loses_more_than_it_claims(audit, mechanisms):
    """A callable of the current folder is refuted on zeros against ones, with exit code 1."""
    result = audit("lost", "--samples", "400", "--seed", "1")
    assert result.code == 1
    first, second, witness, method = result.text.splitlines()
    assert first == f"{mechanisms}:lost, judged only by its outputs"
    assert second.startswith("refuted: claimed epsilon 1, true epsilon >= ")
    assert second.endswith(" with 95% confidence")
    assert "guesses are right; nearest inputs " in witness
    assert "coin-flip game" in method
    assert "400 samples" in method


def test_a_callable_that_keeps_its_claim(audit):
    """A correct callable, one that writes into its input too, is not refuted; the verdict says what it would see."""
    result = audit("kept", "--dimension", "4", "--samples", "3000", "--seed", "1")
    assert result.code == 0
    assert "\nnot refuted: claimed epsilon 1, " in result.text
    assert "\npower: a true epsilon of " in result.text
    assert audit("in_place", "--samples", "900", "--seed", "1").code == 0
    assert audit("same_array", "--samples", "100", "--seed", "1").code == 1


@deep
def test_a_slow_sampler_gets_its_verdict(audit):
    """An anytime audit out of time ends with a verdict, not with a complaint about one call."""
    assert audit("slow", "--game", "anytime", "--time-limit", "2.2").code == 0


def test_batched_and_json(audit, mechanisms):
    """A batched callable takes many inputs at once; --json prints the verdict's fields."""
    result = audit("many", "--batched", "--samples", "500", "--json")
    assert result.code == 1
    read = json.loads(result.text)
    assert (read["mechanism"], read["samples"]) == (f"{mechanisms}:many", 500)
    assert read["lower_bound"] > 1
    assert read["witness"]["guesses"] >= read["witness"]["correct_guesses"] > 0


def test_inputs(audit, place):
    """Inputs are texts, also such that look like numbers, or the values of two JSON files."""
    for name, value in (("x", "rome"), ("y", "paris"), ("p", [0, 0]), ("q", [1, 1])):
        (place / f"{name}.json").write_text(json.dumps(value))
    for name, inputs, shown in (
        ("texts", ("0", "1"), "'0'"),
        ("texts", ("see you monday", "see you friday"), "'see you friday'"),
        ("texts", ("@x.json", "@y.json"), "'rome'"),
        ("lost", ("@p.json", "@q.json"), "nearest inputs"),
    ):
        result = audit(name, "--inputs", *inputs, "--samples", "200")
        assert result.code == 1
        assert shown in result.text


def test_a_long_input_keeps_its_quotes_and_the_reason(audit):
    """Where input and error are too long to show, both quotes and the end of the error are shown."""
    texts = ["see you monday " + "and then " * 40 + end for end in ("in rome", "in paris")]
    for end in ("', raised 'ValueError: cannot use see you monday and then ", ": texts must be short': run it"):
        fails(audit("complains", "--inputs", *texts), end)
    shown = audit("texts", "--inputs", *texts, "--samples", "200").text
    assert "nearest inputs 'see you monday and then " in shown
    assert "then in rome'" in shown


@pytest.mark.parametrize(
    ("name", "options", "value"),
    [
        ("prints", [], "'a secret"),
        ("hangs", ["--time-limit", "0.2"], "0.2 seconds"),
        ("slow", ["--time-limit", "0.2"], "0.2 seconds"),
        pytest.param("stubborn", ["--time-limit", "0.5"], "0.5 seconds", marks=deep),
        ("nothing", [], "nothing"),
        ("nan", [], "nan"),
        ("reshapes", [], "one shape"),
        ("fails", [], r"two\nlines"),
        ("odd", [], "'Odd: base'"),
        ("leaves", [], "'SystemExit: 1'"),
        ("constant", [], "'constant'"),
        ("absent", [], "'absent'"),
        ("lost", ["--samples", "3"], "'samples'"),
        ("lost", ["--distance", "0"], "'distance'"),
        ("lost", ["--distance", "none.txt"], "'none.txt'"),
        ("lost", ["--distance", "one.txt"], "'one.txt'"),
        ("lost", ["--time-limit", "nan"], "'time_limit'"),
        ("lost", ["--confidence", "1"], "'confidence'"),
        ("lost", ["--game", "pooled"], "'pooled'"),
        ("texts", ["--inputs", "rome", "rome"], "different"),
        ("texts", ["--inputs", "@rome.json", "rome"], "different"),
        ("lost", ["--inputs", "@one.json", "@one_too.json"], "different"),
        ("lost", ["--inputs", "@list.json", "@./list.json"], "different"),
        ("lost", ["--inputs", "@one.txt", "@other.txt"], "'one.txt'"),
        ("lost", ["--inputs", "one.txt", "other.txt"], "@one.txt"),
    ],
)
def test_callables_that_cannot_be_audited(audit, name, options, value):
    """A sampler or an option that cannot be used is one line, exit code 2 and no verdict."""
    fails(audit(name, *options), value)


def test_nothing_interrupts_after_the_call(audit):
    """The timer of an audit that ended in time is off: what follows in this process is not interrupted."""

    assert audit("lost", "--samples", "100", "--time-limit", "600").code == 1
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


@pytest.fixture
def run_command(call):
    """Return a function that audits a command line."""
    return lambda command, *options, claim="1": call("audit", "command", command, *options, "--claim", claim)


@pytest.mark.parametrize("lines", [["--lines"], pytest.param([], marks=deep)])
def test_a_command_on_two_texts(run_command, lines):
    """A program in any language is audited on two texts, whatever they look like, and stops when it is convinced."""
    inputs = ("--inputs", "I love rome", "I love paris")
    result = run_command(SWAP, *inputs, "--samples", "200", *lines, claim="0.5")
    assert result.code == 1
    assert "anytime-valid, stopped when convinced" in result.text
    for text in ("no/such.txt", "long " * 100) if lines else ():
        assert run_command(SWAP, "--inputs", text, "other", "--samples", "64", *lines, claim="9").code == 0


def test_a_command_on_pairs_of_texts(run_command, place):
    """Two files with a text a line make pairs, whose trials are pooled; a third may hold their distances."""
    options = ["--inputs", "@one.txt", "@other.txt", "--samples", "300", "--lines"]
    result = run_command(SWAP, *options, claim="5")
    assert result.code == 0
    assert "2 pooled pairs" in result.text
    (place / "apart.txt").write_text("1\n0.1\n")
    assert run_command(SWAP, *options, "--distance", "apart.txt", claim="3").code == 1
    (place / "apart.txt").write_text("1\n")
    fails(run_command(SWAP, *options, "--distance", "apart.txt"), "(2,)")


def test_a_final_line_feed_is_part_of_the_output(run_command, place):
    """A program that ends its answer with a line feed for one input only is refuted."""
    (place / "ends.sh").write_text('read text\nif [ "$text" = a ]; then echo 3; else printf 3; fi\n')
    assert run_command("sh ends.sh", "--inputs", "a", "b", "--samples", "100").code == 1


@pytest.mark.parametrize(
    ("command", "options", "value"),
    [
        ("", ["--inputs", "a", "b"], "COMMAND"),
        ("'", ["--inputs", "a", "b"], "quotation"),
        ("cat", ["--inputs", "a", "a"], "'a'"),
        ("cat", ["--inputs", "@one.txt", "@swap.py"], "2 and"),
        ("cat", ["--inputs", "one.txt", "other.txt"], "@one.txt"),
        ("/none/such", ["--inputs", "a", "b"], "/none/such"),
        ("true", ["--inputs", "a", "b"], "nothing"),
        ("false", ["--inputs", "a", "b"], "exit code 1"),
        ("sleep 900", ["--inputs", "a", "b", "--run-timeout", "0.2"], "0.2 seconds"),
        ("echo a", ["--lines", "--inputs", "a", "b"], "one line"),
        ("cat", ["--lines", "--inputs", "a\nb", "c"], "one line"),
    ],
)
def test_commands_that_cannot_be_audited(run_command, command, options, value):
    """A program that fails, hangs or says nothing, and inputs that are none, are one line."""
    fails(run_command(command, *options), value)


@pytest.mark.parametrize("kind", ["npy", "jsonl"])
def test_recorded_outputs(call, kind):
    """Two files of outputs are refuted or not like a sampler; as many samples are drawn as asked for."""
    files = ("audit", "outputs", f"a.{kind}", f"b.{kind}")
    assert call(*files, "--claim", "0.5").code == 1
    assert call(*files, "--claim", "9").code == 0
    assert "300 samples" in call(*files, "--claim", "9", "--samples", "300").text


DIFFERENT = [
    ("txt", b"3", b"3.0"),
    ("txt", b"0", b"-0"),
    ("txt", b"10", b"1_0"),
    ("txt", b"3", b"3\r"),
    ("txt", b"1 2", b"1,2"),
    ("txt", b"", b" "),
    ("txt", b"\xe9", b"\xc3\xa9"),
    ("txt", b"\xc3\xa9", b"e\xcc\x81"),
    ("txt", b"\xff", b"\xfe"),
    ("txt", b"9007199254740992", b"9007199254740993"),
    ("txt", b"1" + b"0" * 400, b"1" + b"0" * 399 + b"1"),
    ("jsonl", b"[1, 2]", b"[1,2]"),
    ("jsonl", b'"\xc3\xa9"', b'"\\u00e9"'),
    ("jsonl", b'{"a": 1, "b": 2}', b'{"b": 2, "a": 1}'),
]


@pytest.mark.parametrize(("kind", "first", "second"), DIFFERENT)
def test_lines_are_compared_byte_by_byte(call, place, kind, first, second):
    """Two lines that are one number, text or value after a conversion are two outputs."""
    (place / f"p.{kind}").write_bytes((first + b"\n") * 200)
    (place / f"q.{kind}").write_bytes((second + b"\n") * 200)
    assert call("audit", "outputs", f"p.{kind}", f"q.{kind}", "--claim", "1").code == 1
    assert call("audit", "outputs", f"p.{kind}", f"p.{kind}", "--claim", "1").code == 0


def test_numbers_of_outputs_and_types_of_arrays(call, place):
    """Numbers left out for one input, and numbers stored in another type, are told apart; both files are as long."""
    lines = [f"{number}\n" for number in range(300)]
    (place / "p.txt").write_text("".join(lines))
    (place / "q.txt").write_text("".join("\n" if number % 2 else line for number, line in enumerate(lines)))
    assert call("audit", "outputs", "p.txt", "q.txt", "--claim", "1").code == 1
    (place / "more.txt").write_text("".join(lines) + "\n")
    for files, value in (
        (("p.txt", "more.txt"), "300 and 301 (blank lines are outputs too)"),
        (("a.npy", "a.jsonl"), "600 and 400"),
        (("one.txt", "other.txt"), "Got 2"),
    ):
        fails(call("audit", "outputs", *files, "--claim", "1"), value)
    np.save(place / "p.npy", np.zeros(200, np.float32))
    np.save(place / "q.npy", np.zeros(200, np.float64))
    assert call("audit", "outputs", "p.npy", "q.npy", "--claim", "1").code == 1
