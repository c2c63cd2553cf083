"""DPText (Beigi et al. 2019): vectors of texts with learned noise, trained against readers of private attributes.

Claim: one released vector is epsilon-DP for any two texts.
Flaw: the noise is drawn by an inverse distribution function from uniforms of the wrong interval, so it is one-sided and
the loss is infinite (Habernal 2022, Theorem 3.2); and epsilon is learned from the private texts.

- ``mechanism``: the published noise, with its evidence; its remedy is `deniable.vectors.Laplace` on a box.
- ``method``: the same behind an encoder and a decoder of texts.
- ``training``, ``representation``: the adversarial training, and what it releases; they need torch.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
