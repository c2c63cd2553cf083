"""Words that are put into a list, or taken out, by hand."""

from pathlib import Path


def read_words_by_hand(kind: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the words of ``by_hand.tsv`` that are in the list of that kind, and those that are out of it."""
    lines = Path(__file__).with_suffix(".tsv").read_text(encoding="utf-8").splitlines()
    rows = [tuple(line.split("\t")) for line in lines if not line.startswith("#")]
    included, excluded = (frozenset(word for *key, word in rows if key == [kind, side]) for side in ("in", "out"))
    return included, excluded
