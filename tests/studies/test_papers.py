"""The map of the papers: complete, every name and link exists, and its verdicts are those of the studies."""

import importlib
import itertools
import re
from pathlib import Path

import pytest
import typer

import deniable as dn
from deniable.cli.main import app
from deniable.registry import IMAGE_TRAINERS, REWRITING_METHODS, VECTOR_MECHANISMS, WORD_MECHANISMS, ZOOS
from studies import STUDIES
from studies.page import RESULTS
from studies.papers import SOURCE, build_map, check_map
from tests.refusals import refuses

pytest.importorskip("torch")  # the published image systems are named too

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGE = (DOCS / "papers.md").read_text(encoding="utf-8")
TITLES = (
    "Differentially Private Adversarial Robustness Through Randomized Perturbations",
    "When differential privacy meets NLP: The devil is in the detail",
    "How reparametrization trick broke differentially-private text representation learning",
    "TEM: High Utility Metric Differential Privacy on Text",
    "Differential Privacy in Adversarial Learning with Provable Robustness",
)
ITEMS = {
    "Xu": "Equation 1 to 2, Definition 1, Algorithm 1 to 2, Theorem 1, Lemma 1, Table 1 to 3, Figure 1a 1b 1c 1d 2, "
    "Appendix A to C",
    "Habernal 2021": "Definition 2.1 2.2 2.3 2.4 2.5 2.6, Theorem 2.1 3.1 3.2 5.1 A.1, Corollary 5.1 A.1, Figure 1, "
    "Appendix A to C",
    "Habernal 2022": "Definition 2.1 2.2, Equation 1 to 20, Theorem 3.1 3.2 A.1, Figure 1 to 2, Appendix A",
    "Carvalho": "Definition 3.1, Equation 1 to 4, Algorithm 1 to 3, Theorem 1 to 3, Lemma A.1 B.1, Corollary B.1, "
    "Figure 1a 1b, Appendix A.1 A.2 B C",
    "Phan": "Definition 1, Equation 1 to 15, Equation 29 30, Lemma 1 to 5, Theorem 1 to 5, Proposition 1, "
    "Algorithm 1 to 2, Table 1, Figure 1 to 7, Appendix A to O",
}
"""What each paper numbers, in its text; equations within proofs left out."""
TERMS = ("plausible deniability", "d_chi-privacy", "Functional Mechanism", "Theorem 5", "Proposition 1", "Lemma 5")
WORDS = ("holds", "refuted", "as published", "as defined", "differs", "open", "not here")
"""With what a verdict begins that no study decides."""
NUMBER = r"(?:[A-O](?:\.\d)?|\d+(?:\.\d)?[a-d]?)\b"
KINDS = "Equation|Definition|Theorem|Lemma|Corollary|Proposition|Algorithm|Table|Figure|Appendix"


def list_items(text):
    """Return the numbered items that a text names, ranges written out: ("Figure", "1a")."""
    found = set()
    text = text.replace("Appendices", "Appendix")
    for kind, numbers in re.findall(rf"({KINDS})s? ({NUMBER}(?:(?:,? and |, | to | ){NUMBER})*)", text):
        parts = re.findall(rf"(to )?({NUMBER})", numbers)
        for (_, number), (is_range, end) in itertools.pairwise([*parts, ("", "")]):
            found.add((kind, number))
            if is_range and number.isdigit():
                found |= {(kind, str(each)) for each in range(int(number), int(end))}
            elif is_range and len(number) == len(end) == 1:
                found |= {(kind, chr(each)) for each in range(ord(number), ord(end))}
            elif is_range:
                whole, first = number.split(".")
                found |= {(kind, f"{whole}.{each}") for each in range(int(first), int(end.split(".")[1]))}
    return found


def list_rows(paper=""):
    """Return the cells of the map's rows, of one paper or of all, without the table of terms."""
    parts = re.split(r"^## ", PAGE.partition("\n## Terms")[0], flags=re.MULTILINE)[1:]
    lines = [line for part in parts if part.startswith(paper) for line in part.splitlines() if line.startswith("| ")]
    return [line.strip("| ").split(" | ") for line in lines if not line.startswith("| in the paper")]


def test_the_map_follows_from_the_rows():
    """Page and source agree with what the studies measured."""
    assert check_map() == []


@pytest.mark.parametrize("paper", ITEMS)
def test_every_item_has_a_row(paper):
    """Each numbered item of a paper stands in the first column."""
    found = set().union(*(list_items(row[0]) for row in list_rows(paper)))
    assert list_items(ITEMS[paper]) - found == set()


def test_ranges_of_items_are_written_out():
    """Lists and ranges of numbers and letters name their members, and words are no numbers."""
    assert list_items("Equations 2 to 4, Definitions 2.1 to 2.3; Appendices F and G, Delta") == {
        *(("Equation", each) for each in "234"),
        *(("Definition", f"2.{each}") for each in "123"),
        *(("Appendix", each) for each in "FG"),
    }


def test_every_row_has_a_verdict():
    """A verdict is a study's outcome or begins with one of a few words; a row has a place or says what is missing."""
    for row in list_rows():
        assert len(row) == 4, row
        is_measured = "#what-the-paper-says" in row[3] or "#what-is-asked-here" in row[3]
        assert is_measured or row[3].startswith(WORDS), row
        assert row[2] != "-" or row[3].startswith(("not here", "as defined", "open")), row


MEASURED = [study for study in STUDIES.values() if (RESULTS / f"{study.stem}.csv").is_file()]


@pytest.mark.parametrize("study", MEASURED, ids=lambda study: study.name)
def test_every_statement_is_on_the_map(study):
    """What a study judges of a paper is quoted in the row of what the paper says, once its rows are there."""
    quoted = re.findall(rf'said\("{study.name}", "([^"]+)"\)', SOURCE.read_text(encoding="utf-8"))
    for statement in study.statements:
        assert sum(statement.text.startswith(beginning) for beginning in quoted) == 1, statement.text


def test_a_theorem_has_one_outcome():
    """Two studies of one theorem or lemma do not disagree about it."""
    for row in list_rows():
        if row[0].startswith(("Theorem", "Lemma", "Corollary", "Proposition")):
            assert len(set(re.findall(r"\[([a-z ]+)\]\(studies/[^)]*#what-the-paper-says", row[3]))) <= 1, row


def list_registered_names():
    """Return the names under which mechanisms, methods, trainers and entries of the zoo are known."""
    entries = {entry.name for zoo in ZOOS.values() for group in zoo.values() for entry in group}
    return {*WORD_MECHANISMS, *VECTOR_MECHANISMS, *REWRITING_METHODS, *IMAGE_TRAINERS, *entries}


def test_every_name_exists():
    """What stands as code is a public name, a module's, a command, a file, or a registered name."""
    names = list_registered_names()
    for name in set(re.findall(r"`([^`]+)`", PAGE.partition("-->")[2])):
        if name.startswith(("dn.", "deniable.")):
            found, *path = (dn, *name.split(".")[1:])
            for place, part in enumerate(path):
                if not hasattr(found, part):  # a module that nothing has imported yet
                    importlib.import_module(".".join(("deniable", *path[: place + 1])))
                found = getattr(found, part)
        elif name.startswith("deniable "):
            command, words = typer.main.get_command(app), name.split()[1:]
            while words and hasattr(command, "commands"):
                command = command.commands[words.pop(0)]
            assert set(words) <= names, name
        elif name.endswith(".py"):
            assert (ROOT / name).is_file(), name
        else:
            assert name in names, name


def test_every_link_leads_somewhere():
    """Pages exist, and so do the headings that links name."""
    links = set(re.findall(r"\]\(([^)]+)\)", PAGE))
    assert len(links) > 20
    for link in links:
        page, _, anchor = link.partition("#")
        headings = re.findall(r"^#+ (.*)$", (DOCS / page).read_text(encoding="utf-8"), flags=re.MULTILINE)
        slugs = {re.sub(r"[^\w\s-]", "", heading).strip().lower().replace(" ", "-") for heading in headings}
        assert not anchor or anchor in slugs, link


def test_papers_are_found():
    """Titles and terms stand on a page that the site's search has, and the README names the five papers."""
    assert '"papers.md"' in (ROOT / "zensical.toml").read_text(encoding="utf-8")
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    page = " ".join(PAGE.split())
    for title in TITLES:
        assert title in page
        assert title in readme
    for term in TERMS:
        assert term in page


@pytest.mark.parametrize(
    ("reference", "value"),
    [
        ('said("nothing", "A")', "nothing"),
        ('said("tem-utility", "At")', "'At'"),
        ('said("tem-utility", "Nobody")', "'Nobody'"),
        ('at("tem-utility", "tem", "accuracy", 77)', "77"),
    ],
)
def test_references_to_nothing(reference, value):
    """A study, statement or row that is not there is named in one line."""
    with refuses(value):
        build_map(f"{{{{ {reference} }}}}")


def test_outcomes_are_counted():
    """Of several rows those for a statement are counted, or those against it."""
    agreed = build_map('{{ said("sanity-check", "DPText has") }}')
    assert re.fullmatch(r"\[agrees\]\(studies/\S+\) \(64 of 64\)", agreed)
    against = build_map('{{ said("sanity-check", "A general check") }}')
    assert re.fullmatch(r"\[does not agree\]\(studies/\S+\) \(against it \d+ of 56\)", against)
