"""Steps and Euclidean distance side by side where the best guess from one output word is right about as many words.

    python benchmarks/metrics.py [--success 0.2,0.33] [--size 50000]

The calibrated mechanism over the default words, with hidden classes and without, at the largest epsilon at which the
best guesser's success on the average stays at most a target, under Zipf's law. All figures are exact, computed from the
law. Euclidean distance needs the extra ``vectors``, and minutes.
"""

import argparse
from collections.abc import Iterator

import deniable as dn

PAIR = "doctor", "physician"
WORDS = "the", "doctor", "diabetes", "hiv", "cancer"


def list_figures(space: dn.Space, success: float) -> Iterator[tuple[str, str]]:
    """Yield the figures of the calibrated mechanism at an attacker's success, each with its name."""
    mechanism = dn.tune.tune_recovery(space, success, words="average", mechanism=dn.CalibratedExponential).mechanism
    outcomes = mechanism.outcomes()
    yield "epsilon, of one step or one unit", f"{mechanism.epsilon:.4g}"
    yield f"epsilon of *{PAIR[0]}* and *{PAIR[1]}*", f"{mechanism.epsilon * space.distance(*PAIR):.1f}"
    yield "epsilon of any two words, hidden ones too", f"{mechanism.law.worst_loss():.1f}"
    for name, share in outcomes.list_shares():
        yield f"guessed: {name}", share
    for word in WORDS:
        yield f"unchanged: *{word}*", f"{100 * mechanism.probabilities(word)[space.index_of(word)]:.1f}%"
    yield "unchanged: the most exposed word", f"{100 * outcomes.exposed_share:.1f}% (*{outcomes.exposed_word}*)"


def main() -> None:
    """Print one table with hidden classes and one without."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--success", default="0.2,0.33")
    parser.add_argument("--size", type=int, default=50_000)
    options = parser.parse_args()
    successes = [float(text) for text in options.success.split(",")]
    for hide in (("names", "places", "numbers"), ()):
        spaces = [dn.Space.glove(options.size, metric=metric, hide=hide) for metric in ("steps", "euclidean")]
        columns = [dict(list_figures(space, success)) for success in successes for space in spaces]
        headings = [f"{space.metric}, {success:g}" for success in successes for space in spaces]
        print(f"\n| {', '.join(hide) or 'nothing'} hidden | " + " | ".join(headings) + " |")
        print("|---|" + "---:|" * len(headings))
        for name in columns[0]:
            print(f"| {name} | " + " | ".join(column.get(name, "-") for column in columns) + " |", flush=True)


if __name__ == "__main__":
    main()
