"""What all parts of the study share: the texts, the auto-encoders, and the methods that go through them."""

import dataclasses
import functools
import hashlib
import secrets
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq
import torch

from deniable import __version__
from deniable.core.errors import InputError
from deniable.core.parallel import get_progress_reporter
from deniable.learning.artifact import serialize_model
from deniable.learning.loop import Checkpoint
from deniable.measure.labels import ClassCodes
from deniable.registry.methods import METHODS_WITH_DELTA, METHODS_WITH_DRAW_LIMIT, REWRITING_METHODS
from deniable.rewriting.attacks.candidates import drop_indistinguishable_texts
from deniable.rewriting.methods.base import RewritingMethod, VectorMethod
from deniable.rewriting.model import Rewriter, fit_rewriter, load_rewriter
from deniable.rewriting.training import RewriterOptions
from deniable.studies.rewriting.plan import FILES, INTENT, TEXT, Sizes
from deniable.studies.study import Setting, derived
from deniable.vectors import L2Ball

Array = npt.NDArray[np.float64]
Progress = Callable[[int, int, float], None]
"""Told steps done, steps in all, and the loss."""


@dataclasses.dataclass(frozen=True)
class Part:
    """One split of the corpus.

    Attributes:
        texts: k of them.
        intents: (k,) numbers of their classes; one that no training text has is -1.
    """

    texts: list[str]
    intents: ClassCodes


@dataclasses.dataclass(frozen=True, eq=False)
class Bench:
    """What all parts share.

    Attributes:
        sizes: how much of everything.
        setting: seed, data and ledger.
        train: what the auto-encoder learns from, and what is rewritten for the classifier.
        dev: texts held out in training.
        test: what reconstruction and classifiers are measured on.
        classes: intents of the training texts.
    """

    sizes: Sizes
    setting: Setting
    train: Part
    dev: Part
    test: Part
    classes: int

    def seed(self, *parts: object) -> int:
        """Return the seed of one part."""
        return derived(self.setting.seed, *parts)

    @functools.cached_property
    def model(self) -> Rewriter:
        """The auto-encoder that most parts are about; its training is a pass of its own, told step by step."""
        report, begun = get_progress_reporter(), set[int]()

        def told(done: int, steps: int, _: float) -> None:
            if not begun:  # how many steps there are is known with the first one
                report(0, steps)
                begun.add(steps)
            report(done, steps)

        return self.trained(self.sizes.latent, told)

    @functools.cached_property
    def candidates(self) -> list[str]:
        """All K texts of the corpus that the model reads as distinct ones."""
        return drop_indistinguishable_texts(
            [*self.train.texts, *self.dev.texts, *self.test.texts], self.model.vocabulary
        )

    @functools.cached_property
    def points(self) -> Array:
        """(K, n) the vectors of all candidates, clipped to the ball of the model."""
        return L2Ball(self.model.radius).clip(self.model.encode(self.candidates))

    def method(self, name: str, epsilon: float, *parts: object, model: Rewriter | None = None) -> RewritingMethod:
        """Return a method with noise from a seed of its own, by which the study can be run again."""
        options: dict[str, float] = {}
        if name in METHODS_WITH_DELTA:
            options["delta"] = self.sizes.delta
        held = model or self.model
        if name in METHODS_WITH_DRAW_LIMIT:
            options["most"] = min(self.sizes.most, held.limit)
        return REWRITING_METHODS[name](held, epsilon=epsilon, seed=self.seed("noise", name, epsilon, *parts), **options)

    def trained(self, latent: int, report: Progress = lambda done, steps, loss: None) -> Rewriter:  # noqa: ARG005 - nobody is told
        """Return the auto-encoder of one dimension; an earlier sitting has kept it, or a part of its training."""
        sizes, main = self.sizes, latent == self.sizes.latent
        options = RewriterOptions(
            latent=latent,
            hidden=sizes.hidden,
            embedding=sizes.embedding,
            epochs=sizes.epochs if main else sizes.short,
            spliced=sizes.spliced if main else 0,
        )
        named = repr((__version__, torch.__version__, options, self.setting.seed, self.train.texts, self.dev.texts))
        name = f"{latent}-{hashlib.blake2b(named.encode(), digest_size=6).hexdigest()}"
        kept = self.setting.ledger.beside(f"{name}.model")
        if kept is not None and kept.is_file():
            try:
                return load_rewriter(kept)
            except InputError:  # cut short: it is trained again
                kept.unlink()
        at = self.setting.ledger.beside(f"{name}.checkpoint")
        checkpoint = None if at is None else Checkpoint(at, {"run": name}, sizes.every)
        model = fit_rewriter(
            self._learned(),
            self.dev.texts,
            options,
            seed=self.seed("train", latent),
            checkpoint=checkpoint,
            progress=report,
        )
        if kept is not None and checkpoint is not None:
            _keep(kept, serialize_model(model))
            checkpoint.remove()
        return model

    def tuned(self, name: str, epsilon: float) -> Rewriter:
        """Return the auto-encoder trained on with the noise of a method (Krishna et al. 2021, second stage)."""
        method = self.method(name, epsilon)
        if not isinstance(method, VectorMethod):
            raise TypeError(name)
        options = RewriterOptions(epochs=self.sizes.tuning, spliced=self.sizes.spliced, noise=method.training_noise)
        seed = self.seed("tune", name, epsilon)
        return fit_rewriter(self._learned(), self.dev.texts, options, seed=seed, start=self.model)

    def _learned(self) -> list[str]:
        return list(dict.fromkeys(self.train.texts))

    def clear(self) -> None:
        """Remove what sittings keep of auto-encoders: the study is complete."""
        one = self.setting.ledger.beside("any")
        if one is not None:
            for ending in ("model", "checkpoint"):
                for path in one.parent.glob(f"{one.stem}.*-*.{ending}"):
                    path.unlink()


def prepared(sizes: Sizes, setting: Setting) -> Bench:
    """Read the three splits.

    Raises:
        InputError: a file is missing, lacks a column, or holds no text.
    """
    rows = {split: _rows(setting.file(name)) for split, name in FILES.items()}
    for split, most in (("train", sizes.train), ("test", sizes.test)):
        order = np.random.default_rng(derived(setting.seed, "rows", split)).permutation(len(rows[split]))
        rows[split] = [rows[split][row] for row in np.sort(order[:most]).tolist()]
    number = {name: at for at, name in enumerate(sorted({intent for _, intent in rows["train"]}))}
    train, dev, test = (
        Part([text for text, _ in held], np.array([number.get(intent, -1) for _, intent in held], dtype=np.int64))
        for held in rows.values()
    )
    return Bench(sizes, setting, train, dev, test, len(number))


def _rows(path: Path) -> list[tuple[str, str]]:
    known = pq.read_schema(path).names
    for name in (TEXT, INTENT):
        if name not in known:
            raise InputError(f"{str(path)!r} has no column {name!r}: it has {', '.join(known)}.")
    held = pq.read_table(path, columns=[TEXT, INTENT]).to_pydict()
    found = [
        (text, str(intent)) for text, intent in zip(held[TEXT], held[INTENT], strict=True) if text and text.strip()
    ]
    if not found:
        raise InputError(f"{str(path)!r} holds no text: name the folder that holds ATIS with --data.")
    return found


def _keep(path: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        part.write_bytes(content)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
