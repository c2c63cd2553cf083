"""The names that options offer are those that the package knows."""

import dataclasses
import inspect
import re
import typing

import pytest

import deniable as dn
from deniable.auditing.black_box import AuditOptions
from deniable.auditing.training.audit import TrainingAuditOptions
from deniable.cli.commands.audit.black_box import BlackBoxAudit
from deniable.cli.commands.audit.training import TrainingAudit
from deniable.cli.commands.measure import Measurements
from deniable.cli.commands.privatize import ReleasePrivacy
from deniable.cli.commands.serve import ServedPrivacy
from deniable.cli.options import METRIC_NAMES
from deniable.cli.releases import ReleasedColumns

TEXTS = {"texts": ["a b", "c"] * 5, "private_versions": {"new": ["a b", "c"] * 5}, "codes": [0, 1] * 5, "folds": 2}


@pytest.fixture(scope="module")
def space():
    """Return a space of three words."""
    return dn.Space(["a", "b", "c"], [[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]])


def list_values(function, parameter):
    """Return the values that the type of a parameter lists."""
    annotation = inspect.signature(function).parameters[parameter].annotation
    return {value for part in (annotation, *typing.get_args(annotation)) for value in typing.get_args(part) or (part,)}


def test_choices_of_audits():
    """Whatever an audit takes by name can be chosen, but for what its command does not build."""
    assert {*list_choices(BlackBoxAudit, "game")} == list_values(AuditOptions, "method") - {"candidates"}
    for name in ("method", "noise"):
        assert {*list_choices(TrainingAudit, name)} == {
            value for value in list_values(TrainingAuditOptions, name) if isinstance(value, str)
        }


def list_choices(kind, name):
    """Return the names that an option, a field of a dataclass, takes."""
    (field,) = (field for field in dataclasses.fields(kind) if field.name == name)
    return field.metadata["deniable.cli"]["choices"]


def test_choices_of_functions():
    """Whatever a function takes by name can be chosen, and nothing else."""
    for kind, function, name in (
        (ReleasePrivacy, dn.Release, "case"),
        (ServedPrivacy, dn.Release, "case"),
        (ServedPrivacy, dn.Release, "unknown"),
        (ReleasedColumns, dn.Release, "unescape"),
    ):
        assert {*list_values(kind, name)} <= {*list_values(function, name)}


@pytest.mark.parametrize(
    ("choices", "ask"),
    [
        (METRIC_NAMES, lambda space: dn.Space(space.words, space.vectors, metric="zork")),
        (
            typing.get_args(typing.get_type_hints(Measurements)["classifier"]),
            lambda _: dn.measure.measure_utility(**TEXTS, classifier="zork"),
        ),
    ],
)
def test_choices_are_the_names_that_are_known(space, choices, ask):
    """What can be chosen is what the package knows, by what it says of a name that it does not know."""
    with pytest.raises(dn.InputError) as caught:
        ask(space)
    names = re.split(r"one of |Known: ", str(caught.value))[1].partition(". ")[0]
    assert {*choices} == {*re.findall(r"[a-z0-9-]+", names.partition(", or a function")[0])}
