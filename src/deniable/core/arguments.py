"""How calls are read: arguments by the names of the signature, and one line where they do not fit it."""

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar

from deniable.core.errors import InputError, shorten_text

ParametersT = ParamSpec("ParametersT")
ResultT = TypeVar("ResultT")


def bind_arguments(
    owner: str, signature: inspect.Signature, arguments: Sequence[Any], options: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the arguments of a call by name, defaults among them, in the order of the signature.

    Args:
        owner: what is called.
        signature: without ``self``.
        arguments: given by position.
        options: given by name; those that only ``**options`` of the signature takes stand under their own names.

    Raises:
        InputError: an argument is missing, unknown, given twice, or given by position where its name is needed.
    """
    try:
        bound = signature.bind(*arguments, **options)
    except TypeError as error:
        raise InputError(_describe_misfit(owner, signature, arguments, options, str(error))) from None
    bound.apply_defaults()
    values: dict[str, Any] = {}
    for name, value in bound.arguments.items():
        values |= value if signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD else {name: value}
    return values


def refuse_wrong_calls(function: Callable[ParametersT, ResultT]) -> Callable[ParametersT, ResultT]:
    """Return a function that says in one line how it is called where a call does not fit its signature."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(*arguments: ParametersT.args, **options: ParametersT.kwargs) -> ResultT:
        bind_arguments(function.__name__, signature, arguments, options)
        return function(*arguments, **options)

    return call


def _describe_misfit(
    owner: str, signature: inspect.Signature, arguments: Sequence[Any], options: Mapping[str, Any], reason: str
) -> str:
    """Return what is wrong with a call, and how it is written."""
    parameters = signature.parameters.values()
    names = [one.name for one in parameters if one.kind is not inspect.Parameter.VAR_KEYWORD]
    by_position = [one.name for one in parameters if one.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    by_name = [one.name for one in parameters if one.kind is inspect.Parameter.KEYWORD_ONLY]
    unknown = [name for name in options if name not in names]
    if unknown:
        return f"{owner} has no parameter {unknown[0]!r}. Its parameters: {', '.join(names)}."
    surplus = arguments[len(by_position) :]
    if surplus and len(surplus) <= len(by_name):
        named = [f"{name}={shorten_text(repr(value))}" for name, value in zip(by_name, surplus, strict=False)]
        example = ", ".join([*by_position, *named])
        return f"{owner} takes {_join_names(by_name[: len(surplus)])} by name: write {owner}({example})."
    given = {*by_position[: len(arguments)], *options}
    required = [name for name in names if signature.parameters[name].default is inspect.Parameter.empty]
    missing = [name for name in required if name not in given]
    if missing and not surplus:
        example = ", ".join(f"{name}=..." if name in by_name else name for name in required)
        return f"{owner} needs {_join_names(missing)}: write {owner}({example})."
    return f"{owner} cannot be called so: {reason}. Its parameters: {', '.join(names)}."


def _join_names(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
