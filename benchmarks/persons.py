"""The private linear classifier and synthetic texts of a collection, against opacus on the same features.

    python benchmarks/persons.py --data DIR

25,000 film reviews are private, the sentences of Rotten Tomatoes public; accuracy is that on 25,000 other reviews.
Each side has a process of its own, one after the other, and reports its seconds, from texts to the trained model or to
the written table, by the clock and of all cores, and its largest memory. opacus trains a linear layer on the same
features by DP-SGD: Poisson batches, ghost clipping to the norm that dp-linear clips to, the same epsilon and delta.
Several learning rates are given, and the best one on the test reviews is shown: the private side could not have chosen
it. Ratios are of the seconds of all cores, on which other work of the machine counts less.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from deniable.core.arrays import IntArray
from deniable.persons.classifier import LinearClassifier
from deniable.persons.collection import Collection, PublicKnowledge
from deniable.persons.features import FeatureMap, build_feature_map
from deniable.persons.linear_training import compute_contrasts
from deniable.persons.options import ClassifierOptions, SynthesisOptions
from deniable.persons.release import Release

DELTA, CLASSES, ROWS = 1e-5, ("negative", "positive"), 24_000
CLIP, BATCH, STEPS_PER_EPOCH, EPOCHS = 0.7, 2_500, 10, 4
RATES = (16.0, 64.0)
SIDES = ("dp-linear", "dp-linear, public labels", "synthesize", "opacus")
Table = tuple[list[str], IntArray]


def read_table(path: Path) -> Table:
    """Return texts, line breaks replaced by spaces, and class numbers."""
    table = pq.read_table(path, columns=["text", "label"]).to_pydict()
    return [text.replace("<br />", " ") for text in table["text"]], np.array(table["label"]).astype(np.int64)


def measure_ours(side: str, train: Table, public: PublicKnowledge, epsilon: float) -> LinearClassifier:
    """Return a classifier, or write a synthetic table and return the classifier beside it."""
    declared: dict[str, Any] = {"epsilon": epsilon, "delta": DELTA, "records": len(train[0]), "classes": CLASSES}
    if side != "synthesize":
        known = public if "labels" in side else PublicKnowledge(public.feature_map)
        return Release(Collection(*train), ClassifierOptions(**declared), known).measure().classifier
    release = Release(Collection(*train), SynthesisOptions(**declared, rows=ROWS, generator="tilted"), public)
    return release.write(release.measure()).classifier


def measure_opacus(train: Table, feature_map: FeatureMap, epsilon: float, rate: float) -> LinearClassifier:
    """Return what DP-SGD of opacus learns on the same features."""
    import torch
    from opacus import PrivacyEngine
    from torch import nn

    torch.manual_seed(0)
    matrix, labels = feature_map.extract_features(train[0]).astype(np.float32), torch.from_numpy(train[1])

    numbers = torch.utils.data.TensorDataset(torch.arange(len(labels)))

    def collate(rows: list[tuple[torch.Tensor]]) -> tuple[torch.Tensor, torch.Tensor]:
        chosen = [int(row) for (row,) in rows]
        return torch.from_numpy(matrix[chosen].toarray()), labels[chosen]

    layer = nn.Linear(len(feature_map), len(CLASSES), bias=False)
    nn.init.zeros_(layer.weight)
    engine = PrivacyEngine()
    model, optimizer, criterion, loader = engine.make_private_with_epsilon(
        module=layer,
        optimizer=torch.optim.SGD(layer.parameters(), lr=rate),
        criterion=nn.CrossEntropyLoss(),
        data_loader=torch.utils.data.DataLoader(numbers, batch_size=BATCH, collate_fn=collate),
        target_epsilon=epsilon,
        target_delta=DELTA,
        epochs=EPOCHS,
        max_grad_norm=CLIP,
        poisson_sampling=True,
        grad_sample_mode="ghost",
    )
    averaged = torch.zeros_like(layer.weight)
    for epoch in range(EPOCHS):
        for inputs, targets in loader:
            optimizer.zero_grad()
            criterion(model(inputs), targets).backward()
            optimizer.step()
            averaged += layer.weight.detach() * (epoch >= EPOCHS // 2)
    weights = averaged.double().numpy().T @ compute_contrasts(len(CLASSES)) / (EPOCHS - EPOCHS // 2) / STEPS_PER_EPOCH
    return LinearClassifier(feature_map, CLASSES, weights, None, None, {})


def measure_side(folder: Path, side: str, epsilon: float, rate: float) -> dict[str, float]:
    """Return accuracy, seconds and the largest memory of this process in MiB."""
    warnings.filterwarnings("ignore")
    train, test = read_table(folder / "imdb_train.parquet"), read_table(folder / "imdb_test.parquet")
    texts, labels = read_table(folder / "rotten.parquet")
    feature_map = build_feature_map(texts)
    public = PublicKnowledge(feature_map, texts, labels)
    measure_ours("dp-linear", (train[0][:50], train[1][:50]), public, 900.0)  # compiled before the clock
    start, start_of_cores = time.perf_counter(), time.process_time()
    if side == "opacus":
        classifier = measure_opacus(train, feature_map, epsilon, rate)
    else:
        classifier = measure_ours(side, train, public, epsilon)
    seconds, core_seconds = time.perf_counter() - start, time.process_time() - start_of_cores
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    scores = classifier.score_features(feature_map.extract_features(test[0]))
    accuracy = float((scores.argmax(axis=1) == test[1]).mean())
    return {"accuracy": accuracy, "seconds": seconds, "core seconds": core_seconds, "peak": peak}


def run_side(folder: Path, side: str, epsilon: float, rate: float = 0.0) -> dict[str, float]:
    """Return what a side measures in a process of its own."""
    command = [sys.executable, __file__, "--data", str(folder), "--side", side, "--epsilons", str(epsilon)]
    ended = subprocess.run([*command, "--rate", str(rate)], capture_output=True, text=True, check=True)
    measured: dict[str, float] = json.loads(ended.stdout.splitlines()[-1])
    return measured


def list_lines(folder: Path, epsilon: float) -> Iterator[str]:
    """Yield a row of a markdown table for each side."""
    ours = 0.0
    for side in SIDES:
        if side == "opacus":
            found = max((run_side(folder, side, epsilon, rate) | {"rate": rate} for rate in RATES), key=_get_accuracy)
            side = f"opacus, rate {found['rate']:g}"  # noqa: PLW2901 - the name with its rate
        else:
            found = run_side(folder, side, epsilon)
        ours = ours or found["core seconds"]
        yield (
            f"| {epsilon:g} | {side} | {100 * found['accuracy']:.1f}% | {found['seconds']:.1f} | "
            f"{found['core seconds']:.1f} | {found['core seconds'] / ours:.1f} | {found['peak']:,.0f} |"
        )


def _get_accuracy(measured: dict[str, float]) -> float:
    return measured["accuracy"]


def main() -> None:
    """Print a markdown table, or what one side measures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--epsilons", type=float, nargs="+", default=[1.0, 4.0])
    parser.add_argument("--side", choices=SIDES)
    parser.add_argument("--rate", type=float, default=RATES[0])
    options = parser.parse_args()
    if options.side:
        print(json.dumps(measure_side(options.data, options.side, options.epsilons[0], options.rate)))
        return
    print(
        "| epsilon | side | accuracy | seconds | of all cores | times dp-linear's | peak MiB |\n"
        "|---:|---|---:|---:|---:|---:|---:|"
    )
    for epsilon in options.epsilons:
        for line in list_lines(options.data, epsilon):
            print(line, flush=True)


if __name__ == "__main__":
    main()
