"""The classifiers of text: a new one is one more file and one more entry."""

import torch

from deniable.errors import bad_parameter
from deniable.robust.text.models.attention import DecomposableAttention
from deniable.robust.text.models.bow import BagOfWords, BagsOfWords
from deniable.robust.text.models.cnn import Convolutional
from deniable.robust.text.models.fasttext import FastText
from deniable.robust.text.network import TextNetwork
from deniable.space import Space

MODELS: dict[str, tuple[type[TextNetwork], ...]] = {
    "cnn": (Convolutional,),
    "bow": (BagOfWords, BagsOfWords),
    "fasttext": (FastText,),
    "attention": (DecomposableAttention,),
}
"""Networks by name; where there are two, one is for single texts and one for pairs.

Each takes the vectors (V, d) of the words, float32, and the number of classes.
"""


def kind_of(name: str, *, pairs: bool = False) -> type[TextNetwork]:
    """Return the network of a name for single texts or for pairs; that for the other kind where there is no such one.

    Raises:
        InputError: no such model.
    """
    if name not in MODELS:
        raise bad_parameter("a text classifier", "name", f"one of {', '.join(MODELS)}", name)
    of_kind = [kind for kind in MODELS[name] if kind.paired == pairs]
    return (of_kind or list(MODELS[name]))[0]


def build(name: str, space: Space, classes: int, *, pairs: bool = False) -> TextNetwork:
    """Return a network in training mode, its first weights drawn where `deniable.robust.networks.seeded` says.

    Args:
        name: one of `MODELS`.
        space: whose words it reads.
        classes: how many there are.
        pairs: whether a document is a pair of texts; a model that is for the other kind alone is returned all the same.

    Raises:
        InputError: no such model.
    """
    return kind_of(name, pairs=pairs)(torch.tensor(space.vectors, dtype=torch.float32), classes)
