"""Published systems whose claims are false or unproved: mechanism, flaw and evidence, one folder per paper."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
