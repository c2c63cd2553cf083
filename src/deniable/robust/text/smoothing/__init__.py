"""Certificates that a classifier of texts inherits from the guarantee of a word mechanism."""

from deniable.robust.text.smoothing.certificate import CertifiedText, TextCertificates, certify_texts
from deniable.robust.text.smoothing.costs import ReplacementCosts, compute_replacement_costs
from deniable.robust.text.smoothing.pairs import bound_pair_probability
from deniable.robust.text.smoothing.refute import AttackedText, refute_text_certificates
from deniable.robust.text.smoothing.sampling import count_votes

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
