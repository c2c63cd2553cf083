"""The exponential mechanism, its noise calibrated to the exact epsilon."""

import functools

from deniable.guarantees import MetricDP
from deniable.words.calibration import CALIBRATION_SOURCE, load_or_calibrate
from deniable.words.exponential import ExponentialLaw
from deniable.words.mechanism import WordMechanism


class CalibratedExponential(WordMechanism):
    """Draws near words by the exponential mechanism, with the least noise that epsilon allows.

    For the input word w::

        P(y|w)  is proportional to  exp(-s d(w, y))

    The general proof (McSherry and Talwar 2007; TEM paper, Theorem 2) takes s = epsilon / 2, half of
    it for the normaliser, which varies with w. How much it varies can be computed: s is the largest
    scale found whose exact epsilon, over all pairs of words and all outputs, is at most epsilon.

    Args:
        space: any metric that has a name. Distances must be exact.
        epsilon: privacy parameter per unit of distance, > 0. The scale is found at first use, by
            passes over all pairs of words, and kept in the cache.
    """

    name = "calibrated"
    is_tabulated = True
    requires_builtin_metric = True

    @functools.cached_property
    def exponential_law(self) -> ExponentialLaw:
        """The calibrated law.

        Raises:
            InputError: epsilon is so small that rounding alone may exceed it.
        """
        return load_or_calibrate(self.space, self.epsilon)

    @property
    def scale(self) -> float:
        """s, per unit of distance."""
        return self.exponential_law.scale

    def __getstate__(self) -> dict[str, object]:
        """Return what pickles: the calibrated law too, so that no other processor calibrates another one."""
        return {**super().__getstate__(), "family": self.exponential_law}

    @property
    def guarantee(self) -> MetricDP:
        """The exact epsilon over all pairs of words."""
        return MetricDP(self.epsilon, self.space.metric.name, CALIBRATION_SOURCE)

    @property
    def derived_parameters(self) -> dict[str, float | str]:
        """The scale that was found."""
        return {"scale": self.scale}
