"""Every word mechanism by its name, also the published ones whose claims are not proved."""

from deniable.core.errors import InputError, make_parameter_error
from deniable.measure.choice import AUTO, choose_word_mechanism
from deniable.registry import word_mechanisms
from deniable.registry.names import check_mechanism_names
from deniable.space import Space
from deniable.words import WordMechanism

_CLASSES = [cls for cls in vars(word_mechanisms).values() if isinstance(cls, type) and issubclass(cls, WordMechanism)]
WORD_MECHANISMS: dict[str, type[WordMechanism]] = dict(
    zip(check_mechanism_names(cls.name for cls in _CLASSES), _CLASSES, strict=True)
)
"""Word mechanisms by name; a new one is one more line in `deniable.registry.word_mechanisms`."""


def mechanism(name: str, space: Space, *, epsilon: float) -> WordMechanism:
    """Return the word mechanism of a name.

    Args:
        name: a name from `WORD_MECHANISMS`, or ``auto``; see `choose_word_mechanism`.
        space: the words, with vectors and a metric.
        epsilon: privacy parameter per unit of distance, > 0.

    Raises:
        InputError: an unknown name, or an epsilon or a space that does not suit the mechanism.
    """
    if not isinstance(name, str):
        raise make_parameter_error("mechanism", "name", f"one of {', '.join([AUTO, *WORD_MECHANISMS])}", name)
    if not isinstance(space, Space):
        raise make_parameter_error("mechanism", "space", "a Space, such as Space.glove()", space)
    if name == AUTO:
        return choose_word_mechanism(space, epsilon)
    if name not in WORD_MECHANISMS:
        raise InputError(f"Unknown mechanism {name!r}. Known: {', '.join([AUTO, *WORD_MECHANISMS])}.")
    return WORD_MECHANISMS[name](space, epsilon=epsilon)
