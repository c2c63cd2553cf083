"""``deniable audit outputs``: verdicts, exit codes and errors."""

import numpy as np
import pytest


def test_lines_of_numbers_are_numbers(call, place):
    """Text files whose lines are numbers are audited as numbers."""
    random = np.random.default_rng(0)
    for name, middle in (("p.txt", 0), ("q.txt", 1)):
        (place / name).write_text("".join(f"{value:.3f}\n" for value in random.normal(middle, 0.1, size=400)))
    assert call("audit", "outputs", "p.txt", "q.txt", "--claim", "1").code == 1


@pytest.mark.parametrize("kind", ["npy", "jsonl"])
def test_recorded_outputs(call, kind):
    """Two files of outputs are refuted or not like a sampler."""
    assert call("audit", "outputs", f"a.{kind}", f"b.{kind}", "--claim", "0.5").code == 1
    assert call("audit", "outputs", f"a.{kind}", f"b.{kind}", "--claim", "9").code == 0


def test_files_without_outputs(call, place):
    """Empty and broken files are told by name."""
    (place / "empty.txt").write_bytes(b"")
    (place / "broken.npy").write_bytes(b"\x93NUMPY")
    (place / "open.npy").write_bytes(b"\x93NUMPY\x01\x00v\x00{[[(" + b" " * 114)
    (place / "broken.jsonl").write_bytes(b"{\n")
    for name, message in (
        ("empty.txt", "holds no outputs"),
        ("broken.npy", "holds no array"),
        ("open.npy", "holds no array"),
        ("broken.jsonl", "Line 1 of 'broken.jsonl' cannot be read as JSON"),
    ):
        result = call("audit", "outputs", name, name, "--claim", "1")
        assert (result.code, result.out, len(result.err.splitlines())) == (2, b"", 1)
        assert message in result.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.npy"], "Missing argument 'B'"),
        (["a.npy", "b.npy", "--game", "best"], "'best' is not one of auto, coin, pooled, precision, anytime."),
        (["a.npy", "a.jsonl"], "the same number of outputs. Got 600 and 400."),
        (["a.csv", "a.csv"], "'a.csv' is a table: give outputs as .npy, .jsonl or text with one output a line"),
        (["one.txt", "other.txt"], "at least 22 outputs each. Got 2."),
        (["no.npy", "a.npy"], "The file 'no.npy' cannot be read"),
        (["a.npy", "b.npy", "--inputs", "a", "b"], "No such option: --inputs"),
    ],
)
def test_what_cannot_be_run(call, refused, arguments, message):
    """Wrong options are one line and exit code 2."""
    assert message in refused(call("audit", "outputs", *arguments, "--claim", "1"))


def test_the_number_of_outputs(call):
    """As many samples as the outputs make are drawn, or as many as asked for."""
    assert "1,041 samples" in call("audit", "outputs", "a.npy", "b.npy", "--claim", "9").text
    assert "300 samples" in call("audit", "outputs", "a.npy", "b.npy", "--claim", "9", "--samples", "300").text


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (b"3", b"3.0"),
        (b"0", b"-0"),
        (b"10", b"1_0"),
        (b"10", b"+10"),
        (b"3", b"3 "),
        (b"3", b"3\r"),
        (b"3", b"3e0"),
        (b"1 2", b"1,2"),
        (b"1 2", b"1 2.0"),
        (b"", b" "),
        (b"a", b""),
        (b"\xe9", b"\xc3\xa9"),
        (b"\xc3\xa9", b"e\xcc\x81"),
        (b"\xff", b"\xfe"),
        (b"nan", b"NaN"),
        (b"9007199254740992", b"9007199254740993"),
        (b"1" + b"0" * 400, b"1" + b"0" * 399 + b"1"),
    ],
)
def test_lines_are_compared_byte_by_byte(call, place, first, second):
    """Two lines that are one number, or one text after a conversion, are two outputs."""
    (place / "p.txt").write_bytes(first + b"\n" + (first + b"\n") * 199)
    (place / "q.txt").write_bytes(second + b"\n" + (second + b"\n") * 199)
    assert call("audit", "outputs", "p.txt", "q.txt", "--claim", "1").code == 1
    assert call("audit", "outputs", "p.txt", "p.txt", "--claim", "1").code == 0


@pytest.mark.parametrize(
    ("first", "second"),
    [("3", "3.0"), ("[1, 2]", "[1,2]"), ('"é"', '"\\u00e9"'), ('{"a": 1, "b": 2}', '{"b": 2, "a": 1}')],
)
def test_json_is_compared_as_it_is_written(call, place, first, second):
    """A line of JSON is an output as it is written, and not the value that it is read as."""
    (place / "p.jsonl").write_text(f"{first}\n" * 200, "utf-8")
    (place / "q.jsonl").write_text(f"{second}\n" * 200, "utf-8")
    assert call("audit", "outputs", "p.jsonl", "q.jsonl", "--claim", "1").code == 1


def test_blank_lines_are_outputs(call, place):
    """Numbers that are left out for one input are seen, and lines that are blank are counted."""
    lines = [f"{number}\n" for number in range(300)]
    (place / "p.txt").write_text("".join(lines))
    (place / "q.txt").write_text("".join("\n" if number % 2 else line for number, line in enumerate(lines)))
    assert call("audit", "outputs", "p.txt", "q.txt", "--claim", "1").code == 1
    (place / "more.txt").write_text("".join(lines) + "\n")
    assert (
        "Got 300 and 301 (blank lines are outputs too)"
        in call("audit", "outputs", "p.txt", "more.txt", "--claim", "1").err
    )


def test_arrays_of_two_types(call, place):
    """Numbers that are stored in another type for one input are told apart."""
    np.save(place / "p.npy", np.zeros(200, np.float32))
    np.save(place / "q.npy", np.zeros(200, np.float64))
    assert call("audit", "outputs", "p.npy", "q.npy", "--claim", "1").code == 1
