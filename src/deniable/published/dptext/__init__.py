"""DPText (Beigi et al. 2019): its sampler does not draw the Laplace law (Habernal 2022)."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
