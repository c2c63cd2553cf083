"""Every way to train or to release that this package registers: the audits of those that claim privacy, or a reason."""

import inspect
import typing

import deniable as dn
from deniable.persons.options import GeneratorName
from tests.commands import build_command_line
from tests.slow_audits.cases import TrainerAudit
from tests.slow_audits.gradients import IMAGE_AUDITS, TEXT_AUDITS
from tests.slow_audits.persons import PERSONS_AUDITS
from tests.slow_audits.rewriting import REWRITING_AUDITS

TRAINING_AUDITS: tuple[TrainerAudit, ...] = (*IMAGE_AUDITS, *TEXT_AUDITS, *PERSONS_AUDITS)
ALL_AUDITS: tuple[TrainerAudit, ...] = (*TRAINING_AUDITS, *REWRITING_AUDITS)

_NO_CLAIM = "claims no privacy of training records"
_PUBLISHED = "a published claim that is refuted or unproved, and says so: the zoo and the studies show it"
NOT_AUDITED: dict[str, str] = {
    "plain": _NO_CLAIM,
    "adversarial": _NO_CLAIM,
    "ibp": _NO_CLAIM,
    "pixeldp": _NO_CLAIM,  # of the pixels of an image that is classified
    "adlm": _PUBLISHED,
    "dpal": _PUBLISHED,
    "dp-sgd-batch-clipped": _PUBLISHED,
    **dict.fromkeys(("cnn", "bow", "fasttext", "attention"), _NO_CLAIM),
    "adept": _PUBLISHED,
    "dptext": _PUBLISHED,
}
"""Names that have no audit, and why; `test_own_trainers` checks the reasons."""


def list_choices(name: str, *path: str) -> list[str]:
    """Return what an option of a command may be."""
    command = build_command_line()
    for part in path:
        command = command.commands[part]
    return list(typing.get_args(typing.get_type_hints(inspect.unwrap(command.callback))[name]))


def list_registered() -> set[str]:
    """Return the names of all trainers, generators and rewriting methods."""
    return {
        *dn.images.IMAGE_TRAINERS,
        *list_choices("kind", "train", "text"),
        *typing.get_args(GeneratorName),
        "dp-linear",
        "dp-fasttext",
        *list_choices("method", "rewrite"),
    }
