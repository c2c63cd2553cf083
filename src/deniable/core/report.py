"""What is said of a release, a model or a claim: labelled facts in sections, rendered to text, JSON and HTML.

Labels, their order and the wording of every fact are data, written once; the three renderers only lay them out.
"""

import dataclasses
import html
import json
from collections.abc import Iterable
from typing import Any, Literal

from deniable.core.guarantees import encode_nonfinite_numbers
from deniable.core.numbers import format_upper

Tone = Literal["", "plain", "good", "caution", "bad"]
"""How a page colours a result; the words beside it say the same."""
_UPPER_BOUNDS = ("epsilon", "delta", "alpha")
"""How names of numbers begin that are rounded up."""


@dataclasses.dataclass(frozen=True)
class Fact:
    """One labelled value.

    Attributes:
        label: what the value is, such as ``clean accuracy``.
        value: as JSON holds it, or a dataclass of such values, such as `Estimate`; a list or tuple is shown with one
            line per item.
        note: what a reader must know beside the value; shown below it.
        text: how the value reads, where its plain form is not for people; empty for the plain form.
    """

    label: str
    value: Any
    note: str = ""
    text: str = ""

    def format_lines(self) -> list[str]:
        """Return the value for people and the note, one line for each item of a list."""
        if self.text or not isinstance(self.value, list | tuple):
            lines = [" ".join(self.text.split()) or format_value(self.value, self.label)]
        else:
            lines = [format_value(item, self.label) for item in self.value] or ["none"]
        return [*lines, self.note] if self.note else lines


@dataclasses.dataclass(frozen=True)
class Section:
    """Facts that belong together.

    Attributes:
        title: in lower case, such as ``training records``; empty for facts that stand by themselves.
        facts: in the order in which they are read.
    """

    title: str
    facts: tuple[Fact, ...]


@dataclasses.dataclass(frozen=True)
class Report:
    """Sections of facts under one title.

    Attributes:
        title: one line.
        sections: in the order in which they are read.
        schema: version of the layout of its JSON; empty where no program reads it.
        tone: of a page's box around the first section, which then holds the result; empty for no box.
    """

    title: str
    sections: tuple[Section, ...]
    schema: str = ""
    tone: Tone = ""

    def to_text(self) -> str:
        """Return the report as plain text, ended by a line break."""
        blocks = ["\n".join(_format_section(section)) for section in self.sections if section.facts]
        separator = "\n" if all(not section.title for section in self.sections) else "\n\n"
        return separator.join([self.title, *blocks]) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON holds it.

        Facts stand under the titles of their sections, those of sections without a title at the top; ``notes`` repeats
        that structure for facts that have one.
        """
        content: dict[str, Any] = {"schema": self.schema} if self.schema else {}
        content["title"] = self.title
        notes: dict[str, Any] = {}
        for section in self.sections:
            values = {fact.label: _encode_value(fact.value) for fact in section.facts}
            section_notes = {fact.label: fact.note for fact in section.facts if fact.note}
            content |= {section.title: values} if section.title else values
            if section_notes:
                notes |= {section.title: section_notes} if section.title else section_notes
        return {**content, "notes": notes} if notes else content

    def to_json(self) -> str:
        """Return the report as JSON text, ended by a line break; numbers that are not finite are texts."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    def to_html(self) -> str:
        """Return the report as one page that loads nothing else."""
        return _PAGE.format(title=html.escape(self.title), body=self._render_sections())

    def _repr_html_(self) -> str:
        """Return the report for a notebook: without a page around it, and in the notebook's own style."""
        return f"<h3>{html.escape(self.title)}</h3>\n{self._render_sections()}"

    def _render_sections(self) -> str:
        sections = [_render_section(section) for section in self.sections if section.facts]
        if self.tone and sections:
            sections[0] = sections[0].replace("<section>", f'<section class="{self.tone}">', 1)
        return "\n".join(sections)


def make_facts(values: dict[str, Any]) -> tuple[Fact, ...]:
    """Return a fact for each entry of a dictionary."""
    return tuple(Fact(str(label), value) for label, value in values.items())


def format_value(value: Any, name: str = "") -> str:  # noqa: ANN401 - any JSON value
    """Return a value in plain figures and words, on one line; what its name says to be a bound is rounded up."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return format_upper(value, 6) if name.startswith(_UPPER_BOUNDS) else f"{value:.6g}"
    if isinstance(value, dict):
        return ", ".join(f"{name} {format_value(item, name)}" for name, item in value.items()) or "none"
    if isinstance(value, list | tuple):
        return ", ".join(format_value(item) for item in value) or "none"
    return " ".join(str(value).split())


def _format_section(section: Section) -> list[str]:
    """Return the lines of a section, its labels in one column."""
    indent = "  " if section.title else ""
    width = len(indent) + max(len(fact.label) for fact in section.facts) + 2
    lines = [_capitalize(section.title)] if section.title else []
    for fact in section.facts:
        starts = (f"{indent}{fact.label}", *[""] * len(fact.format_lines()))
        lines += [f"{start:<{width}}{line}" for start, line in zip(starts, fact.format_lines(), strict=False)]
    return lines


def _render_section(section: Section) -> str:
    heading = f"<h2>{html.escape(_capitalize(section.title))}</h2>\n" if section.title else ""
    rows = "\n".join(
        f"<dt>{html.escape(fact.label)}</dt>\n<dd>{_render_lines(fact.format_lines())}</dd>" for fact in section.facts
    )
    return f"<section>\n{heading}<dl>\n{rows}\n</dl>\n</section>"


def _render_lines(lines: Iterable[str]) -> str:
    return "<br>\n".join(html.escape(line) for line in lines)


def _encode_value(value: Any) -> Any:  # noqa: ANN401 - any JSON value, or a dataclass
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = dataclasses.asdict(value)
    return encode_nonfinite_numbers(list(value) if isinstance(value, tuple) else value)


def _capitalize(title: str) -> str:
    return title[:1].upper() + title[1:]


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 50rem; margin: 2rem auto; padding: 0 1rem; }}
h1 {{ font-size: 1.4rem; }}
h2 {{ font-size: 1.1rem; }}
dl {{ display: grid; grid-template-columns: minmax(8rem, max-content) 1fr; gap: 0.25rem 1.5rem; }}
dt {{ color: #555; }}
dd {{ margin: 0; overflow-wrap: anywhere; }}
section[class] {{ background: #f5f7f9; border-left: 6px solid #00659e; border-radius: 6px; padding: 0.1rem 1rem; }}
section.good {{ border-left-color: #00663f; }}
section.caution {{ background: #fff6dc; border-left-color: #e69f00; }}
section.bad {{ background: #fff1ea; border-left-color: #d55e00; }}
@media (max-width: 30rem) {{ dl {{ display: block; }} dd {{ margin: 0 0 0.75rem; }} }}
@media (prefers-color-scheme: dark) {{
body {{ background: #111; color: #eee; }} dt {{ color: #aaa; }}
section[class] {{ background: #1e2329; }}
section.caution {{ background: #3a3013; }}
section.bad {{ background: #3a2013; }}
}}
</style>
</head>
<body>
<h1>{title}</h1>
{body}
</body>
</html>
"""
