"""Two mechanisms that claim 1-DP on [0, 1]^n. One of them is calibrated to a single coordinate."""

import numpy as np

random = np.random.default_rng()


def one_coordinate(x):
    """Add noise of scale 1 to every coordinate: enough for one, not for n."""
    return np.round(x + random.laplace(scale=1.0, size=x.shape), 3)


def all_coordinates(x):
    """Add noise of scale n, the sensitivity of [0, 1]^n."""
    return np.round(x + random.laplace(scale=x.size, size=x.shape), 3)


def textbook(x):
    """Add the right noise, and release the float as it is."""
    return x + random.laplace(scale=x.size, size=x.shape)
