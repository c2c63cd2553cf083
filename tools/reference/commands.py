"""The reference of commands: every command, argument and option once, from the typer application."""

import collections
import dataclasses
import inspect
import re
import typing
from collections.abc import Iterator, Mapping, Sequence

import typer
from typer.models import ArgumentInfo, OptionInfo, ParameterInfo

from deniable.cli.main import app

from .markdown import code, escape, make_table

_INTRODUCTION = """# Commands

Every command of `deniable`, with its arguments and options. `deniable COMMAND --help` shows the same in the terminal.
Options that mean the same in many commands are described once, under [shared options](#shared-options); each command
links to them.

Every command takes `--help` and `--config FILE`. Data goes to standard output or to `--output`, everything else to
standard error. Exit codes: 0 done, 1 a claim is refuted or a budget is exceeded, 2 the command could not run; see
[Troubleshooting](../troubleshooting.md#exit-codes).
"""
_FOOTER = "<!-- Written by python -m tools.reference. Change the command's own help, not this page. -->\n"
_TYPE_NAMES = {"int": "INTEGER", "float": "NUMBER", "str": "TEXT", "Path": "FILE", "bool": ""}
_EVERYWHERE = ("--config",)
_SHARED_BY = 4
"""Commands that have an option before it is described once for all of them."""


@dataclasses.dataclass(frozen=True)
class Option:
    """One option, or one argument.

    Attributes:
        names: of the option, the first one long; that of the argument.
        value: what stands for its value; empty for a switch.
        default: as help shows it; empty for none.
        text: what it does.
        panel: title of the group of options.
        is_required: whether the command does not run without it.
    """

    names: tuple[str, ...]
    value: str
    default: str
    text: str
    panel: str
    is_required: bool


@dataclasses.dataclass(frozen=True)
class Command:
    """One command.

    Attributes:
        name: with the name of its group.
        panel: title of the group of commands in which help lists it.
        text: its help, in paragraphs.
        arguments: in their order.
        options: in their order.
        examples: command lines from the end of its help.
    """

    name: str
    panel: str
    text: str
    arguments: tuple[Option, ...]
    options: tuple[Option, ...]
    examples: tuple[str, ...]

    @property
    def anchor(self) -> str:
        """Identifier of its section."""
        return self.name.replace(" ", "-")


def list_commands(group: typer.Typer = app, prefix: str = "", panel: str = "") -> Iterator[Command]:
    """Yield the commands of an application and of its groups."""
    for one in group.registered_commands:
        if one.hidden or one.callback is None:
            continue
        parameters = [
            (option, isinstance(info, ArgumentInfo))
            for parameter in inspect.signature(one.callback).parameters.values()
            if typing.get_origin(parameter.annotation) is typing.Annotated
            for kind, info, *_ in [typing.get_args(parameter.annotation)]
            if not info.hidden
            for option in [_read_parameter(parameter, kind, info)]
        ]
        arguments = tuple(option for option, is_argument in parameters if is_argument)
        options = tuple(option for option, is_argument in parameters if not is_argument)
        title = one.rich_help_panel if isinstance(one.rich_help_panel, str) else panel
        end = one.epilog if isinstance(one.epilog, str) else ""
        examples = tuple(line.strip() for line in end.splitlines() if line.strip().startswith("deniable "))
        yield Command(f"{prefix}{one.name}", title, str(one.help or ""), arguments, options, examples)
    for inner in group.registered_groups:
        if inner.typer_instance is not None:
            yield from list_commands(inner.typer_instance, f"{prefix}{inner.name} ", str(inner.rich_help_panel or ""))


def _read_parameter(parameter: inspect.Parameter, kind: object, info: ParameterInfo) -> Option:
    """Return what a parameter's declaration says."""
    # Typer has the first name of an annotated option in the place of a default.
    given = [info.default] if isinstance(info.default, str) else []
    names = [*given, *(info.param_decls or ())]
    is_argument = not isinstance(info, OptionInfo)
    if is_argument:
        names = [info.metavar or parameter.name.upper()]
    elif not any(name.startswith("--") for name in names):
        names = [f"--{parameter.name.replace('_', '-')}", *names]
    value, is_list = _describe_type(kind)
    panel = info.rich_help_panel if isinstance(info.rich_help_panel, str) else "Options"
    is_required = parameter.default is inspect.Parameter.empty
    return Option(
        tuple(sorted(names, key=lambda name: not name.startswith("--"))),
        "" if is_argument or not value else info.metavar or value,
        "" if is_required or not value else _describe_default(parameter.default, shown=info.show_default),
        (info.help or "") + (" Repeatable." if is_list and "more than once" not in (info.help or "") else ""),
        panel,
        is_required,
    )


def _describe_type(kind: object) -> tuple[str, bool]:
    """Return what stands for a value of a type, and whether there can be several."""
    if typing.get_origin(kind) is typing.Literal:
        return "|".join(map(str, typing.get_args(kind))), False
    members = [member for member in typing.get_args(kind) if member is not type(None)]
    if typing.get_origin(kind) in (list, tuple):
        return " ".join(_describe_type(member)[0] for member in members if member is not Ellipsis), kind is not tuple
    if members:
        return _describe_type(members[0])
    return _TYPE_NAMES.get(getattr(kind, "__name__", ""), "VALUE"), False


def _describe_default(default: object, *, shown: object) -> str:
    """Return a default as help shows it."""
    if isinstance(shown, str):
        return escape(shown)
    if default is None or shown is False:
        return ""
    values = default if isinstance(default, list | tuple) else [default]
    return code(" ".join(str(getattr(one, "value", one)) for one in values)) if values else ""


def describe_commands() -> str:
    """Return the page."""
    commands = list(list_commands())
    users: dict[Option, list[Command]] = collections.defaultdict(list)
    for command in commands:
        for option in command.options:
            users[option].append(command)
    shared = {
        option: f"{found[0].anchor}-{option.names[0].strip('-')}"
        for option, found in users.items()
        if len(found) >= _SHARED_BY and option.names[0] not in _EVERYWHERE
    }
    panels = list(dict.fromkeys(command.panel for command in commands))
    parts = [_INTRODUCTION]
    for panel in panels:
        chosen = [command for command in commands if command.panel == panel]
        links = ", ".join(f"[`{command.name}`](#{command.anchor})" for command in chosen)
        parts.append(f"**{panel}:** {links}\n")
    for panel in panels:
        parts.append(f"## {panel}\n")
        parts += [_describe_command(command, shared) for command in commands if command.panel == panel]
    parts.append(_describe_shared(shared, users))
    return "\n".join([*parts, _FOOTER])


def _describe_command(command: Command, shared: Mapping[Option, str]) -> str:
    """Return the section of a command: its own options in a table, the others as links."""
    usage = " ".join(["deniable", command.name, *(one.names[0] for one in command.arguments), "[OPTIONS]"])
    text = "\n\n".join(escape(paragraph) for paragraph in command.text.split("\n\n"))
    own = [one for one in command.options if one not in shared and one.names[0] not in _EVERYWHERE]
    rows = [_make_row(one) for one in (*command.arguments, *own)]
    parts = [f"### `deniable {command.name}` {{ #{command.anchor} }}\n", f"{text}\n", f"```\n{usage}\n```\n"]
    if command.examples:
        lines = "\n".join(command.examples)
        parts.append(f"Examples:\n\n```\n{lines}\n```\n")
    if rows:
        parts.append(make_table(("argument or option", "default", "meaning"), rows))
    links = collections.defaultdict(list)
    for one in command.options:
        if one in shared:
            mark = " (required)" if one.is_required else ""
            links[one.panel].append(f"[`{one.names[0]}`](#{shared[one]}){mark}")
    if links:
        parts.append("".join(f"- {panel}: {', '.join(names)}\n" for panel, names in links.items()))
    return "\n".join(parts)


def _make_row(option: Option, anchor: str = "", scope: str = "") -> Sequence[str]:
    """Return an option's row of a table."""
    names = ", ".join(code(name) for name in (f"{option.names[0]} {option.value}".strip(), *option.names[1:]))
    mark = f'<a id="{anchor}"></a>' if anchor else ""
    return f"{mark}{names}", "required" if option.is_required else option.default, scope + escape(option.text)


def _describe_shared(shared: Mapping[Option, str], users: Mapping[Option, Sequence[Command]]) -> str:
    """Return the options of several commands, by the groups in which help shows them."""
    counts = collections.Counter((option.panel, option.names[0]) for option in shared)
    parts = ["## Shared options\n"]
    for panel in dict.fromkeys(option.panel for option in shared):
        anchor = re.sub("[^a-z0-9]+", "-", panel.lower()).strip("-")
        rows = []
        for option in shared:
            if option.panel == panel:
                is_one_of_several = counts[panel, option.names[0]] > 1
                names = ", ".join(code(command.name) for command in users[option])
                rows.append(_make_row(option, shared[option], f"{names}: " if is_one_of_several else ""))
        parts += [f"### {panel} {{ #shared-{anchor} }}\n", make_table(("option", "default", "meaning"), rows)]
    return "\n".join(parts)
