"""What laws share: their names, and findings that are kept."""

import math

import pytest

from deniable.space import Space
from deniable.words.laws.law import (
    Finding,
    derive_law_name,
    format_fingerprint,
    get_part_fingerprint,
    load_or_compute_finding,
)

FINDING = Finding(2.0, 1.5, 0, 1, 0, 1.0, 1.5, 0.1)


class Foreign:
    """A part whose code is not this package's."""

    fingerprint = "foreign"


def test_names_tell_mechanism_parameters_and_space_apart(small_space, small_vectors):
    """Another name, parameter or space gives another text, to the last bit of a number."""
    texts = {
        format_fingerprint("tem", {"epsilon": 1.0}, small_space),
        format_fingerprint("tem", {"epsilon": math.nextafter(1.0, 2)}, small_space),
        format_fingerprint("tight", {"epsilon": 1.0}, small_space),
        format_fingerprint("tem", {"epsilon": 1.0}, Space(small_space.words, small_vectors * (1 + 1e-9))),
    }
    assert len({derive_law_name(text) for text in texts}) == len(texts) == 4
    assert len({len(derive_law_name(text)) for text in texts}) == 1


def test_a_part_from_elsewhere_has_no_name(small_space):
    """Another's code may change under its fingerprint, so that nothing is kept by it."""
    assert get_part_fingerprint(small_space, Foreign()) is None


def test_nothing_has_a_name_under_a_metric_of_ones_own(small_space, small_vectors):
    """A part of this package has its name, and none where the space has none."""
    from deniable.words.laws.kernel import ExponentialKernel

    def own(left, right):
        return abs(left[:, None] - right[None]).sum(axis=2)

    kernel = ExponentialKernel(1.0)
    assert get_part_fingerprint(small_space, kernel) == kernel.fingerprint
    assert get_part_fingerprint(Space(small_space.words, small_vectors, metric=own), kernel) is None


def test_a_finding_is_computed_once():
    """What is kept comes back field for field, points as ints."""
    assert load_or_compute_finding("once-for-a-test", 2, lambda: FINDING) == FINDING
    again = load_or_compute_finding("once-for-a-test", 2, lambda: pytest.fail("computed again"))
    assert again == FINDING
    assert {type(point) for point in (again.input, again.other, again.output)} == {int}


@pytest.mark.parametrize("bad", [{"input": 2}, {"lower_bound": 3.0}, {"distance": -1.0}, {"output": -1}])
def test_a_kept_finding_that_cannot_be_is_computed_again(bad, monkeypatch):
    """A point that the space lacks, bounds in the wrong order or a negative distance are not believed."""
    stored = {**vars(FINDING), **bad}

    def load(name, fields, compute, is_usable):
        del name, fields
        return stored if is_usable(stored) else compute()

    monkeypatch.setattr("deniable.words.laws.law.load_or_compute_facts", load)
    assert load_or_compute_finding("bad", 2, lambda: FINDING) == FINDING
