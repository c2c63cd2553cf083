"""Classifiers of texts: those that withstand replaced words, and private ones that hide their training records.

The public names of `deniable.models.text`, and of the classifiers in `deniable.persons`; they need ``deniable[train]``.
"""

from deniable.learning.artifact import save_model
from deniable.models.text.attacks import TEXT_ATTACKS
from deniable.models.text.documents import Documents, TokenizedTexts, tokenize_texts
from deniable.models.text.model import (
    TextModel,
    certify_by_intervals,
    fit_text_model,
    load_text_model,
    measure_text_accuracy,
)
from deniable.models.text.smoothing import certify_texts
from deniable.models.text.substitutions import Substitutions, build_substitutions, read_substitutions
from deniable.models.text.training import TextTrainingOptions
from deniable.persons.classifier import LinearClassifier
from deniable.persons.release import fit_private_classifier, load_linear_classifier

__all__ = [
    "TEXT_ATTACKS",
    "Documents",
    "LinearClassifier",
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
