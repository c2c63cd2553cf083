"""The statements of the paper beside the results, and the findings."""

import math

from deniable.studies.study import Comparison, Data

UNIFORM, NORMAL, WIDE = "uniform on [-1, 1]", "normal, deviation 0.1", "normal, variance 0.1"
NAMES = (UNIFORM, NORMAL, WIDE)
_SMALL, _LARGE = 32, 1024
"""The encoders' dimensions between which the paper expects the truth."""
_NEARLY_ALL = 0.999


def _cell(data: Data, name: str, radius: float, n: int) -> Data:
    found: Data = next(c for c in data["shares"] if (c["distribution"], c["C"], c["n"]) == (name, radius, n))
    return found


def _first(data: Data, name: str, radius: float) -> str:
    """Return from which dimension on nearly all pairs are beyond the claim."""
    cells = [c for c in data["shares"] if (c["distribution"], c["C"]) == (name, radius)]
    dimensions = [c["n"] for c in cells if c["share"] >= _NEARLY_ALL]
    return f"from n = {dimensions[0]}" if dimensions else f"at no n up to {cells[-1]['n']}"


def _percent(share: float) -> str:
    """Return a share that never looks like all or nothing where it is not."""
    short = f"{100 * share:.4g}"
    if share in {0.0, 1.0} or ("e" not in short and short != "100"):
        return f"{short} %"
    return f"{100 * share:.7f}".rstrip("0") + " %"


def _at(data: Data, n: int) -> str:
    """Return the shares at one dimension, all distributions and clips."""
    parts = []
    for radius in data["radii"]:
        shares = ", ".join(_percent(_cell(data, name, radius, n)["share"]) for name in NAMES)
        parts.append(f"C = {radius:g}: {shares}")
    return "; ".join(parts)


def table(data: Data) -> tuple[Comparison, ...]:
    """Return the paper's statements and ours."""
    worst = max(abs(found / (2 * math.sqrt(int(n))) - 1) for n, found in data["searched sensitivity"].items())
    largest = data["dimensions"][-1]
    typical = _cell(data, UNIFORM, 1.0, _SMALL)["median distance over 2 C"]
    clipped = _cell(data, NORMAL, 1.0, _SMALL)
    remedied = data["l1 clip, pairs beyond"]
    nearly = min(_cell(data, name, 1.0, _SMALL)["share"] for name in (UNIFORM, NORMAL))
    return (
        Comparison(
            "The sensitivity of the clip is 2C sqrt(n), not 2C (Theorem 5.1).",
            f"Proved. A gradient search that knows nothing of the proof finds pairs that far apart, within a relative "
            f"{worst:.0e}, at every n from {min(map(int, data['searched sensitivity']))} to "
            f"{max(map(int, data['searched sensitivity']))}.",
            "agrees",
        ),
        Comparison(
            "At usual dimensions, 32 to 1024, the sensitivity is at least 6 times and up to 32 times as claimed "
            "(abstract; Section 5).",
            f"sqrt(32) = {math.sqrt(_SMALL):.2f} and sqrt(1024) = {math.sqrt(_LARGE):.0f}: the 6 is rounded up.",
            "agrees in part",
        ),
        Comparison(
            "At n = 32 almost none of the data points would be protected (Section 6, Figure 1); C is not given.",
            f"Share of pairs beyond 2C, for {', '.join(NAMES)}: {_at(data, _SMALL)}.",
            "agrees in part" if nearly >= _NEARLY_ALL else "does not agree",
        ),
        Comparison(
            "The share could easily reach 100 % of the data set (abstract).",
            f"At n = {largest}: {_at(data, largest)}.",
            "agrees",
        ),
        Comparison(
            "The normal distribution is rather optimistic: it samples most vectors close to zero (Section 6).",
            f"At C = 1 and n = 32 the clip touches {_percent(clipped['clipped'])} of its vectors; all the same "
            f"{_percent(clipped['share'])} of the pairs are beyond 2C, since l1 distances grow with n by themselves.",
            "agrees",
        ),
        Comparison(
            "Clipping in l1 mends it (Section 7).",
            f"After an l1 clip to C, {remedied:,} pairs are beyond 2C, of {data['l1 clip, vectors']:,} vectors of each "
            f"distribution at each C and n.",
            "agrees" if remedied == 0 else "does not agree",
        ),
        Comparison(
            "Pairs beyond the claimed distance are not protected (Section 6).",
            f"Their loss is bounded, by more than epsilon: the median uniform pair at n = 32, C = 1 lies "
            f"{typical:.2f} times 2C apart and loses {typical:.2f} epsilon; none loses more than "
            f"{math.sqrt(_SMALL):.2f} epsilon.",
            "agrees in part",
        ),
    )


def findings(data: Data) -> tuple[str, ...]:
    """Return the lines to read first."""
    lines = [f"of all {data['pairs']:,} pairs at an n, more than 99.9 % lie farther apart than the claimed 2C"]
    lines += [
        f"{name}, " + ", ".join(f"C = {radius:g}: {_first(data, name, radius)}" for radius in data["radii"])
        for name in NAMES
    ]
    lines.append("the larger C is beside the coordinates, the later; the paper does not say which C it took")
    return tuple(lines)
