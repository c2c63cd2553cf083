"""The curves of the figure, read from the results."""

from deniable.studies.study import Data


def cells(data: Data, method: str) -> list[Data]:
    """Return what was found of one method, by epsilon."""
    return sorted((cell for cell in data["cells"] if cell["method"] == method), key=_epsilon)


def _epsilon(cell: Data) -> float:
    return float(cell["epsilon"])


def methods(data: Data) -> list[str]:
    """Return the methods that were looked at, in their order."""
    return list(dict.fromkeys(cell["method"] for cell in data["cells"]))


def top(cell: Data, source: str, first: int) -> Data | None:
    """Return the success of the attack from ``vector`` or ``text``; None for a method that releases no vector."""
    return next((found for found in cell.get(source, ()) if found["first"] == first), None)


def percent(found: Data) -> str:
    """Return a share and its interval."""
    shown = [plain(100 * found[name]) for name in ("value", "low", "high")]
    return f"{shown[0]} % ({shown[1]} to {shown[2]})"


def plain(number: float) -> str:
    """Return a percentage with one place behind the point, and small ones with two figures."""
    return f"{number:.1f}" if number >= 1 or number == 0 else f"{number:.2g}"


def refutations(data: Data, method: str) -> list[tuple[Data, Data]]:
    """Return the cells of a method in which the attack on vectors refutes its claim, with the strongest evidence."""
    found = []
    for cell in cells(data, method):
        right = [top_ for top_ in (*cell.get("vector", ()), *cell["text"]) if top_["refuted"]]
        if right:
            found.append((cell, max(right, key=lambda one: float(one["least"]))))
    return found


def distance(data: Data, method: str) -> Data | None:
    """Return how far apart the corpus lies under a method."""
    return next((found for found in data["distances"] if found["method"] == method), None)


def audit(data: Data, method: str, seen: str = "likelihood") -> Data | None:
    """Return one verdict."""
    return next((found for found in data["audits"] if (found["method"], found["seen"]) == (method, seen)), None)
