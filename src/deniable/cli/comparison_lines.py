"""The lines that ``deniable compare`` prints: the recommendation, and one line for each release."""

import textwrap
from typing import TYPE_CHECKING

from deniable.core.numbers import format_upper

if TYPE_CHECKING:
    from deniable.comparison.findings import Comparison
    from deniable.comparison.recommendation import Recommendation
    from deniable.measure.intervals import Estimate

_TEXT_WIDTH = 110
_NO_FIGURE = "-"


def format_recommendation(recommendation: "Recommendation", next_command: str) -> list[str]:
    """Return the recommendation in lines, the command by itself so that it can be copied."""
    lines = [recommendation.headline, *recommendation.reasons]
    if recommendation.alternatives:
        lines += ["Instead:", *(f"- {alternative}" for alternative in recommendation.alternatives)]
    wrapper = textwrap.TextWrapper(_TEXT_WIDTH, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False)
    # A no-break space keeps a number and its sign on one line.
    wrapped = [part for line in lines for part in wrapper.wrap(line.replace(" %", "\N{NO-BREAK SPACE}%"))]
    command = [f"run: {next_command}"] if next_command else []
    return [*(part.replace("\N{NO-BREAK SPACE}", " ") for part in wrapped), *command, ""]


def format_comparison(comparison: "Comparison") -> list[str]:
    """Return a short table, one line a release, then the originals and a blind guess, and what was not possible."""
    titles = ["release", "all of one", "words guessed", "linked", "membership", "balanced", "gain kept", "seconds"]
    rows = [
        [
            release.name,
            _NO_FIGURE if release.promise.whole is None else format_upper(release.promise.whole),
            _format_share(release.attacks.guessed),
            _format_share(release.attacks.linked),
            _NO_FIGURE if release.attacks.membership is None else f"{release.attacks.membership.auc.value:.3f}",
            _format_share(release.use.score.private),
            _format_share(release.use.score.retained),
            f"{release.seconds:.1f}",
        ]
        for release in comparison.releases
    ]
    baselines = comparison.baselines
    empty = [_NO_FIGURE] * 3
    area, accuracy = f"{baselines.membership.auc.value:.3f}", _format_share(baselines.originals)
    rows.append(["originals", *empty, area, accuracy, _NO_FIGURE, _NO_FIGURE])
    rows.append(["blind guess", *empty, "0.500", f"{100 * baselines.blind:.1f} %", _NO_FIGURE, _NO_FIGURE])
    widths = [max(len(row[place]) for row in [titles, *rows]) for place in range(len(titles))]
    lines = [
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        )
        for row in [titles, *rows]
    ]
    return [*lines, *(f"not possible: {failure.name}: {failure.reason}" for failure in comparison.failures)]


def _format_share(estimate: "Estimate | None") -> str:
    return _NO_FIGURE if estimate is None else estimate.format_point()
