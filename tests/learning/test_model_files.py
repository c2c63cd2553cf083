"""Trained models of every kind: what reads which file."""

import dataclasses

import pytest

import deniable as dn
from tests.cli.commands.train.helpers import fails
from tests.commands import run
from tests.models.images.small import train
from tests.refusals import refuses
from tests.rewriting.untrained import untrained


class Stored:
    """A model of whatever kind, of which a file holds nothing."""

    def __init__(self, kind):
        self.kind = kind

    def to_artifact(self):
        """Return the file's content."""
        return type(untrained().to_artifact())(self.kind, {}, {}, {})


LOADERS = {
    "image model": dn.images.load_image_model,
    "rewriter": dn.rewriting.load_rewriter,
    "linear text classifier": dn.texts.load_linear_classifier,
}


def test_the_file_says_the_kind(tmp_path):
    """Each loader reads its kind, names that of another, and finds a file with nothing in it damaged."""
    stored = {"image model": train("plain"), "rewriter": untrained()}
    for number, (kind, model) in enumerate(stored.items()):
        path = tmp_path / f"{number}.pt"
        dn.images.save_model(model, path)
        assert type(LOADERS[kind](path)) is type(model)
        for other in LOADERS.keys() - {kind}:
            with refuses(kind):
                LOADERS[other](path)
    for kind in stored:
        dn.images.save_model(Stored(kind), tmp_path / "empty.pt", force=True)
        with refuses("empty.pt"):
            LOADERS[kind](tmp_path / "empty.pt")


@pytest.mark.parametrize("pixel_range", [[], [0.0], "", None, [0.0, "x"]])
def test_facts_of_another_form(tmp_path, pixel_range):
    """A pixel range that is too short or no numbers is a damaged model, in one line; none is as it was declared."""
    dn.images.save_model(dataclasses.replace(train("plain"), facts={"pixel range": pixel_range}), tmp_path / "m.pt")
    if pixel_range is None:
        assert dn.images.load_image_model(tmp_path / "m.pt").declaration.pixel_range is None
    else:
        with refuses("m.pt"):
            dn.images.load_image_model(tmp_path / "m.pt")


def test_what_predicts(tmp_path):
    """What classifies no texts cannot predict, and is refused before any space is read."""
    (tmp_path / "in.csv").write_text("text\nshow me\n")
    dn.images.save_model(untrained(), tmp_path / "m.pt")
    output = tmp_path / "o.csv"
    fails(run("predict", tmp_path / "m.pt", tmp_path / "in.csv", "--space", "missing.npz", "-o", output), "'rewriter'")
