"""Certificates of robustness: randomized smoothing, PixelDP, DPAL's as published, and the search for counterexamples.

Radii are in the unit of pixels in [0, 1], but for DPAL's, which is in the paper's.
"""

from deniable.robust.certificates.accuracy import certified_accuracy, conventional_accuracy
from deniable.robust.certificates.certificate import Certificate, Certified, Decides, Norm, converted
from deniable.robust.certificates.dpal import DPALCertificate
from deniable.robust.certificates.gaussian import GaussianSmoothing
from deniable.robust.certificates.laplace import LaplaceSmoothing
from deniable.robust.certificates.linear_noise import FirstLayer, gaussian_scale, laplace_scale
from deniable.robust.certificates.pixeldp import PixelDP, pixeldp_sigma
from deniable.robust.certificates.refutation import Refutation
from deniable.robust.certificates.refute import Attacked, refute
from deniable.robust.certificates.saved import certificate_from, certificate_to
from deniable.robust.certificates.tally import Tally, tallies, tally

__all__ = [
    "Attacked",
    "Certificate",
    "Certified",
    "DPALCertificate",
    "Decides",
    "FirstLayer",
    "GaussianSmoothing",
    "LaplaceSmoothing",
    "Norm",
    "PixelDP",
    "Refutation",
    "Tally",
    "certificate_from",
    "certificate_to",
    "certified_accuracy",
    "conventional_accuracy",
    "converted",
    "gaussian_scale",
    "laplace_scale",
    "pixeldp_sigma",
    "refute",
    "tallies",
    "tally",
]
