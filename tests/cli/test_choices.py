"""The names that options offer are those of the registries."""

from typing import get_args

import pytest

from deniable.cli import choices
from deniable.measure.classifiers import CLASSIFIERS
from deniable.models.images.networks import IMAGE_NETWORKS
from deniable.models.text.attacks import TEXT_ATTACKS
from deniable.models.text.networks import PRIVATE_TEXT_NETWORKS, TEXT_NETWORKS
from deniable.models.text.training import TEXT_TRAINING_METHODS
from deniable.registry.methods import REWRITING_METHODS
from deniable.registry.trainers import IMAGE_TRAINERS
from deniable.registry.vectors import VECTOR_MECHANISMS
from deniable.registry.words import WORD_MECHANISMS
from deniable.rewriting.methods.base import VectorMethod
from deniable.space.metrics import METRICS
from deniable.text.escapes import Escapes
from deniable.text.tables import TABLE_FORMATS
from tests.rewriting.untrained import untrained


@pytest.mark.parametrize(
    ("choice", "names"),
    [
        (choices.MechanismName, ["auto", *WORD_MECHANISMS]),
        (choices.TunedMechanismName, ["auto", "best", *WORD_MECHANISMS]),
        (choices.VerifiedMechanismName, ["auto", *WORD_MECHANISMS, *VECTOR_MECHANISMS]),
        (choices.MetricName, METRICS),
        (choices.TableFormatName, TABLE_FORMATS),
        (choices.RewritingMethodName, REWRITING_METHODS),
        (choices.ClassifierName, CLASSIFIERS),
        (choices.ImageKind, IMAGE_TRAINERS),
        (choices.NetworkName, IMAGE_NETWORKS),
        (choices.TextKind, ["dp-linear", *PRIVATE_TEXT_NETWORKS, *TEXT_NETWORKS]),
        (choices.TextTraining, TEXT_TRAINING_METHODS),
        (choices.SearchName, TEXT_ATTACKS),
        (choices.EscapesName, get_args(Escapes)),
    ],
)
def test_choices_are_the_names_of_a_registry(choice, names):
    """Whatever is registered can be chosen, and nothing else."""
    assert sorted(choice) == sorted(names)


def test_games():
    """Every game of an audit can be chosen but the one whose inputs no command takes."""
    from deniable.auditing.games import AuditMethod

    assert {*choices.GameName} == {*get_args(AuditMethod)} - {"candidates"}


def test_audits_of_training():
    """Every method and kind of noise can be chosen."""
    from deniable.auditing.training.audit import TrainingMethod
    from deniable.auditing.training.bounds import NoiseKind

    assert {*choices.TrainingMethodName} == {*get_args(TrainingMethod)}
    assert {*choices.TrainingNoiseName} == {*get_args(NoiseKind)}


def test_methods_to_train_with():
    """Rewriting methods to train with are those that add noise to a vector, but for the refuted sampler of DPText."""
    model = untrained()
    vector_methods = {
        name
        for name, make in REWRITING_METHODS.items()
        if isinstance(make(model, epsilon=5.0, **({"delta": 1e-5} if name == "adept-gaussian" else {})), VectorMethod)
    }
    assert {*choices.TrainableMethodName} <= vector_methods
    assert vector_methods - {*choices.TrainableMethodName} == {"dptext"}
