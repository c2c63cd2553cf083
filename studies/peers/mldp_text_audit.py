"""Audit worker for `mldp-text`: words go one by one through `replace_word`, its public call."""

from __future__ import annotations

import importlib
import types
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np
import serve
from laws import TruncatedGumbel

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

INDEXED = 100  # words that the package's approximate index needs; below it, its exact search is used
SYNONYMS = 5
BOTTOM = "⊥"  # the package's own name of the bottom element


class Words(serve.Mechanism):
    """What all mechanisms of the package share: they are opened by its factory."""

    def __init__(self, job: serve.Job, **parameters: object) -> None:
        """Open it over the job's space."""
        super().__init__(job)
        self.package: Any = importlib.import_module("mldp_text")
        self.module: Any = importlib.import_module("mldp_text.mechanisms")
        self.words = job.words()
        self.peer = self.open(parameters)

    def open(self, parameters: Mapping[str, object]) -> Any:  # noqa: ANN401 - the package is not typed
        """Return the package's object; only the variant ``shipped`` leaves `vocab` at its default, a word list shipped.

        The variant ``exact`` takes the exact search, as does every space too small for the approximate index.
        """
        job = self.job
        name, _, variant = job.mechanism.partition("-")
        if variant != "shipped":
            parameters = {**parameters, "vocab": set(self.words)}
        peer = self.package.get_mechanism(
            name,
            epsilon=job.epsilon,
            embed=job.word2vec_file,
            dim=job.dimensions,
            use_faiss=job.size >= INDEXED and variant != "exact",
            **parameters,
        )
        serve.require_size(len(peer.embedding_matrix), job)
        return peer

    def draw(self, words: list[str]) -> list[str]:
        """Replace the words one by one, each again where the call raises."""
        return [self.again(self.peer.replace_word, word) for word in words]


class Mahalanobis(Words):
    """Noise F u r, u uniform on the sphere and r from a gamma law: Laplace noise in the norm |F^-1 z|."""

    def points(self) -> tuple[serve.Matrix, str]:
        """Return the vectors in which that norm is Euclidean."""
        peer = self.peer
        factor = self.module.sqrtm(peer.lambd * peer.cov_mat + (1 - peer.lambd) * peer.identity_mat)
        vectors: serve.Matrix = self.job.vectors() @ np.linalg.inv(factor.real).T
        return vectors, "regularized Mahalanobis distance (its own matrix, lambda 0.2)"


class Tem(Words):
    """Scores to which Gumbel noise is added; the bottom element stands for all other words."""

    def law(self) -> serve.Law:
        """Read the scores off `replace_word`, with zero noise and the bottom element chosen."""
        number = {word: i for i, word in enumerate(self.words)}
        matrix, failing = np.zeros((len(number), len(number))), 0.0
        for word, i in number.items():
            scores, scale, others = self.scores(word)
            row = serve.gumbel_row(np.array(list(scores.values()), dtype=float), scale)
            for (name, _), share in zip(scores.items(), row, strict=True):
                if name != BOTTOM:
                    matrix[i, number[name]] = share
                elif others:
                    matrix[i, [number[other] for other in others]] = share / len(others)
                else:
                    failing = max(failing, float(share))
            matrix[i] /= matrix[i].sum()
        how = (
            "scores, noise scale and the words behind the bottom element from replace_word itself: numpy's gumbel "
            "replaced by one that keeps its scale and returns 0, max and numpy's choice by ones that keep what "
            "they are given"
        )
        note = f"raises with probability up to {failing:.3g} (bottom drawn, no word left)" if failing else ""
        return serve.Law(matrix, how, note)

    def scores(self, word: str) -> tuple[dict[str, float], float, list[str]]:
        """Return a word's scores, the scale of their noise, and what the bottom element draws from."""
        seen: dict[str, Any] = {"others": []}

        def gumbel(_: float, scale: float) -> float:
            seen["scale"] = scale
            return 0.0

        def choice(others: list[str]) -> str:
            seen["others"] = others
            return ""

        def largest(scores: dict[str, float], **_: object) -> str:
            seen["scores"] = scores
            return BOTTOM

        with (
            mock.patch.object(np.random, "gumbel", gumbel),
            mock.patch.object(np.random, "choice", choice),
            mock.patch.object(self.module, "max", largest, create=True),
        ):
            self.peer.replace_word(word)
        return seen["scores"], seen["scale"], seen["others"]


class Gumbel(Words):
    """Truncated Gumbel noise on the distances of the k nearest words, k from a Poisson law."""

    def open(self, parameters: Mapping[str, object]) -> Any:  # noqa: ANN401 - the package is not typed
        """Give it the true extreme distances; on Python 3.11 it cannot find its own (random.sample)."""
        vectors = self.job.vectors()
        squares = np.sum((vectors[:, None, :] - vectors[None, :, :]) ** 2, axis=2)
        apart = np.sqrt(squares[squares > 0])
        return super().open({**parameters, "max_inter_dist": float(apart.max()), "min_inter_dist": float(apart.min())})

    def law(self) -> serve.Law:
        """Read candidates, scores and the parameters of both laws off `replace_word`; then integrate."""
        matrix = np.zeros((self.job.size, self.job.size))
        for i, word in enumerate(self.words):
            ranked, scores, count, noise = self.candidates(word)
            family = TruncatedGumbel(count["mu"], count["max_value"], noise["scale"].real, noise["max_value"])
            row = family.outputs(scores)
            matrix[i, ranked[: len(row)]] = row
            matrix[i, i] += self.without_candidate(word) * family.none
        matrix = np.maximum(matrix, 1e-300)
        how = (
            "candidates, scores and both laws' parameters from replace_word itself, its two samplers replaced by "
            "ones that keep their arguments; then one integral for each rank; what is rarer than 1e-300 counts as that"
        )
        note = "" if self.without_candidate(word) else f"raises with probability {family.none:.3g} (no candidate)"
        return serve.Law(matrix / matrix.sum(axis=1, keepdims=True), how, note)

    def without_candidate(self, word: str) -> bool:
        """Say whether the word itself is returned when no candidate is drawn; otherwise the call raises."""
        with mock.patch.object(self.module, "truncated_Poisson", return_value=[0]):
            try:
                return bool(self.peer.replace_word(word) == word)
            except AssertionError:  # of the index, which searches for no word
                return False

    def candidates(self, word: str) -> tuple[serve.Matrix, serve.Matrix, dict[str, Any], dict[str, Any]]:
        """Return the ranked words, their scores, and the arguments of the two samplers."""
        seen: dict[str, Any] = {}

        def poisson(**arguments: Any) -> list[int]:  # noqa: ANN401 - whatever the package passes
            seen["count"] = arguments
            return [arguments["max_value"]]

        def gumbel(**arguments: Any) -> serve.Matrix:  # noqa: ANN401 - whatever the package passes
            seen["noise"] = arguments
            return np.zeros(arguments["size"])

        def search(vector: serve.Matrix, k: int) -> tuple[serve.Matrix, serve.Matrix]:
            distances, ranked = index.search(vector, k=k)
            seen["found"] = ranked[0]
            return distances, ranked

        index: Any = self.peer.index if self.peer.use_faiss else None
        with (
            mock.patch.object(self.module, "truncated_Poisson", poisson),
            mock.patch.object(self.module, "truncated_Gumbel", gumbel),
            mock.patch.object(self.module, "np", serve.Recording(seen)),
            mock.patch.object(self.peer, "index", types.SimpleNamespace(search=search), create=True),
        ):
            self.peer.replace_word(word)
        scores, ranked = np.sort(seen["sorted"][-1]), seen.get("found", seen["order"][0][: len(seen["sorted"][-1])])
        real = ranked >= 0
        return ranked[real], scores[real].astype(float), seen["count"], seen["noise"]


class SynTF(Words):
    """Synonyms drawn by TF-IDF scores, over the words of the space as the documents and a stand-in thesaurus."""

    def open(self, parameters: Mapping[str, object]) -> Any:  # noqa: ANN401 - the package is not typed
        """Put the nearest words of the space in the place of WordNet, which is no part of the package."""
        vectors = self.job.vectors()
        number = {word: i for i, word in enumerate(self.words)}

        def synsets(word: str) -> list[types.SimpleNamespace]:
            if word not in number:
                return []
            near = np.argsort(np.linalg.norm(vectors - vectors[number[word]], axis=1))[:SYNONYMS]
            names = [types.SimpleNamespace(name=lambda i=i: self.words[i]) for i in near]
            return [types.SimpleNamespace(lemmas=lambda: names)]

        with mock.patch.object(self.module, "wordnet", types.SimpleNamespace(synsets=synsets)):
            return self.package.get_mechanism("syntf", epsilon=self.job.epsilon, data=self.words, **parameters)

    def law(self) -> serve.Law:
        """Keep the probabilities that `replace_word` hands to numpy."""
        number = {word: i for i, word in enumerate(self.words)}
        matrix = np.zeros((len(number), len(number)))
        for word, i in number.items():
            seen: dict[str, float] = {}

            def choice(names: list[str], _: int, p: serve.Matrix, seen: dict[str, float] = seen) -> list[str]:
                seen.update(zip(names, p.tolist(), strict=True))
                return names

            with mock.patch.object(np.random, "choice", choice):
                output = self.peer.replace_word(word)
            for name, share in (seen or {output: 1.0}).items():
                matrix[i, number[name]] = share
        return serve.Law(matrix, "the probabilities that replace_word hands to numpy's choice, kept by a stand-in")

    def points(self) -> tuple[serve.Matrix, str]:
        """Return points all at distance 1: the claim is the same for any two words."""
        return np.eye(self.job.size) / np.sqrt(2), "between any two words"


KINDS = {"mahalanobis": Mahalanobis, "tem": Tem, "truncated_gumbel": Gumbel, "syntf": SynTF}


@contextmanager
def open_mechanism(job: serve.Job) -> Iterator[serve.Mechanism]:
    """Open the mechanism of the job."""
    yield KINDS.get(job.mechanism.partition("-")[0], Words)(job)


if __name__ == "__main__":
    serve.main(open_mechanism)
