"""``deniable compare``: a page from end to end, and the command that it recommends."""

import dataclasses
import json
import re
import shlex
import stat

import numpy as np
import pytest

from tests.cli.text_models import write
from tests.small_llama import build_word_tokenizer, save_llama

deep = pytest.mark.deep
FILLER = ("the", "and", "was", "food", "dog", "cat", "london", "paris")
TELLING = {"fine": ("good", "great", "blue"), "poor": ("bad", "red", "tokyo")}
QUICK = ("--space", "space.npz", "--shadow-models", "6")
WAYS = {
    "classifier": ("--max-recovery", "0.5", "--epsilons", "10", "--need", "classifier"),
    "synthetic texts": ("--max-recovery", "0.5", "--epsilons", "10", "--min-retained", "0.05"),
    "words": ("--epsilons", "11", "--max-recovery", "0.9", "--min-retained", "0.1"),
}


def draw_rows(count, seed=0):
    """Return texts of 12 words, of which three tell the class, the classes, and persons with two rows each."""
    rng = np.random.default_rng(seed)
    rows = []
    for row in range(count):
        kind = ("fine", "poor")[rng.integers(2)]
        words = rng.permutation([*rng.choice(FILLER, 9), *rng.choice(TELLING[kind], 3)])
        rows.append((" ".join(words), kind, f"p{row // 2}"))
    return rows


@pytest.fixture
def compare(call, place):
    """Return a function that compares t.csv into r.html, unless told otherwise."""
    write(place / "t.csv", draw_rows(200), ("text", "kind", "who"))
    write(place / "public.csv", draw_rows(100, 1), ("text", "kind", "who"))

    def comparing(*options, source="t.csv", label="kind"):
        return call("compare", "--label", label, "--output", "r.html", *QUICK, *options, "--", source)

    return comparing


def find_command(result):
    """Return the arguments of the command that was recommended."""
    assert result.code == 0
    (line,) = (line for line in result.text.splitlines() if line.startswith("run: "))
    return shlex.split(line.removeprefix("run: "))[1:]


def test_a_page(compare, place):
    """Page and figures appear, nobody else can read them, and the terminal shows a line for each release."""
    before = {path.name for path in place.iterdir()}
    given = "--max-recovery", "0.45", "--epsilons", "100", "--public", "public.csv", "--public-label", "kind"
    result = compare(*given)
    assert result.code == 0
    assert {path.name for path in place.iterdir()} - before == {"r.html", "r.json", "r.summary.html"}
    assert {stat.S_IMODE((place / name).stat().st_mode) for name in ("r.html", "r.json")} == {0o600}
    page = (place / "r.html").read_text("utf-8")
    lines = result.text.splitlines()
    table = lines[lines.index("") + 1 :]
    names = ["words", "classifier", "synthetic texts", "public texts only", "originals", "blind guess"]
    assert [re.split(r",|  ", line)[0] for line in table[1:7]] == names
    assert len({len(line) for line in table[:7]}) == 1
    assert all(figure in page for line in table[1:6] for figure in re.findall(r"\d+\.\d%", line))
    assert any("rank" in line for line in table[7:])
    assert "not possible: words, 22.5% guessed" in result.text
    assert "deniable compare t.csv --label kind" in page


@pytest.mark.parametrize(
    "way", ["words", *(pytest.param(way, marks=deep) for way in ("classifier", "synthetic texts"))]
)
def test_the_printed_command_runs(compare, call, place, rewriter, way):
    """Odd names, delimiter, encoding and format stand in the recommended command, which runs, and says who chose."""
    rows = [["text", "kind, or so", "Zoë"], *([text, f"{kind}, or so", who] for text, kind, who in draw_rows(200))]
    lines = [";".join(f'"{cell}"' if "," in cell else cell for cell in row) for row in rows]
    (place / "-a table.dat").write_bytes("\n".join(lines).encode("latin-1"))
    (place / "m.pt").write_bytes(rewriter)
    options = ["--format", "csv", "--delimiter", ";", "--encoding", "latin-1"]
    if way == "synthetic texts":
        options += ["--model", "m.pt", "--text-epsilons", "8"]
    else:
        options += ["--person", "Zoë"]
    result = compare(*WAYS[way], *options, source="-a table.dat", label="kind, or so")
    arguments = find_command(result)
    assert arguments[0] == {"classifier": "train", "words": "privatize", "synthetic texts": "synthesize"}[way]
    words = "--space" if way == "words" else "--public"
    for name, value in (("--delimiter", ";"), ("--encoding", "latin-1"), ("--format", "csv"), (words, "space.npz")):
        assert arguments[arguments.index(name) + 1] == value
    assert "--chosen-from-data" in arguments
    assert ("--person" in arguments) is (way == "classifier")
    done = call(*arguments)
    assert done.code == 0
    ending = ".card.json" if way == "classifier" else ".certificate.json"
    assert "from the private texts themselves" in (place / f"{arguments[-1]}{ending}").read_text("utf-8")
    if way == "words":
        assert (place / arguments[-1]).read_text("latin-1").splitlines()[0] == 'text;"kind, or so"'


def test_what_the_owner_hears(compare, place):
    """Rows left out and unknown words are told on standard error; the figures name the command."""
    rows = [
        (f"{'שלום ' * 12}{text}", kind if row != 2 else "", who) for row, (text, kind, who) in enumerate(draw_rows(80))
    ]
    write(place / "t.csv", rows, ("text", "kind", "who"))
    result = compare(*WAYS["classifier"])
    figures = json.loads((place / "r.json").read_text("utf-8"))
    assert figures["table"]["rows"] == 79
    assert figures["command"].startswith("deniable compare t.csv")
    assert figures["next_command"].startswith("deniable train ")
    assert "t.csv: 1 row without a label in 'kind' left out: row 3" in result.err
    assert "50.0% of the words are not in the vocabulary" in result.err


@pytest.fixture
def llama(place):
    """Make a folder with a tiny llama that knows the words of the table."""
    words = [*FILLER, *TELLING["fine"], *TELLING["poor"], "write", "review"]
    save_llama(place / "llama", build_word_tokenizer(words))


@deep
@pytest.mark.usefixtures("llama")
def test_texts_that_people_can_read(compare, place):
    """With a prompt the model is a language model, whose texts stand beside public sentences, where there are some."""
    writer = ("--model", "llama", "--prompt", "a {label} review")
    options = ("--max-recovery", "0.5", "--epsilons", "10", "--min-retained", "0.01")
    result = compare(*options, *writer, "--public", "public.csv")
    assert result.code == 0
    for name in ("synthetic texts", "synthetic, recombined", "synthetic, language model"):
        assert f"{name}, epsilon 10" in result.text
    figures = json.loads((place / "r.json").read_text("utf-8"))
    found = {one["name"]: one for one in figures["results"] if one["kind"] == "synthetic texts"}
    assert [one["utility"]["folds"] for one in found.values()] == [5, 1, 1]
    best = max(found, key=lambda name: found[name]["utility"]["balanced_accuracy"]["private"]["low"])
    if figures["advice"]["choices"]:
        assert figures["advice"]["choices"][0] in (best, "classifier, epsilon 10")
    alone = compare(*options, *writer, "--force")
    assert alone.code == 0
    assert "recombined" not in alone.text
    assert "synthetic, language model, epsilon 10" in alone.text


@deep
@pytest.mark.usefixtures("llama")
@pytest.mark.parametrize("generator", ["recombined", "language model"])
def test_the_command_of_readable_texts(compare, call, place, monkeypatch, generator):
    """The recommended command writes texts in the way that was recommended."""
    from deniable.survey.results import Answer, advise

    def choose(results, limits, need):
        (name,) = (one.name for one in results if generator in one.name)
        return dataclasses.replace(advise(results, limits, need), answer=Answer.RELEASE, choices=(name,))

    monkeypatch.setattr("deniable.survey.survey.advise", choose)
    writer = ("--model", "llama", "--prompt", "a {label} review")
    options = ("--max-recovery", "0.5", "--epsilons", "10")
    arguments = find_command(compare(*options, *writer, "--public", "public.csv"))
    assert arguments[0] == "synthesize"
    if generator == "recombined":
        assert arguments[arguments.index("--generator") + 1] == "recombined"
        assert "--model" not in arguments
    else:
        assert arguments[arguments.index("--model") + 1] == "llama"
        assert arguments[arguments.index("--prompt") + 1] == "a {label} review"
    arguments[arguments.index("--rows") + 1] = "30"
    assert call(*arguments).code == 0
    certificate = json.loads((place / f"{arguments[-1]}.certificate.json").read_text("utf-8"))
    assert ("language model" in certificate["mechanism"]) is (generator == "language model")


def test_a_model_that_is_not_told_what_to_write(compare, call):  # noqa: ARG001 - writes the tables
    """A prompt needs a model, and a file of a rewriter is no language model."""
    for options, value in ((("--prompt", "a review"), "--model and --prompt"), (("--model", "t.csv"), "t.csv")):
        result = compare(*options)
        assert (result.code, len(result.err.splitlines())) == (2, 1)
        assert value in result.err


def test_use_that_cannot_be_judged_ends_the_run_at_once(call, place, monkeypatch):
    """Where the originals teach nothing of the label, one line says what to do, and no way to release them is tried."""
    monkeypatch.setattr("deniable.survey.survey.survey_table", lambda *_, **__: pytest.fail("ways were tried"))
    rows = [f"the food in london {'the ' * (row // 2)},{'ab'[row % 2]}" for row in range(40)]
    (place / "t.csv").write_text("text,kind\n" + "".join(f"{row}\n" for row in rows))
    result = call("compare", "t.csv", "--label", "kind", "--space", "space.npz", "--hide", "none", "-o", "r.html")
    assert (result.code, result.out) == (2, b"")
    assert "Usefulness cannot be judged by 'kind'" in result.err
    assert not (place / "r.html").exists()
