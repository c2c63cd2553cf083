"""The spaces of the contract under the geodesic metric."""

import pytest

import deniable as dn


class GeodesicSpaces:
    """Inherit it before `WordMechanismContract`: the mechanism is then held to it under the geodesic metric."""

    large = False

    @pytest.fixture(scope="class")
    @classmethod
    def small_space(cls, small_space):
        """Return the sixty words."""
        return dn.Space(small_space.words, small_space.vectors, metric="geodesic")

    @pytest.fixture(scope="class")
    @classmethod
    def twin_space(cls, twin_space):
        """Return the twelve words at five points, each joined to its two nearest."""
        return dn.Space(twin_space.words, twin_space.vectors, metric=dn.Metric.geodesic(neighbours=2))

    @pytest.fixture(scope="class")
    @classmethod
    def glove_2000(cls, glove_2000):
        """Return the 2,000 most frequent alphabetic words of GloVe."""
        return dn.Space(glove_2000.words, glove_2000.vectors, metric="geodesic")
