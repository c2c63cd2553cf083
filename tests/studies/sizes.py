"""Sizes so small that a study takes a second or two."""

from deniable.studies import adept_sensitivity, sanity_check

SENSITIVITY = adept_sensitivity.Sizes(vectors=60, dimensions=(2, 8, 32), radii=(0.1, 1.0, 10.0), searched=(2, 4))
CHECK = sanity_check.Sizes(
    dimensions=(1, 2),
    epsilons=(1.0,),
    repeats=5_000,
    coordinates=8_000,
    audit_samples=300,
    audit_most=300,
    accused_repeats=(1_000, 10_000),
    repetitions=300,
    audits=2,
    audits_samples=60,
)
