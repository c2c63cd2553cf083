"""The two private text classifiers: DP-SGD on frozen word vectors (dp-fasttext) against words as features (dp-linear).

    python benchmarks/frozen_vectors.py train.parquet test.parquet --vectors glove

The tables have the columns text and label. Both have their defaults, the same records, the same declared number of them
and no public texts; dp-linear has the words of the space as features, as on the command line.
"""

import argparse

import numpy as np
import pyarrow.parquet as pq

from deniable.core.arrays import IntArray
from deniable.models.text.documents import Documents, tokenize_texts
from deniable.models.text.options import PrivateTextOptions
from deniable.models.text.private_training import fit_private_text_model
from deniable.persons.collection import Collection, read_public
from deniable.persons.options import ClassifierOptions
from deniable.persons.release import Release
from deniable.space import Space

DELTA = 1e-5
Table = tuple[list[str], IntArray]


def read_table(path: str) -> Table:
    """Return texts and class numbers."""
    table = pq.read_table(path, columns=["text", "label"]).to_pydict()
    return table["text"], np.unique(table["label"], return_inverse=True)[1].astype(np.int64)


def main() -> None:
    """Print one row of a markdown table for each number of records and epsilon."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("train")
    parser.add_argument("test")
    parser.add_argument("--vectors", default="glove")
    parser.add_argument("--records", type=int, nargs="+", default=[5_000, 25_000])
    parser.add_argument("--epsilons", type=float, nargs="+", default=[1.0, 4.0, 8.0])
    options = parser.parse_args()
    is_default = options.vectors == "glove"
    space = Space.glove() if is_default else Space.load(options.vectors)
    (texts, labels), (test_texts, test_labels) = read_table(options.train), read_table(options.test)
    classes = tuple(map(str, range(int(labels.max()) + 1)))
    public = read_public(Space.glove(hide=()) if is_default else space, classes)
    documents = Documents(tokenize_texts(space, texts).texts, labels, classes)
    test_documents = Documents(tokenize_texts(space, test_texts).texts, test_labels, classes)
    test_rows = public.feature_map.extract_features(test_texts)
    order = np.random.default_rng(0).permutation(len(texts))
    print("| records | epsilon | dp-fasttext | dp-linear |\n|---:|---:|---:|---:|")
    for count in options.records:
        rows = order[:count]
        private = Collection([texts[row] for row in rows], labels[rows])
        for epsilon in options.epsilons:
            model = fit_private_text_model(
                space, documents.take(rows), PrivateTextOptions(epsilon, DELTA, count), key=bytes(32)
            )
            frozen = float((model.predict(test_documents) == test_labels).mean())
            choice = ClassifierOptions(epsilon=epsilon, delta=DELTA, records=count, classes=classes, seed=1)
            classifier = Release(private, choice, public).measure().classifier
            words = float((classifier.score_features(test_rows).argmax(1) == test_labels).mean())
            print(f"| {count:,} | {epsilon:g} | {100 * frozen:.1f}% | {100 * words:.1f}% |", flush=True)


if __name__ == "__main__":
    main()
