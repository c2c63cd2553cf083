"""Classifiers of images that are private or robust: data, training, attacks and certificates of robustness.

The public names of `deniable.models.images`, with the trainers of published systems; they need ``deniable[train]``.
"""

from deniable.learning.artifact import save_model
from deniable.models.images.attacks import fgsm, i_fgsm, mim, pgd, pgd_l2
from deniable.models.images.certification import CertifiedAccuracyCurve, certify_image_model, smooth_image_model
from deniable.models.images.dataset import ImageDataset, LabelledImages
from deniable.models.images.model import ImageModel, measure_image_accuracy
from deniable.models.images.reading import read_images
from deniable.models.images.training.fitting import fit_image_model
from deniable.registry.models import load_image_model
from deniable.registry.trainers import IMAGE_TRAINERS

__all__ = [
    "IMAGE_TRAINERS",
    "CertifiedAccuracyCurve",
    "ImageDataset",
    "ImageModel",
    "LabelledImages",
    "certify_image_model",
    "fgsm",
    "fit_image_model",
    "i_fgsm",
    "load_image_model",
    "measure_image_accuracy",
    "mim",
    "pgd",
    "pgd_l2",
    "read_images",
    "save_model",
    "smooth_image_model",
]
