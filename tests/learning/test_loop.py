"""The loop: runs that are cut off go on as if they had not been, and bad checkpoints are refused."""

import errno
import io
import os
import stat

import pytest
import torch

from deniable import DeniableError, InputError
from deniable.core.randomness import derive_key_from_seed
from deniable.learning.loop import Checkpoint, run_training
from deniable.models.images.training.fitting import describe_image_run, fit_image_model
from deniable.models.images.training.trainer import ImageTrainingTask
from deniable.registry.trainers import IMAGE_TRAINERS
from tests.models.images.random_images import data

KEY = derive_key_from_seed(1)


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
    return Checkpoint(tmp_path / "run.checkpoint", {"system": "toy", "steps": 10, "delta": None}, 3)


def stopped(kept):
    """Interrupt a run in step 8, and leave the checkpoint of step 6."""
    with pytest.raises(KeyboardInterrupt):
        run_training(Walk(fails_at=7), KEY, kept)


def message(kind, call, *given):
    """Return the one line with which something fails."""
    with pytest.raises(kind) as raised:
        call(*given)
    assert "\n" not in str(raised.value)
    return str(raised.value)


def test_all_steps_are_taken_in_order():
    """Without a checkpoint every step is taken once, and told."""
    run, told = Walk(), []
    run_training(run, KEY, report=lambda done, loss: told.append((done, loss)))
    assert run.taken == list(range(10))
    assert told == [(number + 1, float(number)) for number in range(10)]


def test_a_run_goes_on_where_it_was_kept(kept):
    """After an interruption the steps since the checkpoint are taken again, and the end is the same."""
    whole, again = Walk(), Walk()
    run_training(whole, KEY)
    stopped(kept)
    assert kept.load_key(b"another") == KEY
    run_training(again, KEY, kept)
    assert again.taken == [6, 7, 8, 9]
    assert torch.equal(again.at, whole.at)


def test_a_checkpoint_is_its_owners_alone(kept):
    """It holds the key: nobody else may read it, whatever the umask; nothing else is left beside it."""
    before = os.umask(0)
    try:
        stopped(kept)
    finally:
        os.umask(before)
    assert stat.S_IMODE(kept.path.stat().st_mode) == 0o600
    assert [path.name for path in kept.path.parent.iterdir()] == ["run.checkpoint"]
    kept.remove()
    kept.remove()
    assert not kept.path.exists()


def test_without_a_checkpoint_a_run_begins(kept):
    """No file means a fresh key and the first step."""
    assert kept.load_key(b"fresh") == b"fresh"
    assert kept.restore(Walk()) == 0


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"system": "toy", "steps": 11, "delta": None}, "steps 10"),
        ({"system": "other", "steps": 10, "delta": None}, "system toy"),
        ({"system": "toy", "steps": 10}, None),
        ({"system": "toy", "steps": 10, "delta": None, "views": 2}, "views None"),
    ],
)
def test_the_checkpoint_of_another_run_is_refused(kept, parameters, named):
    """What differs is named, with both values, and the file stays."""
    stopped(kept)
    other = Checkpoint(kept.path, parameters, 3)
    if named is None:  # an option that is not given is one that is None
        assert other.load_key(b"another") == KEY
        return
    for call in (lambda: other.load_key(b""), lambda: run_training(Walk(), KEY, other)):
        said = message(InputError, call)
        assert named in said
        assert f"Got {parameters[named.split()[0]]}" in said
        assert "--force" in said
    assert kept.path.exists()


def _flip(content):
    at = content.index(torch.load(io.BytesIO(content), weights_only=True)["state"]["at"].numpy().tobytes())
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
    "a text": lambda _: b"not a checkpoint\n" * 100,
    "another file of torch": lambda _: _saved(torch.ones(3)),
    "another dictionary": lambda _: _saved({"weights": torch.ones(3)}),
    "of another version": lambda _: _saved({"format": 0, "parameters": {}, "key": b"", "next": 1, "state": {}}),
    "without a state": lambda _: _saved({"format": 1, "parameters": {}, "key": b"", "next": 1}),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_checkpoints_are_refused(kept, damage):
    """Whatever the bytes are: one line that names the file and the fix, and no step is taken."""
    stopped(kept)
    kept.path.write_bytes(DAMAGE[damage](kept.path.read_bytes()))
    run = Walk()
    for call in (lambda: kept.load_key(b""), lambda: run_training(run, KEY, kept)):
        said = message(InputError, call)
        assert "run.checkpoint" in said
        assert "--force" in said
    assert run.taken == []


def test_a_loss_that_is_no_number_ends_the_run(kept):
    """The run ends in one line, and the last checkpoint from before is kept."""
    said = message(DeniableError, run_training, Walk(nan_at=2), KEY, kept)
    assert "step 3 of 10" in said
    assert "kept" not in said
    assert not kept.path.exists()
    said = message(DeniableError, run_training, Walk(nan_at=8), KEY, kept)
    assert "The last good checkpoint is kept" in said
    assert kept.restore(Walk()) == 6


@pytest.mark.parametrize("failing", ["os.fsync", "pathlib.Path.replace"])
def test_a_full_disk_leaves_what_was_there(kept, monkeypatch, failing):
    """Where a checkpoint cannot be written the run ends in one line; the previous one can still be resumed."""

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    kept.write(Walk(), KEY, 3)
    before = kept.path.read_bytes()
    monkeypatch.setattr(failing, full)
    said = message(DeniableError, run_training, Walk(), KEY, kept)
    monkeypatch.undo()
    assert "No space left on device" in said
    assert "The last good checkpoint is kept" in said
    assert kept.path.read_bytes() == before
    assert [path.name for path in kept.path.parent.iterdir()] == ["run.checkpoint"]
    assert kept.restore(Walk()) == 3


def test_a_folder_that_is_not_there(tmp_path):
    """A path that cannot be written to is one line, and promises no checkpoint."""
    said = message(DeniableError, run_training, Walk(), KEY, Checkpoint(tmp_path / "none" / "run", {}, 3))
    assert "No such file" in said
    assert "kept" not in said


def test_a_checkpoint_serves_one_run(kept):
    """A bound checkpoint is refused to a run that differs in anything, and its key can be looked at unbound."""
    one = kept.bind({"data": "a", "rate": 1.0})
    one.write(Walk(), KEY, 3)
    assert one.restore(Walk()) == kept.restore(Walk()) == 3
    for other in ({"data": "b", "rate": 1.0}, {"data": "a", "rate": 1.5}, {"data": "a"}, {}):
        assert "of a run with other data, options or version" in message(InputError, kept.bind(other).load_key, b"")
    assert one.load_key(b"fresh") == KEY


@pytest.mark.parametrize(
    ("system", "options"),
    [("dp-sgd", {"epsilon": 90.0, "delta": 1e-5, "noise_multiplier": 2.0}), ("plain", {}), ("dpal", {"epsilon": 0.2})],
)
def test_training_that_is_cut_off_gives_the_same_model(system, options, tmp_path):
    """A system that is interrupted midway, with a key of its own, ends with the parameters of the run uninterrupted."""
    toy = data(classes=3)
    chosen = IMAGE_TRAINERS[system].choose_options(**options, steps=5, batch_size=20, width=0.1, network="paper-mnist")
    kept = Checkpoint(tmp_path / "run.checkpoint", {}, 2)

    def cut_off(status):
        if status.done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit_image_model(IMAGE_TRAINERS[system], toy, chosen, checkpoint=kept, progress=cut_off)
    untouched, seen = Checkpoint(tmp_path / "whole.checkpoint", {}, 1_000), []
    bound = untouched.bind(describe_image_run(IMAGE_TRAINERS[system], toy, chosen, None))
    bound.write(IMAGE_TRAINERS[system].prepare(task(toy, chosen, kept.load_key(b""))).run, kept.load_key(b""), 0)
    resumed = fit_image_model(
        IMAGE_TRAINERS[system], toy, chosen, checkpoint=kept, progress=lambda status: seen.append(status.done)
    )
    assert seen == [3, 4, 5]
    whole = fit_image_model(
        IMAGE_TRAINERS[system], toy, chosen, checkpoint=untouched, progress=lambda status: seen.append(status.done)
    )
    assert seen[3:] == [1, 2, 3, 4, 5]
    found = resumed.network.state_dict()
    assert all(torch.equal(value, found[name]) for name, value in whole.network.state_dict().items())


def task(toy, chosen, key):
    """Return what a system trains on."""
    return ImageTrainingTask("dp-sgd", toy.train, len(toy.classes), chosen, key, torch.device("cpu"))


def test_the_key_of_a_run_shows_nowhere(kept):
    """What is read back of a checkpoint's key is its bytes, without their text."""
    stopped(kept)
    for key in (
        kept.load_key(b"fresh"),
        kept._read_content()["key"],
        Checkpoint(kept.path.with_name("none"), {}, 3).load_key(KEY),
    ):
        assert key == KEY
        assert repr(key) == "<secret key>"
