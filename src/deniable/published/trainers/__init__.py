"""Trainers whose claims are false by a flaw around the noise, each beside its mended twin.

A record is its own gradient (of a loss that is linear in the parameters), unless a trainer says otherwise, so that the
worst data can be written down. `deniable.published.trainers.dp_sgd` is what they share.

- ``sampling``: which records come into a step.
- ``sums``: what one record does to a sum.
- ``data``: what else is taken from the records.
- ``noise``: how noise is drawn and counted.
"""
