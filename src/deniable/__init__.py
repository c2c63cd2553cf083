"""Private text under differential privacy, with a guarantee that is checked.

The public names stand in the stub beside this file; each is imported when it is first used, so that
``import deniable`` stays fast.
"""

import lazy_loader

__version__ = "0.1.0"
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
