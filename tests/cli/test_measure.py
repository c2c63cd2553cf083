"""``deniable measure``: a report from end to end, and what is refused."""

import builtins
import html
import json
import re
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deniable import Space, recovery
from deniable.words.choice import choose_word_mechanism

SPOKEN = ("the dog and cat", "the food was good")
TABLE = "text,kind,who\n" + "".join(
    f"{SPOKEN[row % 2]} {('red', 'blue', 'bad')[row % 3]} {'great' if row % 5 else ''},kind{row % 2},writer{row % 3}\n"
    for row in range(20)
)


@pytest.fixture(autouse=True)
def given(place):
    """Put a table of twenty labelled rows beside the space."""
    (place / "t.csv").write_text(TABLE)


def split_at_blank(lines):
    """Return the lines before the first blank one, and those after it."""
    return lines[: lines.index("")], lines[lines.index("") + 1 :]


@pytest.fixture
def measure(call):
    """Return a function that measures t.csv into r.html, unless told otherwise."""

    def measuring(*options, source="t.csv", report="r.html", epsilon="1,4", stdin=b""):
        basic = [source, "--space", "space.npz", "--epsilons", epsilon, "--output", report]
        return call("measure", *basic, "--shadow-models", "6", "--folds", "2", *options, stdin=stdin)

    return measuring


@pytest.mark.parametrize("name", ["t.tsv", "t.jsonl", "t.parquet"])
def test_the_report_says_what_a_release_copies(measure, call, place, name):
    """Page and figures name every column that privatize copies, first what looks private, as its certificate does."""
    rows = [
        {"key": f"R{row:03}", "text": line.split(",")[0], "kind": f"kind{row % 2}", "note": f"Ann Smith rang {row}"}
        for row, line in enumerate(TABLE.splitlines()[1:])
    ]
    if name.endswith("parquet"):
        pq.write_table(pa.Table.from_pylist(rows), place / name)
    else:
        lines = ["\t".join(rows[0]), *("\t".join(row.values()) for row in rows)]
        lines = list(map(json.dumps, rows)) if name.endswith("jsonl") else lines
        (place / name).write_text("\n".join(lines) + "\n")
    assert measure("--label", "kind", source=name, epsilon="1").code == 0
    shown = json.loads((place / "r.json").read_text("utf-8"))["not_protected"]
    done = call("privatize", name, "--space", "space.npz", "--epsilon", "1", "--output", f"out.{name}")
    assert done.code == 0, done.err
    assert shown == json.loads((place / f"out.{name}.certificate.json").read_text("utf-8"))["not_protected"]
    assert shown[0].endswith(": 'note'")
    assert shown[-1] == "the columns copied unchanged: 'key', 'kind', 'note'"
    assert "&#39;key&#39;, &#39;kind&#39;, &#39;note&#39;" in (place / "r.html").read_text("utf-8")


def test_a_report(measure, place):
    """The page and its figures appear, and nothing else; the terminal shows one line for each epsilon."""
    before = {path.name for path in place.iterdir()}
    result = measure("--label", "kind", "--author", "who")
    assert result.code == 0, result.err
    assert {path.name for path in place.iterdir()} - before == {"r.html", "r.json"}
    figures = json.loads((place / "r.json").read_text("utf-8"))
    page = (place / "r.html").read_text("utf-8")
    advice, (head, *rows, original, blind, last) = split_at_blank(result.text.splitlines())
    assert " ".join(" ".join(advice).split()).startswith(figures["advice"]["blind"] or figures["advice"]["headline"])
    assert head.split()[:2] == ["epsilon", "verdict"]
    assert [row.split()[:2] for row in rows] == [["1", "proved"], ["4", "proved"]]
    for row, reading in zip(rows, figures["readings"], strict=True):
        accuracy, balanced = (
            reading["utility"][name]["private"]["value"] for name in ("accuracy", "balanced_accuracy")
        )
        assert f"{reading['membership']['original']['auc']['value']:.3f}" in row
        for share in (accuracy, balanced):
            assert f"{100 * share:.1f} %" in row
            assert f"{100 * share:.1f} %" in page
    assert original.split()[0] == "original"
    assert blind.split() == ["blind", "guess", "50.0", "%", "50.0", "%", "0.500"]
    assert last == "report: r.html (holds original private text: for you only); figures: r.json"
    assert "deniable measure t.csv" in page
    assert "--label kind" in page
    assert figures["table"]["rows"] == 20


def test_equal_seeds_give_equal_figures(measure, place):
    """The figures follow from the seed; the noise of another seed is another."""
    found = []
    for seed in ("1", "1", "2"):
        assert measure("--seed", seed, "--force", "--figures", "f.json").code == 0
        found.append(json.loads((place / "f.json").read_text())["readings"])
    assert found[0] == found[1] != found[2]


def test_outputs_are_not_overwritten(measure, place, refused):
    """Files that exist stay unless --force is given."""
    assert measure(epsilon="2").code == 0
    refused.given()
    assert "'r.html' exists" in refused(measure(epsilon="2"))
    assert "'r.json' exists" in refused(measure("--figures", "r.json", epsilon="2", report="other.html"))
    assert measure("--force", epsilon="3").code == 0
    assert json.loads((place / "r.json").read_text())["readings"][0]["epsilon"] == 3


@pytest.mark.parametrize("old", [None, 0o644])
def test_the_report_is_for_its_owner_alone(measure, place, old):
    """The page and the figures hold private text: nobody else can open them, whatever files they replace."""
    if old is not None:
        for name in ("r.html", "r.json"):
            (place / name).write_text("old")
            (place / name).chmod(old)
    assert measure("--force", epsilon="2").code == 0
    assert [(place / name).stat().st_mode & 0o777 for name in ("r.html", "r.json")] == [0o600, 0o600]


def test_pipes_lines_and_public_texts(measure, place):
    """Tables come by pipe too, and lines of text; public texts are lines or a table with the same column."""
    (place / "lines.txt").write_text("the food was good\n\nthe dog\n")
    (place / "known").write_text("the cat was red\nthe food was great\n")
    assert measure("--public-texts", "known", epsilon="2", source="lines.txt", report="a.html").code == 0
    found = json.loads((place / "a.json").read_text())
    assert (found["table"]["rows"], found["table"]["empty"], found["about"]["public"]) == (3, 1, 2)
    piped = measure("--format", "csv", "--public-texts", "t.csv", source="-", report="b.html", stdin=TABLE.encode())
    assert piped.code == 0
    assert json.loads((place / "b.json").read_text())["about"]["public"] == 20


def test_gaps(measure, place):
    """Rows without a text, a label or an author are named, and have no part in what needs one."""
    rows = [dict(zip(("text", "kind", "who"), line.split(","), strict=True)) for line in TABLE.splitlines()[1:]]
    rows[3]["kind"], rows[4]["kind"], rows[5]["who"], rows[6]["text"] = None, " ", None, None
    (place / "gaps.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows) + "no JSON\n")
    result = measure("--label", "kind", "--author", "who", epsilon="2", source="gaps.jsonl")
    assert result.code == 0
    assert [line for line in result.err.splitlines() if line.startswith("gaps")] == [
        "gaps.jsonl: 2 rows without a text, read as empty: rows 7 and 21",
        "gaps.jsonl: 3 rows without a label in 'kind', not used for classifiers: rows 4, 5 and 21",
        "gaps.jsonl: 2 rows without a label in 'who', not used for attacks on authorship: rows 6 and 21",
    ]
    found = json.loads((place / "r.json").read_text())
    assert [found["table"][name] for name in ("rows", "learned", "unlabelled", "alone")] == [21, 18, 3, 0]
    assert found["readings"][0]["authorship"]["texts"] == 19
    assert "3 rows without a label were left out." in (place / "r.html").read_text()


def test_public_counts(measure, place):
    """Attackers who read one word at a time know the counts of a public file, which page and figures name."""
    (place / "counts.txt").write_text("food 3\ndog 1\nzork 9\n")
    result = measure("--prior", "counts.txt", epsilon="2")
    assert result.code == 0
    assert "counts.txt: zork not in the vocabulary, left out\n" in result.err
    figures = json.loads((place / "r.json").read_text())
    assert figures["prior"] == "the counts of 'counts.txt'"
    assert figures["blind"] == 0.75
    mechanism = choose_word_mechanism(Space.load("space.npz"), 2.0)
    known = {"food": 3, "dog": 1}
    assert figures["readings"][0]["public"]["share"]["value"] == recovery(mechanism, known)
    assert figures["readings"][0]["expected"]["value"] == mechanism.expected_kept_share(known).value
    assert measure(epsilon="2", report="z.html").code == 0
    zipf = json.loads((place / "z.json").read_text())
    assert zipf["prior"] == "Zipf's law by the space's ranks"
    assert zipf["readings"][0]["alone"] != figures["readings"][0]["alone"]
    for name, found in (("r.html", figures), ("z.html", zipf)):
        page = html.unescape((place / name).read_text("utf-8"))
        assert f"guesses words that follow {found['prior']};" in page
        assert f"If words follow {found['prior']}, an attacker" in page or "at epsilon 2." in page


def test_a_sample(measure, place):
    """With --limit a sample of the rows is measured, and the page says so."""
    assert measure("--limit", "12", epsilon="2").code == 0
    assert "12 rows, drawn at random from 20" in re.sub(r"\s+", " ", (place / "r.html").read_text())


@pytest.mark.parametrize("epsilon", ["1,,2", "1,1", "1,1.0", "a", "0", "1,-1", "nan", "inf", "1e400", "", "1;2"])
def test_epsilons_that_are_none(measure, refused, epsilon):
    """A list of epsilons with junk or doubles is refused."""
    refused.given()
    assert "The epsilons must" in refused(measure(epsilon=epsilon))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--label", "one"], "'one' must hold at least 2 classes. Got only 'x'"),
        (["--author", "none"], "The column 'none' must hold at least 2 classes"),
        (["--label", "kind", "--folds", "21"], "21 folds need at least 21 rows that differ. Got 10"),
        (["--column", "none"], "no text"),
        (["--column", "odd"], "None of the 20 words of the texts is in the vocabulary"),
        (["--column", "txet"], "no column 'txet'"),
        (["--label", "knd"], "no column 'knd'"),
        (["--label", "text"], "cannot be texts and labels or authors or ids at once"),
        (["--mechanism", "tme"], "Did you mean 'tem'? See: deniable measure --help"),
        (["--classifier", "tfid"], "'tfid' is not one of tfidf, fasttext. Did you mean 'tfidf'?"),
        (["--shadow-models", "5"], "an even int of at least 6. Got 5"),
        (["--limit", "0"], "at least 1. Got 0"),
        (["--max-recovery", "0"], "--max-recovery is a share and must be above 0 and below 1. Got 0"),
        (["--min-retained", "nan"], "--min-retained is a share and must be above 0 and below 1. Got nan"),
        (["--figures", "r.html"], "The outputs 'r.html' and 'r.html' are one file: name another."),
        (["--figures", "t.csv", "--force"], "The output 't.csv' is a file that is read"),
        (["--output", "t.csv", "--force"], "The output 't.csv' is a file that is read"),
        (["--figures", "space.npz", "--force"], "The output 'space.npz' is a file that is read"),
        (
            ["--public-texts", "blank.txt", "--figures", "blank.txt", "--force"],
            "The output 'blank.txt' is a file that is read",
        ),
        (["--output", "space"], "'space' is a folder"),
        (["--output", "no/r.html"], "create 'no' first"),
        (["--output", "-"], "must be a file. Got '-'"),
        (["--public-texts", "gone.txt"], "'gone.txt' is not a file"),
        (["--public-texts", "blank.txt"], "'blank.txt' holds no text"),
        (["--format", "xml"], "'xml' is not one of csv, tsv, jsonl, parquet, txt."),
        (["--delimiter", "ab"], "must be one character"),
    ],
)
def test_what_cannot_be_measured(measure, place, refused, options, message):
    """Columns, names and paths that cannot be used are one line and exit code 2, and nothing is written."""
    rows = [line.split(",") for line in TABLE.splitlines()]
    more = [["one", "gap", "none", "odd"], ["x", "y", "", "zork"], ["x", "", "", "zork"]]
    wide = [
        row + (more[number] if number < 3 else ["x", f"y{number % 2}", "", "zork"]) for number, row in enumerate(rows)
    ]
    (place / "space").mkdir()
    refused.given(t__csv="\n".join(map(",".join, wide)) + "\n", blank__txt="\n\n")
    if message == "no text":
        message = "all of its 20 texts are empty"
    assert message in refused(measure(*options))


def test_inputs_that_are_none(measure, refused):
    """An empty table, a missing one, columns of a txt file and a pipe without a format are refused."""
    refused.given(empty__csv="text\n", lines__txt="the food\n")
    assert "it has no rows" in refused(measure(source="empty.csv"))
    assert "'gone.csv' is not a file" in refused(measure(source="gone.csv"))
    assert "a txt file has no columns" in refused(measure("--label", "kind", source="lines.txt")).lower()
    assert "format of a pipe must be named" in refused(measure(source="-"))


def test_missing_libraries(measure, refused, monkeypatch):
    """What an extra brings is named with the extra."""
    refused.given()
    real = builtins.__import__

    def missing(name, *rest):
        if name.split(".")[0] in {"jinja2", "torch"}:
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.delitem(sys.modules, "deniable.measure.fasttext", raising=False)
    monkeypatch.setattr(builtins, "__import__", missing)
    assert "install deniable[measure]" in refused(measure())
    assert "install deniable[train]" in refused(measure("--classifier", "fasttext"))


def test_help(call):
    """The help names the options."""
    text = call("measure", "--help").text
    wanted = (
        "--column",
        "--label",
        "--author",
        "--mechanism",
        "--epsilons",
        "--output",
        "--figures",
        "--public-texts",
        "--limit",
    )
    assert [option for option in wanted if option not in text] == []


TOPICS = [[f"{topic}{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"] for topic in ("heart", "lung", "plain")]
"""Words that lie close together in their topic, and far from those of the others."""


def make_notes(place, *, label_follows_topic):
    """Put a space of topics, its counts and a table beside each other: the label is the topic, or hangs on the word."""
    rng = np.random.default_rng(7)
    words = [word for topic in TOPICS for word in topic]
    centres = np.repeat(20 * np.eye(3), len(TOPICS[0]), axis=0)
    np.savez(place / "notes.npz", words=np.array(words), vectors=centres + rng.normal(size=centres.shape))
    (place / "counts.txt").write_text("".join(f"{word} 1\n" for word in words))
    rows = ["text,ward"]
    for row in range(300):
        topic, letter = int(rng.integers(2)), int(rng.integers(26))
        text = rng.permutation([TOPICS[topic][letter], *rng.choice(TOPICS[2], 3)])
        ward = "AB"[topic if label_follows_topic else letter % 2]
        rows.append(f"{' '.join(text)},{ward if row % 100 else ''}")
    (place / "notes.csv").write_text("\n".join(rows) + "\n")


@pytest.fixture
def walk(call, place):
    """Return a function that tunes for a table, measures around the epsilon found, and gives what measure said."""

    def walking():
        options = ["--space", "notes.npz", "--prior", "counts.txt"]
        tuned = call("tune", "notes.csv", "--max-recovery", "0.2", *options)
        assert tuned.code == 0, tuned.err
        epsilon = float(re.search(r"at epsilon (\S+)", tuned.text).group(1))
        around = ",".join(f"{factor * epsilon:.4g}" for factor in (0.25, 0.5, 1))
        options += ["--label", "ward", "--epsilons", around, "--shadow-models", "6", "--output", "notes.html"]
        result = call("measure", "notes.csv", *options)
        assert result.code == 0, result.err
        assert "3 rows without a label in 'ward', not used for classifiers: rows 1, 101 and 201" in result.err
        return result, json.loads((place / "notes.json").read_text()), (place / "notes.html").read_text()

    return walking


def test_the_path_to_a_table_that_can_be_shared(walk, call, place):
    """Tuned, measured around the choice, and privatized: near words stand for each other, and the topic stays."""
    make_notes(place, label_follows_topic=True)
    result, figures, page = walk()
    advice = figures["advice"]
    assert advice["answer"] == "share"
    assert advice["alternatives"] == []
    assert set(advice["epsilons"]) & {reading["epsilon"] for reading in figures["readings"][:2]}
    assert advice["headline"] in html.unescape(page)
    assert "gives both" in result.text or "give both" in result.text
    chosen = str(max(advice["epsilons"]))
    done = call("privatize", "notes.csv", "--space", "notes.npz", "--epsilon", chosen, "--output", "private.csv")
    assert done.code == 0, done.err
    before, after = ((place / name).read_text().splitlines() for name in ("notes.csv", "private.csv"))
    assert [row.split(",")[1] for row in before] == [row.split(",")[1] for row in after]
    assert before != after


def test_the_path_to_a_table_that_must_not_be_shared(walk, place):
    """Where the label hangs on the very word, page, terminal and figures say not to share, and what to do instead."""
    make_notes(place, label_follows_topic=False)
    result, figures, page = walk()
    advice, page = figures["advice"], html.unescape(page)
    assert advice["answer"] == "do not share word by word"
    assert advice["epsilons"] == []
    assert advice["headline"] == "No measured epsilon gives both; do not share these texts word by word."
    first = advice["blind"]
    assert first.startswith("No better than a blind guess at epsilon ")
    said = " ".join(result.text.split())
    assert said.startswith(f"{first} {advice['headline']}")
    assert 0 < page.index(first) < page.index(advice["headline"])
    for alternative in advice["alternatives"]:
        assert alternative in said
        assert alternative[1:] in page
    assert "deniable rewrite" in said
    assert {one["is_useful"] for one in advice["judgements"] if one["is_protected"]} == {False}
    utility = figures["readings"][0]["utility"]
    assert utility["balanced_accuracy"]["blind"] == 0.5
    assert utility["balanced_accuracy"]["original_gain"]["low"] > 0.2
    assert not utility["balanced_accuracy"]["private_gain"]["low"] > 0


def test_a_label_that_the_originals_do_not_tell(measure, place):
    """Where the originals themselves teach nothing of the label, utility cannot be judged, and nothing is promised."""
    rng = np.random.default_rng(3)
    rows = [f"{' '.join(rng.choice(['the', 'dog', 'food', 'cat'], 4))},{rng.choice(['x', 'y'])}" for _ in range(100)]
    (place / "t.csv").write_text("text,kind\n" + "\n".join(rows) + "\n")
    result = measure("--label", "kind", "--max-recovery", "0.9")
    advice = json.loads((place / "r.json").read_text())["advice"]
    assert (advice["answer"], advice["blind"]) == ("utility cannot be judged", None)
    assert result.text.startswith("Utility cannot be judged with this label")
    assert advice["headline"] in html.unescape((place / "r.html").read_text())
    assert [one["is_useful"] for one in advice["judgements"]] == [None, None]
