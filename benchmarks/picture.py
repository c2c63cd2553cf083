"""Draw what `mechanisms.py` printed: words kept at one proven epsilon, and at one attacker's success.

    python benchmarks/mechanisms.py --spaces glove > table.md
    python benchmarks/picture.py table.md docs/figures/calibration.png

Needs the extra `plot`.
"""

import argparse
from pathlib import Path

import matplotlib as mpl
from matplotlib import pyplot as plt

LABELS = {"tem": "TEM", "calibrated": "calibrated", "tight": "tight"}
COLOURS = {"tem": "#b35806", "calibrated": "#4d4d4d", "tight": "#2166ac"}
MARKERS = {"tem": "o", "calibrated": "s", "tight": "^"}
Row = dict[str, str]


def read(path: Path) -> list[Row]:
    """Return the rows of the first table in a markdown file, by heading."""
    lines = path.read_text(encoding="utf-8").splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("| mechanism"))
    names = [cell.strip() for cell in lines[start].strip("| ").split("|")]
    rows = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        rows.append(dict(zip(names, (cell.strip() for cell in line.strip("| ").split("|")), strict=True)))
    return rows


def percent(text: str) -> float:
    """Return the number in ``12.3%``."""
    return float(text.split("%", maxsplit=1)[0])


def draw(rows: list[Row], path: Path) -> None:
    """Write the two panels as one picture."""
    mpl.rcParams.update({"font.size": 11, "axes.spines.top": False, "axes.spines.right": False})
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.4), sharey=True, layout="constrained")
    for name, label in LABELS.items():
        own = [row for row in rows if row["mechanism"] == name]
        kept = [percent(row["kept, Zipf"]) for row in own]
        style = {"color": COLOURS[name], "marker": MARKERS[name], "label": label}
        left.plot([float(row["epsilon"]) for row in own], kept, **style)
        right.plot([percent(row["attacker"]) for row in own], kept, **style)
    left.set_xlabel("epsilon that is proved (per unit of distance)")
    left.set_ylabel("words kept, % (public Zipf prior)")
    left.set_title("The same proof: calibration keeps far more", loc="left", fontsize=12)
    left.legend(frameon=False)
    right.set_xlabel("words that the best guesser names, %")
    right.set_title("The same attacker: hardly a difference", loc="left", fontsize=12)
    for axes in (left, right):
        axes.set_ylim(-3, 103)
        axes.grid(alpha=0.25)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


def main() -> None:
    """Draw the table of one file into another."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("table", type=Path)
    parser.add_argument("picture", type=Path)
    options = parser.parse_args()
    draw(read(options.table), options.picture)


if __name__ == "__main__":
    main()
