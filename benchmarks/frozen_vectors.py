"""Private classifiers on means of frozen word vectors, by DP-SGD, against the private linear classifier on words.

    python benchmarks/frozen_vectors.py train.parquet test.parquet --vectors glove

The tables have the columns text and label. A text is the mean of the vectors of its distinct words, whitened by the
frequencies of Zipf's law and scaled to norm 3, which nothing private has a part in; a linear layer, or one hidden layer
of 64 tanh units, learns from it by DP-SGD. The other side has the words of the space as features and no public texts.
Learning rates are given, and the best one on the test texts is shown: the private side could not have chosen it.
"""

import argparse
import itertools

import numpy as np
import pyarrow.parquet as pq
import torch
from torch import nn

from deniable.core.arrays import FloatArray, IntArray
from deniable.learning.accounting import SamplingSchedule, find_noise_multiplier
from deniable.learning.dp_sgd import DPSGDRun, DPSGDSettings
from deniable.models.text.documents import tokenize_texts
from deniable.persons.classifier_training import ClassifierOptions, fit_linear_classifier, make_private_texts
from deniable.persons.features import build_space_feature_map
from deniable.space import Space

DELTA, STEPS, BATCH_SIZE, RATES = 1e-5, 60, 4096, (1.0, 4.0, 16.0)
Table = tuple[list[str], IntArray]


def read_table(path: str) -> Table:
    """Return texts and class numbers."""
    table = pq.read_table(path, columns=["text", "label"]).to_pydict()
    return table["text"], np.unique(table["label"], return_inverse=True)[1].astype(np.int64)


def average_vectors(space: Space, texts: list[str]) -> FloatArray:
    """Return (n, d) the means of the whitened vectors of the distinct words of texts, of norm 3."""
    frequencies = 1 / np.arange(2, len(space) + 2)
    vectors = space.vectors - np.average(space.vectors, axis=0, weights=frequencies)
    values, directions = np.linalg.eigh(np.cov(vectors.T, aweights=frequencies))
    whitened = vectors @ (directions / np.sqrt(values + 1e-3 * values.max()))
    means = np.zeros((len(texts), whitened.shape[1]))
    for row, words in enumerate(tokenize_texts(space, texts).texts):
        if len(words):
            means[row] = whitened[np.unique(words)].mean(axis=0)
    scaled: FloatArray = 3 * means / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-9)
    return scaled


def fit_dp_sgd(
    features: FloatArray, labels: IntArray, test: tuple[FloatArray, IntArray], epsilon: float, hidden: int, rate: float
) -> float:
    """Return the accuracy of a network that DP-SGD trained."""
    torch.manual_seed(0)
    sizes = [features.shape[1], *([hidden] if hidden else []), int(labels.max()) + 1]
    layers = [nn.Linear(size, following) for size, following in itertools.pairwise(sizes)]
    network = nn.Sequential(*(part for layer in layers for part in (layer, nn.Tanh())))[:-1]
    schedule = SamplingSchedule(min(1.0, BATCH_SIZE / len(labels)), STEPS)
    multiplier = find_noise_multiplier(schedule, epsilon, DELTA)
    run = DPSGDRun(
        network,
        torch.from_numpy(features).float(),
        torch.from_numpy(labels),
        DPSGDSettings(schedule, multiplier, 1.0, rate, averaging_decay=0.9),
        bytes(32),
        lambda inputs, _: network(inputs),
        lambda inputs, *_: inputs[:, None],
    )
    for number in range(STEPS):
        run.step(number)
    network.load_state_dict(run.result)
    with torch.inference_mode():
        predictions = network(torch.from_numpy(test[0]).float()).argmax(1).numpy()
    return float((predictions == test[1]).mean())


def main() -> None:
    """Print one row of a markdown table for each number of records and epsilon."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("train")
    parser.add_argument("test")
    parser.add_argument("--vectors", default="glove")
    parser.add_argument("--records", type=int, nargs="+", default=[5_000, 25_000])
    parser.add_argument("--epsilons", type=float, nargs="+", default=[1.0, 4.0, 8.0])
    options = parser.parse_args()
    space = Space.glove() if options.vectors == "glove" else Space.load(options.vectors)
    (texts, labels), (test_texts, test_labels) = read_table(options.train), read_table(options.test)
    order = np.random.default_rng(0).permutation(len(texts))
    features, test = average_vectors(space, texts), (average_vectors(space, test_texts), test_labels)
    feature_map = build_space_feature_map(space)
    test_rows = feature_map.extract_features(test_texts)
    classes = tuple(map(str, range(int(labels.max()) + 1)))
    print("| records | epsilon | DP-SGD, linear | DP-SGD, 64 hidden | words, linear |\n|---:|---:|---:|---:|---:|")
    for count in options.records:
        rows = order[:count]
        private = make_private_texts([texts[row] for row in rows], labels[rows])
        for epsilon in options.epsilons:
            best = [
                max(fit_dp_sgd(features[rows], labels[rows], test, epsilon, hidden, rate) for rate in RATES)
                for hidden in (0, 64)
            ]
            choice = ClassifierOptions(classes, epsilon, DELTA, records=count, seed=1)
            classifier = fit_linear_classifier(private, feature_map, choice)
            words = float((classifier.score_features(test_rows).argmax(1) == test_labels).mean())
            shares = " | ".join(f"{100 * share:.1f} %" for share in (*best, words))
            print(f"| {count:,} | {epsilon:g} | {shares} |", flush=True)


if __name__ == "__main__":
    main()
