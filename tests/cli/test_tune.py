"""``deniable tune``: what it prints runs as printed, and what it cannot do is one line."""

import csv
import gzip
import json
import re
import shlex

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deniable import Space, recovery
from deniable.core.numbers import as_percent, format_upper
from deniable.registry.words import WORD_MECHANISMS

GOOD, BAD = ("good", "great", "food"), ("bad", "was", "red")


@pytest.fixture
def tune(call):
    """Return a function that tunes for in.csv."""

    def tuning(*options, source="in.csv"):
        return call("tune", source, "--space", "space.npz", *options)

    return tuning


@pytest.fixture
def run(call, place):
    """Return a function that runs the commands that were printed, and gives the certificate of the release."""

    def running(result):
        assert (result.code, result.err) == (0, "")
        for name in ("measure", "run"):
            program, *command = shlex.split(printed(result)[name])
            assert program == "deniable"
            done = call(*command)
            assert done.code == 0, done.err
            assert (place / command[-1]).is_file()
        return json.loads((place / f"{command[-1]}.certificate.json").read_text("utf-8"))

    return running


def test_the_printed_release_is_warned_of(tune, place):
    """Where the printed command would copy a column of remarks, its owner is told so at once."""
    rows = reviews().splitlines()
    (place / "in.csv").write_text("\n".join([f"{rows[0]},note", *(f"{row},Ann Smith rang" for row in rows[1:4])]))
    result = tune("--min-kept", "0.5")
    assert result.code == 0
    assert "copied unchanged" not in result.err  # one remark that recurs
    (place / "in.csv").write_text("\n".join([f"{rows[0]},note", *(f"{row},rang Ann {row[:9]}" for row in rows[1:4])]))
    assert "warning: copied unchanged, and look like texts: 'note'" in tune("--min-kept", "0.5").err


def printed(result):
    """Return the lines that were printed by their names."""
    return dict(line.split(maxsplit=1) for line in result.text.splitlines() if not line.startswith("whole"))


def reviews(count=60):
    """Return a table whose words tell the class."""
    rng = np.random.default_rng(0)
    rows = [("text", "class")]
    for row in range(count):
        own = (GOOD, BAD)[row % 2]
        rows.append((" ".join([*rng.choice(own, 4), *rng.choice(["the", "and", "dog"], 2)]), ("good", "bad")[row % 2]))
    return "".join(f"{text},{name}\n" for text, name in rows)


@pytest.mark.parametrize("mechanism", ["auto", "best", "calibrated", "tight", "tem", "multivariate-laplace"])
def test_recovery(tune, run, mechanism):
    """The command that is printed runs, and its certificate tells of an attacker who names at most the target."""
    result = tune("--max-recovery", "0.5", "--mechanism", mechanism)
    certificate = run(result)
    lines = printed(result)
    made = certificate["mechanism"]
    assert lines["choice"] == f"{made['name']} at epsilon {made['epsilon']:g}"
    assert mechanism in {made["name"], "auto", "best"}
    if made["name"] != "multivariate-laplace":
        found = recovery(WORD_MECHANISMS[made["name"]](Space.load("space.npz"), epsilon=made["epsilon"]))
        assert 0.4 < found <= 0.5
        success = f"names {format_upper(as_percent(found), decimals=1)} % of words"
        for line in (lines["attacker"], certificate["attacker"]):
            assert f"{success}, if words follow Zipf's law by the space's ranks (" in line
    assert "without the output: 30.1 %" in lines["attacker"]
    assert lines["verification"].startswith("proved")
    assert "chosen" not in lines
    assert "by the owner" in certificate["chosen"]
    assert not any("choice of epsilon" in line for line in certificate["not_protected"])


def test_kept(tune, run):
    """At least the target is kept, and the certificate of the printed command says how much."""
    result = tune("--min-kept", "0.6", "--mechanism", "tem")
    certificate = run(result)
    share = float(certificate["expected_kept"].split()[0])
    assert 60 <= share < 65
    assert printed(result)["kept"] == f"{share:.1f} % of words, if words follow Zipf's law by the space's ranks"
    assert certificate["expected_kept"] == printed(result)["kept"]


def test_whole_records(tune, run):
    """What is said of the median record is what the certificate says of one of so many words."""
    result = tune("--min-kept", "0.5")
    certificate = run(result)
    (line,) = [line for line in result.text.splitlines() if line.startswith("whole records")]
    median = certificate["documents"][0]["words"]
    made = certificate["mechanism"]
    whole = WORD_MECHANISMS[made["name"]](Space.load("space.npz"), epsilon=made["epsilon"]).document_guarantee(
        median, 1e-6
    )
    assert certificate["documents"][0]["pure"]["epsilon"] == whole.pure.epsilon
    assert f"the median record, {median} words: epsilon {format_upper(whole.pure.epsilon)}" in line


@pytest.mark.parametrize("goal", [("--max-recovery", "0.6"), ("--min-kept", "0.4")])
def test_the_words_of_the_input(tune, run, goal):
    """With the input as prior the certificate of the printed command says that epsilon came from the data."""
    result = tune(*goal, "--prior-from-input", "--mechanism", "calibrated")
    lines = printed(result)
    assert "--chosen-from-data" in shlex.split(lines["run"])
    assert "from the private texts" in lines["chosen"]
    assert "if words follow the frequencies of this input" in lines["attacker"]
    certificate = run(result)
    assert "this input" not in json.dumps(certificate)
    assert certificate["chosen"].startswith("from the private texts themselves")
    assert any("choice of epsilon" in line for line in certificate["not_protected"])


def test_the_prior_is_that_of_the_input(tune, place):
    """The success that is told is that of who knows how often each word of the input occurs."""
    texts = ["the " * 6 + "food " * 3, "dog"]
    (place / "in.csv").write_text("text\n" + "".join(f"{text}\n" for text in texts))
    lines = printed(tune("--max-recovery", "0.7", "--prior-from-input", "--mechanism", "tem"))
    epsilon = float(lines["choice"].split()[-1])
    mechanism = WORD_MECHANISMS["tem"](Space.load("space.npz"), epsilon=epsilon)
    found = recovery(mechanism, {"the": 6, "food": 3, "dog": 1})
    assert 0.65 < found <= 0.7
    assert f"names {format_upper(as_percent(found), decimals=1)} % of words" in lines["attacker"]
    assert "without the output: 60.0 %" in lines["attacker"]


def test_public_counts(tune, place):
    """A file of public counts is the prior, what of it is left out is told, and the printed command names it."""
    (place / "counts.txt").write_text("the 6\nfood 3\ndog 1\nzork 5\n")
    result = tune("--max-recovery", "0.7", "--prior", "counts.txt", "--mechanism", "tem")
    assert result.code == 0
    assert result.err == "counts.txt: zork not in the vocabulary, left out\n"
    lines = printed(result)
    epsilon = float(lines["choice"].split()[-1])
    found = recovery(WORD_MECHANISMS["tem"](Space.load("space.npz"), epsilon=epsilon), {"the": 6, "food": 3, "dog": 1})
    assert (
        f"names {format_upper(as_percent(found), decimals=1)} % of words, if words follow the counts of 'counts.txt' ("
        in lines["attacker"]
    )
    assert "without the output: 60.0 %" in lines["attacker"]
    command = shlex.split(lines["run"])
    assert command[command.index("--prior") + 1] == "counts.txt"
    assert "--chosen-from-data" not in command


def test_utility(tune, run, place):
    """With an accuracy as goal the choice comes from the data too, and its accuracy is told."""
    (place / "in.csv").write_text(reviews())
    result = tune("--min-accuracy", "0.8", "--label", "class", "--mechanism", "calibrated")
    lines = printed(result)
    accuracy = float(lines["accuracy"].split()[0])
    assert 80 <= accuracy <= 100
    assert run(result)["chosen"].startswith("from the private texts themselves")


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet", "txt", "odd"])
def test_tables(tune, run, place, kind):
    """For every format, odd names and encodings the printed command runs as printed."""
    texts = ["the food was great", "Lond\u00f3n and the dog"]
    source, options = f"in.{kind}", []
    if kind == "parquet":
        pq.write_table(pa.table({"review text": texts}), place / source)
    elif kind == "odd":
        source, options = "my 'table'.data", ["--format", "csv", "--delimiter", "\\t", "--encoding", "latin-1"]
        options += ["--quoting", "none"]
        (place / source).write_bytes('review text\tn\nthe food was\t"1\n\u00fc dog\t2"\n'.encode("latin-1"))
    elif kind == "jsonl":
        (place / source).write_text("".join(json.dumps({"review text": text}) + "\n" for text in texts))
    else:
        head = "" if kind == "txt" else "review text\n"
        (place / source).write_text(head + "".join(f"{text}\n" for text in texts), encoding="utf-8")
    column = [] if kind == "txt" else ["-c", "review text"]
    result = tune(*column, "--min-kept", "0.5", "--mechanism", "tem", "--metric", "manhattan", *options, source=source)
    certificate = run(result)
    assert certificate["guarantee"]["metric"] == "manhattan, with names, places, numbers hidden"
    assert certificate["records"] == 2


def test_numbers_of_long_records(tune, run, place):
    """Of a record whose epsilon is in the thousands, tune and the certificate of its command say the same number."""
    (place / "in.csv").write_text("text\n" + "the food was great " * 300 + "\n")
    result = tune("--min-kept", "0.9", "--mechanism", "tem", "--hide", "none")
    run(result)
    (line,) = [line for line in result.text.splitlines() if line.startswith("whole records")]
    epsilon = line.split("epsilon ")[1]
    assert float(epsilon.replace(",", "")) > 1000
    assert re.fullmatch(r"\d{1,3}(,\d{3})+", epsilon)
    text = (place / "in.private.csv.certificate.json").read_text("utf-8")
    assert format_upper(json.loads(text)["documents"][0]["pure"]["epsilon"]) == epsilon


def test_the_printed_epsilons(tune, place):
    """The printed release has the very epsilon that was chosen, and the measurement its half, itself and its double."""
    (place / "in.csv").write_text(reviews())
    lines = printed(tune("--min-kept", "0.5", "--mechanism", "tem"))
    epsilon = float(lines["choice"].split()[-1])
    release, measure = shlex.split(lines["run"]), shlex.split(lines["measure"])
    assert float(release[release.index("--epsilon") + 1]) == epsilon
    epsilons = measure[measure.index("--epsilons") + 1]
    assert [float(value) for value in epsilons.split(",")] == [epsilon / 2, epsilon, 2 * epsilon]


@pytest.mark.parametrize(
    ("source", "output"),
    [
        ("in.csv", "in.private.csv"),
        ("a b's.csv", "a b's.private.csv"),
        ("in.tsv.gz", "in.private.tsv.gz"),
        ("v1.2.csv", "v1.2.private.csv"),
        ("folder/in.csv", "folder/in.private.csv"),
        ("-in.csv", "./-in.private.csv"),
    ],
)
def test_names_of_outputs(call, place, source, output):
    """The printed release stands beside its table under the table's own ending, whatever its name."""
    path = place / source
    path.parent.mkdir(exist_ok=True)
    open_table = gzip.open if path.suffix == ".gz" else open
    with open_table(path, "wt") as stream:
        stream.write("text\nthe food\nthe dog\n")
    options = ["--space", "space.npz", "--min-kept", "0.5", "--mechanism", "tem"]
    lines = printed(call("tune", *options, "--", source))
    command = shlex.split(lines["run"])
    assert command[-1] == output
    assert call(*command[1:]).code == 0
    assert (place / output).is_file()


def test_outputs_that_are_there(tune, run, place):
    """The printed commands name outputs that are not there yet, so that they run a second time."""
    run(tune("--min-kept", "0.5", "--mechanism", "tem"))
    again = tune("--min-kept", "0.5", "--mechanism", "tem")
    assert shlex.split(printed(again)["run"])[-1] == "in-2.private.csv"
    run(again)
    assert (place / "in-2.measure.html").is_file()


def test_labels_that_are_missing(tune, place):
    """Rows without a label have no part in the accuracy, and are named; the others give what they give alone."""
    rows = reviews().splitlines()
    (place / "in.csv").write_text("\n".join(rows) + "\n")
    whole = tune("--min-accuracy", "0.8", "--label", "class", "--mechanism", "calibrated")
    (place / "in.csv").write_text("\n".join([rows[0], "the food,", *rows[1:], "dog, "]) + "\n")
    gaps = tune("--min-accuracy", "0.8", "--label", "class", "--mechanism", "calibrated")
    assert gaps.err == "in.csv: 2 rows without a label in 'class', not used for the accuracy: rows 1 and 62\n"
    assert printed(gaps)["choice"] == printed(whole)["choice"]
    assert printed(gaps)["accuracy"] == printed(whole)["accuracy"]


def test_texts_that_are_missing(tune, run, place):
    """Rows without a text are no obstacle."""
    with (place / "in.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([["text"], ["the food"], [""], ["dog"]])
    assert run(tune("--max-recovery", "0.6"))["records"] == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "Give exactly one goal: --max-recovery, --min-kept or --min-accuracy. Got none."),
        (["--max-recovery", "0.5", "--min-kept", "0.5"], "Got --max-recovery and --min-kept."),
        (["--min-accuracy", "0.5"], "--min-accuracy and --label belong together"),
        (["--min-kept", "0.5", "--label", "note"], "--min-accuracy and --label belong together"),
        (["--max-recovery", "0.3"], "must be above 0.3014"),
        (["--max-recovery", "1"], "Got 1.0"),
        (["--min-kept", "nan"], "Got nan"),
        (["--min-kept", "-1"], "Got -1.0"),
        (["--min-kept", "x"], "--min-kept"),
        (["--min-kept", "0.5", "--column", "texxt"], "texxt"),
        (["--min-kept", "0.5", "--column", "id"], "hold no word of the vocabulary"),
        (["--min-kept", "0.5", "--mechanism", "temm"], "'temm' is not one of auto, best, calibrated, "),
        (["--min-kept", "0.5", "--metric", "taxi"], "taxi"),
        (["--min-kept", "0.5", "--format", "xls"], "'xls' is not one of csv, tsv, jsonl, parquet, txt."),
        (["--min-kept", "0.5", "--delimiter", "ab"], "one character"),
        (["--min-kept", "0.5", "--format", "jsonl", "--delimiter", ";"], "--delimiter is for csv and tsv"),
        (["--min-kept", "0.5", "--prior", "mine"], "The file of counts 'mine' cannot be read"),
        (
            ["--min-kept", "0.5", "--prior", "in.csv", "--prior-from-input"],
            "--prior and --prior-from-input exclude each other",
        ),
        (["--min-accuracy", "0.5", "--label", "text"], "cannot be texts and labels or authors or ids at once"),
        (["--min-accuracy", "0.5", "--label", "none"], "none"),
        (["--min-kept", "0.5", "--metric", "manhattan", "--mechanism", "multivariate-laplace"], "Euclidean metric"),
    ],
)
def test_refusals(tune, refused, options, message):
    """Wrong options are one line and exit code 2, and nothing is written."""
    assert message in refused(tune(*options))


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        ("text,class\nthe food,a\nthe dog,a\n", (), "must hold at least 2 classes. Got only 'a'"),
        ("text,class\nthe food,a\nthe dog,\n", (), "must hold at least 2 classes. Got only 'a'"),
        (reviews(6), ("--min-accuracy", "2"), "Got 2.0"),
        (
            "text,class\nthe food,a\nthe dog,b\nthe cat,b\n",
            (),
            "must hold 2 classes of 2 texts each, at least. Got 1 such",
        ),
        ("text,class\n", (), "Got none, since there are no rows"),
        ("", (), "in.csv"),
        ("text,class\nzork,a\nblarg,b\n", (), "hold no word of the vocabulary"),
        (
            "text,class\n" + "the food,a\nthe food,b\n" * 20,
            ("--min-accuracy", "0.95"),
            "at least 5 rows that differ. Got 1",
        ),
    ],
)
def test_tables_that_will_not_do(tune, refused, table, options, message):
    """One class, missing labels, classes of one row, no rows and no known words are each told in one line."""
    refused.given(in__csv=table)
    if not options:
        options = ("--min-accuracy", "0.5")
    assert message in refused(tune(*options, "--label", "class"))


@pytest.mark.parametrize("source", ["none.csv", "-", "space.npz", "."])
def test_inputs_that_are_none(tune, refused, source):
    """A file that is not there, a pipe or a folder is refused in one line."""
    assert source in refused(tune("--min-kept", "0.5", source=source))


def test_help(call):
    """The help names the options."""
    text = call("tune", "--help").text
    options = (
        "--max-recovery",
        "--min-kept",
        "--min-accuracy",
        "--label",
        "--prior",
        "--prior-from-input",
        "--mechanism",
    )
    assert [option for option in options if option not in text] == []


def test_the_owner_hears_of_html_and_unknown_words(call, place):
    """Entities and words of another language are told; decoded texts hold none, and the printed command decodes too."""
    (place / "in.csv").write_text('text\n"the dog&#039;s food"\nder Hund\n', "utf-8")
    basic = ("tune", "in.csv", "--space", "space.npz", "--min-kept", "0.5", "--mechanism", "tem")
    result = call(*basic)
    assert "warning (for you only): 50.0 % of the texts (1 of 2) hold HTML entities" in result.err
    assert "of the words are not in the vocabulary" in result.err
    result = call(*basic, "--unescape", "html")
    assert "HTML entities" not in result.err
    assert "--unescape html" in result.text
