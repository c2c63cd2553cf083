"""Texts, tables of texts, and the certificate that goes with a release."""

from deniable.text.batches import Released, Tally
from deniable.text.certificate import Certificate
from deniable.text.release import Release

__all__ = ["Certificate", "Release", "Released", "Tally"]
