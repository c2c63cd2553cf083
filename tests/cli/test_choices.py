"""The names that options offer are those that the package knows, by what it says of a name that it does not know."""

import inspect
import re
import typing

import numpy as np
import pytest

import deniable as dn
from deniable.auditing.black_box import AuditOptions
from deniable.auditing.training.audit import TrainingAuditOptions
from deniable.cli import choices

TEXTS = {"texts": ["a b", "c"] * 5, "private_versions": {"new": ["a b", "c"] * 5}, "codes": [0, 1] * 5, "folds": 2}


@pytest.fixture(scope="module")
def space():
    """Return a space of three words."""
    return dn.Space(["a", "b", "c"], [[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]])


def list_values(function, parameter):
    """Return the values that the type of a parameter lists."""
    annotation = inspect.signature(function).parameters[parameter].annotation
    return {value for part in (annotation, *typing.get_args(annotation)) for value in typing.get_args(part) or (part,)}


def test_choices_of_functions():
    """Whatever a function takes by name can be chosen, and nothing else."""
    assert {*choices.ImageKind} == {*dn.images.IMAGE_TRAINERS}
    assert {*choices.SearchName} == {*dn.texts.TEXT_ATTACKS}
    for choice, function, parameter in (
        (choices.EscapesName, dn.Release, "unescape"),
        (choices.UnknownWordHandling, dn.Release, "unknown"),
        (choices.CaseHandling, dn.Release, "case"),
        (choices.TrainingMethodName, TrainingAuditOptions, "method"),
        (choices.GuessedWordsName, dn.tune.tune_recovery, "words"),
        (choices.TrainingNoiseName, TrainingAuditOptions, "noise"),
    ):
        assert {*choice} <= {value for value in list_values(function, parameter) if isinstance(value, str)}
    assert {*choices.GameName} == list_values(AuditOptions, "method") - {"candidates"}


@pytest.mark.parametrize(
    ("choice", "further", "ask"),
    [
        (choices.MechanismName, set(), lambda space: dn.mechanism("zork", space, epsilon=1.0)),
        (choices.TunedMechanismName, {"best"}, lambda space: dn.mechanism("zork", space, epsilon=1.0)),
        (choices.MetricName, set(), lambda space: dn.Space(space.words, space.vectors, metric="zork")),
        (choices.RewritingMethodName, set(), lambda _: dn.rewriting_method("zork", None, epsilon=1.0)),
        (choices.ClassifierName, set(), lambda _: dn.measure.measure_utility(**TEXTS, classifier="zork")),
        (choices.TextTraining, set(), lambda _: dn.texts.TextTrainingOptions(method="zork")),
        (
            choices.TextKind,
            {"dp-linear", "dp-fasttext"},
            lambda space: dn.texts.fit_text_model(
                "zork",
                space,
                dn.texts.Documents(dn.texts.tokenize_texts(space, ["a", "b"]).texts, np.array([0, 1]), ("x", "y")),
                dn.texts.TextTrainingOptions(),
            ),
        ),
    ],
)
def test_choices_are_the_names_of_a_registry(space, choice, further, ask):
    """Whatever is registered can be chosen, and nothing else."""
    with pytest.raises(dn.InputError) as caught:
        ask(space)
    names = re.split(r"one of |Known: ", str(caught.value))[1].partition(". ")[0]
    assert {*choice} == {*re.findall(r"[a-z0-9-]+", names.partition(", or a function")[0])} | further
