"""ATIS in parts: distinct texts, a derived private attribute, classes by frequency."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from studies.flights import FILES, encode_classes, find_departure, split_flights
from studies.runner import Context
from tests.refusals import refuses


@pytest.mark.parametrize(
    ("text", "city"),
    [
        ("show me flights from boston to denver", "boston"),
        ("flights to dallas from san francisco on monday", "san francisco"),
        ("what is the bus from the airport to downtown", None),
        ("from the airport to oakland and from st. louis to tampa", "st. louis"),
        ("which airlines fly", None),
        ("fly from new york city", "new york"),
        ("flights from salt lake city", "salt lake"),
    ],
)
def test_departures(text, city):
    """The departure city is what follows "from", where it is a city."""
    assert find_departure(text) == city


def test_parts(study_data):
    """No text is in two parts, all are distinct, and classes are numbered by frequency with all others last."""
    parts = split_flights(Context(None, 0, study_data), (90, 70, 60), intents=1, cities=2)
    assert [len(part.texts) for part in parts] == [90, 70, 60]
    assert len({text for part in parts for text in part.texts}) == 220
    city_of = {}
    for part in parts:
        for text, task, city in zip(part.texts, part.task, part.city, strict=True):
            assert (task == 0) == any(word in text for word in ("flights", "fly", "planes"))
            city_of.setdefault(find_departure(text), city)
            assert city_of[find_departure(text)] == city
    assert sorted(set(city_of.values())) == [0, 1, 2]
    assert city_of[None] == 2


def test_classes():
    """The most frequent values come first, alphabetically where counts are equal, and all others are the last class."""
    assert encode_classes(["b", "a", "c", "c", None, "d"], 2).tolist() == [2, 1, 0, 0, 2, 2]


def test_too_few_texts(tmp_path):
    """A table that is too small, or lacks a column, is refused in one line."""
    for name in FILES:
        pq.write_table(pa.table({"text": ["fly from boston"], "intent": ["atis_flight"]}), tmp_path / name)
    with refuses(220):
        split_flights(Context(None, 0, tmp_path), (90, 70, 60), intents=1, cities=2)
    pq.write_table(pa.table({"query": ["fly"]}), tmp_path / FILES[1])
    with refuses("query"):
        split_flights(Context(None, 0, tmp_path), (90, 70, 60), intents=1, cities=2)
