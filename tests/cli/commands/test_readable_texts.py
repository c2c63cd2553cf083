"""``deniable synthesize --model``: what is written, and that an interrupted run goes on and spends nothing twice."""

import json
import os
import re
import signal
import stat
import subprocess
import sys

import pytest

from tests.cli.conftest import snapshot
from tests.cli.text_models import WORDS, lines, write
from tests.messages import select_messages
from tests.small_llama import build_word_tokenizer, save_llama

torch = pytest.importorskip("torch")
deep = pytest.mark.deep
ROWS = 150
PROMPT = "a {label} review of a film"
BASIC = ("private.csv", "--label", "label", "--rows", str(ROWS), "--epsilon", "20", "--delta", "1e-6")
PUBLIC = ("--public", "public.csv", "--public-label", "label")
MODEL = ("--model", "llama", "--prompt", PROMPT, "--threads", "1")
OUTPUT = ("-o", "o.csv")
LEDGER = ("--person", "person", "--ledger", "l.db")
CHECKPOINT = "o.csv.checkpoint"
FILES = {f"o.csv{ending}" for ending in ("", ".certificate.json", ".classifier.model", ".baseline.csv", ".owner.json")}
STOPPING = """
import os, signal, sys
from deniable.learning.loop import Checkpoint
write, number = Checkpoint.write, [0]
def write_and_stop(*arguments):
    write(*arguments)
    number[0] += 1
    if number[0] == {writes}:
        os.kill(os.getpid(), signal.{name})
Checkpoint.write = write_and_stop
from deniable.cli.start import run
run()
"""
"""The program, which gets a signal when it has kept what it wrote so many times."""

HURRYING = """
from deniable.cli import progress
progress.LINE_SECONDS = progress._REFRESH_SECONDS = 0.02
from deniable.cli.start import run
run()
"""
"""The program, which says at once how far it is."""


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    """Return the folder of a tiny llama that knows the words of the tables."""
    return save_llama(tmp_path_factory.mktemp("llama") / "llama", build_word_tokenizer([*WORDS, "write", "review"]))


@pytest.fixture
def synthesize(call, place, llama):
    """Return a function that writes texts of the llama to o.csv."""
    write(place / "private.csv", [(*row, f"p{number // 3}") for number, row in enumerate(lines(300, 1))],
          ("text", "label", "person"))  # fmt: skip
    write(place / "public.csv", lines(100, 2))
    (place / "llama").symlink_to(llama)
    return lambda *options: call("synthesize", *BASIC, *PUBLIC, *MODEL, *OUTPUT, *options)


@pytest.fixture
def stop(place):
    """Return a function that runs the command as a process that a signal ends, and gives code and messages."""

    def stopping(name, writes, *options):
        code = STOPPING.format(name=name, writes=writes)
        command = [sys.executable, "-c", code, "synthesize", *BASIC, *PUBLIC, *MODEL, *OUTPUT, *options]
        done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False, timeout=600)
        return done.returncode, select_messages(done.stderr)

    return stopping


def read_json(path):
    """Return what a file of JSON holds."""
    return json.loads(path.read_text("utf-8"))


def read_weights(place):
    """Return the noisy weights of the classifier that was written."""
    from deniable.learning.artifact import read_artifact

    return read_artifact(place / "o.csv.classifier.model").weights


def list_new(place, before):
    """Return the names of the files that were not there before."""
    return {path.name for path in place.iterdir()} - before


@pytest.fixture
def before(synthesize, place):  # noqa: ARG001 - writes the files
    """Return the names of all files."""
    return {path.name for path in place.iterdir()}


def test_all_files(synthesize, call, place, before):
    """All files are written, none is left of the run, and the certificate says from what texts come, and checks."""
    result = synthesize()
    assert (result.code, result.out) == (0, b"")
    assert list_new(place, before) == FILES
    certificate = read_json(place / "o.csv.certificate.json")
    mechanism = certificate["mechanism"]
    said = mechanism["language model"]
    assert said["prompt"] == PROMPT
    assert said["model"]["license"] == "apache-2.0"
    assert said["model"]["name"] == "llama"
    assert len(said["model"]["sha256"]) == 64
    assert said["model"]["context"] == 128
    assert said["draws"]["max_tokens"] == 64
    assert said["fit"]["rounds"] == 4
    assert 0 <= said["fit"]["divergence"] <= 1
    shares = {one["name"]: one["share"] for one in certificate["measurements"]}
    assert shares["style"] > 0
    assert sum(shares.values()) == pytest.approx(1)
    assert any("language model learned before" in line for line in certificate["not_protected"])
    assert call("certificate", "check", "o.csv.certificate.json").code == 0
    changed = json.dumps(certificate).replace('"share": ' + repr(shares["style"]), '"share": 0.001')
    (place / "changed.json").write_text(changed)
    assert call("certificate", "check", "changed.json").code != 0


def test_what_the_model_learned_is_said_first(synthesize):
    """Of what is not protected the summary says first what no epsilon covers."""
    assert "not protected  what the language model learned before; if it was" in synthesize("--epsilon", "4").err


@deep
def test_the_same_key_gives_the_same_texts(synthesize, place, stop):
    """What an interrupted run kept is what the finished one has: noisy sums, and texts in their order."""
    code, said = stop("SIGINT", 14)
    assert code == 2
    assert said.splitlines()[-1] == f"deniable: interrupted: run the same command again to resume from '{CHECKPOINT}'."
    kept = torch.load(place / CHECKPOINT, weights_only=True)["state"]
    assert 0 < len(kept["table"]["texts"]) < ROWS
    result = synthesize()
    assert result.code == 0
    assert f"resuming from {CHECKPOINT}" in result.err
    rows = (place / "o.csv").read_text("utf-8")
    missing = [text for text in kept["table"]["texts"] if text.replace('"', '""') not in rows]
    assert len(missing) <= ROWS / 9 + 1  # the classifier is least certain of a tenth, which is dropped
    weights = read_weights(place)
    assert any(torch.equal(one, kept["weights"]) for one in weights.values())


@pytest.mark.parametrize(
    ("name", "writes"),
    [
        ("SIGKILL", 15),
        *(pytest.param(*case, marks=deep) for case in (("SIGINT", 1), ("SIGINT", 5), ("SIGKILL", 3), ("SIGKILL", 20))),
    ],
)
def test_an_interrupted_run(synthesize, call, place, before, stop, name, writes):
    """It leaves nothing but its checkpoint, for its owner alone; the same command finishes and charges nothing more."""
    assert call("ledger", "create", "l.db", "--budget", "30", "--delta", "1e-6").code == 0
    before |= {path.name for path in place.iterdir()}
    code, said = stop(name, writes, *LEDGER)
    assert code == (2 if name == "SIGINT" else -signal.SIGKILL)
    assert "Traceback" not in said
    assert {one for one in list_new(place, before) if not one.startswith("l.db")} == {CHECKPOINT}
    assert stat.S_IMODE((place / CHECKPOINT).stat().st_mode) == 0o600
    weights = torch.load(place / CHECKPOINT, weights_only=True)["state"]["weights"]
    charged = call("ledger", "show", "l.db", "--json").text
    assert len(json.loads(charged)["releases"]) == 1
    assert synthesize(*LEDGER).code == 0
    assert call("ledger", "show", "l.db", "--json").text == charged
    assert {one for one in list_new(place, before) if not one.startswith("l.db")} == FILES
    assert any(torch.equal(one, weights) for one in read_weights(place).values())
    assert "ledger" in (place / "o.csv.certificate.json").read_text("utf-8")


def count_releases(call):
    """Return how many releases the ledger knows."""
    return len(json.loads(call("ledger", "show", "l.db", "--json").text)["releases"])


def test_a_run_with_other_options(synthesize, call, place, stop):
    """Other options, another prompt or table are named and refused; --force starts over, charged and with new sums."""
    assert call("ledger", "create", "l.db", "--budget", "50", "--delta", "1e-5").code == 0
    assert stop("SIGINT", 2, *LEDGER)[0] == 2
    weights = torch.load(place / CHECKPOINT, weights_only=True)["state"]["weights"]
    files = {name: content for name, content in snapshot(place).items() if not name.startswith("l.db")}
    assert count_releases(call) == 1
    for options, names in (
        (("--epsilon", "19"), "epsilon"),
        (("--rows", "151"), "rows"),
        (("--prompt", "a text"), "prompt"),
        (("--max-records", "2"), "max_records"),
        (("--chosen-from-data",), "chosen_from_data"),
    ):
        result = synthesize(*LEDGER, *options)
        assert (result.code, len(select_messages(result.err).splitlines())) == (2, 1)
        assert f"is the checkpoint of a run with other {names}: finish that run" in result.err
        assert {name: content for name, content in snapshot(place).items() if not name.startswith("l.db")} == files
        assert count_releases(call) == 1
    assert synthesize(*LEDGER, "--epsilon", "19", "--force").code == 0
    assert count_releases(call) == 2
    assert not (place / CHECKPOINT).exists()
    assert not any(torch.equal(one, weights) for one in read_weights(place).values() if one.shape == weights.shape)


def test_a_prompt_that_leads_to_nothing(synthesize, call, place, monkeypatch):
    """Where hardly any text is usable that is known before anything is charged, measured or written."""
    assert call("ledger", "create", "l.db", "--budget", "30", "--delta", "1e-6").code == 0
    before = {path.name for path in place.iterdir()}
    monkeypatch.setattr("deniable.persons.generators.language_model.is_usable", lambda *_: False)
    result = synthesize(*LEDGER)
    assert (result.code, len(select_messages(result.err).splitlines())) == (2, 1)
    assert "Only 0 of 32 texts of llama were usable" in result.err
    assert {one for one in list_new(place, before) if not one.startswith("l.db")} == set()
    assert count_releases(call) == 0


def test_threads(synthesize, monkeypatch):
    """No more threads are started than there are processors, however many are allowed."""
    from deniable.core.errors import InputError
    from deniable.core.parallel import count_cores

    def refuse(number):
        raise InputError(f"{number} threads.")

    monkeypatch.setattr(torch, "set_num_threads", refuse)
    for allowed, expected in (("1", 1), ("100000", count_cores())):
        assert f"deniable: {expected} threads." in synthesize("--threads", allowed).err


@deep
@pytest.mark.usefixtures("synthesize")
def test_progress(place):
    """Lines say how many texts are written, of all, those of the rounds included."""
    command = [sys.executable, "-c", HURRYING, "synthesize", *BASIC, *PUBLIC, *MODEL, *OUTPUT]
    shown = subprocess.run(command, cwd=place, capture_output=True, text=True, check=True, timeout=600).stderr
    for label in ("writing texts", "writing the baseline"):
        # A tenth more is written than is kept.
        assert re.search(rf"{label}: text [\d,]+ of {4 * 384 + 167:,}", shown)


@deep
def test_a_full_disk_keeps_what_was_written(synthesize, place, before, monkeypatch):
    """Where the files cannot be written, none of them is left, and the same command writes them later."""
    from deniable.core import signatures

    whole = signatures.open_release

    def fail(*_, **__):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(signatures, "open_release", fail)
    result = synthesize()
    assert result.code == 2
    assert "run the same command again to resume" in result.err
    assert list_new(place, before) == {CHECKPOINT}
    monkeypatch.setattr(signatures, "open_release", whole)
    assert synthesize().code == 0
    assert list_new(place, before) == FILES


@deep
def test_tables_without_a_baseline(call, place, synthesize, before):  # noqa: ARG001 - writes the files
    """Without public labels there is no baseline; the generator may be named."""
    options = ("--domain", "label=bad,good", "--public", "public.csv", "--generator", "language-model")
    assert call("synthesize", *BASIC, *MODEL, *OUTPUT, *options).code == 0
    assert list_new(place, before) == FILES - {"o.csv.baseline.csv"}
