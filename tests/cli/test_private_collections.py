"""What is public beside a private collection on the command line, and which rows count."""

import numpy as np

import deniable as dn
from deniable.cli.private_collections import CollectionData, read_public_file
from deniable.cli.rows import Roles
from deniable.cli.tables import TableOptions
from deniable.persons.collection import read_public
from tests.cli.text_models import write
from tests.refusals import refuses

CSV, LABELLED = TableOptions(), Roles(label="label")
ROWS = [("fine", "good"), ("", "good"), ("poor", " "), ("dull", "mixed"), ("awful", ""), ("poor", "bad")]


def test_a_file_that_is_the_private_one(tmp_path):
    """The private table under its name, a link or a copy of it is neither public nor to be tested on; others may be."""
    for name, rows in (("t.csv", ROWS), ("copy.csv", ROWS), ("other.csv", ROWS[:-1])):
        write(tmp_path / name, rows)
    (tmp_path / "link.csv").symlink_to(tmp_path / "t.csv")
    private = str(tmp_path / "t.csv")
    for name in ("t.csv", "copy.csv", "link.csv"):
        for data in ({"public": tmp_path / name}, {"public": tmp_path / "other.csv", "test": tmp_path / name}):
            with refuses(name):
                CollectionData(label="label", **data).read_public(private, CSV)
    data = CollectionData(label="label", public=tmp_path / "other.csv", test=tmp_path / "other.csv")
    assert data.read_public(private, CSV).labels is None


def test_public_texts_and_labels(tmp_path):
    """Public labels are numbered by the declared classes, or are the classes, sorted; others are none."""
    write(tmp_path / "p.csv", ROWS)
    public = read_public_file(tmp_path / "p.csv", "t.csv", LABELLED, CSV)
    assert public.list_classes() == ("bad", "good", "mixed")
    knowledge = read_public(public, ("good", "bad"))
    assert knowledge.texts == ["fine", "poor", "dull", "awful", "poor"]
    np.testing.assert_array_equal(knowledge.labels, [0, -1, -1, -1, 1])
    assert read_public_file(tmp_path / "p.csv", "t.csv", Roles(), CSV).labels is None
    (tmp_path / "lines.txt").write_text("one line\n\nanother\n")
    lines = read_public_file(tmp_path / "lines.txt", "t.csv", LABELLED, CSV)
    assert (read_public(lines, ("x", "y")).texts, lines.labels) == (["one line", "another"], None)
    with refuses("x, y"):
        read_public(public, ("x", "y"))


def test_public_words(tmp_path):
    """The words of a space are public too, and it has no labels."""
    np.savez(tmp_path / "w.npz", words=np.array(["fine", "poor"]), vectors=np.eye(2))
    space = read_public_file(tmp_path / "w.npz", "t.csv", Roles(), CSV)
    (tmp_path / "w.vec").write_text("2 2\nfine 1 0\npoor 0 1\n")
    others = read_public_file(tmp_path / "w.vec", "t.csv", Roles(), CSV)
    for words in (space, others):
        assert isinstance(words, dn.Space)
        assert {*read_public(words, ("x", "y")).feature_map.words} == {"fine", "poor"}
    for public in (None, tmp_path / "w.npz"):
        with refuses("--public-label"):
            CollectionData(label="label", public=public, public_label="label")
