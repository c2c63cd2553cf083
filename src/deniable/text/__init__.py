"""Texts, tables of texts, and the certificate that goes with a release.

`deniable.text.privatizer` is not imported here, since it needs scikit-learn, which not every user has.
"""

from deniable.text.batches import Released, Tally
from deniable.text.certificate import Certificate
from deniable.text.release import Release

__all__ = ["Certificate", "Release", "Released", "Tally"]
