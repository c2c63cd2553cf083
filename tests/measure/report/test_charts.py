"""Axes and line charts as SVG."""

import pytest

from deniable.core.intervals import as_exact_estimate, estimate_share
from deniable.measure.report.charts import (
    ChartPoint,
    ChartSeries,
    LineChart,
    build_value_axis,
    compute_ticks,
    draw_chart,
)


@pytest.mark.parametrize(
    ("low", "high", "wanted"),
    [
        (0.0, 1.0, (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)),
        (0.513, 0.61, (0.5, 0.52, 0.54, 0.56, 0.58, 0.6, 0.62)),
        (0.5, 0.5, (0.494, 0.496, 0.498, 0.5, 0.502, 0.504, 0.506)),
        (-0.3, 0.31, (-0.4, -0.2, 0.0, 0.2, 0.4)),
    ],
)
def test_ticks(low, high, wanted):
    """Ticks are round numbers that enclose what is shown."""
    assert compute_ticks(low, high) == pytest.approx(wanted)


def test_ticks_of_measured_places_do_not_touch():
    """Close epsilons lose their numbers; far ones are drawn by ratio; one alone is in the middle."""
    assert build_value_axis([1, 1.01, 1.02, 8], 0, 300).ticks == (1, 8)
    wide = build_value_axis([0.1, 1, 10], 0, 300)
    assert wide.locate(1) == pytest.approx(150)
    assert build_value_axis([2.0], 0, 300).locate(2.0) == pytest.approx(150)


def test_bands_and_levels():
    """A sampled height has a band, an exact one none; levels are dashed lines with names."""
    sampled = ChartSeries(
        "a & b",
        (
            ChartPoint(as_exact_estimate(1.0), estimate_share(3, 10)),
            ChartPoint(as_exact_estimate(2.0), estimate_share(5, 10)),
        ),
    )
    known = ChartSeries(
        "c",
        (
            ChartPoint(as_exact_estimate(1.0), as_exact_estimate(0.2)),
            ChartPoint(as_exact_estimate(2.0), as_exact_estimate(0.3)),
        ),
    )
    text = draw_chart(LineChart("t", "x", "y", (sampled, known), (("blind", 0.1),)))
    assert text.count('class="band s0"') == 1
    assert 'class="band s1"' not in text
    assert text.count('class="level l0"') == 2
    assert "a &amp; b" in text
