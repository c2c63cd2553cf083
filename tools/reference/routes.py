"""The reference of the HTTP service, from its OpenAPI document, which ``python tools/openapi.py`` writes."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from .markdown import code, escape, make_table

_INTRODUCTION = """# HTTP routes

The routes of [`deniable serve`](commands.md#serve), as [openapi.json](../openapi.json) describes them for programs; a
running service has that file at `/openapi.json`. [The HTTP service](../serve.md) explains answers, limits, tokens and
budgets, and [a walk through it](../howto/service.md) starts one.

Bodies are JSON with `Content-Type: application/json`, and a field that is not listed is refused.
Every route except `/v1/health` needs the token, if the service has one, as `Authorization: Bearer TOKEN`.
"""
_FOOTER = "<!-- Written by python -m tools.reference, from docs/openapi.json. -->\n"
_LIMITS = {
    "minLength": "{:,} characters or more",
    "maxLength": "at most {:,} characters",
    "minItems": "{:,} or more",
    "maxItems": "at most {:,}",
    "minimum": "at least {:,}",
    "maximum": "at most {:,}",
    "exclusiveMinimum": "above {:,}",
    "pattern": "matching `{}`",
}


def describe_routes(openapi: Path) -> str:
    """Return the page.

    Args:
        openapi: file of the OpenAPI document.
    """
    document = json.loads(openapi.read_text("utf-8"))
    routes = [(method, path, one) for path, methods in document["paths"].items() for method, one in methods.items()]
    rows = [
        (f"[`{method.upper()} {path}`](#{_anchor(method, path)})", escape(one["description"].partition("\n\n")[0]))
        for method, path, one in routes
    ]
    parts = [_INTRODUCTION, make_table(("route", "what it does"), rows), _describe_answers([one for *_, one in routes])]
    for method, path, one in routes:
        parts += [f"## `{method.upper()} {path}` {{ #{_anchor(method, path)} }}\n", *_describe_route(one, document)]
    return "\n".join([*parts, _FOOTER])


def _anchor(method: str, path: str) -> str:
    """Return the identifier of a route's section."""
    return f"{method}{path.replace('/v1', '').replace('/', '-')}"


def _describe_answers(routes: Sequence[Mapping[str, Any]]) -> str:
    """Return the table of statuses, which all routes share."""
    answers = {status: answer for route in routes for status, answer in route["responses"].items()}
    rows = [
        (
            code(status) if status.isdigit() else "any other",
            "the answer" if status.startswith("2") else escape(answer["description"]),
            ", ".join(map(code, answer.get("content", {}))),
        )
        for status, answer in answers.items()
    ]
    return make_table(("status", "body", "type"), rows)


def _describe_route(route: Mapping[str, Any], document: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a route takes and answers."""
    yield "\n\n".join(escape(paragraph) for paragraph in route["description"].split("\n\n")) + "\n"
    parameters = [
        (code(one["name"]), *_describe_value(one["schema"], is_required=one.get("required", False)),
         escape(one.get("description", "")))
        for one in route.get("parameters", [])
    ]  # fmt: skip
    if parameters:
        yield make_table(("query parameter", "type", "default", "meaning"), parameters)
    if "requestBody" in route:
        reference = route["requestBody"]["content"]["application/json"]["schema"]["$ref"]
        body = document["components"]["schemas"][reference.rpartition("/")[2]]
        required = body.get("required", ())
        rows = [
            (code(name), *_describe_value(field, is_required=name in required), escape(field.get("description", "")))
            for name, field in body["properties"].items()
        ]
        yield make_table(("field of the body", "type", "default", "meaning"), rows)


def _describe_value(schema: Mapping[str, Any], *, is_required: bool) -> Sequence[str]:
    """Return the type of a value with its limits, and whether it can be left out."""
    schemas = [one for one in schema.get("anyOf", [schema]) if one.get("type") != "null"]
    limits = [text.format(one[key]) for one in schemas for key, text in _LIMITS.items() if key in one]
    default = schema.get("default")
    shown = "required" if is_required else "optional" if default is None else code(json.dumps(default))
    return ", ".join([" or ".join(map(_describe_type, schemas)), *limits]), shown


def _describe_type(schema: Mapping[str, Any]) -> str:
    """Return the type of a value in words."""
    if "anyOf" in schema:
        return " or ".join(_describe_type(one) for one in schema["anyOf"])
    if "const" in schema:
        return code(json.dumps(schema["const"]))
    if schema.get("type") == "array":
        return f"list of {_describe_type(schema['items'])}"
    return str(schema.get("type", "any")).replace("string", "text").replace("boolean", "true or false")
