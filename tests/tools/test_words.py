"""The checker of phrases that are read twice, and what it is for: pages, help texts, and epsilons of examples."""

import importlib.util
import inspect
import re
from pathlib import Path

import pytest

import deniable as dn

ROOT = Path(__file__).parents[2]


def load_words():
    """Return the module of the checker."""
    specification = importlib.util.spec_from_file_location("words", ROOT / "tools" / "words.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


WORDS = load_words()
MAX_EPSILON = 2.82
"""Of a word in steps: up to it the best guess is right about at most one rare word in five."""
MARK = "<!-- a larger epsilon: "


def test_no_phrase_is_read_twice():
    """README, the pages for users, the page in a browser, and what commands say of what is wrong have no pattern."""
    found = [
        f"{page.relative_to(ROOT)}:{number}: {phrase!r}: {advice}"
        for page in WORDS.list_files()
        for number, line in WORDS.read_any(page)
        for phrase, advice in WORDS.find_phrases(line)
    ]
    assert found == []

    assert len(list(WORDS.read_any(WORDS.CATALOGUE))) > 1000
    assert len([line for page in WORDS.list_files() if page.suffix == ".js" for line in WORDS.read_any(page)]) > 100


def test_messages_are_read_without_their_names(tmp_path):
    """Only messages are read, and what they quote is a name."""
    path = tmp_path / "expected.txt"
    path.write_text(
        "# persons stand here\n$ deniable tune persons.csv\ndeniable: 'persons' and `persons`: the owner's persons\n"
        'warning (for you only): "alone" is a model\'s name, and so is it alone\n[exit code 1]\n',
        encoding="utf-8",
    )
    messages = dict(WORDS.read_messages(path))
    assert list(messages) == [3, 4]
    found = {number: [phrase for phrase, _ in WORDS.find_phrases(line)] for number, line in messages.items()}
    assert found == {3: ["persons"], 4: ["alone"]}


def test_scripts_are_read_without_their_code(tmp_path):
    """Only strings of several words are read, and what is computed in them is a name."""
    path = tmp_path / "page.js"
    path.write_text(
        '// alone\nsay("a text alone", `for ${persons} persons`, "alone");\n * "the persons here"\n', "utf-8"
    )
    assert list(WORDS.read_any(path)) == [(2, "a text alone"), (2, "for ` persons")]


@pytest.mark.parametrize(
    ("line", "phrase"),
    [
        ("an attacker names one word in five", "attacker names"),
        ("the figure stands below", "stands"),
        ("from the sums alone", "alone"),
        ("the table beside it", "beside"),
        ("callers are told apart", "are told"),
        ("names come out as names", "come out"),
        ("It runs. Who comes later waits", "Who c"),
        ("this is no text", "is no t"),
        ("all but for one", "but for"),
        ("one word a line", "word a line"),
        ("of many persons", "persons"),
        ("one output a line", "output a line"),
        ("it has 86.2%", "has 86.2%"),
        ("in 33.7 % of draws", "7 %"),
        ("that share is another", "is another"),
        ("run it as it stands", "as it stands"),
        ("a recognised word", "recognised"),
        ("its neighbors", "neighbors"),
        ("labeled words", "labeled"),
    ],
)
def test_phrases_are_found(line, phrase):
    """Each pattern finds what it is about."""
    assert any(phrase in found for found, _ in WORDS.find_phrases(line))


@pytest.mark.parametrize(
    "line",
    [
        "it stands for a word",
        "a stand-in",
        "There is no such file",
        "it is no better than a guess",
        "86.2% of words",
        "its neighbours",
    ],
)
def test_plain_lines_pass(line):
    """What reads well is left alone."""
    assert list(WORDS.find_phrases(line)) == []


def list_public_docs():
    """Yield the names of public functions, classes and members, and their docstrings."""
    for name in dn.__all__:
        public = getattr(dn, name)
        yield name, inspect.getdoc(public) or ""
        for member, value in vars(public).items() if inspect.isclass(public) else ():
            inner = getattr(value, "fget", None) or getattr(value, "__func__", value)
            if not member.startswith("_") and inspect.isfunction(inner):
                yield f"{name}.{member}", inspect.getdoc(inner) or ""


def test_docstrings_of_public_names_hold_none_either():
    """What Python shows of a public name is written like a page; the name of an argument is a name."""
    found = [
        f"dn.{name}: {phrase!r}: {advice}"
        for name, text in list_public_docs()
        for line in text.splitlines()
        for phrase, advice in WORDS.find_phrases(re.sub(r"`[^`]*`|^ *persons:", "`", line))
    ]
    assert found == []


@pytest.mark.parametrize("page", WORDS.list_pages(), ids=lambda page: page.name)
def test_examples_have_protective_epsilons(page):
    """A command that releases or serves words is printed with a protective epsilon, unless its page says why not."""
    text = page.read_text(encoding="utf-8")
    commands = re.findall(r"deniable (?:privatize|serve)[^\n]*?--epsilon ([\d.]+)", text.replace("\\\n", ""))
    unsafe = [epsilon for epsilon in commands if float(epsilon) > MAX_EPSILON]
    assert not unsafe or MARK in text
