"""``deniable tune``, and commands that commands print: they run as printed."""

import gzip
import html
import json
import re
import shlex

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deniable as dn

deep = pytest.mark.deep
GOOD, BAD = ("good", "great", "food"), ("bad", "was", "red")
MECHANISMS = {"calibrated": dn.CalibratedExponential, "tight": dn.TightExponential, "tem": dn.TEM}
TEM = ("--mechanism", "tem")


@pytest.fixture
def tune(call):
    """Return a function that tunes for in.csv."""

    def tuning(*options, source="in.csv", **more):
        return call("tune", source, "--space", "space.npz", *options, **more)

    return tuning


@pytest.fixture
def run(call, place):
    """Return a function that runs the commands that were printed, and gives the certificate of the release."""

    def running(result, **more):
        assert result.code == 0
        commands = find_commands(result.text)
        assert [command[0] for command in commands] == ["measure", "privatize"]
        for command in commands:
            done = call(*command, **more)
            assert done.code == 0
            assert (place / command[-1]).is_file()
        return json.loads((place / f"{commands[-1][-1]}.certificate.json").read_text("utf-8"))

    return running


def find_commands(text):
    """Return the deniable commands in what a command printed, as argument lists."""
    return [shlex.split(command)[1:] for command in re.findall(r"\bdeniable [a-z]+ [^\n]*", text)]


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


def find_recovery(name, epsilon, *prior):
    """Return the success of an attacker on a mechanism, as the space of the folder has it."""
    return dn.recovery(MECHANISMS[name](dn.Space.load("space.npz"), epsilon=epsilon), *prior)


def tells_share(line, share):
    """Say whether a line says that an attacker guesses that share of words, rounded up."""
    (percent,) = re.findall(r"right for ([\d.]+)% of words, if words follow", line)
    return 0 <= float(percent) - 100 * share < 0.1


@pytest.mark.parametrize(
    "mechanism", ["auto", "tem", *(pytest.param(n, marks=deep) for n in ("best", "calibrated", "tight"))]
)
def test_recovery(tune, run, mechanism):
    """The command that is printed runs, and its certificate tells of an attacker who guesses at most the target."""
    result = tune("--max-recovery", "0.5", "--for", "average", "--mechanism", mechanism)
    certificate, lines = run(result), printed(result)
    made = certificate["mechanism"]
    assert lines["choice"] == f"{made['name']} at epsilon {made['epsilon']:g}"
    assert mechanism in {made["name"], "auto", "best"}
    found = find_recovery(made["name"], made["epsilon"])
    assert 0.4 < found <= 0.5
    for line in (lines["attacker"], certificate["attacker"]):
        assert tells_share(line, found)
    assert "(30.1% without any output" in lines["attacker"]
    assert lines["verification"].startswith("proved")
    assert "chosen" not in lines
    assert "by the owner" in certificate["chosen"]


@pytest.mark.parametrize("words", ["rare", "every"])
def test_words_that_an_average_conceals(tune, run, words):
    """Rare words are held to the target, or every word is; terminal and certificate say the same of all of them."""
    result = tune("--max-recovery", "0.4", *(() if words == "rare" else ("--for", words)), *TEM)
    certificate, lines = run(result), printed(result)
    outcomes = dn.TEM(dn.Space.load("space.npz"), epsilon=certificate["mechanism"]["epsilon"]).outcomes()
    assert 0.38 < (outcomes.rare_guessed if words == "rare" else outcomes.exposed_share) <= 0.4
    assert f"{15 * ' '}{outcomes.describe_bands()}\n" in result.text
    assert outcomes.describe_bands() == certificate["bands"]
    assert lines["most"] == f"exposed   {outcomes.describe_exposed()}"
    assert outcomes.describe_exposed() == certificate["most_exposed"]


def test_kept(tune, run):
    """At least the target is kept; certificate and terminal say how much, and the same of the median record."""
    result = tune("--min-kept", "0.6", *TEM)
    certificate = run(result)
    assert 60 <= float(certificate["expected_kept"].split("%")[0]) < 65
    assert certificate["expected_kept"] == printed(result)["kept"]
    (line,) = [line for line in result.text.splitlines() if line.startswith("whole records")]
    median, made = certificate["documents"][0]["words"], certificate["mechanism"]
    whole = dn.TEM(dn.Space.load("space.npz"), epsilon=made["epsilon"]).document_guarantee(median, 1e-6).pure.epsilon
    assert certificate["documents"][0]["pure"]["epsilon"] == whole
    shown = float(re.search(rf"the median record, {median} words: epsilon ([\d.]+)", line)[1])
    assert shown == pytest.approx(whole, rel=0.01)


@pytest.mark.parametrize("goal", [("--max-recovery", "0.7"), pytest.param(("--min-kept", "0.4"), marks=deep)])
def test_the_words_of_the_input(tune, run, place, goal):
    """With the input as prior the choice is that of who knows its words, and the certificate says so."""
    (place / "in.csv").write_text("text\n" + "the " * 6 + "food " * 3 + "\ndog\n")
    result = tune(*goal, "--prior-from-input", *TEM)
    lines = printed(result)
    assert "--chosen-from-data" in shlex.split(lines["run"])
    assert tells_share(
        lines["attacker"], find_recovery("tem", float(lines["choice"].split()[-1]), {"the": 6, "food": 3, "dog": 1})
    )
    assert "(60.0% without any output" in lines["attacker"]
    certificate = run(result)
    assert "this input" not in json.dumps(certificate)
    assert certificate["chosen"].startswith("from the private texts themselves")
    assert any("choice of epsilon" in line for line in certificate["not_protected"])


def test_public_counts(tune, place):
    """A file of public counts is the prior, what of it is left out is told, and the command that measures names it."""
    (place / "counts.txt").write_text("the 6\nfood 3\ndog 1\nzork 5\n")
    result = tune("--max-recovery", "0.7", "--for", "average", "--prior", "counts.txt", *TEM)
    assert (result.code, result.err) == (0, "counts.txt: zork not in the vocabulary, left out\n")
    lines = printed(result)
    found = find_recovery("tem", float(lines["choice"].split()[-1]), {"the": 6, "food": 3, "dog": 1})
    assert 0.65 < found <= 0.7
    assert tells_share(lines["attacker"], found)
    command = shlex.split(lines["measure"])
    assert command[command.index("--prior") + 1] == "counts.txt"
    assert "--chosen-from-data" not in lines["run"]


def test_utility(tune, run, place):
    """With an accuracy as goal the choice comes from the data too; rows without a label have no part in it."""
    goal = ("--min-accuracy", "0.8", "--label", "class", "--mechanism", "calibrated")
    (place / "in.csv").write_text(reviews())
    whole = tune(*goal)
    assert 80 <= float(printed(whole)["accuracy"].split("%")[0]) <= 100
    header, *rows = reviews().splitlines()
    (place / "in.csv").write_text("\n".join([header, "the food,", *rows, "dog, "]) + "\n")
    gaps = tune(*goal)
    assert gaps.err.endswith(": rows 1 and 62\n")
    for name in ("choice", "accuracy"):
        assert printed(gaps)[name] == printed(whole)[name]
    assert run(gaps)["chosen"].startswith("from the private texts themselves")


@pytest.mark.parametrize(
    "kind", ["odd", *(pytest.param(k, marks=deep) for k in ("csv", "tsv", "jsonl", "parquet", "txt"))]
)
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
    certificate = run(tune(*column, "--min-kept", "0.5", *TEM, "--metric", "manhattan", *options, source=source))
    assert certificate["guarantee"]["metric"] == "manhattan, with names, places and numbers hidden"
    assert certificate["records"] == 2


def test_a_pipe(tune, run):
    """The commands for a table from a pipe read a pipe again, and name what they write after its format."""
    table = reviews().encode()
    result = tune("--max-recovery", "0.60000001", "--format", "csv", source="-", stdin=table)
    commands = find_commands(result.text)
    assert [command[1] for command in commands] == ["-", "-"]
    assert [command[-1] for command in commands] == ["input.measure.html", "input.private.csv"]
    assert commands[0][commands[0].index("--max-recovery") + 1] == "0.60000001"
    run(result, stdin=table)


@pytest.mark.parametrize(
    ("source", "output"),
    [
        ("a b's.csv", "a b's.private.csv"),
        ("in.tsv.gz", "in.private.tsv.gz"),
        ("v1.2.csv", "v1.2.private.csv"),
        ("folder/in.csv", "folder/in.private.csv"),
        ("-in.csv", "./-in.private.csv"),
    ],
)
def test_names_of_outputs(call, place, source, output):
    """The printed release stands beside its table under the table's own ending, whatever its name, and runs twice."""
    path = place / source
    path.parent.mkdir(exist_ok=True)
    with (gzip.open if path.suffix == ".gz" else open)(path, "wt") as stream:
        stream.write("text\nthe food\n\ndog\n")
    options = ["--space", "space.npz", "--min-kept", "0.5", *TEM]
    for is_first in (True, False):
        command = shlex.split(printed(call("tune", *options, "--", source))["run"])
        assert (command[-1] == output) is is_first
        assert not (place / command[-1]).exists()
        assert call(*command[1:]).code == 0
        assert (place / command[-1]).is_file()


def test_what_the_owner_hears(tune, place):
    """Columns that would be copied, entities and unknown words are told; decoded texts hold none, also as printed."""
    rows = [f"the dog&#039;s food,rang Ann {row} at noon" for row in range(3)]
    (place / "in.csv").write_text("\n".join(["text,note", *rows, "der Hund bellt laut,"]))
    said = tune("--min-kept", "0.5", *TEM).err
    assert "warning: copied unchanged, and look like texts: 'note'" in said
    assert "warning (for you only): 75.0% of the texts (3 of 4) hold HTML entities" in said
    assert "of the words are not in the vocabulary" in said
    result = tune("--min-kept", "0.5", *TEM, "--unescape", "html")
    assert "HTML entities" not in result.err
    assert "--unescape html" in result.text


class TestPrintedCommands:
    """Commands in messages, help and reports."""

    @pytest.mark.parametrize("content", [None, b"short", b"x" * 33])
    @pytest.mark.parametrize("name", ["release.key", "my 'own' key"])
    def test_a_key_file_that_is_none(self, privatize, call, place, name, content):
        """Where a key file is missing or no key, the printed command writes one, and never over what is there."""
        if content is not None:
            (place / name).write_bytes(content)
        result = privatize("--key", name, "--id", "id")
        (command,) = find_commands(result.err)
        assert call(*command).code == 0
        assert content is None or (place / name).read_bytes() == content
        assert privatize("--key", command[-1], "--id", "id").code == 0

    def test_the_first_command_of_the_help(self, call, place):
        """The command that the help begins with runs in a folder that has such a table."""
        (place / "in.csv").rename(place / "reviews.csv")
        (command,) = find_commands(call("--help").prose)
        end = command.index("--output") + 2
        assert call(*command[:end], "--space", "space.npz").code == 0
        assert (place / command[end - 1]).is_file()

    def test_the_command_line_of_a_report(self, call, place):
        """The command in a report of measure, run again, makes the same figures."""
        options = ["in.csv", "--space", "space.npz", "--epsilons", "1"]
        assert call("measure", *options, "--output", "my report.html").code == 0
        figures = (place / "my report.json").read_bytes()
        page = html.unescape(re.sub(r"<[^>]*>", "\n", (place / "my report.html").read_text("utf-8")))
        command = next(command for command in find_commands(page) if command[0] == "measure")
        assert call(*command, "--force").code == 0
        drop_seconds = re.compile(rb'"seconds": [^}]*}|"seconds": [0-9.e-]*|"command": "[^"]*"')
        assert drop_seconds.sub(b"", (place / "my report.json").read_bytes()) == drop_seconds.sub(b"", figures)
