"""The compiled text path: many texts at once, on all cores, byte for byte what the Python lexer gives.

`lex_texts` is its one door. It is quick with the default options of a release, and leaves everything else to Python.
"""

import sys

import numpy as np

from deniable.text.encoded import EncodedTexts
from deniable.text.tokens import LexedTexts, Lexer

MIN_COMPILED_BYTES, MIN_COMPILED_LATER, MAX_COMPILED_BYTES = 500_000, 20_000, 1 << 28
"""How long the texts are together, at least, and each at most, that compiled loops read.

For fewer, loading them takes longer, unless this process has loaded them.
"""


def lex_texts(lexer: Lexer, texts: EncodedTexts, workers: int | None = None) -> LexedTexts:
    """Texts, split.

    Args:
        lexer: cuts them, and says what their words are.
        texts: R texts.
        workers: threads; the result does not depend on them.
    """
    least = min(MIN_COMPILED_BYTES, MIN_COMPILED_LATER) if f"{__name__}.lexer" in sys.modules else MIN_COMPILED_BYTES
    is_suitable = texts.size >= least and np.diff(texts.offsets).max() <= MAX_COMPILED_BYTES
    if not is_suitable or lexer.keep or lexer.unknown != "draw":
        return lexer.lex_texts(texts)
    from deniable.text.compiled.lexer import lex_compiled

    return lex_compiled(lexer, texts, workers)
