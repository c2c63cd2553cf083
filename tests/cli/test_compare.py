"""``deniable compare``: a page from end to end, the command that it recommends, and what is refused."""

import json
import re
import shlex
import stat

import pytest

from deniable.learning.artifact import serialize_model
from tests.comparison.toy import CLASSES, make_table
from tests.rewriting.untrained import untrained

QUICK = ("--space", "space.npz", "--folds", "2", "--shadow-models", "6", "--rows", "60")
BUDGETS = ("--recoveries", "0.5", "--epsilons", "100")
FIGURE = re.compile(r"\d+\.\d %")


@pytest.fixture(autouse=True)
def given(place):
    """Put a table of eighty labelled rows of forty persons, and public texts, beside the space."""
    for name, rows, seed in (("t.csv", 80, 0), ("public.csv", 200, 1)):
        texts, codes = make_table(rows, seed=seed)
        lines = [
            f"{text},{CLASSES[code]},p{row // 2}" for row, (text, code) in enumerate(zip(texts, codes, strict=True))
        ]
        (place / name).write_text("\n".join(["text,kind,who", *lines]) + "\n")


@pytest.fixture
def compare(call):
    """Return a function that compares t.csv into r.html, unless told otherwise."""

    def comparing(*options, source="t.csv", report="r.html"):
        return call("compare", source, "--label", "kind", "--report", report, *QUICK, *BUDGETS, *options)

    return comparing


def test_a_page(compare, place):
    """The page appears, nobody else can read it, and the terminal shows a line for each release."""
    before = {path.name for path in place.iterdir()}
    result = compare("--public", "public.csv", "--public-label", "kind", "--min-retained", "0.1")
    assert result.code == 0, result.err
    assert {path.name for path in place.iterdir()} - before == {"r.html"}
    assert stat.S_IMODE((place / "r.html").stat().st_mode) == 0o600
    page = (place / "r.html").read_text("utf-8")
    lines = result.text.splitlines()
    table = lines[lines.index("") + 1 :]
    assert table[0].split()[:1] == ["release"]
    assert [line.partition(",")[0] for line in table[1:4]] == ["words", "classifier", "synthetic texts"]
    assert [line.split("  ")[0] for line in table[4:6]] == ["originals", "blind guess"]
    for line in table[1:5]:
        for figure in FIGURE.findall(line):
            assert figure in page
    assert result.err.splitlines()[-1] == "report: r.html (figures about private records: for you only)"
    assert "deniable compare t.csv --label kind" in page


def test_json_without_public_texts(compare):
    """With --json the report alone goes to standard output; synthetic texts are written from counts if at all."""
    result = compare("--json")
    assert result.code == 0, result.err
    content = json.loads(result.text)
    assert content["schema"] == "deniable-comparison/1"
    assert content["words, epsilon 100"] if "words, epsilon 100" in content else content["classifier, epsilon 100"]
    assert content["how it was measured"]["command"].startswith("deniable compare t.csv")
    assert "generator counts" in content.get("synthetic texts, epsilon 100", {}).get("note", "") or (
        "synthetic texts, epsilon 100" in content["not possible on this table"]
    )


@pytest.mark.parametrize(
    ("need", "command"), [("classifier", ["train", "text"]), ("texts", ["synthesize"])], ids=["classifier", "texts"]
)
def test_the_printed_command_runs(compare, call, place, monkeypatch, need, command):
    """The recommended command runs as it stands, a class with a comma in it too, and says that epsilon was chosen."""
    table = (place / "t.csv").read_text("utf-8")
    (place / "t.csv").write_text(table.replace(",poor,", ',"poor, or so",'), "utf-8")
    for judgement in ("_is_useful", "_is_protected", "_is_better_than_public"):
        monkeypatch.setattr(f"deniable.comparison.recommendation.{judgement}", lambda *_: True)
    result = compare("--person", "who", "--public", "public.csv", "--need", need)
    assert result.code == 0, result.err
    (line,) = (line for line in result.text.splitlines() if line.startswith("run: "))
    arguments = shlex.split(line.removeprefix("run: "))[1:]
    assert arguments[: len(command)] == command
    assert "--chosen-from-data" in arguments
    assert ("--space" in arguments) == (need == "classifier")  # whose words are the features where no text is public
    assert arguments[arguments.index("--classes") + 1] == 'fine,"poor, or so"'
    done = call(*arguments)
    assert done.code == 0, done.err
    output = arguments[-1]
    ending = ".card.json" if need == "classifier" else ".certificate.json"
    assert "from the private texts themselves" in (place / f"{output}{ending}").read_text("utf-8")


def test_words_are_shared_by_the_printed_command(compare, call, place, monkeypatch):
    """Where words are recommended the command copies the label, no other column, and runs."""
    monkeypatch.setattr("deniable.comparison.recommendation._PREFERRED_WAYS", {"texts": ("words",)})
    result = compare("--max-recovery", "0.9", "--min-retained", "0.01")
    (line,) = (line for line in result.text.splitlines() if line.startswith("run: "))
    arguments = shlex.split(line.removeprefix("run: "))[1:]
    assert arguments[0] == "privatize"
    assert call(*arguments).code == 0
    assert (place / arguments[-1]).read_text("utf-8").splitlines()[0] == "text,kind"


def find_command(result):
    """Return the arguments of the command that was recommended."""
    (line,) = (line for line in result.text.splitlines() if line.startswith("run: "))
    return shlex.split(line.removeprefix("run: "))[1:]


@pytest.fixture
def always_useful(monkeypatch):
    """Let every release be of use, whatever was measured, and none protect that is not proved."""
    for judgement in ("_is_useful", "_is_better_than_public"):
        monkeypatch.setattr(f"deniable.comparison.recommendation.{judgement}", lambda *_: True)


@pytest.mark.usefixtures("always_useful")
@pytest.mark.parametrize(
    ("method", "epsilon", "delta"), [("tokens", "5.123456789", None), ("adept-gaussian", "7", "1e-6")]
)
def test_records_are_rewritten_by_the_printed_command(compare, call, place, monkeypatch, method, epsilon, delta):
    """Where records are recommended the command has the very epsilon, runs, and says that it was chosen."""
    monkeypatch.setattr("deniable.comparison.recommendation._PREFERRED_WAYS", {"texts": ("records",)})
    (place / "a model.pt").write_bytes(serialize_model(untrained()))
    options = ("--model", "a model.pt", "--method", method, "--text-epsilons", epsilon)
    result = compare(*options, *(() if delta is None else ("--delta", delta)))
    assert result.code == 0, result.err
    arguments = find_command(result)
    assert arguments[:2] == ["rewrite", "a model.pt"]
    assert "--chosen-from-data" in arguments
    assert arguments[arguments.index("--epsilon") + 1] == epsilon
    assert ("--delta" in arguments) == (delta is not None)
    done = call(*arguments)
    assert done.code == 0, done.err
    certificate = json.loads((place / f"{arguments[-1]}.certificate.json").read_text("utf-8"))
    assert certificate["chosen"].startswith("from the private texts themselves")
    assert certificate["guarantee"]["epsilon"] == float(epsilon)


@pytest.mark.usefixtures("always_useful")
@pytest.mark.parametrize("way", ["words", "classifier", "synthetic texts"])
def test_the_printed_command_is_given_what_was_given(call, place, monkeypatch, way):
    """Odd names of files and columns, delimiter, encoding and format stand in the command, which runs."""
    monkeypatch.setattr("deniable.comparison.recommendation._is_protected", lambda *_: True)
    monkeypatch.setattr("deniable.comparison.recommendation._PREFERRED_WAYS", {"texts": (way,)})
    header, *rows = (place / "t.csv").read_text("utf-8").splitlines()
    lines = [header.replace("kind", '"kind, or so"').replace(",who", ",Zoë"), *rows]
    content = "\n".join(line.replace(",", ";").replace("kind; or", "kind, or") for line in lines)
    (place / "-a table.dat").write_bytes(content.encode("latin-1"))
    options = ("--label", "kind, or so", "--person", "Zoë", "--format", "csv", "--delimiter", ";")
    result = call(
        "compare", *options, "--encoding", "latin-1", "--report", "r.html", *QUICK, *BUDGETS, "--", "-a table.dat"
    )
    assert result.code == 0, result.err
    arguments = find_command(result)
    for name, value in (("--delimiter", ";"), ("--encoding", "latin-1"), ("--format", "csv")):
        assert arguments[arguments.index(name) + 1] == value
    assert "--space" in arguments
    assert ("--person" in arguments) == (way != "words")
    done = call(*arguments)
    assert done.code == 0, done.err
    assert (place / arguments[-1]).is_file()


@pytest.mark.usefixtures("always_useful")
def test_words_are_decoded_by_the_printed_command(compare, call, monkeypatch):
    """--unescape is passed on where the command has it; where it has not, a reason says what is to be done."""
    monkeypatch.setattr("deniable.comparison.recommendation._is_protected", lambda *_: True)
    for way, is_passed_on in (("words", True), ("classifier", False)):
        monkeypatch.setattr("deniable.comparison.recommendation._PREFERRED_WAYS", {"texts": (way,)})
        result = compare("--unescape", "html", report=f"{way}.html")
        arguments = find_command(result)
        assert ("--unescape" in arguments) is is_passed_on
        assert ("decode their HTML entities first" in result.text) is not is_passed_on
        assert call(*arguments).code == 0


def test_unusable_rows(compare, place):
    """Rows without a label are left out and named, on standard error alone."""
    table = (place / "t.csv").read_text().splitlines()
    table[3] = table[3].replace("fine", "").replace("poor", "")
    (place / "t.csv").write_text("\n".join(table))
    result = compare("--public", "public.csv", "--json")
    assert "t.csv: 1 row without a label in 'kind' left out: row 3" in result.err
    assert json.loads(result.text)["table"]["rows"] == 79


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--epsilons", "1,x"), "finite numbers above 0"),
        (("--recoveries", "2"), "recoveries"),
        (("--max-records", "2"), "--max-records is for --person"),
        (("--public-label", "kind"), "--public-label is for --public"),
        (("--public", "t.csv"), "is the private table itself"),
        (("--min-retained", "1.5"), "--min-retained is a share"),
        (("--person", "nobody"), "nobody"),
        (("--person", "kind"), "'kind' cannot be labels and persons at once"),
        (("--person", "text"), "'text' cannot be texts and persons at once"),
        (("--limit", "5"), "rows"),
    ],
)
def test_refusals(compare, refused, options, message):
    """What cannot be compared is refused in one line, and nothing is written."""
    refused.given()
    assert message in refused(compare(*options))


def test_a_page_is_a_file(compare, refused, place):
    """The page goes to no pipe, and over no file unless told."""
    refused.given(r__html="mine")
    assert "The page must be a file" in refused(compare(report="-"))
    assert "r.html" in refused(compare())
    assert (place / "r.html").read_text() == "mine"


def test_texts_of_another_language(compare, place):
    """The owner is told that the space lacks most of the words, on standard error alone."""
    header, *rows = (place / "t.csv").read_text("utf-8").splitlines()
    lines = [header, *[f"{'שלום ' * 30}{row}" for row in rows]]
    (place / "foreign.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    result = compare(source="foreign.csv")
    assert result.code == 0, result.err
    assert " % of the words are not in the vocabulary, and nothing tells one of them from another" in result.err
    assert b"not in the vocabulary" not in result.out
