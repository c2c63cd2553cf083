"""Datasets of Hugging Face: splits, features, and nothing that a dataset says of itself."""

import json

import pytest

import deniable as dn
from tests.engines.helpers import FRESH, KEYED, make_table
from tests.refusals import refuses
from tests.text.helpers import MECHANISM

datasets = pytest.importorskip("datasets", reason="datasets is not installed")

from deniable.engines.arrow import privatize_dataset  # noqa: E402 - where datasets is installed

OTHER_KEY = dn.Release(MECHANISM, key="seed:8")
BY_ID = {"text": "text", "id": "id"}


@pytest.fixture(autouse=True)
def _quiet():
    datasets.disable_progress_bars()


@pytest.fixture
def dataset():
    """Return forty rows in memory."""
    return datasets.Dataset(make_table())


@pytest.fixture
def stored(tmp_path, dataset):
    """Return forty rows in a folder of their own, where further ones are stored too."""
    dataset.save_to_disk(tmp_path / "stored")
    return datasets.load_from_disk(tmp_path / "stored")


def test_what_a_dataset_says_of_itself_stays_behind(tmp_path, stored):
    """Features, with the names of their classes, come out; description, sizes and checksums do not, nor into a file.

    The fingerprint that leaves is random: who guesses the data cannot check it.
    """
    stored = stored.cast_column("stars", datasets.ClassLabel(names=list("abcde"))).with_format("numpy", ["text"])
    stored.info.description = "private description"
    stored.info.download_checksums = {"private": {"num_bytes": 4711}}
    stored.info.dataset_size = 4711
    released, other = (privatize_dataset(stored, release, **BY_ID).table for release in (KEYED, OTHER_KEY))
    assert len({stored._fingerprint, released._fingerprint, other._fingerprint}) == 3
    assert released.features == stored.features
    assert released.format == stored.format
    assert released.info == datasets.DatasetInfo(features=released.features)
    assert stored.info.description == "private description"
    released.with_format(None).save_to_disk(tmp_path / "released")
    said = b"".join(path.read_bytes() for path in (tmp_path / "released").iterdir())
    for secret in (b"private description", b"4711", stored._fingerprint.encode()):
        assert secret not in said
    assert json.loads((tmp_path / "released" / "state.json").read_text())["_fingerprint"]


def test_a_dict_of_splits_is_one_data_set(dataset):
    """Each split is released under its name, all are counted together, and ids are unique over them."""
    splits = datasets.DatasetDict({"train": dataset.select(range(30)), "test": dataset.select(range(30, 40))})
    whole = privatize_dataset(dataset, KEYED, **BY_ID)
    released = privatize_dataset(splits, KEYED, **BY_ID)
    assert isinstance(released.table, datasets.DatasetDict)
    assert [*released.table["train"], *released.table["test"]] == whole.table.to_list()
    assert (released.tally, released.copied) == (whole.tally, whole.copied)
    twice = datasets.DatasetDict({"train": dataset, "test": dataset.select(range(3))})
    with refuses("unique"):
        privatize_dataset(twice, KEYED, **BY_ID)


def test_a_stored_dataset_is_drawn_again(stored, monkeypatch):
    """The key behind one reference changes: what the old one stored is not read again; nor is fresh noise."""
    keyed, texts = dn.Release(MECHANISM, key="env:DENIABLE_TEST_KEY"), []
    for key in ("01", "02", "01"):
        monkeypatch.setenv("DENIABLE_TEST_KEY", key * 32)
        texts.append(privatize_dataset(stored, keyed, **BY_ID).table["text"][:])
    assert texts[0] == texts[2] != texts[1]
    first, second = (privatize_dataset(stored, FRESH, text="text", fresh=True).table for _ in range(2))
    assert first["text"] != second["text"]
    assert len({stored._fingerprint, first._fingerprint, second._fingerprint}) == 3


def test_an_empty_dataset_stays_as_it_is(dataset):
    """A dataset without rows keeps its features and its own description, of which nothing comes out."""
    dataset.info.description = "private description"
    empty = dataset.select([])
    released = privatize_dataset(empty, KEYED, text=["text", "note"], id="id")
    assert released.table.features == dataset.features
    assert released.table.info.description == ""
    assert empty.info.description == "private description"


@pytest.mark.usefixtures("no_draws")
@pytest.mark.parametrize(
    ("change", "options", "value"),
    [
        (lambda data: data.to_iterable_dataset(), {}, "streaming=True"),
    ],
)
def test_what_cannot_be_released_is_refused(dataset, change, options, value):
    """A stream, numbers that are none, and a key of bytes for several processes are refused before a draw."""
    with refuses(value):
        privatize_dataset(change(dataset), **{"release": KEYED, **BY_ID, **options})
