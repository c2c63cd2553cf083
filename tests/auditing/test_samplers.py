"""Outputs recorded before, and external programs, as samplers."""

import sys

import numpy as np
import pytest

import deniable as dn
from deniable.auditing import attacker_selection
from deniable.auditing.samplers import count_usable_samples, make_command_sampler, make_replay_sampler

UPPER = "import sys; sys.stdout.write(sys.stdin.read().upper())"


def python(code):
    return [sys.executable, "-c", code]


def test_recorded_outputs_come_once_in_order():
    """Each is handed out once, by the name of its input; then there are no more, which is an error."""
    sampler = make_replay_sampler({"a": [1.0, 2.0], "b": [3.0]})
    assert [sampler("a"), sampler("b"), sampler("a")] == [1.0, 3.0, 2.0]
    with pytest.raises(dn.InputError, match="Only 2 outputs of 'a' are there: ask for fewer samples"):
        sampler("a")


@pytest.mark.parametrize("count", [60, 200, 5_000])
@pytest.mark.parametrize("method", ["auto", "anytime"])
def test_an_audit_of_recorded_outputs_does_not_run_out(count, method, monkeypatch):
    """As many samples as `count_usable_samples` allows are there under any seed, and most are used."""
    monkeypatch.setattr(attacker_selection, "list_suitable_attackers", lambda *_: ("frequency",))
    random = np.random.default_rng(0)
    samples = count_usable_samples(count)
    assert count / 2 < samples < 2 * count
    for seed in range(20 if count < 5_000 else 2):
        outputs = {"a": random.normal(size=count), "b": random.normal(size=count)}
        verdict = dn.audit(make_replay_sampler(outputs), "a", "b", claim=5.0, samples=samples, seed=seed, method=method)
        assert verdict.samples == samples


def test_recorded_evidence_is_evidence():
    """Recordings that differ refute, the same recording twice does not."""
    random = np.random.default_rng(1)
    shifted = {"a": random.normal(size=400), "b": 3 + random.normal(size=400)}
    assert (
        dn.audit(make_replay_sampler(shifted), "a", "b", claim=0.5, samples=count_usable_samples(400), seed=0).status
        == "refuted"
    )
    same = {"a": random.normal(size=400), "b": random.normal(size=400)}
    assert (
        dn.audit(make_replay_sampler(same), "a", "b", claim=0.5, samples=count_usable_samples(400), seed=0).status
        == "not refuted"
    )


def test_a_command_answers_texts():
    """Text goes in on standard input; all that is written is the output, or a line of it each text's answer."""
    assert make_command_sampler(python(UPPER), timeout=30)("Zoë paid £5") == "ZOË PAID £5\n"
    assert make_command_sampler(python(UPPER), timeout=30, line_by_line=True)(["a", "b c"]) == ["A", "B C"]


@pytest.mark.parametrize("written", [b"3", b"3\n", b"3\r\n", b" 3", b"3\n\n", b"\xff", b"\xc3\xbf", b"\0"])
def test_every_byte_of_a_command_is_its_output(written):
    """Nothing that a program writes is stripped, whatever bytes they are; --lines takes line feeds apart only."""
    code = f"import sys; sys.stdin.read(); sys.stdout.buffer.write({written!r})"
    assert make_command_sampler(python(code), timeout=30)("a") == written.decode("utf-8", "surrogateescape")
    lines = b"".join(line.rstrip(b"\n") + b"\n" for line in (written, b"", written.strip() + b"\r"))
    code = f"import sys; sys.stdin.read(); sys.stdout.buffer.write({lines!r})"
    answers = make_command_sampler(python(code), timeout=30, line_by_line=True)(["a"] * lines.count(b"\n"))
    assert "\n".join(answers) + "\n" == lines.decode("utf-8", "surrogateescape")


def test_a_command_is_audited():
    """A program that repeats its input is refuted, line by line."""
    verdict = dn.audit(
        make_command_sampler(python(UPPER), timeout=30, line_by_line=True),
        "a",
        "b",
        claim=1.0,
        samples=60,
        batched=True,
        seed=0,
    )
    assert verdict.status == "refuted"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["/no/such/program"], "cannot be run: No such file or directory"),
        (python("import sys; sys.exit('out of\\nmemory')"), r"failed with exit code 1 \(memory\)"),
        (python("import sys; sys.exit(3)"), "failed with exit code 3"),
        (python("pass"), "wrote nothing for the input"),
        (python("import time; time.sleep(30)"), "did not end within 0.5 seconds"),
    ],
)
def test_commands_that_fail(arguments, says):
    """What became of the program stands in one line."""
    with pytest.raises(dn.InputError, match=says) as raised:
        make_command_sampler(arguments, timeout=0.5 if "sleep" in arguments[-1] else 30)("a")
    assert "\n" not in str(raised.value)


def test_a_command_must_answer_every_line():
    """A program that drops lines is refused."""
    with pytest.raises(dn.InputError, match="must answer each line by one line"):
        make_command_sampler(python("print('a')"), timeout=30, line_by_line=True)(["a", "b"])


def test_an_interruption_ends_the_audit():
    """Ctrl-C while a sampler runs is none of its failures, also where compiled code made another error of it."""
    error = SystemError("an exception set")
    error.__cause__ = KeyboardInterrupt()

    def sample(_):
        raise error

    with pytest.raises(SystemError):
        dn.audit(sample, 0, 1, claim=1.0)
