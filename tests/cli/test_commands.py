"""``deniable explain``, ``deniable key``, help and version, and the program as a process."""

import errno
import os
import re
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from deniable import TEM, Space, TruncatedGumbel, __version__, recovery, verify
from deniable.cli.main import app

PROGRAM = str(Path(sys.executable).with_name("deniable"))


def explained(text):
    """Return the table of outputs: word -> (probability, distance)."""
    rows = re.findall(r"^(\S+) +(\d\.\d{6}) +(\d+\.\d{3})$", text, flags=re.MULTILINE)
    return {word: (float(probability), float(distance)) for word, probability, distance in rows}


@pytest.mark.parametrize(("name", "make", "epsilon"), [("tem", TEM, 2.0), ("truncated-gumbel", TruncatedGumbel, 60.0)])
def test_explain_an_exact_law(call, name, make, epsilon):
    """The likeliest outputs are shown in order, with the law's probabilities and the distances."""
    result = call("explain", "London", "--space", "space.npz", "--epsilon", epsilon, "--mechanism", name)
    assert result.code == 0
    space = Space.load("space.npz")
    law = dict(zip(space.words, make(space, epsilon=epsilon).probabilities("london"), strict=True))
    shown = explained(result.text)
    assert len(shown) == 10
    assert list(shown) == sorted(law, key=law.get, reverse=True)[:10]
    for word, (probability, distance) in shown.items():
        assert probability == pytest.approx(law[word], abs=1e-6)
        assert distance == pytest.approx(space.distance("london", word), abs=1e-3)
    assert "exact law over 14 words of space.npz" in result.text
    verdict = verify(make(space, epsilon=epsilon))
    assert f"verified: {verdict.status}, {verdict.method}\n" in result.text
    assert "attacker: an attacker who knows the mechanism names " in result.text
    assert "% of words, if words follow Zipf's law by the space's ranks (without the output: " in result.text
    assert f"stays as it is with probability {law['london']:.4f}" in result.text
    kept = sorted(law.values(), reverse=True)
    reach = next(count for count in range(1, 15) if sum(kept[:count]) >= 0.9)
    assert f"{reach} words make up 90 % of the outputs" in result.text


def test_explain_under_public_counts(call, place):
    """The attacker's success is that under the counts of a file, which is named; what of it is left out is told."""
    (place / "counts.csv").write_text("food,3\nlondon,1\nzork,8\n")
    options = ["--space", "space.npz", "--epsilon", "2", "--mechanism", "tem", "--prior", "counts.csv"]
    result = call("explain", "london", *options)
    assert result.code == 0
    found = recovery(TEM(Space.load("space.npz"), epsilon=2.0), {"food": 3, "london": 1})
    assert f"names {100 * found:.1f} % of words, if words follow the counts of 'counts.csv' (" in result.text
    assert "without the output: 75.0 %" in result.text
    assert result.err == "counts.csv: zork not in the vocabulary, left out\n"


def test_explain_without_usable_counts(call, refused):
    """A file of counts without a word of the space is refused in one line."""
    refused.given(counts__csv="zork,8\n")
    message = refused(call("explain", "food", "--space", "space.npz", "--epsilon", "2", "--prior", "counts.csv"))
    assert "'counts.csv' has no usable counts" in message


def test_explain_by_simulation(call, monkeypatch):
    """Where no law is known the shares of draws are shown, and called so."""
    monkeypatch.setattr("deniable.cli.explain.SIMULATED_DRAWS", 2000)
    result = call("explain", "food", "--space", "space.npz", "--epsilon", "3", "--mechanism", "multivariate-laplace")
    assert result.code == 0
    assert "no exact law is known: shares of 2,000 draws" in result.text
    assert sum(probability for probability, _ in explained(result.text).values()) <= 1.0
    assert explained(result.text)["food"][1] == 0.0


def test_explain_an_unknown_word(call):
    """An unknown word is explained as the public word that stands for it."""
    result = call("explain", "zork", "--space", "space.npz", "--epsilon", "2")
    public = Space.load("space.npz").unknown_word
    assert result.code == 0
    assert result.text.startswith(f"'zork' is not in the vocabulary: it is read as the public word {public!r}.\n")
    assert f"{public!r} stays as it is with probability" in result.text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--epsilon", "0"], "'epsilon' parameter of the mechanism"),
        (["--epsilon", "0", "--mechanism", "tem"], "'epsilon' parameter of TEM"),
        (["--epsilon", "1", "--mechanism", "truncatedgumbel"], "Did you mean 'truncated-gumbel'?"),
        (["--epsilon", "1", "--space", "none"], "No vector file"),
        ([], "--epsilon"),
    ],
)
def test_explain_refuses(call, refused, options, message):
    """Wrong options of explain are told in one line."""
    assert message in refused(call("explain", "food", "--space", "space.npz", *options))


def test_key(call, place):
    """A key is 32 random bytes that only its owner can read."""
    for name in ("a", "b"):
        result = call("key", name)
        assert result.code == 0
        assert (result.out, "keep it secret" in result.err) == (b"", True)
        assert stat.S_IMODE((place / name).stat().st_mode) == 0o600
    first, second = (place / "a").read_bytes(), (place / "b").read_bytes()
    assert len(first) == len(second) == 32
    assert first != second


def test_a_key_that_cannot_be_written(call, refused, monkeypatch):
    """Where the disk is full no empty file stays, which the next try would take for a key."""

    def full():
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("deniable.core.randomness.generate_key", full)
    refused.given()
    assert refused(call("key", "new.key")) == "No space left on device: nothing was written."


def test_keys_are_never_overwritten(call, refused, place):
    """A file that exists, a link that leads nowhere and a folder are no place for a key."""
    refused.given(k=bytes(32))
    assert "keys are never overwritten" in refused(call("key", "k"))
    (place / "link").symlink_to("nowhere")
    refused(call("key", "link"), new=["link"])
    assert "cannot be written: No such file" in refused(call("key", "none/k"), new=["link"])
    refused(call("key", "."), new=["link"])
    refused(call("key"), new=["link"])


def test_version(call):
    """--version shows the version."""
    result = call("--version")
    assert (result.code, result.text) == (0, f"deniable {__version__}\n")


@pytest.mark.parametrize("flag", ["--help", "-h"])
@pytest.mark.parametrize(
    ("command", "parts"),
    [
        ([], ["privatize", "measure", "explain", "tune", "audit", "study", "key", "--version"]),
        (["explain"], ["WORD", "--epsilon", "--mechanism", "--space", "--metric"]),
        (["key"], ["FILE", "secret key"]),
        (
            ["privatize"],
            [
                "INPUT",
                "--epsilon",
                "--output",
                "--column",
                "--mechanism",
                "--space",
                "--metric",
                "--id",
                "--key-file",
                "--seed",
                "--unknown",
                "--case",
                "--keep",
                "--format",
                "--delimiter",
                "--encoding",
                "--workers",
                "--certificate",
                "--chosen-from-data",
                "--force",
            ],
        ),
    ],
)
def test_help(call, command, parts, flag):
    """Every command shows its options."""
    result = call(*command, flag)
    assert (result.code, result.err) == (0, "")
    assert "Usage: deniable" in result.text
    assert [part for part in parts if part not in result.text] == []


def test_no_arguments(call):
    """Without arguments the help is shown."""
    result = call()
    assert (result.code, result.err) == (0, "")
    assert "Usage: deniable" in result.text


HEAVY = {"numpy", "scipy", "numba", "sklearn", "pyarrow", "torch", "jinja2", "matplotlib"}


@pytest.mark.parametrize("command", [[], ["privatize"], ["measure"], ["tune"], ["study"], ["audit"]], ids=" ".join)
def test_help_loads_nothing_heavy(place, command):
    """Help is quick, since numpy and its kin are loaded only when needed."""
    code = (
        f"import sys; from deniable.cli.main import main; main({[*command, '--help']}); "
        f"print(sorted({HEAVY} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=place, capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"


def start(place, *options, **streams):
    """Start a run that reads standard input, and wait until it does."""
    command = [PROGRAM, "privatize", "-", "--format", "csv", "--space", "space.npz", "--epsilon", "2", *options]
    process = subprocess.Popen(
        command,
        cwd=place,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # Where the tests run in the background of a shell, Ctrl-C is ignored, by children too.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - no threads here
        **streams,
    )
    deadline = time.monotonic() + 60
    while not any(path.suffix == ".part" for path in place.iterdir()):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals(place, number):
    """A run that is interrupted or terminated says so in one line, fails, and leaves nothing."""
    before = sorted(place.iterdir())
    process = start(place, "-o", "out.csv")
    process.stdin.write(b"text\nthe\n")
    process.stdin.flush()
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert sorted(place.iterdir()) == before
    assert (process.returncode, err) == (2, b"deniable: interrupted: nothing was written.\n")


def test_a_process_in_a_pipeline(place):
    """The installed program works between pipes and exits 0."""
    command = [PROGRAM, "privatize", "-", "--format", "txt", "--space", "space.npz", "--epsilon", "2", "-o", "-"]
    done = subprocess.run(
        [*command, "--certificate", "c.json"], cwd=place, input=b"the food\n\nLondon", capture_output=True, check=False
    )
    assert done.returncode == 0
    assert [len(line.split()) for line in done.stdout.split(b"\n")] == [2, 0, 1]
    assert b"Traceback" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_standard_output(place):
    """A certificate does not appear where its table could not be written."""
    command = [PROGRAM, "privatize", "in.csv", "--space", "space.npz", "--epsilon", "2", "-o", "-"]
    before = sorted(place.iterdir())
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*command, "--certificate", "c.json"],
            cwd=place,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (2, "deniable: No space left on device: nothing was written.\n")
    assert sorted(place.iterdir()) == before


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize(
    ("command", "code"), [("in.csv --space space.npz --epsilon 2 -o out.csv", 0), ("in.csv --epsilon 2 -o in.csv", 2)]
)
@pytest.mark.parametrize("stream", ["/dev/full", "pipe"])
def test_messages_that_cannot_be_written(place, command, code, stream):
    """They are lost, and neither outcome nor exit code changes: 1 would say that a claim is refuted."""
    into = "| true" if stream == "pipe" else ""
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"{PROGRAM} privatize {command} 2>{'&1' if into else stream} {into}"],
        cwd=place,
        check=False,
    )
    assert done.returncode == code
    assert (place / "out.csv").exists() == (place / "out.csv.certificate.json").exists() == (code == 0)


def test_a_key_from_a_pipe(place):
    """A key may come through a pipe, which gives it once: the output is that of the key's file."""
    (place / "k").write_bytes(bytes(range(32)))
    command = f"{PROGRAM} privatize in.csv --space space.npz --epsilon 2 --id id --key-file"
    for key, output in (("k", "a.csv"), ("<(cat k)", "b.csv")):
        subprocess.run(["bash", "-c", f"{command} {key} -o {output}"], cwd=place, check=True)
    assert (place / "a.csv").read_bytes() == (place / "b.csv").read_bytes()


OF_A_TABLE = "privatize in.csv --space space.npz --epsilon 2 -o"


@pytest.mark.parametrize(
    "command",
    [f"{OF_A_TABLE} - --certificate c.json", "explain food --space space.npz --epsilon 2", "--version", "--help"],
)
def test_a_closed_standard_output(place, command):
    """What would be lost is an error, in one line, and no certificate appears."""
    before = sorted(place.iterdir())
    done = subprocess.run(
        f"{PROGRAM} {command} >&-", shell=True, cwd=place, stderr=subprocess.PIPE, text=True, check=False
    )
    message = "deniable: Standard output is closed, and what belongs there is lost: open it, or use /dev/null.\n"
    assert (done.returncode, done.stderr) == (2, message)
    assert sorted(place.iterdir()) == before


def test_a_closed_standard_output_that_is_not_needed(place):
    """Where the table goes to a file nothing is lost, and no file takes the descriptor's place."""
    closed = subprocess.run(f"{PROGRAM} {OF_A_TABLE} out.csv <&- >&- 2>&-", shell=True, cwd=place, check=False)
    assert closed.returncode == 0
    assert (place / "out.csv").read_text().startswith("id,text,note")
    assert (place / "out.csv.certificate.json").read_text().startswith("{\n")


@pytest.mark.parametrize("epsilon", ["1e308", "1.7e308"])
@pytest.mark.parametrize("mechanism", ["calibrated", "tight", "tem", "multivariate-laplace", "truncated-gumbel"])
def test_an_epsilon_near_the_largest_float(place, mechanism, epsilon):
    """Either it works or there is one line that says in which direction to go; never a warning of a library."""
    command = [PROGRAM, "explain", "food", "--space", "space.npz", "--epsilon", epsilon, "--mechanism", mechanism]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    assert "Warning" not in done.stderr
    if done.returncode:
        assert re.fullmatch(r"deniable: The 'epsilon' parameter must be smaller .* Got 1\.?7?e\+308: .*\n", done.stderr)
    else:
        assert done.stderr == ""


def test_no_traceback_shows_variables():
    """An error that nobody expected shows no key and no private text, whoever calls the program."""
    assert app.pretty_exceptions_enable is False


def test_the_terminal_may_be_ascii(place):
    """explain writes words of any script to an output of any encoding."""
    (place / "v.txt").write_text("čaj 0 1\nthe 1 0\nfood 1 1\n", encoding="utf-8")
    done = subprocess.run(
        [PROGRAM, "explain", "the", "--space", "v.txt", "--epsilon", "2"],
        cwd=place,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"food" in done.stdout
