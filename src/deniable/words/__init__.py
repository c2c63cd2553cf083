"""Word mechanisms: metric DP per word. Each is a module of its own; `deniable.registry` lists them."""

from deniable.words.mechanism import WordMechanism, recovery
from deniable.words.prior import Prior, read_prior

__all__ = ["Prior", "WordMechanism", "read_prior", "recovery"]
