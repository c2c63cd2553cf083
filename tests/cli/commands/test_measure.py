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

import deniable as dn
from deniable.measure.reading import KNOWLEDGE
from tests.cli.conftest import WORDS
from tests.small_llama import build_word_tokenizer, save_llama

deep = pytest.mark.deep
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
        return call("measure", *basic, "--shadow-models", "6", *options, stdin=stdin)

    return measuring


def read_figures(place, name="r.json"):
    return json.loads((place / name).read_text("utf-8"))


@pytest.mark.parametrize("name", ["t.tsv", pytest.param("t.jsonl", marks=deep), pytest.param("t.parquet", marks=deep)])
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
    shown = read_figures(place)["results"][0]["promise"]["not_protected"]
    done = call("privatize", name, "--space", "space.npz", "--epsilon", "1", "--output", f"out.{name}")
    assert done.code == 0
    assert shown == json.loads((place / f"out.{name}.certificate.json").read_text("utf-8"))["not_protected"]
    assert shown[0].endswith(": 'note'")
    assert shown[-1] == "the columns copied unchanged: 'key', 'kind', 'note'"
    assert "&#39;key&#39;, &#39;kind&#39;, &#39;note&#39;" in (place / "r.html").read_text("utf-8")


def test_a_reader_with_a_language_model(measure, place):
    """Guesses of readers are counted by groups of words, watched words by themselves; none is printed."""
    save_llama(place / "llama", build_word_tokenizer(WORDS))
    (place / "watched.txt").write_text("Dog\ncat\nzork\n")
    result = measure("--attacker-model", "llama", "--watch", "watched.txt", epsilon="4")
    assert result.code == 0
    lines = result.text.splitlines()
    assert "words guessed by a reader with the language model llama, words, epsilon 4" in lines
    titles = [line.split(":")[0] for line in lines if line.split(":")[0] in KNOWLEDGE.values()]
    assert titles == [*KNOWLEDGE.values()]
    assert any("watched words that are not in the vocabulary" in line and line.endswith(" 1") for line in lines)
    groups = read_figures(place)["results"][0]["reading"]["groups"]
    watched = next(one for one in groups["before"] if one["name"] == "watched words")
    assert watched["words"] == 20  # a dog and a cat in every second row
    assert watched["added"]["value"] == pytest.approx(watched["guessed"]["value"] - watched["blind"]["value"])
    assert "A reader who knows the words before" in (place / "r.html").read_text("utf-8")


def test_a_report(measure, place):
    """The page and its figures appear, and nothing else; the terminal shows one line for each epsilon."""
    before = {path.name for path in place.iterdir()}
    result = measure("--label", "kind", "--author", "who")
    assert result.code == 0
    assert {path.name for path in place.iterdir()} - before == {"r.html", "r.json", "r.summary.html"}
    figures = read_figures(place)
    page = html.unescape((place / "r.html").read_text("utf-8"))
    advice, (head, low, high, original, blind, *rest) = split_at_blank(result.text.splitlines())
    assert figures["advice"]["answer"]
    assert all(" ".join(line.split()) in " ".join(page.split()) for line in advice[:1])
    assert head.split()[:2] == ["release", "verdict"]
    for row, one in zip((low, high), figures["results"], strict=True):
        assert row.startswith(one["name"])
        assert " proved " in row
        assert f"{one['membership']['original']['auc']['value']:.3f}" in row
        for name in ("accuracy", "balanced_accuracy"):
            share = f"{100 * one['utility'][name]['private']['value']:.1f}%"
            assert share in row
            assert share in page
    assert original.startswith("originals")
    assert blind.split()[-6:-2] == ["0.500", "50.0%", "50.0%", "-"]
    _, heading, bands, *lines, last = rest
    assert "by their frequency, if they follow Zipf's law" in heading
    for line, one in zip(lines, figures["results"], strict=True):
        outcomes = one["outcomes"]
        shares = [*(band["guessed"] for band in outcomes["bands"]), outcomes["rare_guessed"], outcomes["exposed_share"]]
        assert [band["name"] in bands and band["name"] in page for band in outcomes["bands"]] == [True]
        shown = re.findall(r"[\d.]+ ?%", line)
        values = [float(one.rstrip(" %")) for one in shown]
        assert all(0 <= one - 100 * share < 0.1 for one, share in zip(values, shares, strict=True))
        assert all(one in page for one in shown)
        assert f" {outcomes['exposed_word']} " in line
    assert last == "page: r.html (holds original private text: for you only); figures: r.json; to sign: r.summary.html"
    assert "deniable measure t.csv" in page
    assert "--label kind" in page
    assert figures["command"].startswith("deniable measure t.csv")
    assert figures["table"]["rows"] == 20


def test_equal_seeds_give_equal_figures(measure, place):
    """The figures follow from the seed; the noise of another seed is another."""
    found = []
    for seed in ("1", "1", "2"):
        assert measure("--seed", seed, "--force", epsilon="1").code == 0
        found.append([{**one, "seconds": None} for one in read_figures(place)["results"]])
    assert found[0] == found[1] != found[2]


def test_the_report_is_for_its_owner_alone(measure, place):
    """Page and figures hold private text: nobody else can open them, and files that exist stay without --force."""
    names = ("r.html", "r.json", "r.summary.html")
    for name in names:
        (place / name).write_text("old")
        (place / name).chmod(0o644)
    assert measure(epsilon="2").code == 2
    (place / "other.json").write_text("old")
    assert measure(epsilon="2", report="other.html").code == 2
    assert (place / "r.html").read_text() == "old"
    assert measure("--force", epsilon="2").code == 0
    assert [(place / name).stat().st_mode & 0o777 for name in names] == [0o600] * 3
    assert read_figures(place)["results"][0]["epsilon"] == 2


def test_pipes_lines_and_public_texts(measure, place):
    """Tables come by pipe too, and lines of text; public texts are lines or a table with the same column."""
    (place / "lines.txt").write_text("the food was good\n\nthe dog\n")
    (place / "known").write_text("the cat was red\nthe food was great\n")
    assert measure("--public-texts", "known", epsilon="2", source="lines.txt", report="a.html").code == 0
    found = read_figures(place, "a.json")
    assert (found["table"]["rows"], found["table"]["empty"], found["about"]["known"]) == (3, 1, 2)
    piped = measure("--format", "csv", "--public-texts", "t.csv", source="-", report="b.html", stdin=TABLE.encode())
    assert piped.code == 0
    assert read_figures(place, "b.json")["about"]["known"] == 20


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
    found = read_figures(place)
    assert [found["table"][name] for name in ("rows", "learned", "unlabelled", "lone")] == [21, 18, 3, 0]
    assert found["results"][0]["authorship"]["texts"] == 19
    assert "3 rows without a label were left out." in (place / "r.html").read_text()


def test_public_counts(measure, place):
    """Attackers who read one word at a time know the counts of a public file, which page and figures name."""
    (place / "counts.txt").write_text("food 3\ndog 1\nzork 9\n")
    result = measure("--prior", "counts.txt", epsilon="2")
    assert result.code == 0
    assert "counts.txt: zork not in the vocabulary, left out\n" in result.err
    figures = read_figures(place)
    assert figures["prior"] == "the counts of 'counts.txt'"
    assert figures["blind"] == 0.75
    mechanism = dn.CalibratedExponential(dn.Space.load("space.npz"), epsilon=2.0)
    known = {"food": 3, "dog": 1}
    assert figures["results"][0]["recovery"]["any text"]["share"]["value"] == dn.recovery(mechanism, known)
    assert figures["results"][0]["expected"]["value"] == mechanism.expected_kept_share(known).value
    assert measure(epsilon="2", report="z.html").code == 0
    zipf = read_figures(place, "z.json")
    assert zipf["prior"] == "Zipf's law by the space's ranks"
    assert zipf["results"][0]["recovery"]["single"] != figures["results"][0]["recovery"]["single"]
    for name, found in (("r.html", figures), ("z.html", zipf)):
        page = html.unescape((place / name).read_text("utf-8"))
        assert f"guesses words that follow {found['prior']};" in page


def test_missing_libraries(measure, place, monkeypatch):
    """What an extra brings is named with the extra."""
    real = builtins.__import__

    def missing(name, *rest):
        if name.split(".")[0] == "torch":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.delitem(sys.modules, "deniable.measure.fasttext", raising=False)
    monkeypatch.setattr(builtins, "__import__", missing)
    for options, library, extra in (((), "jinja2", "measure"), (("--classifier", "fasttext"), "torch", "train")):
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, library, None)
            result = measure(*options)
        assert (result.code, f"install deniable[{extra}]" in result.err) == (2, True)
    assert not (place / "r.html").exists()


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


@pytest.mark.parametrize(
    ("can_be_shared", "metric"),
    [(True, "steps"), *(pytest.param(*case, marks=deep) for case in ((True, "euclidean"), (False, "steps")))],
)
def test_from_tuning_to_a_decision(call, place, can_be_shared, metric):
    """Tuned and measured around the choice, page, terminal and figures say alike whether to share; then it is done."""
    make_notes(place, label_follows_topic=can_be_shared)
    options = ["--space", "notes.npz", "--metric", metric, "--prior", "counts.txt"]
    tuned = call("tune", "notes.csv", "--max-recovery", "0.2", *options)
    epsilon = float(re.search(r"at epsilon (\S+)", tuned.text).group(1))
    around = ",".join(f"{factor * epsilon:.4g}" for factor in (0.5, 0.75, 1))
    options += ["--label", "ward", "--epsilons", around, "--shadow-models", "6", "--output", "notes.html"]
    result = call("measure", "notes.csv", *options)
    assert result.code == 0
    advice, page = read_figures(place, "notes.json")["advice"], html.unescape((place / "notes.html").read_text())
    headline = "Protected word by word, and useful" if can_be_shared else "Release nothing yet"
    assert headline in page
    assert headline in " ".join(result.text.split())
    if not can_be_shared:
        assert (advice["answer"], advice["choices"]) == ("release nothing", [])
        assert "publish aggregate statistics" in result.text
        return
    assert advice["answer"] == "release"
    chosen = advice["choices"][-1].removeprefix("words, epsilon ")
    assert call("privatize", "notes.csv", *options[:4], "--epsilon", chosen, "--output", "private.csv").code == 0
    before, after = ((place / name).read_text().splitlines() for name in ("notes.csv", "private.csv"))
    assert [row.split(",")[1] for row in before] == [row.split(",")[1] for row in after]
    assert before != after
