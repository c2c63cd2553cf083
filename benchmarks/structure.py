"""Counts of the source that this project holds itself to, for a checkout.

    python benchmarks/structure.py [CHECKOUT] [--lists]

Sources are parsed, never imported. The wheel is ``src/deniable``, the studies are ``studies`` and, where they still
stand in the wheel, ``src/deniable/studies``, which is then no part of the wheel here. How each count is made:

lines, files: all lines of all .py files, blank lines, comments and docstrings included.

names defined twice: public names (without a leading underscore) that two or more modules of the wheel define:
    functions, classes and assigned names (constants and type aliases) at the top level; names under ``if`` and ``try``
    and imports are no definitions. The share is that of distinct names. Methods are counted apart, by the classes that
    define them, overrides left out: methods that a base class has, methods that any `Protocol` of the wheel asks for,
    and all methods of classes with a base from outside the wheel, whose methods are not known. Properties, attributes
    and magic methods are no methods here.

one-word functions: functions and methods, private ones and overrides included, whose name without leading underscores
    has no underscore inside. Function means at the top level of a module, method in the body of a class there;
    functions inside functions, properties and magic methods do not count.

participles: functions and methods as above, the first word of whose name (``found_rows``, ``found``) has five letters
    or more and ends in -ed, -ing or -en, or is an irregular participle of `PARTICIPLES`. A word of `NOT_PARTICIPLES`
    (``seed``, ``string``, ``token``) is none, nor is one that an imperative has the form of (``read``, ``split``).

long functions: functions of any kind, those inside others included, of more than 50 lines from ``def`` (decorators
    left out) to the last line, signature, comments, blank lines and inner functions included; once with the docstring,
    and once without it.

mirrored tests: modules of the wheel a/b.py with a file tests/a/test_b.py that has a test function, of all modules
    that define a function or a class; ``__init__.py`` files and modules of constants alone are left out.

docstrings: public modules, classes, functions, methods and properties (no underscore in any part of the dotted name,
    nothing inside functions, no setters) that have one.

import circles: modules of the wheel that import each other, directly or through others (strongly connected
    components of two modules or more). Importing a.b.c does not count as importing a and a.b, although Python runs
    their ``__init__.py`` first. Counted once with imports that run when a module is imported, and once with those
    inside functions and under ``if TYPE_CHECKING`` too.
"""

import argparse
import ast
import dataclasses
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

MAX_LINES = 50
PARTICIPLES = frozenset(
    """
    been begun built chosen dealt done drawn driven fed felt found given gone got gotten grown heard held hidden kept
    known laid led left lost made meant met paid rebuilt said seen sent shown sold spent spun stood taken taught
    thought told torn understood won worn written
    """.split()  # noqa: SIM905 - a list of words
)
"""Irregular participles that no imperative has the form of."""
NOT_PARTICIPLES = frozenset(
    "bring embed exceed feed flatten need proceed seed shed shorten speed string token widen".split()  # noqa: SIM905 - the same
)
"""Words with the ending of a participle that are none."""

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclasses.dataclass(frozen=True)
class Module:
    """One parsed file.

    Attributes:
        name: dotted, from the root of its sources.
        path: of the file.
        lines: how many it has.
        tree: its syntax.
    """

    name: str
    path: Path
    lines: int
    tree: ast.Module


def read_modules(root: Path, package: str, skip: Iterable[Path] = ()) -> list[Module]:
    """Return the modules under a folder, in order of their paths.

    Args:
        root: a folder; one that does not exist has no modules.
        package: dotted name of the folder.
        skip: folders that are left out.
    """
    modules = []
    for path in sorted(root.rglob("*.py")):
        if any(folder in path.parents for folder in skip):
            continue
        text = path.read_text(encoding="utf-8")
        parts = (package, *path.relative_to(root).with_suffix("").parts)
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        modules.append(Module(name, path, len(text.splitlines()), ast.parse(text)))
    return modules


def list_functions(module: Module) -> list[FunctionNode]:
    """Return the functions at the top level of a module."""
    return [node for node in module.tree.body if isinstance(node, FunctionNode)]


def list_classes(module: Module) -> list[ast.ClassDef]:
    """Return the classes at the top level of a module."""
    return [node for node in module.tree.body if isinstance(node, ast.ClassDef)]


def list_methods(owner: ast.ClassDef) -> list[FunctionNode]:
    """Return the methods of a class, without properties and magic methods."""
    methods = [node for node in owner.body if isinstance(node, FunctionNode)]
    return [node for node in methods if not _is_magic(node.name) and not _is_property(node)]


def count_definitions(modules: Iterable[Module]) -> dict[str, set[str]]:
    """Return public top-level name -> modules that define it."""
    owners: dict[str, set[str]] = defaultdict(set)
    for module in modules:
        for name in _list_assigned_names(module.tree.body):
            owners[name].add(module.name)
        for node in (*list_functions(module), *list_classes(module)):
            owners[node.name].add(module.name)
    return {name: places for name, places in owners.items() if not name.startswith("_")}


def count_method_definitions(modules: Iterable[Module]) -> dict[str, set[str]]:
    """Return public method name -> classes, in modules, that define it and override nothing."""
    modules = list(modules)
    classes = {owner.name: owner for module in modules for owner in list_classes(module)}
    contracts = {
        method.name for owner in classes.values() if "Protocol" in _list_bases(owner) for method in list_methods(owner)
    }
    owners: dict[str, set[str]] = defaultdict(set)
    for module in modules:
        for owner in list_classes(module):
            inherited = _list_inherited_methods(owner, classes)
            for method in list_methods(owner) if inherited is not None else ():
                if inherited is not None and method.name not in inherited | contracts:
                    owners[method.name].add(f"{module.name}.{owner.name}")
    return {name: places for name, places in owners.items() if not name.startswith("_")}


def _list_inherited_methods(owner: ast.ClassDef, classes: dict[str, ast.ClassDef]) -> set[str] | None:
    """Return the methods of a class's bases; None where a base is from elsewhere, so that they are unknown."""
    inherited: set[str] = set()
    for name in _list_bases(owner) - {"Protocol", "NamedTuple", "Generic", "ABC"}:
        if name not in classes or classes[name] is owner:
            return None
        further = _list_inherited_methods(classes[name], classes)
        if further is None:
            return None
        inherited |= further | {method.name for method in list_methods(classes[name])}
    return inherited


def _list_bases(owner: ast.ClassDef) -> set[str]:
    return {ast.unparse(base).split("[")[0].split(".")[-1] for base in owner.bases}


def is_one_word(name: str) -> bool:
    """Return whether a name is a single word."""
    return "_" not in name.strip("_")


def is_participle(name: str) -> bool:
    """Return whether a name begins with a participle."""
    first = name.strip("_").lower().split("_")[0]
    if first in NOT_PARTICIPLES:
        return False
    return first in PARTICIPLES or (len(first) > 4 and first.endswith(("ed", "ing", "en")))  # noqa: PLR2004 - "open"


def measure_functions(modules: Iterable[Module], *, with_docstring: bool = True) -> list[tuple[int, str]]:
    """Return the lines of every function, and its place, longest first."""
    lengths = [
        (_count_lines(node, with_docstring=with_docstring), f"{module.path}:{node.lineno} {node.name}")
        for module in modules
        for node in ast.walk(module.tree)
        if isinstance(node, FunctionNode)
    ]
    return sorted(lengths, key=lambda entry: (-entry[0], entry[1]))


def _count_lines(node: FunctionNode, *, with_docstring: bool) -> int:
    lines = (node.end_lineno or node.lineno) - node.lineno + 1
    first = node.body[0]
    if with_docstring or ast.get_docstring(node) is None:
        return lines
    return lines - ((first.end_lineno or first.lineno) - first.lineno + 1)


def find_untested(modules: Iterable[Module], root: Path, tests: Path) -> tuple[list[str], int]:
    """Return the modules with behaviour that have no test at the mirrored path, and how many have behaviour."""
    untested, count = [], 0
    for module in modules:
        if module.path.name == "__init__.py" or not (list_functions(module) or list_classes(module)):
            continue
        count += 1
        relative = module.path.relative_to(root)
        test = tests / relative.with_name(f"test_{relative.name}")
        if not test.is_file() or not re.search(
            r"^ *(async )?def test_|^class Test", test.read_text("utf-8"), re.MULTILINE
        ):
            untested.append(relative.as_posix())
    return untested, count


def list_public_docstrings(modules: Iterable[Module]) -> list[tuple[str, bool]]:
    """Return the public definitions, dotted, and whether each has a docstring."""
    found: list[tuple[str, bool]] = []
    for module in modules:
        if any(part.startswith("_") for part in module.name.split(".")):
            continue
        found.append((module.name, ast.get_docstring(module.tree) is not None))
        found += _list_documented(module.tree.body, module.name)
    return found


def _list_documented(body: Iterable[ast.stmt], owner: str) -> Iterator[tuple[str, bool]]:
    for node in body:
        if isinstance(node, FunctionNode | ast.ClassDef) and not node.name.startswith("_"):
            if any(isinstance(item, ast.Attribute) and item.attr == "setter" for item in node.decorator_list):
                continue
            yield f"{owner}.{node.name}", ast.get_docstring(node) is not None
            if isinstance(node, ast.ClassDef):
                yield from _list_documented(node.body, f"{owner}.{node.name}")


def list_imports(module: Module, names: frozenset[str], *, everywhere: bool) -> set[str]:
    """Return the modules among ``names`` that a module imports.

    Args:
        module: whose imports are read.
        names: dotted names of all modules.
        everywhere: whether imports inside functions and under ``if TYPE_CHECKING`` count too.
    """
    nodes = ast.walk(module.tree) if everywhere else _walk_top_level(module.tree.body)
    targets: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            targets.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _resolve_base(module, node)
            # "from a import b" imports the module a.b where there is one, else the name b of a.
            targets.update(f"{base}.{alias.name}" if f"{base}.{alias.name}" in names else base for alias in node.names)
    return {target for target in targets if target in names and target != module.name}


def _resolve_base(module: Module, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    parts = module.name.split(".")
    package = parts if module.path.name == "__init__.py" else parts[:-1]
    base = package[: len(package) - node.level + 1]
    return ".".join([*base, node.module] if node.module else base)


def _walk_top_level(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements that run as a module is imported, but for those under ``if TYPE_CHECKING``."""
    for node in body:
        yield node
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from _walk_top_level(node.orelse)
        elif isinstance(node, ast.If | ast.Try | ast.With | ast.ClassDef):
            for field in ("body", "orelse", "finalbody"):
                yield from _walk_top_level(getattr(node, field, []))
            for handler in getattr(node, "handlers", []):
                yield from _walk_top_level(handler.body)


def find_circles(imports: dict[str, set[str]]) -> list[list[str]]:
    """Return the strongly connected components of two modules or more, each sorted, largest first (Tarjan 1972)."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    circles: list[list[str]] = []

    def visit(name: str) -> None:
        order[name] = lowest[name] = len(order)
        stack.append(name)
        for target in sorted(imports.get(name, ())):
            if target not in order:
                visit(target)
                lowest[name] = min(lowest[name], lowest[target])
            elif target in stack:
                lowest[name] = min(lowest[name], order[target])
        if lowest[name] == order[name]:
            position = stack.index(name)
            component = stack[position:]
            del stack[position:]
            if len(component) > 1:
                circles.append(sorted(component))

    for name in sorted(imports):
        if name not in order:
            visit(name)
    return sorted(circles, key=lambda circle: (-len(circle), circle))


def measure_structure(checkout: Path) -> tuple[list[tuple[str, str]], list[tuple[str, list[str]]]]:
    """Return the rows of the table, and the lists behind them, each with its title."""
    root = checkout / "src" / "deniable"
    inner = root / "studies"
    wheel = read_modules(root, "deniable", skip=[inner])
    studies = [*read_modules(checkout / "studies", "studies"), *read_modules(inner, "deniable.studies")]
    if not wheel:
        raise SystemExit(f"structure: {root} has no modules: name the folder of a checkout.")
    names, methods = count_definitions(wheel), count_method_definitions(wheel)
    twice, methods_twice = _select_repeated(names), _select_repeated(methods)
    functions = [node.name for module in wheel for node in list_functions(module)]
    method_names = [node.name for module in wheel for owner in list_classes(module) for node in list_methods(owner)]
    lengths = measure_functions(wheel)
    too_long = [f"{lines} lines, {place}" for lines, place in lengths if lines > MAX_LINES]
    bare_long = sum(lines > MAX_LINES for lines, _ in measure_functions(wheel, with_docstring=False))
    untested, tested_count = find_untested(wheel, root, checkout / "tests")
    documented = list_public_docstrings(wheel)
    bare = [name for name, has_docstring in documented if not has_docstring]
    module_names = frozenset(module.name for module in wheel)
    circles, all_circles = (
        find_circles({module.name: list_imports(module, module_names, everywhere=everywhere) for module in wheel})
        for everywhere in (False, True)
    )
    participles = sorted({name for name in (*functions, *method_names) if is_participle(name)})
    rows = [
        ("wheel: lines, files", f"{sum(module.lines for module in wheel):,}, {len(wheel)}"),
        ("studies: lines, files", f"{sum(module.lines for module in studies):,}, {len(studies)}"),
        ("public names defined in two modules or more", _format_share(len(twice), len(names))),
        ("public methods defined in two classes or more", _format_share(len(methods_twice), len(methods))),
        ("one-word names of functions", _format_share(sum(map(is_one_word, functions)), len(functions))),
        ("one-word names of methods", _format_share(sum(map(is_one_word, method_names)), len(method_names))),
        ("participle names of functions", _format_share(sum(map(is_participle, functions)), len(functions))),
        ("participle names of methods", _format_share(sum(map(is_participle, method_names)), len(method_names))),
        (f"functions over {MAX_LINES} lines", _format_share(len(too_long), len(lengths))),
        (f"functions over {MAX_LINES} lines without their docstrings", _format_share(bare_long, len(lengths))),
        ("longest function", f"{lengths[0][0]} lines, {lengths[0][1]}" if lengths else "none"),
        ("modules with a test at the mirrored path", _format_share(tested_count - len(untested), tested_count)),
        ("public definitions with a docstring", _format_share(len(documented) - len(bare), len(documented))),
        ("import circles", _format_circles(circles)),
        ("the same, inside functions and for type checking too", _format_circles(all_circles)),
    ]
    lists = [
        ("public names defined in two modules or more", _format_places(twice)),
        ("public methods defined in two classes or more", _format_places(methods_twice)),
        ("participle names", participles),
        (f"functions over {MAX_LINES} lines", too_long),
        ("modules without a test at the mirrored path", untested),
        ("public definitions without a docstring", bare),
        ("import circles, inside functions and for type checking too", [", ".join(circle) for circle in all_circles]),
    ]
    return rows, lists


def _is_magic(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _is_property(node: FunctionNode) -> bool:
    words = [ast.unparse(decorator).split(".")[-1] for decorator in node.decorator_list]
    return any(word in {"property", "cached_property", "setter"} for word in words)


def _list_assigned_names(body: Iterable[ast.stmt]) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AnnAssign):
            targets = [node.target]
        else:
            continue
        for target in targets:
            yield from (name.id for name in ast.walk(target) if isinstance(name, ast.Name))


def _select_repeated(owners: dict[str, set[str]]) -> dict[str, set[str]]:
    return {name: places for name, places in owners.items() if len(places) > 1}


def _format_share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} % ({part:,} of {whole:,})" if whole else "none"


def _format_circles(circles: list[list[str]]) -> str:
    return f"{len(circles)}, of {sum(map(len, circles))} modules" if circles else "none"


def _format_places(owners: dict[str, set[str]]) -> list[str]:
    counts = Counter({name: len(places) for name, places in owners.items()})
    return [f"{name}: {', '.join(sorted(owners[name]))}" for name, _ in counts.most_common()]


def main() -> None:
    """Print the table, and with --lists what is behind it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path, nargs="?", default=Path(__file__).resolve().parents[1])
    parser.add_argument("--lists", action="store_true", help="print the names and places behind the counts too")
    options = parser.parse_args()
    rows, lists = measure_structure(options.checkout)
    print("| count | value |\n|---|---|")
    for name, value in rows:
        print(f"| {name} | {value.replace(f'{options.checkout}/', '')} |")
    for title, entries in lists if options.lists else lists[4:5]:
        print(f"\n{title}: {len(entries)}")
        for entry in entries:
            print(f"  {entry.replace(f'{options.checkout}/', '')}")


if __name__ == "__main__":
    main()
