"""Classifiers of texts that withstand replaced words: training, attacks and certificates of robustness.

The public names of `deniable.models.text`; they need ``deniable[train]``.
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

__all__ = [
    "TEXT_ATTACKS",
    "Documents",
    "Substitutions",
    "TextModel",
    "TextTrainingOptions",
    "TokenizedTexts",
    "build_substitutions",
    "certify_by_intervals",
    "certify_texts",
    "fit_text_model",
    "load_text_model",
    "measure_text_accuracy",
    "read_substitutions",
    "save_model",
    "tokenize_texts",
]
