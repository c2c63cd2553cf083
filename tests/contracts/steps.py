"""The spaces of the contract under distance in steps."""

import pytest

import deniable as dn


class StepSpaces:
    """Inherit it before `WordMechanismContract`: the mechanism is then held to it under distance in steps."""

    @pytest.fixture(scope="class")
    @classmethod
    def small_space(cls, small_space):
        """Return the sixty words."""
        return dn.Space(small_space.words, small_space.vectors, metric="steps")

    @pytest.fixture(scope="class")
    @classmethod
    def twin_space(cls, twin_space):
        """Return the twelve words at five points, each joined to two others."""
        return dn.Space(twin_space.words, twin_space.vectors, metric=dn.Metric.steps(2, by="euclidean"))

    @pytest.fixture(scope="class")
    @classmethod
    def large_space(cls, request):
        """Return the words of GloVe, as many of them as ``large`` says."""
        return request.getfixturevalue("glove" if cls.large else "glove_2000")

    @pytest.fixture(scope="class")
    @classmethod
    def glove_2000(cls, glove_2000):
        """Return the 2,000 most frequent alphabetic words of GloVe."""
        return dn.Space(glove_2000.words, glove_2000.vectors, metric="steps")
