"""Audit worker for `pypantera`: words go as tables of texts of one word through `obfuscateText`.

The wheel installs its modules under the top-level name `src`.
"""

from __future__ import annotations

import importlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np
import serve

if TYPE_CHECKING:
    from collections.abc import Iterator

PARAMETERS = {"beta": 0.001, "lam": 1.0, "t": 0.75, "k": 10, "distance": "euclidean"}  # src/utils/helper.py's own
HIGHEST = 1e9


class Words(serve.Mechanism):
    """What all mechanisms of the package share."""

    def __init__(self, job: serve.Job) -> None:
        """Open the class of the job's name with the parameters of the package's own script."""
        super().__init__(job)
        self.pandas: Any = importlib.import_module("pandas")
        name, _, distance = job.mechanism.partition("-")
        self.module: Any = importlib.import_module(f"src.{MODULES[name]}")
        distances = {"distance": distance} if distance else {}
        parameters = {**PARAMETERS, **distances, "embPath": job.glove_file, "epsilon": job.epsilon}
        self.peer: Any = getattr(self.module, name)(parameters)
        self.words = list(self.peer.vocab.embeddings)
        serve.require_size(len(self.words), job)

    def draw(self, words: list[str]) -> list[str]:
        """Obfuscate texts of one word."""
        table = self.pandas.DataFrame({"id": range(len(words)), "text": words})
        return [texts[0] for texts in self.peer.obfuscateText(table, 1)["obfuscatedText"]]


class Mahalanobis(Words):
    """Noise r F u / |F u|; its claim is read as one about the norm |F^-1 z|, as in the paper it cites."""

    def points(self) -> tuple[serve.Matrix, str]:
        """Return the vectors in which that norm is Euclidean."""
        inverse = np.linalg.inv(self.peer._sigmaLoc.real)  # noqa: SLF001 - the package's own matrix
        vectors: serve.Matrix = self.job.vectors() @ inverse.T
        return vectors, "Mahalanobis distance (its own matrix, lambda 1)"


class Sampled(Words):
    """CusText and SanText hand the probabilities of each word to numpy's choice."""

    def law(self) -> serve.Law:
        """Keep them."""
        number = {word: i for i, word in enumerate(self.words)}
        matrix = np.zeros((len(number), len(number)))
        seen: dict[str, Any] = {}
        raising = []

        def choice(names: Any, size: int | None = None, p: Any = None) -> Any:  # noqa: ANN401 - numpy's own
            seen["row"] = (names, p)
            return 0 if size is None else [names[0]]

        with mock.patch.object(np.random, "choice", choice):
            for word, i in number.items():
                self.peer.processText([word])
                names, shares = seen["row"]
                columns = range(names) if isinstance(names, int) else [number[name] for name in names]
                matrix[i, columns] = np.asarray(shares, dtype=float)
                if not accepted(shares):
                    raising.append(word)
        how = "the probabilities that processText hands to numpy's choice, kept by a stand-in"
        note = (
            f"raises for {len(raising)} of {len(number)} words: numpy finds that p does not sum to 1" if raising else ""
        )
        # numpy's choice divides by the sum as well.
        return serve.Law(matrix / matrix.sum(axis=1, keepdims=True), how, note, tuple(raising))

    def points(self) -> tuple[serve.Matrix, str]:
        """Return points all at distance 1 for CusText, whose claim is no metric one."""
        if self.job.mechanism == "SanText":
            return super().points()
        return np.eye(self.job.size) / np.sqrt(2), "between any two words"


def accepted(shares: Any) -> bool:  # noqa: ANN401 - an array, or a list of numbers
    """Say whether numpy's choice takes these probabilities."""
    try:
        np.random.RandomState(0).choice(len(shares), p=shares)
    except ValueError:
        return False
    return True


class Tem(Words):
    """Scores to which Gumbel noise is added; the bottom element stands for all other words."""

    def law(self) -> serve.Law:
        """Take the scores from `_getLw`, and what the bottom element gives from `processText`."""
        number = {word: i for i, word in enumerate(self.words)}
        matrix = np.zeros((len(number), len(number)))
        with mock.patch.object(self.module.npr, "gumbel") as gumbel:
            self.peer.pullNoise()
        _, scale, _ = gumbel.call_args.args
        for word, i in number.items():
            listed, _ = self.peer._getLw(word)  # noqa: SLF001 - its scores
            row = serve.gumbel_row(np.array([score for _, score in listed], dtype=float), scale)
            for (name, _), share in zip(listed[:-1], row[:-1], strict=True):
                matrix[i, number[name]] = share
            matrix[i, number[self.bottom(word, len(listed))]] += row[-1]
        how = (
            "scores from its _getLw, scale from its pullNoise; what the bottom element gives from processText, "
            "pullNoise replaced so that it wins"
        )
        return serve.Law(matrix / matrix.sum(axis=1, keepdims=True), how)

    def bottom(self, word: str, count: int) -> str:
        """Return the output when the last of `count` scores gets all the noise."""
        noise = [0.0] * (count - 1) + [HIGHEST]
        with mock.patch.object(self.peer, "pullNoise", side_effect=noise):
            return str(self.peer.processText([word]))


EMBEDDING, SAMPLING = "EmbeddingPerturbationMechanism", "SamplingPerturbationMechanism"
MODULES = {
    "CMP": f"{EMBEDDING}.cmp",
    "Mahalanobis": f"{EMBEDDING}.mahalanobis",
    "VickreyCMP": f"{EMBEDDING}.vickrey",
    "VickreyMhl": f"{EMBEDDING}.vickrey",
    "CusText": f"{SAMPLING}.custext",
    "SanText": f"{SAMPLING}.santext",
    "TEM": f"{SAMPLING}.tem",
}
KINDS = {
    "Mahalanobis": Mahalanobis,
    "VickreyMhl": Mahalanobis,
    "CusText": Sampled,
    "CusText-cosine": Sampled,
    "SanText": Sampled,
    "TEM": Tem,
}


@contextmanager
def open_mechanism(job: serve.Job) -> Iterator[serve.Mechanism]:
    """Open the mechanism of the job."""
    yield KINDS.get(job.mechanism, Words)(job)


if __name__ == "__main__":
    serve.main(open_mechanism)
