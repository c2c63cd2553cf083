"""A study so small that every part of the framework is tried on it in no time."""

import dataclasses

import numpy as np

from studies.rows import Row, at, row_of_mean
from studies.study import (
    Axis,
    Grid,
    Line,
    Metric,
    Panel,
    Reference,
    Statement,
    Study,
    Table,
    above,
    below,
    infinite,
    near,
)


@dataclasses.dataclass(frozen=True)
class Sizes:
    trials: int = 4


def measure(context, curve, x):
    """Return a share and an exact number of one cell."""
    random = np.random.default_rng(context.derive_seed(curve, x))
    centre = {"sure": 0.9, "coin": 0.5}[curve]
    shares = centre + random.uniform(-0.01, 0.01, context.sizes.trials)
    yield row_of_mean(curve, x, "accuracy", shares.tolist())
    yield Row(curve, x, "loss", float("inf") if curve == "sure" else 1 / x)


def derive(rows):
    """Return by how much the first curve is ahead at its first place."""
    sure, coin = (next(row for row in rows if row.curve == name) for name in ("sure", "coin"))
    return [Row("gain", None, "accuracy", sure.value - coin.value)]


CELLS = tuple((curve, x) for curve in ("sure", "coin") for x in (1.0, 2.0, 4.0, 8.0))
TOY = Study(
    name="toy-study",
    title="A toy",
    citation="Nobody (2020), *Nothing*, Figure 0.",
    question="Is a sure thing better than a coin?",
    picture="Two flat lines.",
    full=Grid(CELLS, Sizes()),
    quick=Grid(CELLS[::2], Sizes(2)),
    measure=measure,
    derive=derive,
    curves={"sure": "a sure thing", "coin": "a coin"},
    metrics={"accuracy": Metric("accuracy", ".1%"), "loss": Metric("privacy loss", ".2f")},
    statements=(
        Statement("A sure thing has 90%.", at("sure", metric="accuracy"), near(0.9, 0.05)),
        Statement("It is ahead of a coin.", at("sure", metric="accuracy"), above(at("coin"))),
        Statement("A coin loses little | often.", at("coin", (1.0, 8.0), "loss"), below(0.5)),
        Statement("A sure thing has no loss.", at("sure", 2, "loss"), near(0)),
        Statement("It loses all.", at("sure", 2, "loss"), infinite()),
        Statement("Nobody knows.", at("nobody"), above(1)),
    ),
    questions=(Statement("It is worth having.", at("sure", 2, "accuracy"), above(0.1)),),
    panels=(
        Panel(
            "accuracy",
            (Line("sure", "accuracy"), Line("coin", "accuracy", "--s"), Line("paper", "accuracy", "D", is_hollow=True)),
            Axis("epsilon", log=2, ticks=(1, 2, (4, "four"))),
            Axis("accuracy, %", limits=(40, 100)),
            (Reference(50), Reference(at("gain", metric="accuracy"), label="gain"), Reference(at("nobody"))),
        ),
        Panel("loss", (Line("sure", "loss", x="accuracy"), Line("coin", "loss", "bar")), y=Axis(limits=(0, 5))),
        Panel("large", (Line("coin", "accuracy", only=("loss", 0.5)),)),
    ),
    tables=(
        Table("Points", ("accuracy", "accuracy|low", "accuracy|high", "loss"), x="epsilon"),
        Table("Losses", ("loss",), ("coin",), across=True),
    ),
    published=(Row("paper", 2.0, "accuracy", 0.75),),
)
