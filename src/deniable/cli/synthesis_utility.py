"""What a synthetic table is good for: accuracies on private rows that were held out, for the owner alone."""

from typing import TYPE_CHECKING

from deniable.cli.private_tables import PrivateTable
from deniable.cli.progress import show_passes
from deniable.cli.synthesis_files import SynthesisTables

if TYPE_CHECKING:
    from deniable.measure.intervals import Estimate
    from deniable.persons.classifier import LinearClassifier
    from deniable.persons.synthesis import SyntheticTable


def measure_synthesis(
    classifier: "LinearClassifier", tables: SynthesisTables, test_table: PrivateTable
) -> "dict[str, Estimate]":
    """Return the accuracy, on private rows that were held out, of the classifier and of students of the texts."""
    from deniable.measure.intervals import estimate_share

    if not len(test_table):
        return {}
    truth = test_table.labels
    with show_passes("testing the classifier"):
        codes = classifier.predict_probabilities(test_table.texts).argmax(axis=1)
    hits = sum(classifier.classes[code] == label for code, label in zip(codes, truth, strict=True))
    figures = {"classifier": estimate_share(hits, len(truth))}
    with show_passes("testing a student"):
        figures["student"] = _test_student(tables.synthetic, test_table)
    if tables.baseline is not None:
        with show_passes("testing the baseline"):
            figures["student of the baseline"] = _test_student(tables.baseline, test_table)
    return figures


def _test_student(table: "SyntheticTable", test_table: PrivateTable) -> "Estimate":
    """Return the accuracy of a classifier that learns from synthetic texts, on private rows."""
    import numpy as np

    from deniable.measure.classifiers import build_classifier
    from deniable.measure.intervals import estimate_share

    names = sorted({*table.labels, *test_table.labels})
    numbers = {name: number for number, name in enumerate(names)}
    codes = np.array([numbers[label] for label in table.labels], dtype=np.int64)
    student = build_classifier("tfidf", 0).fit(table.texts, codes, len(names))
    predicted = student.probabilities(test_table.texts).argmax(axis=1)
    hits = sum(names[code] == label for code, label in zip(predicted, test_table.labels, strict=True))
    return estimate_share(hits, len(test_table))


def describe_synthesis(figures: "dict[str, Estimate]") -> list[str]:
    """Return what the owner should know of the table, in plain words."""
    if not figures:
        return ["too few rows were held out to measure an accuracy"]
    lines = [
        (
            f"on {figures['classifier'].count:,} private rows that were held out, a classifier that learns from the "
            f"synthetic texts is right in {figures['student'].format_percent()}"
        )
    ]
    if "student of the baseline" in figures:
        lines.append(
            "the same pipeline without any private record reaches "
            f"{figures['student of the baseline'].format_percent()}: only what lies above is owed to the private table"
        )
    lines.append(
        f"the private classifier beside the table is right in {figures['classifier'].format_percent()}: who needs "
        "labels, not texts, should use it"
    )
    return lines
