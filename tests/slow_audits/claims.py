"""Every way to train or to release that this package registers: the audits of those that claim privacy, or a reason."""

from typing import get_args

from deniable.cli.choices import TextKind
from deniable.models.images.model import IMAGE_MODEL_KIND
from deniable.models.text.model import TEXT_MODEL_KIND
from deniable.persons.classifier import LINEAR_CLASSIFIER_KIND
from deniable.persons.synthesis import GeneratorName
from deniable.published.dptext.representation import REPRESENTATION_KIND
from deniable.registry.methods import REWRITING_METHODS
from deniable.registry.trainers import IMAGE_TRAINERS
from deniable.rewriting.model import REWRITER_KIND
from tests.slow_audits.cases import TrainerAudit
from tests.slow_audits.images import IMAGE_AUDITS
from tests.slow_audits.persons import PERSONS_AUDITS
from tests.slow_audits.rewriting import REWRITING_AUDITS
from tests.slow_audits.texts import TEXT_AUDITS

TRAINING_AUDITS: tuple[TrainerAudit, ...] = (*IMAGE_AUDITS, *TEXT_AUDITS, *PERSONS_AUDITS)
ALL_AUDITS: tuple[TrainerAudit, ...] = (*TRAINING_AUDITS, *REWRITING_AUDITS)

_NO_CLAIM = "claims no privacy of training records"
_PUBLISHED = "a published claim that is refuted or unproved, and says so: the zoo and the studies show it"
NOT_AUDITED: dict[str, str] = {
    "plain": _NO_CLAIM,
    "adversarial": _NO_CLAIM,
    "pixeldp": _NO_CLAIM,  # of the pixels of an image that is classified
    "adlm": _PUBLISHED,
    "dpal": _PUBLISHED,
    "dp-sgd-batch-clipped": _PUBLISHED,
    **dict.fromkeys(("cnn", "bow", "fasttext", "attention"), _NO_CLAIM),
    "adept": _PUBLISHED,
    "dptext": _PUBLISHED,
}
"""Names that have no audit, and why; `test_own_trainers` checks the reasons."""

TRAINERS_OF_KINDS: dict[str, str] = {
    IMAGE_MODEL_KIND: "the image trainers",
    TEXT_MODEL_KIND: "the kinds of text classifiers",
    LINEAR_CLASSIFIER_KIND: "dp-linear",
    REWRITER_KIND: "trained on public texts, claims nothing: the rewriting methods do",
    REPRESENTATION_KIND: _PUBLISHED,
}
"""What trains the models of each kind of file."""


def list_registered() -> set[str]:
    """Return the names of all trainers, generators and rewriting methods."""
    return {*IMAGE_TRAINERS, *map(str, TextKind), *get_args(GeneratorName), *REWRITING_METHODS}
