"""Texts, tables of texts, and the certificate that goes with a release."""

from deniable.text.certificate import Certificate
from deniable.text.privatizer import TextPrivatizer

__all__ = ["Certificate", "TextPrivatizer"]
