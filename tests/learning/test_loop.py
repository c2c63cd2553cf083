"""The loop: runs that are cut off go on as if they had not been, and bad checkpoints are refused."""

import dataclasses
import errno
import io
import os
import stat

import numpy as np
import pytest
import torch

import deniable as dn
from deniable.learning.loop import Checkpoint, run_training
from tests.refusals import refuses

KEY = bytes(range(32))
FACTS = {"system": "toy", "steps": 10, "delta": None}


class Walk:
    """A run of numbers: each step depends on the one before, on a tensor and on nothing else."""

    def __init__(self, steps=10, fails_at=None, nan_at=None):
        self.steps, self.at = steps, torch.ones(3)
        self.fails_at, self.nan_at, self.taken = fails_at, nan_at, []

    def step(self, number):
        if number == self.fails_at:
            raise KeyboardInterrupt
        self.taken.append(number)
        self.at = self.at * 1.5 + number
        return float("nan") if number == self.nan_at else float(number)

    @property
    def result(self):
        return {"at": self.at}

    def state(self):
        return {"at": self.at}

    def restore(self, state):
        self.at = state["at"]


@pytest.fixture
def kept(tmp_path):
    """Return a checkpoint every three steps."""
    return Checkpoint(tmp_path / "run.checkpoint", 3).bind(FACTS)


def stopped(kept):
    """Interrupt a run in step 8, and leave the checkpoint of step 6."""
    with pytest.raises(KeyboardInterrupt):
        run_training(Walk(fails_at=7), KEY, kept)


def test_a_run_goes_on_where_it_was_kept(kept):
    """After an interruption the steps since the checkpoint are taken again, and the end is the same."""
    whole, again, told = Walk(), Walk(), []
    run_training(whole, KEY, report=lambda done, loss: told.append((done, loss)))
    assert told == [(number + 1, float(number)) for number in range(10)]
    assert kept.load_key(b"fresh") == b"fresh"  # without a file a run begins with a fresh key
    assert kept.restore(Walk()) == 0
    stopped(kept)
    assert kept.load_key(b"another") == KEY
    run_training(again, KEY, kept)
    assert (whole.taken, again.taken) == ([*range(10)], [6, 7, 8, 9])
    assert torch.equal(again.at, whole.at)


def test_a_checkpoint_is_its_owners_alone(kept):
    """It holds the key: nobody else may read it, whatever the umask; nothing else is beside it; no text shows it."""
    before = os.umask(0)
    try:
        stopped(kept)
    finally:
        os.umask(before)
    assert stat.S_IMODE(kept.path.stat().st_mode) == 0o600
    assert [path.name for path in kept.path.parent.iterdir()] == ["run.checkpoint"]
    for key in (kept.load_key(b"fresh"), Checkpoint(kept.path.with_name("none"), 3).load_key(KEY)):
        assert (key, repr(key)) == (KEY, "<secret key>")
    kept.remove()
    kept.remove()
    assert not kept.path.exists()


@pytest.mark.parametrize("parameters", [{**FACTS, "steps": 11}, {**FACTS, "system": "other"}, {**FACTS, "views": 2}])
def test_the_checkpoint_of_another_run_is_refused(kept, parameters):
    """What differs is named, and the file stays, unless it is to be replaced: then its key serves no more."""
    stopped(kept)
    other = Checkpoint(kept.path, 3).bind(parameters)
    (name,) = (name for name, value in parameters.items() if FACTS.get(name) != value)
    for call in (lambda: other.load_key(b""), lambda: run_training(Walk(), KEY, other)):
        with refuses(f"other {name}:"):
            call()
    assert kept.load_key(b"another") == KEY
    assert dataclasses.replace(other, is_replaced=True).load_key(b"another") == b"another"
    assert not kept.path.exists()


def _loaded(content):
    return torch.load(io.BytesIO(content), weights_only=True)


def _flip(content):
    at = content.index(_loaded(content)["state"]["at"].numpy().tobytes())
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


def _saved(held):
    stream = io.BytesIO()
    torch.save(held, stream)
    return stream.getvalue()


DAMAGE = {
    "empty": lambda _: b"",
    "cut short": lambda content: content[: len(content) // 2],
    "a byte less": lambda content: content[:-1],
    "one bit changed": _flip,
    "another dictionary": lambda _: _saved({"weights": torch.ones(3)}),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_checkpoints_are_refused(kept, damage):
    """Whatever the bytes are: one line that names the file, and no step is taken."""
    stopped(kept)
    kept.path.write_bytes(DAMAGE[damage](kept.path.read_bytes()))
    run = Walk()
    for call in (lambda: kept.load_key(b""), lambda: run_training(run, KEY, kept)):
        with refuses("run.checkpoint"):
            call()
    assert run.taken == []


def test_a_loss_that_is_no_number_ends_the_run(kept):
    """The run ends in one line, and the last checkpoint from before is kept."""
    with refuses("step 3 of 10", kind=dn.DeniableError):
        run_training(Walk(nan_at=2), KEY, kept)
    assert not kept.path.exists()
    with refuses("The last good checkpoint is kept", kind=dn.DeniableError):
        run_training(Walk(nan_at=8), KEY, kept)
    assert kept.restore(Walk()) == 6


@pytest.mark.parametrize("failing", ["os.fsync", "pathlib.Path.replace"])
def test_a_full_disk_leaves_what_was_there(kept, monkeypatch, failing):
    """Where a checkpoint cannot be written the run ends in one line; the previous one can still be resumed."""

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    kept.write(Walk(), KEY, 3)
    before = kept.path.read_bytes()
    monkeypatch.setattr(failing, full)
    with refuses("No space left on device. Free some space, and the same command resumes", kind=dn.DeniableError):
        run_training(Walk(), KEY, kept)
    monkeypatch.undo()
    assert kept.path.read_bytes() == before
    assert [path.name for path in kept.path.parent.iterdir()] == ["run.checkpoint"]
    assert kept.restore(Walk()) == 3
    with refuses("run the same command again, from its beginning", kind=dn.DeniableError):
        run_training(Walk(), KEY, Checkpoint(kept.path.parent / "none" / "run", 3))


SPACE = dn.Space(["good", "bad", "film", "plot"], np.random.default_rng(0).normal(size=(4, 3)), source="four words")
LINES = ["good film", "bad plot", "good plot", "bad film film"] * 5
TEXTS = dn.texts.tokenize_texts(SPACE, LINES).texts
REVIEWS = dn.texts.Documents(TEXTS, np.arange(20) % 2, ("good", "bad"))
SETS = dn.texts.build_substitutions(SPACE, {"film": ["plot"], "good": ["bad"]}, "sets")


def fit_text(name, method, source=SETS, documents=REVIEWS, **keywords):
    """Return a classifier of texts after a few steps."""
    options = dn.texts.TextTrainingOptions(method=method, epochs=2, copies=1, batch_size=8)
    source = None if method == "normal" else source
    return dn.texts.fit_text_model(name, SPACE, documents, options, source=source, **keywords)


@pytest.mark.parametrize(
    ("name", "method"), [("fasttext", "augmented"), pytest.param("cnn", "ibp", marks=pytest.mark.deep)]
)
def test_text_models_go_on(tmp_path, name, method):
    """A run that is interrupted and resumed ends with the weights of one that was not, bit for bit."""
    kept, began = Checkpoint(tmp_path / "c", 2), []

    def interrupt(done, *_):
        if done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit_text(name, method, seed=1, checkpoint=kept, progress=interrupt)
    resumed = fit_text(name, method, seed=1, checkpoint=kept, progress=lambda done, *_: began.append(done))
    assert began[0] > 1
    whole = fit_text(name, method, seed=1).network.state_dict()
    assert all(torch.equal(held, whole[part]) for part, held in resumed.network.state_dict().items())


def test_text_checkpoints_serve_one_source(tmp_path):
    """Other sets of one name, a mechanism whose epsilon rounds to the same text, and other texts are refused."""
    choices = SETS.choices.copy()
    choices[2] = 2
    sources = {
        SETS: dataclasses.replace(SETS, choices=choices),
        dn.TEM(SPACE, epsilon=3.0): dn.TEM(SPACE, epsilon=3.0 + 2**-50),
    }
    for number, (source, other) in enumerate(sources.items()):
        kept = Checkpoint(tmp_path / str(number), 5)
        fit_text("fasttext", "augmented", source, checkpoint=kept)
        mirrored = dataclasses.replace(REVIEWS, labels=1 - REVIEWS.labels)
        for some, documents, value in ((other, REVIEWS, "other drawn from"), (source, mirrored, "other data")):
            with refuses(value):
                fit_text("fasttext", "augmented", some, documents, checkpoint=kept)
