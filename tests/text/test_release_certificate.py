"""What certificates of all releases share: bounds, what is copied, and the three renderings."""

import json

import pytest

from deniable import TEM, Certificate, Release
from deniable.text.release_certificate import _format_bounds, list_copied
from deniable.text.tables.layout import CopiedContent
from tests.text.helpers import SPACE

CLAIM = {"epsilon": 2.0}


@pytest.fixture(scope="module")
def certificate():
    release = Release(TEM(SPACE, epsilon=1.0))
    return Certificate.of(release, release.batch(["london is big"]).tally)


def test_one_report_behind_every_rendering(certificate):
    """The summary and the page hold every line of the report; the file holds the fields."""
    summary, page = certificate.summary(), certificate.to_html()
    (section,) = certificate.make_report().sections
    labels = [fact.label for fact in section.facts]
    assert labels[:3] == ["guarantee", "verification", "noise"]
    assert labels[-2:] == ["meaning", "not protected"]
    for fact in section.facts:
        assert fact.label in summary
        assert all(line in summary for line in fact.format_lines())
        assert f"<dt>{fact.label}</dt>" in page
    assert json.loads(certificate.to_json())["mechanism"]["name"] == "tem"


@pytest.mark.parametrize(
    ("status", "lower", "upper", "witness", "text"),
    [
        ("proved", 2.0, 2.0, {}, "exact epsilon 2"),
        ("proved", 1.5, 1.5, {}, "exact epsilon 1.5, 25 % of it unused"),
        ("proved", 0.0, 2.0, None, "claimed epsilon 2"),
        ("undecided", 1.00000049, 3.0000001, {}, "true epsilon from 1 to 3.00001"),
        ("proved", 1.4999994, 1.4999994, {}, "exact epsilon 1.5, 25 % of it unused"),
        ("proved", 1.9799999, 1.9799999, {}, "exact epsilon 1.98, 1 % of it unused"),
        ("refuted", 4.25000099, "inf", {}, "true epsilon >= 4.25"),
        ("refuted", 2.00000099, "inf", {}, "true epsilon >= 2.00000099"),
        ("undecided", 1.0, 3.0, {}, "true epsilon from 1 to 3"),
        ("undecided", 1.0, "inf", {}, "claimed epsilon 2"),
        ("refuted", 4.25, "inf", {}, "true epsilon >= 4.25"),
        ("refuted", "inf", "inf", {}, "true epsilon >= inf"),
    ],
)
def test_bounds(status, lower, upper, witness, text):
    """What a verdict says of the true epsilon is one phrase, for every status."""
    verification = {"status": status, "lower_bound": lower, "epsilon": upper, "witness": witness, "guarantee": CLAIM}
    assert _format_bounds(verification) == text


def test_what_is_copied():
    """Columns and metadata are named, each in a line of its own; nothing copied is no line."""
    assert list_copied(CopiedContent()) == []
    assert list_copied(CopiedContent(("id",), ("the schema",))) == [
        "the columns copied unchanged: 'id'",
        "what the file says about itself, copied unchanged: the schema",
    ]
