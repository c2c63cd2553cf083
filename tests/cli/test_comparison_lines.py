"""What ``deniable compare`` prints, from figures made by hand."""

from deniable.cli.comparison_lines import format_comparison, format_recommendation
from deniable.comparison.recommendation import recommend_release
from deniable.comparison.report import list_release_facts
from tests.comparison.test_recommendation import CLASSIFIERS, TEXTS, WORDS, make_comparison, make_release


def test_one_line_a_release():
    """Every release has a line of equal width, then the originals and a blind guess."""
    lines = format_comparison(make_comparison(WORDS, *CLASSIFIERS, *TEXTS))
    assert len(lines) == 1 + 6 + 2
    assert len({len(line) for line in lines}) == 1
    assert "10.0 %" in lines[1]
    assert lines[-1].split()[:2] == ["blind", "guess"]


def test_the_command_stands_on_one_line():
    """The recommendation is wrapped, its command is not."""
    command = "deniable synthesize " + "x" * 200
    lines = format_recommendation(recommend_release(make_comparison(WORDS, *TEXTS)), command)
    assert lines[-2:] == [f"run: {command}", ""]
    assert max(len(line) for line in lines[:-2]) <= 110


def test_terminal_page_and_advice_say_the_same_bound():
    """An epsilon of a whole record is rounded up, and is the same text on the terminal, the page and in the advice."""
    words = make_release("words", 3, 0.8, whole=1930.22, named=0.15)
    comparison = make_comparison(words)
    (fact,) = [fact for fact in list_release_facts(words) if fact.label == "all of a record or person"]
    assert fact.text.startswith("epsilon 1,931 for ")
    assert " 1,931 " in format_comparison(comparison)[1]
    assert "epsilon is 1,931" in " ".join(recommend_release(comparison).reasons)


def test_an_epsilon_of_many_digits_is_shown_as_it_is():
    """An epsilon that was found or given is not rounded: what is printed can be asked for, and is what was measured."""
    words = make_release("words", 2.345678912, 0.8, whole=700, named=0.15)
    (fact,) = [fact for fact in list_release_facts(words) if fact.label == "epsilon"]
    assert fact.text == "2.345678912"
    assert "at epsilon 2.345678912 for each word" in recommend_release(make_comparison(words)).headline
