"""Whole texts rewritten under local differential privacy: an auto-encoder, and methods that release through it.

The names of the stub next to this file are imported when they are first used; they need ``deniable[train]``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
