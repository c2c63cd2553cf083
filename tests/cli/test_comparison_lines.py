"""What ``deniable compare`` prints, from figures made by hand."""

from deniable.cli.comparison_lines import format_comparison, format_recommendation
from deniable.comparison.recommendation import recommend_release
from tests.comparison.test_recommendation import CLASSIFIERS, TEXTS, WORDS, make_comparison


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
