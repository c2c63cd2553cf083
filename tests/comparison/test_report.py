"""A comparison as labelled facts."""

import json

from deniable.comparison.recommendation import recommend_release
from deniable.comparison.report import build_report, list_release_facts


def test_every_release_has_the_same_facts(comparison):
    """One list of labels, whatever the way, so that a page and a program can lay them side by side."""
    labels = {tuple(fact.label for fact in list_release_facts(release)) for release in comparison.releases}
    assert len(labels) == 1


def test_json(comparison):
    """The JSON holds every release by its name, figures with intervals, and the recommendation with its command."""
    report = build_report(
        comparison, recommend_release(comparison), "deniable compare t.csv", "deniable synthesize t.csv"
    )
    content = json.loads(report.to_json())
    assert content["schema"] == "deniable-comparison/1"
    assert content["recommendation"]["command"] == "deniable synthesize t.csv"
    for release in comparison.releases:
        facts = content[release.name]
        assert facts["balanced accuracy"]["low"] <= facts["balanced accuracy"]["value"]
        assert facts["unit"] == release.promise.unit
    assert content["baselines"]["balanced accuracy of a blind guess"] == 0.5
    assert content["table"] == {
        "rows": 120,
        "usable rows": 120,
        "classes": ["fine", "poor"],
        "unit": "record",
        "units": 120,
    }


def test_no_text_of_the_table(comparison):
    """No line of the report holds a text of the table."""
    text = build_report(comparison, recommend_release(comparison), "", "").to_text()
    assert "the food the" not in text
    assert "london paris" not in text
