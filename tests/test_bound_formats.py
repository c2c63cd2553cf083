"""No promise is rounded to the nearest number: people see bounds through the formatters of `deniable.core.numbers`."""

import ast
import re
from pathlib import Path

import pytest

SOURCES = Path(__file__).parent.parent / "src" / "deniable"
FORMATTERS = SOURCES / "core" / "numbers.py"
"""The only file that may round a bound."""
_BOUND_NAME = re.compile(
    r"(?:^|_)(?:epsilons?|eps|delta|alpha|odds|radius|radii|confidence|loss|bounds?|low|high|lower|upper|success|recovery"
    r"|claim|budget|proven|spent|cap|p_value)\d*(?:_|$)"
)
"""Names of what is promised, claimed or bounded, in snake case."""
_ROUNDING_SPEC = re.compile(r"[eEfFgGn%]$|\.[\d*]")
_ROUNDING_PERCENT = re.compile(r"%[-+#0]*[\d*]*(\.[\d*]+)?[eEfFgG]")
_ROUNDING_FIELD = re.compile(r"\{[^{}:]*:[^{}]*(?:[eEfFgGn%]|\.\d+)\}")
_TEMPLATE_EXPRESSION = re.compile(r"\{[{%](.*?)[}%]\}", re.DOTALL)
_TEMPLATE_ROUNDING = re.compile(r"\|\s*round\b")
_SCRIPT_ROUNDING = re.compile(
    r"toFixed|toPrecision|toExponential|toLocaleString|NumberFormat|Math\.(?:round|ceil|floor|trunc)"
)


def is_bound(name):
    """Return whether a name, in snake or camel case, means a bound."""
    return bool(_BOUND_NAME.search(re.sub(r"(?<=[a-z\d])(?=[A-Z])|\W+", "_", name).lower()))


def mentions_bound(*nodes):
    """Return whether a name, an attribute or a key within some expressions means a bound."""
    for node in (inner for outer in nodes for inner in ast.walk(outer)):
        name = getattr(node, "id", None) or getattr(node, "attr", None) or getattr(node, "value", None)
        if isinstance(name, str) and is_bound(name):
            return True
    return False


def read_spec(spec):
    """Return a format specification as text, with a star for what is computed."""
    parts = spec.values if isinstance(spec, ast.JoinedStr) else [spec]
    return "".join(str(part.value) if isinstance(part, ast.Constant) else "*" for part in parts)


def rounds_bound(node):
    """Return whether an expression rounds what means a bound, in any way that Python has."""
    if isinstance(node, ast.FormattedValue) and node.format_spec:
        return _ROUNDING_SPEC.search(read_spec(node.format_spec)) and mentions_bound(node.value)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and isinstance(node.left, ast.Constant):
        return _ROUNDING_PERCENT.search(str(node.left.value)) and mentions_bound(node.right)
    return isinstance(node, ast.Call) and calls_rounding(node) and mentions_bound(*list_arguments(node))


def list_arguments(call):
    """Return all arguments of a call."""
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def calls_rounding(call):
    """Return whether a call rounds its arguments; rounding to a whole number is counting."""
    arguments = list_arguments(call)
    name = getattr(call.func, "id", None) or getattr(call.func, "attr", None)
    if name in {"round", "around"}:
        return len(arguments) > 1
    if name == "format" and isinstance(call.func, ast.Attribute):
        return isinstance(call.func.value, ast.Constant) and _ROUNDING_FIELD.search(str(call.func.value.value))
    return name == "format" and len(arguments) > 1 and _ROUNDING_SPEC.search(read_spec(arguments[1]))


def find_rounded_bounds(source):
    """Return the lines of a Python source in which a bound is rounded."""
    return sorted({node.lineno for node in ast.walk(ast.parse(source)) if rounds_bound(node)})


def find_rounded_bounds_in_template(source):
    """Return the expressions of a template in which a bound is rounded."""
    patterns = (_ROUNDING_PERCENT, _ROUNDING_FIELD, _TEMPLATE_ROUNDING)
    return [
        expression.strip()
        for expression in _TEMPLATE_EXPRESSION.findall(source)
        if any(pattern.search(expression) for pattern in patterns)
        and any(map(is_bound, re.findall(r"\w+", expression)))
    ]


def find_rounded_bounds_in_script(source):
    """Return the lines of a script in which a bound is rounded."""
    return [
        number
        for number, line in enumerate(source.splitlines(), 1)
        if _SCRIPT_ROUNDING.search(line) and any(map(is_bound, re.findall(r"\w+", line)))
    ]


@pytest.mark.parametrize(
    ("pattern", "find"),
    [
        ("*.py", find_rounded_bounds),
        ("*.j2", find_rounded_bounds_in_template),
        ("*.html", find_rounded_bounds_in_template),
        ("*.js", find_rounded_bounds_in_script),
    ],
)
def test_no_bound_is_rounded_to_the_nearest_number(pattern, find):
    """All code, pages and scripts show bounds through the two formatters, or exactly."""
    paths = [path for path in SOURCES.rglob(pattern) if path != FORMATTERS]
    assert paths
    found = {str(path.relative_to(SOURCES)): find(path.read_text("utf-8")) for path in paths}
    assert {path: places for path, places in found.items() if places} == {}


@pytest.mark.parametrize(
    "snippet",
    [
        'f"{epsilon:.3g}"',
        'f"epsilon {guarantee.epsilon:g} and more"',
        'f"{100 * self.confidence:.1f} %"',
        'f"{share.low:,.{digits}f}"',
        'f"{math.exp(loss):.3g}"',
        'f"{bound_group_epsilon(budget, 2):.3g}"',
        "f\"{guarantee['delta']:g}\"",
        'f"{max_recovery:.2%}"',
        'f"{radius:>10.4g}"',
        'f"{test.p_value:.2g}"',
        '"%.3g" % epsilon',
        '"%.*f and %s" % (digits, result.upper_bound, name)',
        '"at most {:.1f}-fold".format(odds)',
        '"{odds:.1f}".format(odds=odds)',
        'format(epsilon, ".3g")',
        "round(epsilon, 3)",
        "round(certified.radius, ndigits=2)",
        "np.round(delta, 3)",
    ],
)
def test_rounded_bounds_are_seen(snippet):
    """The check sees every way in which Python rounds a bound to the nearest number."""
    assert find_rounded_bounds(f"x = 1\ny = {snippet}\n") == [2]


@pytest.mark.parametrize(
    "snippet",
    [
        'f"{format_upper(epsilon)}"',
        'f"{epsilon}"',
        'f"{format_exact(epsilon):>8}"',
        'f"{seconds:.1f}"',
        'f"{len(low_rows):,}"',
        'f"{sum(losses):.3f}"',
        '"%d of %s" % (count, epsilon)',
        "round(lowered, 3)",
        "round(1e6 * epsilon)",
    ],
)
def test_other_numbers_are_left(snippet):
    """The check lets the formatters, exact numbers and numbers that bound nothing pass."""
    assert find_rounded_bounds(snippet) == []


@pytest.mark.parametrize(
    ("find", "snippet", "is_found"),
    [
        (find_rounded_bounds_in_template, '<b>{{ "%.4g"|format(r.promise.proven) }}</b>', True),
        (find_rounded_bounds_in_template, '{{ "{:.3g}".format(r.epsilon) }}', True),
        (find_rounded_bounds_in_template, '{{ "%.*f"|format(digits, scale * e.low) }}', True),
        (find_rounded_bounds_in_template, "{{ radius|round(2) }}", True),
        (find_rounded_bounds_in_template, "{{ upper(r.epsilon) }}", False),
        (find_rounded_bounds_in_template, '{{ "%.1f"|format(100 * e.value) }}', False),
        (find_rounded_bounds_in_script, "return epsilon.toFixed(1);", True),
        (find_rounded_bounds_in_script, "return (Math.ceil(100 * recordEpsilon) / 100).toString();", True),
        (find_rounded_bounds_in_script, "odds < 10 ? odds.toFixed(1) : Math.round(odds)", True),
        (find_rounded_bounds_in_script, "return formatUpper(epsilon);", False),
        (find_rounded_bounds_in_script, "const seconds = Math.round(time / 1000);", False),
    ],
)
def test_rounded_bounds_of_pages_are_seen(find, snippet, is_found):
    """The check sees bounds that a page or its script rounds, and lets other numbers pass."""
    assert bool(find(snippet)) is is_found
