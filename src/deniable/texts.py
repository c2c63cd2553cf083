"""Classifiers of texts: those that withstand replaced words, and private ones that hide their training records.

The public names of `deniable.models.text`, and of the classifiers in `deniable.persons`; they need ``deniable[train]``.
"""

from deniable.learning.artifact import save_model
from deniable.models.text.attacks import TEXT_ATTACKS
from deniable.models.text.documents import Documents, TokenizedTexts, tokenize_texts
from deniable.models.text.model import TextModel, certify_by_intervals, load_text_model, measure_text_accuracy
from deniable.models.text.options import TextTrainingOptions
from deniable.models.text.smoothing.certificate import SmoothingOptions, certify_texts
from deniable.models.text.substitutions import Substitutions, build_substitutions, read_substitutions
from deniable.models.text.training import fit_text_model
from deniable.persons.classifier import LinearClassifier, load_linear_classifier
from deniable.persons.release import fit_private_classifier

__all__ = [
    "TEXT_ATTACKS",
    "Documents",
    "LinearClassifier",
    "SmoothingOptions",
    "Substitutions",
    "TextModel",
    "TextTrainingOptions",
    "TokenizedTexts",
    "build_substitutions",
    "certify_by_intervals",
    "certify_texts",
    "fit_private_classifier",
    "fit_text_model",
    "load_linear_classifier",
    "load_text_model",
    "measure_text_accuracy",
    "read_substitutions",
    "save_model",
    "tokenize_texts",
]
