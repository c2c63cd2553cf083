"""The tool that makes the list of words of health, and the list that is shipped."""

from pathlib import Path

import numpy as np
import pytest

CLASSES = Path(__file__).parents[2] / "src" / "deniable" / "space" / "classes"


@pytest.fixture
def tool(monkeypatch):
    """Return the tool, which is a script and no package."""
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "tools")
    import health_words

    return health_words


@pytest.fixture(scope="module")
def lines():
    """Return the lines of the shipped list."""
    return (CLASSES / "health.txt").read_text(encoding="utf-8").splitlines()


def test_what_is_listed(lines):
    """Diagnoses, drugs, treatments, parts of the body and their forms are; what mostly means something else is not."""
    wanted = (
        "cancer hiv diabetes depression insulin chemotherapy kidney kidneys liver breast pregnancy pregnant abortion "
        "suicide addiction diabetic asthmatic schizophrenic alzheimer parkinson autism covid metformin oncologist"
    )
    assert set(wanted.split()) <= set(lines)
    left_out = (
        "back cold arm head hand face eye foot patient chronic plasma sugar the a i daughters beer tourette cushing"
    )
    assert not set(left_out.split()) & set(lines)


def test_provenance(tool, lines):
    """The list begins with its sources and licences, and with the scores that it has."""
    provenance = " ".join(line for line in lines if line.startswith("# "))
    for part in (
        "tools/health_words.py",
        "DrugBank (CC0)",
        "MeSH (public domain)",
        "ICD-10-CM",
        "WordNet",
        "SCOWL",
        "GloVe",
    ):
        assert part in provenance
    halves = tool.split_judged_words(tool.read_counted_words())
    assert all(str(tool.score_list(half, set(lines))) in provenance for half in halves)
    assert all({item.label for item in half} == {"health", "word"} for half in halves)


def test_words_by_hand(tool, lines):
    """Every word that is in by hand is listed, or is a name; none that is out is."""
    written, left_out = tool.read_words_by_hand("health")
    assert written - set(lines) <= tool.read_other_lists()
    assert not left_out & set(lines)
    assert not written & left_out


def test_split_entries(tool):
    """Entries of one word are told from parts of others, folded."""
    assert tool.split_entries(["Flu", "kidney failure"]) == ({"flu"}, {"kidney", "failure"})


def test_ordinary_words(tool):
    """A word is ordinary where most of its tagged uses are of other senses; without any, by the first sense."""
    flu, chill = (tool.Sense("n1", 1, 3), tool.Sense("n2", 2, 1)), (tool.Sense("n2", 1, 9), tool.Sense("n1", 2, 4))
    untagged = (tool.Sense("n1", 1, 0), tool.Sense("n2", 2, 0))
    assert tool.find_ordinary_words({"flu": flu, "cold": chill, "gout": untagged}, {"n1"}) == {"cold"}


def test_vote(tool, monkeypatch):
    """Listed words stay with neighbours of their list, ordinary ones need more of them, and the rest stay out."""
    monkeypatch.setattr(tool, "NEIGHBOURS", 2)
    monkeypatch.setattr(tool, "MIN_VOTES", 2)
    words = ["flu", "fever", "cough", "hand", "table", "chair"]
    neighbours = np.array([[1, 2], [0, 2], [0, 1], [4, 5], [3, 5], [3, 4]], dtype=np.int32)
    masks = {
        "listed": "flu fever hand",
        "parts": "cough",
        "ordinary": "fever table chair",
        "known": "flu fever cough hand table chair",
    }
    candidates = tool.Candidates(
        words, np.arange(6), neighbours, **{key: tool.mark_words(words, text.split()) for key, text in masks.items()}
    )
    listed = candidates.judge(tool.Thresholds(listed=0.1, ordinary=0.4, part=0.4, unlisted=0.9))
    assert tool.pick_words(words, listed) == {"flu", "fever", "cough"}


def test_complete_list(tool, monkeypatch):
    """Plurals join the list, unless WordNet has them as words of their own; words by hand are in and out."""
    monkeypatch.setattr(tool, "read_words_by_hand", lambda _: (frozenset({"hiv"}), frozenset({"cell"})))
    words = ["kidney", "kidneys", "cell", "cells", "aid", "aids"]
    assert tool.complete_list({"kidney", "cell", "aid"}, words, {"aids"}) == {"kidney", "kidneys", "aid", "hiv"}


def test_help(tool, capsys):
    """Its options are told."""
    with pytest.raises(SystemExit) as end:
        tool.main(["--help"])
    assert end.value.code == 0
    assert "--grid" in capsys.readouterr().out
