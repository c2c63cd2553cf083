"""The networks of text classifiers by name: a new one is one class and one more entry."""

import torch

from deniable.core.errors import make_parameter_error
from deniable.models.text.networks.base import TextNetwork
from deniable.models.text.networks.jia import BagOfWords, ConvolutionalNetwork, DecomposableAttention, PairedBagOfWords
from deniable.models.text.networks.means import FastText, FrozenMean
from deniable.space import Space

TEXT_NETWORKS: dict[str, tuple[type[TextNetwork], ...]] = {
    "cnn": (ConvolutionalNetwork,),
    "bow": (BagOfWords, PairedBagOfWords),
    "fasttext": (FastText,),
    "attention": (DecomposableAttention,),
}
"""Networks of kinds that claim no privacy, by name; where there are two, one is for single texts and one for pairs.

Each takes the vectors (V, d) of the words, float32, and the number of classes.
"""

PRIVATE_TEXT_NETWORKS: dict[str, tuple[type[TextNetwork], ...]] = {"dp-fasttext": (FrozenMean,)}
"""Networks that `deniable.models.text.private_training` trains, by name."""
_ALL_NETWORKS = TEXT_NETWORKS | PRIVATE_TEXT_NETWORKS


def select_text_network(name: str, *, pairs: bool = False) -> type[TextNetwork]:
    """Return the network of a name for single texts or for pairs; that for the other kind where there is no such one.

    Raises:
        InputError: no such model.
    """
    if name not in _ALL_NETWORKS:
        raise make_parameter_error("a text classifier", "name", f"one of {', '.join(_ALL_NETWORKS)}", name)
    matching = [network for network in _ALL_NETWORKS[name] if network.takes_pairs == pairs]
    return (matching or list(_ALL_NETWORKS[name]))[0]


def build_text_network(name: str, space: Space, classes: int, *, pairs: bool = False) -> TextNetwork:
    """Return a network in training mode, its first weights drawn where `deniable.learning.loop.build_with_seed` says.

    Args:
        name: one of `TEXT_NETWORKS` or `PRIVATE_TEXT_NETWORKS`.
        space: whose words it reads.
        classes: how many there are.
        pairs: whether a document is a pair of texts; a model that is for the other kind alone is returned all the same.

    Raises:
        InputError: no such model.
    """
    return select_text_network(name, pairs=pairs)(torch.tensor(space.vectors, dtype=torch.float32), classes)
