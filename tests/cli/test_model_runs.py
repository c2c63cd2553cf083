"""What commands about models share: outputs that are checked early, JSON, progress and memory."""

import json
import math

import pytest

from deniable.cli import model_runs
from deniable.cli.progress import show_steps
from deniable.core.errors import DeniableError, InputError
from deniable.core.report import Fact, Report, Section
from deniable.learning.artifact import Artifact, read_artifact
from deniable.learning.loop import Checkpoint


class StubModel:
    """A model without weights."""

    def to_artifact(self):
        return Artifact("stub", {"size": 1}, {}, {"steps": 2})


def test_files_of_a_model(tmp_path):
    """A model is written with its card in two forms and the owner's file, which only the owner can open."""
    output = model_runs.ModelOutput(tmp_path / "m.pt", force=False, checkpoint_every=20)
    card = Report("Model card", (Section("", (Fact("a", math.inf),)),))
    output.write(model_runs.ModelFiles(StubModel(), card, {"key": "k"}, "accuracy 1"))
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "m.pt",
        "m.pt.card.json",
        "m.pt.card.txt",
        "m.pt.owner.json",
    ]
    assert read_artifact(tmp_path / "m.pt") == StubModel().to_artifact()
    assert json.loads((tmp_path / "m.pt.card.json").read_text())["a"] == "inf"
    assert (tmp_path / "m.pt.card.txt").read_text() == card.to_text()
    assert json.loads((tmp_path / "m.pt.owner.json").read_text()) == {"key": "k"}
    assert (tmp_path / "m.pt.owner.json").stat().st_mode & 0o777 == 0o600
    with pytest.raises(InputError, match="exists"):
        output.check()


@pytest.mark.parametrize("name", ["-", "m.pt.gz", "m.pt.zst"])
def test_outputs_that_no_model_can_be(tmp_path, name):
    """A model goes to a plain file."""
    path = model_runs.Path(name) if name == "-" else tmp_path / name
    with pytest.raises(InputError, match="must be a file, not compressed"):
        model_runs.ModelOutput(path, force=True, checkpoint_every=20).check()


def test_what_is_read_is_no_output(tmp_path):
    """Neither the model nor its checkpoint takes the place of what is read."""
    for name in ("m.pt", "m.pt.checkpoint", "m.pt.owner.json"):
        (tmp_path / name).write_text("data")
        with pytest.raises(InputError, match="is a file that is read"):
            model_runs.ModelOutput(tmp_path / "m.pt", force=True, checkpoint_every=20).check(tmp_path / name)


def test_memory_that_runs_out():
    """Errors of torch about memory are memory errors, and no others."""
    with pytest.raises(MemoryError), model_runs.translate_memory_errors():
        raise RuntimeError("CUDA out of memory. Tried to allocate")
    with pytest.raises(RuntimeError, match="shape"), model_runs.translate_memory_errors():
        raise RuntimeError("shape mismatch")


def test_the_last_step(capsys):
    """At its end a training says how many steps it took, and the mean loss over the last ones."""
    with show_steps("training") as steps:
        report = model_runs.LossSteps(steps)
        for done, loss in enumerate([100.0, *[4.0, 2.0] * 50], 1):
            report(done, 101, loss)
    assert capsys.readouterr().err == "training: step 101 of 101, loss 3.000\n"


def test_json_of_any_number_and_text():
    """Infinity and NaN are texts, and a lone surrogate is an escape."""
    assert json.loads(model_runs.encode_json([float("inf"), float("nan"), "ü"])) == ["inf", "nan", "ü"]
    assert model_runs.encode_json("\ud800") == b'"\\ud800"\n'


@pytest.mark.parametrize("is_compiled", [True, False])
def test_an_interrupted_training_says_how_to_resume(tmp_path, is_compiled):
    """Ctrl-C in compiled code too; without a checkpoint, and for another error, there is nothing to say."""
    checkpoint = Checkpoint(tmp_path / "m.pt.checkpoint", {}, 20)
    error = SystemError("an exception set") if is_compiled else KeyboardInterrupt()
    error.__cause__ = KeyboardInterrupt() if is_compiled else None
    with pytest.raises(type(error)), model_runs._explain_resumption(checkpoint):
        raise error
    checkpoint.path.write_bytes(b"")
    with (
        pytest.raises(DeniableError, match="interrupted: run the same command again"),
        model_runs._explain_resumption(checkpoint),
    ):
        raise error
    with pytest.raises(SystemError, match="a bug"), model_runs._explain_resumption(checkpoint):
        raise SystemError("a bug")
