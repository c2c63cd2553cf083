"""The blind attack: the whole text is drawn again and again."""

from deniable.robust.text.attacks.genetic import texts_scored
from deniable.robust.text.attacks.moves import moves_of, redraws
from deniable.robust.text.attacks.outcome import Attacked
from deniable.robust.text.attacks.search import ROUND, Search, attacked, whole
from deniable.robust.text.attacks.targets import Targets
from deniable.robust.text.copies import Source
from deniable.robust.text.documents import Documents, Words
from deniable.robust.text.network import Scorer


def resampling(
    scorer: Scorer,
    documents: Documents,
    source: Source,
    key: bytes,
    *,
    draws: int = texts_scored(),
    workers: int | None = None,
) -> Attacked:
    """Draw every word anew until the classifier errs.

    Under a mechanism these are the texts that it releases; under sets every choice of a word is equally likely, the
    word itself among them.

    Args:
        scorer: of versions of the documents.
        documents: with the labels to lead away from; those classified wrongly are left as they are.
        source: sets of substitutions, or a mechanism.
        key: 32 bytes; what is drawn for a document follows from the key and the document.
        draws: texts to try, >= 1; by default as many as the genetic attack scores at most.
        workers: threads that draw for the mechanism; the result does not depend on them.

    Raises:
        InputError: an option outside its domain, or what `deniable.robust.text.attacks.search.attacked` refuses.
    """
    whole("resampling", "draws", draws, 1)
    moves = moves_of(source)

    def begin(given: Targets) -> list[Search]:
        return [_search(copies) for copies in redraws(moves, given, draws, workers)]

    return attacked(scorer, documents, moves, key, begin, lambda lengths: draws * lengths)


def _search(copies: Words) -> Search:
    """Try copies (c, L) of one text, some at a time."""
    for start in range(0, len(copies), ROUND):
        yield copies[start : start + ROUND]
