"""The blind attack: the whole text is drawn again and again."""

from deniable.robust.text.attacks.genetic import compute_query_budget
from deniable.robust.text.attacks.moves import make_replacements, redraw_texts
from deniable.robust.text.attacks.outcome import TextAttackResult
from deniable.robust.text.attacks.search import TEXTS_PER_ROUND, AttackSearch, check_int_at_least, run_attack
from deniable.robust.text.attacks.targets import AttackTargets
from deniable.robust.text.copies import SubstituteSource
from deniable.robust.text.documents import Documents, WordIds
from deniable.robust.text.network import Scorer


def run_resampling_attack(
    scorer: Scorer,
    documents: Documents,
    source: SubstituteSource,
    key: bytes,
    *,
    draws: int = compute_query_budget(),
    workers: int | None = None,
) -> TextAttackResult:
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
        InputError: an option outside its domain, or what `deniable.robust.text.attacks.search.run_attack` refuses.
    """
    check_int_at_least("resampling", "draws", draws, 1)
    replacements = make_replacements(source)

    def start_searches(targets: AttackTargets) -> list[AttackSearch]:
        return [_search_resampling(copies) for copies in redraw_texts(replacements, targets, draws, workers)]

    return run_attack(scorer, documents, replacements, key, start_searches, lambda lengths: draws * lengths)


def _search_resampling(copies: WordIds) -> AttackSearch:
    """Try copies (c, L) of one text, some at a time."""
    for start in range(0, len(copies), TEXTS_PER_ROUND):
        yield copies[start : start + TEXTS_PER_ROUND]
