"""Outputs recorded before, and external programs, as samplers."""

import sys

import numpy as np
import pytest

import deniable as dn
from deniable.cli.commands.audit.command import make_command_sampler
from deniable.cli.commands.audit.outputs import count_usable_samples, make_replay_sampler
from tests.refusals import refuses

UPPER = "import sys; sys.stdout.write(sys.stdin.read().upper())"


def python(code):
    return [sys.executable, "-c", code]


def test_recorded_outputs_come_once_in_order():
    """Each is handed out once, by the name of its input; then there are no more, which is an error."""
    sampler = make_replay_sampler({"a": [1.0, 2.0], "b": [3.0]})
    assert [sampler("a"), sampler("b"), sampler("a")] == [1.0, 3.0, 2.0]
    with refuses("'a'"):
        sampler("a")


@pytest.mark.parametrize(
    ("count", "method", "seeds"),
    [
        (60, "auto", 6),
        (60, "anytime", 3),
        *(
            pytest.param(count, method, 20, marks=pytest.mark.deep)
            for count in (60, 200)
            for method in ("auto", "anytime")
        ),
        pytest.param(5_000, "auto", 2, marks=pytest.mark.deep),
    ],
)
def test_an_audit_of_recorded_outputs_does_not_run_out(count, method, seeds):
    """As many samples as `count_usable_samples` allows are there under any seed, and most are used."""
    random = np.random.default_rng(0)
    samples = count_usable_samples(count)
    assert count / 2 < samples < 2 * count
    for seed in range(seeds):
        outputs = {"a": random.normal(size=count), "b": random.normal(size=count)}
        verdict = dn.audit(make_replay_sampler(outputs), "a", "b", claim=5.0, samples=samples, seed=seed, method=method)
        assert verdict.samples == samples


def test_recorded_evidence_is_evidence():
    """Recordings that differ refute, the same recording twice does not."""
    random = np.random.default_rng(1)
    shifted = {"a": random.normal(size=400), "b": 3 + random.normal(size=400)}
    same = {"a": random.normal(size=400), "b": random.normal(size=400)}
    for outputs, status in ((shifted, "refuted"), (same, "not refuted")):
        samples = count_usable_samples(400)
        verdict = dn.audit(make_replay_sampler(outputs), "a", "b", claim=0.5, samples=samples, seed=0)
        assert verdict.status == status


def test_a_command_answers_texts():
    """Text goes in on standard input; all that is written is the output, or a line of it each text's answer."""
    assert make_command_sampler(python(UPPER), timeout=60)("Zoë paid £5") == "ZOË PAID £5\n"
    assert make_command_sampler(python(UPPER), timeout=60, line_by_line=True)(["a", "b c"]) == ["A", "B C"]


@pytest.mark.parametrize(
    "written",
    [
        b"3\r\n",
        b" 3\n\n\xff",
        *(pytest.param(one, marks=pytest.mark.deep) for one in (b"3", b"3\n", b"\xc3\xbf", b"\0")),
    ],
)
def test_every_byte_of_a_command_is_its_output(written):
    """Nothing that a program writes is stripped, whatever bytes they are; --lines takes line feeds apart only."""
    code = f"import sys; sys.stdin.read(); sys.stdout.buffer.write({written!r})"
    assert make_command_sampler(python(code), timeout=60)("a") == written.decode("utf-8", "surrogateescape")
    lines = b"".join(line.rstrip(b"\n") + b"\n" for line in (written, b"", written.strip() + b"\r"))
    code = f"import sys; sys.stdin.read(); sys.stdout.buffer.write({lines!r})"
    answers = make_command_sampler(python(code), timeout=60, line_by_line=True)(["a"] * lines.count(b"\n"))
    assert "\n".join(answers) + "\n" == lines.decode("utf-8", "surrogateescape")


def test_a_command_is_audited():
    """A program that repeats its input is refuted, line by line."""
    sampler = make_command_sampler(python(UPPER), timeout=60, line_by_line=True)
    assert dn.audit(sampler, "a", "b", claim=1.0, samples=60, batched=True, seed=0).status == "refuted"


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        (["/no/such/program"], "No such file"),
        (python("import sys; sys.exit('out of\\nmemory')"), "memory"),
        (python("import sys; sys.exit(3)"), "exit code 3"),
        (python("pass"), "nothing"),
        (python("import time; time.sleep(60)"), "0.5 seconds"),
    ],
)
def test_commands_that_fail(arguments, value):
    """What became of the program stands in one line, and so does a line that it dropped."""
    with refuses(value):
        make_command_sampler(arguments, timeout=0.5 if "sleep" in arguments[-1] else 60)("a")
    with refuses("one line"):
        make_command_sampler(python("print('a')"), timeout=60, line_by_line=True)(["a", "b"])
