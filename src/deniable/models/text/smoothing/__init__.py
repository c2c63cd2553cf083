"""Certificates that a classifier of texts inherits from the guarantee of a word mechanism."""

from deniable.models.text.smoothing.certificate import CertifiedText, TextCertificates, certify_texts
from deniable.models.text.smoothing.costs import ReplacementCosts, bound_pair_probability, compute_replacement_costs
from deniable.models.text.smoothing.refutation import AttackedText, refute_text_certificates
from deniable.models.text.smoothing.sampling import count_votes

__all__ = [
    "AttackedText",
    "CertifiedText",
    "ReplacementCosts",
    "TextCertificates",
    "bound_pair_probability",
    "certify_texts",
    "compute_replacement_costs",
    "count_votes",
    "refute_text_certificates",
]
