"""Classifiers of images that are private or robust: data, training, attacks and certificates of robustness.

The public names of `deniable.models.images`, with the trainers of published systems; they need ``deniable[train]``.
"""

from deniable.learning.artifact import save_model
from deniable.models.images.attacking import attack_image_model, choose_image_attacks
from deniable.models.images.attacks import IMAGE_ATTACKS, L1Attack, L2Attack, SignAttack
from deniable.models.images.certification import CertifiedAccuracyCurve, certify_image_model, smooth_image_model
from deniable.models.images.dataset import ImageDataset, LabelledImages
from deniable.models.images.model import ImageModel, measure_image_accuracy
from deniable.models.images.reading import read_images
from deniable.models.images.training import fit_image_model
from deniable.registry import IMAGE_TRAINERS, load_image_model

__all__ = [
    "IMAGE_ATTACKS",
    "IMAGE_TRAINERS",
    "CertifiedAccuracyCurve",
    "ImageDataset",
    "ImageModel",
    "L1Attack",
    "L2Attack",
    "LabelledImages",
    "SignAttack",
    "attack_image_model",
    "certify_image_model",
    "choose_image_attacks",
    "fit_image_model",
    "load_image_model",
    "measure_image_accuracy",
    "read_images",
    "save_model",
    "smooth_image_model",
]
