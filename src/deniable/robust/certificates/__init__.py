"""Certificates of robustness: randomized smoothing, PixelDP, DPAL's as published, and the search for counterexamples.

Radii are in the unit of pixels in [0, 1], but for DPAL's, which is in the paper's.
"""

from deniable.robust.certificates.accuracy import measure_certified_accuracy, measure_conventional_accuracy
from deniable.robust.certificates.certificate import (
    CertifiedImage,
    DecisionRule,
    Norm,
    RobustnessCertificate,
    convert_radius,
)
from deniable.robust.certificates.dpal import DPALCertificate
from deniable.robust.certificates.gaussian import GaussianSmoothing
from deniable.robust.certificates.laplace import LaplaceSmoothing
from deniable.robust.certificates.linear_noise import (
    PixelFirstLayer,
    compute_equivalent_gaussian_scale,
    compute_equivalent_laplace_scale,
)
from deniable.robust.certificates.pixeldp import PixelDP, compute_pixeldp_sigma
from deniable.robust.certificates.refutation import Refutation
from deniable.robust.certificates.refute import AttackedImage, refute_image_certificate
from deniable.robust.certificates.saved import decode_certificate, encode_certificate
from deniable.robust.certificates.tally import PredictionTally, tally_image, tally_images

__all__ = [
    "AttackedImage",
    "CertifiedImage",
    "DPALCertificate",
    "DecisionRule",
    "GaussianSmoothing",
    "LaplaceSmoothing",
    "Norm",
    "PixelDP",
    "PixelFirstLayer",
    "PredictionTally",
    "Refutation",
    "RobustnessCertificate",
    "compute_equivalent_gaussian_scale",
    "compute_equivalent_laplace_scale",
    "compute_pixeldp_sigma",
    "convert_radius",
    "decode_certificate",
    "encode_certificate",
    "measure_certified_accuracy",
    "measure_conventional_accuracy",
    "refute_image_certificate",
    "tally_image",
    "tally_images",
]
