"""What is left of a private text: how deniable, how useful, how far an attacker gets.

The names of the stub next to this file are imported when they are first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
