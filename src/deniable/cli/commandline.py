"""Commands whose options are the fields of dataclasses: each option is stated once, where its value is used.

A command is a function. A parameter that is a frozen dataclass becomes one option for each of its fields: the option
is named after the field, its help is the text of the field in the docstring's section ``Attributes:``, its panel is
the first line of the docstring of the class that declares it, and what `__post_init__` refuses is refused. Two
dataclasses that have a field of one name get one value. A parameter of any other type is declared as Typer has it.
In every command help shows required options and those of `_MOST_USED` first, and those of `_RARELY_USED` last.
"""

import dataclasses
import functools
import inspect
import tomllib
import typing
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from deniable.cli.process import check_address_space
from deniable.core.errors import InputError, shorten_text

HELP_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

_FIRST_PANEL, _LAST_PANEL = "Options", "Advanced"
_MOST_USED = {
    "--column",
    "--epsilon",
    "--epsilons",
    "--force",
    "--id",
    "--label",
    "--max-recovery",
    "--output",
    "--person",
}
_RARELY_USED = {
    *("--allow-refuted", "--averaging-decay", "--checkpoint-every", "--chosen-from-data", "--config", "--copies"),
    *("--delimiter", "--encoding", "--format", "--ibp-weight", "--max-body", "--max-texts", "--max-waiting"),
    *("--metric", "--no-cache", "--over-budget", "--prior", "--prior-from-input", "--quoting", "--shadow-models"),
    *("--sign-key", "--test-seed", "--text-epsilons", "--threads", "--unescape"),
}
_TYPE_NAMES: dict[object, str] = {bool: "", float: "NUMBER", int: "N", str: "TEXT", Path: "FILE"}
"""What help shows of the value of an option."""

_METADATA = "deniable.cli"
"""Key of what `option` says of a field, beside what other readers of the field say."""


def option(
    *names: str,
    choices: Sequence[str] | None = None,
    panel: str | None = None,
    **settings: Any,  # noqa: ANN401
) -> Mapping[str, object]:
    """Metadata of a field that becomes an option, for `dataclasses.field`.

    Args:
        names: of the option; none for that of the field.
        choices: names that can be chosen, where the type does not list them.
        panel: title of the group of options, where it is not that of the dataclass.
        settings: further settings of `typer.Option`, such as ``metavar``, ``min`` or ``show_default``.
    """
    return {_METADATA: {"names": names, "choices": choices, "panel": panel, **settings}}


def make_group(help_text: str) -> typer.Typer:
    """An empty group of commands."""
    return typer.Typer(help=help_text, no_args_is_help=True, rich_markup_mode="rich", context_settings=HELP_SETTINGS)


def add_command(group: typer.Typer, name: str, function: Callable[..., None], panel: str | None = None) -> None:
    """Add a command whose help is the docstring of its function, each paragraph as one line that help can wrap.

    The lines below ``Examples:`` are command lines, shown at the end.

    Args:
        group: of commands.
        name: of the command.
        function: what it does; see the top of this module for its parameters.
        panel: title of the group of commands that help shows it in.
    """
    plain, carriers = _list_parameters(function)

    @functools.wraps(function)
    def run(**given: Any) -> None:  # noqa: ANN401 - values of the options
        check_address_space()
        given.pop("config")
        values = {name: given[name] for name in plain}
        for carrier, kind in carriers.items():
            values[carrier] = kind(
                **{field.name: given[field.name] for field in dataclasses.fields(kind) if field.init}
            )
        function(**values)

    del run.__wrapped__  # whose signature is another one
    options = [one for kind in carriers.values() for one in _make_options(kind)]
    parameters = {one.name: one for one in [*options, *plain.values(), _CONFIG]}
    in_order = sorted(map(_place_in_help, parameters.values()), key=_is_last)
    run.__signature__ = inspect.Signature(in_order)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in in_order}
    text, _, examples = inspect.cleandoc(function.__doc__ or "").partition("\n\nExamples:\n")
    help_text = "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))
    lines = [f"$ {line.strip()}" for line in examples.splitlines() if line.strip()]
    group.command(name, help=help_text, rich_help_panel=panel, epilog="\n".join(["Examples:", *lines]))(run)


def _place_in_help(parameter: inspect.Parameter) -> inspect.Parameter:
    """Put an option into the first or the last panel of help where it belongs there, and name the kind of its value."""
    annotation, setting = (*typing.get_args(parameter.annotation), None, None)[:2]
    if not isinstance(setting, typer.models.OptionInfo):
        return parameter
    names = {setting.default, *(setting.param_decls or ())}
    if parameter.default in (inspect.Parameter.empty, ...) or names & _MOST_USED:
        setting.rich_help_panel = _FIRST_PANEL
    elif names & _RARELY_USED:
        setting.rich_help_panel = _LAST_PANEL
    if setting.metavar is None:
        kinds = [kind for kind in typing.get_args(annotation) or (annotation,) if kind is not type(None)]
        choices = [choice for kind in kinds for choice in typing.get_args(kind) or (kind,)]
        setting.metavar = "|".join(choices) if isinstance(choices[0], str) else _TYPE_NAMES.get(choices[0])
    return parameter


def _is_last(parameter: inspect.Parameter) -> bool:
    """Whether an option is in the last panel."""
    settings = getattr(parameter.annotation, "__metadata__", ())
    return any(setting.rich_help_panel == _LAST_PANEL for setting in settings)


def _list_parameters(function: Callable[..., None]) -> tuple[dict[str, inspect.Parameter], dict[str, type[Any]]]:
    """The parameters that Typer takes as they are, and the dataclasses whose fields become options."""
    hints = typing.get_type_hints(function, include_extras=True)
    plain, carriers = {}, {}
    for name, parameter in inspect.signature(function).parameters.items():
        if dataclasses.is_dataclass(hints[name]):
            carriers[name] = hints[name]
        else:
            plain[name] = parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY)
    return plain, carriers


def _make_options(kind: type[Any]) -> list[inspect.Parameter]:
    """The options of a dataclass, as parameters of a function that Typer reads."""
    texts = _read_field_texts(kind)
    types = typing.get_type_hints(kind)
    titles: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        titles |= dict.fromkeys(inspect.get_annotations(base), (base.__doc__ or "").partition("\n")[0].rstrip("."))
    parameters = []
    for field in dataclasses.fields(kind):
        if not field.init:
            continue
        settings = dict(field.metadata.get(_METADATA, {}))
        names = settings.pop("names", ()) or [f"--{field.name.strip('_').replace('_', '-')}"]
        choices, annotation = settings.pop("choices", None), types[field.name]
        if choices is not None:
            listed = Literal[tuple(map(str, choices))]  # type: ignore[valid-type]
            annotation = listed | None if None in typing.get_args(annotation) or field.default is None else listed
        panel = settings.pop("panel", None) or titles[field.name]
        help_text = texts.get(field.name, "")
        if choices is not None and "metavar" in settings:  # which help shows in their place
            help_text = f"{help_text.rstrip('.')}: {', '.join(choices[:-1])} or {choices[-1]}."
        settings = {"help": help_text, "rich_help_panel": panel, **settings}
        parameters.append(
            inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if field.default is dataclasses.MISSING else field.default,
                annotation=Annotated[annotation, typer.Option(*names, **settings)],
            )
        )
    return parameters


def _read_field_texts(kind: type[Any]) -> dict[str, str]:
    """What the docstrings of a dataclass and its bases say of each field, as a sentence."""
    texts: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        name = ""
        section = inspect.cleandoc(base.__dict__.get("__doc__") or "").partition("Attributes:\n")[2]
        for line in section.partition("\n\n")[0].splitlines():
            start, colon, rest = line.strip().partition(": ")
            if colon and not line.startswith(" " * 8):
                name, texts[start] = start, rest
            elif name:
                texts[name] += f" {line.strip()}"
    return {name: text[:1].upper() + text[1:] for name, text in texts.items()}


def _read_config(context: typer.Context, path: Path | None) -> Path | None:
    """Take the options of a TOML file as defaults of a command.

    Raises:
        InputError: the file cannot be read, or names an option that the command lacks.
    """
    if path is None:
        return None
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else f"it is not TOML: {error}"
        raise InputError(f"The options in {str(path)!r} cannot be read: {reason}.") from None
    named = {
        name.removeprefix("--"): parameter
        for parameter in context.command.params
        if parameter.param_type_name == "option" and parameter.name not in ("config", "help")
        for name in parameter.opts
    }
    defaults = {}
    for name, value in given.items():
        parameter = named.get(name)
        if parameter is None or parameter.name is None:
            raise InputError(f"{str(path)!r} has an option {name!r} that {context.command_path} lacks: see its --help.")
        if parameter.name in defaults:
            raise InputError(f"{str(path)!r} has the option {name!r} under another name too: give it once.")
        defaults[parameter.name] = _read_config_value(path, name, value, parameter)
    context.default_map = {**(context.default_map or {}), **defaults}
    return path


def _read_config_value(path: Path, name: str, value: object, parameter: Any) -> object:  # noqa: ANN401 - of Typer
    """The value of an option in a file, a list where the option may be given more than once.

    Raises:
        InputError: it is of a kind that the option cannot have, which would be read as something else: true as 1.
    """
    expected, kinds = ("true or false", (bool,)) if parameter.is_flag else ("a text or a number", (str, int, float))
    values = value if parameter.multiple and isinstance(value, list) else [value]
    if all(isinstance(one, kinds) and isinstance(one, bool) == parameter.is_flag for one in values):
        return values if parameter.multiple else value
    expected += ", or a list of these" if parameter.multiple else ""
    raise InputError(f"The option {name!r} in {str(path)!r} must be {expected}. Got {shorten_text(repr(value))}.")


_CONFIG = inspect.Parameter(
    "config",
    inspect.Parameter.KEYWORD_ONLY,
    default=None,
    annotation=Annotated[
        Path | None,
        typer.Option(
            "--config",
            help="TOML file of options; those of the command line win.",
            metavar="FILE",
            is_eager=True,
            callback=_read_config,
        ),
    ],
)


def select_given_fields(context: typer.Context, options: object) -> dict[str, Any]:
    """The fields of a dataclass of options that a user gave, and their values."""
    return {
        field.name: getattr(options, field.name)
        for field in dataclasses.fields(options)  # type: ignore[arg-type]
        if (source := context.get_parameter_source(field.name)) and source.name in ("COMMANDLINE", "DEFAULT_MAP")
    }


def list_given_options(context: typer.Context) -> dict[str, Any]:
    """The values of the options that a user gave, by their first names."""
    given = {}
    for parameter in context.command.params:
        name = parameter.name or ""
        source = context.get_parameter_source(name)
        if (
            parameter.param_type_name == "option"
            and source is not None
            and source.name in ("COMMANDLINE", "DEFAULT_MAP")
        ):
            given[parameter.opts[0]] = context.params[name]
    given.pop("--config", None)
    return given
