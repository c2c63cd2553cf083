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
    (place / "latin.txt").write_bytes(b"\xe9\n" * 50)
    for name, message in (
        ("empty.txt", "holds no outputs"),
        ("broken.npy", "holds no array"),
        ("open.npy", "holds no array"),
        ("broken.jsonl", "Line 1 of 'broken.jsonl' cannot be read as JSON"),
        ("latin.txt", "is not UTF-8"),
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
