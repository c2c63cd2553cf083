"""What the budget of a release is spent on: everything that its options have measured."""

from deniable.core.guarantees import Unit
from deniable.persons.budget import Budget, Measurement
from deniable.persons.histograms import plan_count_measurement, plan_histograms
from deniable.persons.linear_training import plan_linear_measurement
from deniable.persons.options import ClassifierOptions, SynthesisOptions
from deniable.persons.style import plan_style_measurement

COUNTS_MEASUREMENT = "words and phrases"
_COUNTS_WEIGHT = 1.0
"""Weight of the counts of phrases beside 1 for the classifier."""
_KEYS_PER_UNIT = 100
"""Phrases that a unit counts, at most."""
_SELECTION_SHARE = 0.5
"""Share of delta for the selection of phrases."""


def plan_budget(options: ClassifierOptions, features: int, unit: Unit) -> Budget:
    """Return the whole budget of a release: of everything that its options have measured.

    Args:
        options: of a classifier, or of a synthetic table beside it.
        features: D, number of the classifier's features.
        unit: ``record`` or ``person``.
    """
    classes = len(options.classes)
    measurements = [plan_linear_measurement(features, classes)]
    selection_delta = 0.0
    if isinstance(options, SynthesisOptions):
        measurements += plan_histograms(classes, options.domains)
    measurements += plan_count_measurement(options.records)
    if isinstance(options, SynthesisOptions) and options.model is not None:
        measurements.append(plan_style_measurement(options.model))
    if isinstance(options, SynthesisOptions) and options.has_counts:
        measurements.append(Measurement(COUNTS_MEASUREMENT, _COUNTS_WEIGHT, _KEYS_PER_UNIT))
        selection_delta = _SELECTION_SHARE * options.delta
    return Budget(options.epsilon, options.delta, unit, tuple(measurements), selection_delta)
