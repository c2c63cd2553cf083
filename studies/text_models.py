"""Text classifiers of a study: trained once, attacked with substituted words, certified and smoothed. Needs torch."""

import dataclasses
import functools
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from deniable.core.guarantees import is_proved
from deniable.learning.loop import Checkpoint
from deniable.measure.intervals import estimate_paired_difference, estimate_share
from deniable.models.text.attacks import GeneticAttack, GreedyAttack
from deniable.models.text.documents import Documents
from deniable.models.text.model import TextModel, certify_by_intervals
from deniable.models.text.options import TextTrainingOptions
from deniable.models.text.smoothing.certificate import SmoothingOptions, certify_texts
from deniable.models.text.substitutions import SubstituteSource, Substitutions
from deniable.models.text.training import fit_text_model
from deniable.words import WordMechanism
from studies.rows import Row, row_of
from studies.substituted_words import IBP, NORMAL, SETS, Bench, add_copies, count_words, speed_up

DISTANCES = (0.0, 0.5, 1.0, 2.0, 4.0)
"""Total distances at which smoothing is shown; a word's nearest neighbours are 3 to 5 away."""
CHANGES = (0, 1, 2, 3, 5)
KEPT = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Shares of the substitutes over which bounds are shown: what the size of the sets costs."""
Hits = npt.NDArray[np.bool_]
"""Which test texts (n,) are right."""


@dataclasses.dataclass(frozen=True, eq=False)
class LazyModel:
    """A model that is trained when its first number is asked for.

    Attributes:
        bench: of its data set.
        title: of the training; tells the models of a data set apart.
        load: returns the model.
    """

    bench: Bench
    title: str
    load: Callable[[], TextModel]

    def remember_hits(self, way: str, find: Callable[[TextModel], Hits]) -> Hits:
        """Return which texts are right in some way, kept between runs: models are compared text by text."""
        name = f"{self.bench.name}: {self.title}, {way}"
        kept = self.bench.context.remember(name, lambda: np.packbits(find(self.load())).tobytes().hex())
        bits = np.frombuffer(bytes.fromhex(kept), np.uint8)
        return np.unpackbits(bits, count=len(self.bench.test)).astype(np.bool_)

    def find_right(self) -> Hits:
        """Return which texts are right without attack."""
        test = self.bench.test
        return self.remember_hits("accuracy", lambda model: model.predict(test) == test.labels)

    def find_proved(self) -> Hits:
        """Return which texts interval bounds prove right for every choice of the sets."""
        bench = self.bench
        return self.remember_hits("proved", lambda model: certify_by_intervals(model, bench.test, bench.sets))

    def find_withstanding(self, attack: str, source: SubstituteSource, source_name: str) -> Hits:
        """Return which texts stay right under an attack; every model meets the same draws of a source."""
        bench, sizes = self.bench, self.bench.sizes

        def find(model: TextModel) -> Hits:
            key, scorer = bench.derive_key("attack", attack, source_name), model.network.make_scorer(bench.test)
            run = GreedyAttack() if attack == "greedy" else GeneticAttack(sizes.population, sizes.generations)
            found = run(scorer, bench.test, source, key)
            return found.correct_before & ~found.flipped

        return self.remember_hits(f"{attack} attack by {source_name}", find)


def share_model(bench: Bench, training: str) -> LazyModel:
    """Return a model that several cells need, trained once in a run: `NORMAL`, `IBP`, or augmented by `SETS`."""
    sizes = bench.sizes
    options = {
        NORMAL: TextTrainingOptions(epochs=sizes.normal_epochs, batch_size=sizes.batch),
        IBP: TextTrainingOptions("ibp", sizes.ibp_epochs, sizes.batch),
        SETS: TextTrainingOptions("augmented", sizes.augmented_epochs, sizes.batch, copies=sizes.copies),
    }[training]

    def load() -> TextModel:
        name = f"model {bench.name} {training}"
        return bench.context.share(name, lambda: _train(bench, training, bench.train, options))

    return LazyModel(bench, training, load)


def augment_by(bench: Bench, mechanism: WordMechanism, title: str) -> LazyModel:
    """Return the model that is trained on copies by a mechanism besides."""
    sizes = bench.sizes

    @functools.cache
    def load() -> TextModel:
        options = TextTrainingOptions(epochs=sizes.augmented_epochs, batch_size=sizes.batch)
        return _train(bench, title, add_copies(bench, mechanism, sizes.copies, sizes.pool), options)

    return LazyModel(bench, title, load)


def _train(bench: Bench, title: str, documents: Documents, options: TextTrainingOptions) -> TextModel:
    """Return a trained model, resumed from where an interrupted run left it."""
    path = bench.context.scratch(f"{bench.name} {title}.checkpoint")
    return fit_text_model(
        bench.network,
        bench.space,
        documents,
        options,
        source=None if options.method == "normal" else bench.sets,
        seed=bench.context.derive_seed(bench.name, "train", title),
        checkpoint=None if path is None else Checkpoint(path, bench.sizes.interval),
    )


def thin_sets(sets: Substitutions, share: float, rng: np.random.Generator) -> Substitutions:
    """Return sets that keep each substitute with a probability ``share``."""
    word_ids = np.arange(len(sets.choices), dtype=np.int32)[:, None]
    is_kept = (sets.choices != word_ids) & (rng.random(sets.choices.shape) < share)
    is_kept[:, 0] = True  # the word itself
    order = np.argsort(~is_kept, axis=1, kind="stable")
    choices = np.take_along_axis(np.where(is_kept, sets.choices, word_ids), order, axis=1)
    return Substitutions(f"{share:g} of {sets.name}", choices, sets.notes)


def measure_by_sets(model: LazyModel, curve: str, place: float | None) -> list[Row]:
    """Return accuracy without attack, what is proved for every choice of the sets, and what attacks by them leave."""
    hits = {"accuracy": model.find_right(), "proved": model.find_proved()}
    for attack in ("genetic", "greedy"):
        hits[f"{attack}, sets"] = model.find_withstanding(attack, model.bench.sets, SETS)
    return [row_of_hits(curve, place, metric, own) for metric, own in hits.items()]


def measure_thinned(model: LazyModel, curve: str) -> Iterator[Row]:
    """Yield what is proved of a model where a part of the substitutes is left out at random."""
    bench = model.bench
    for share in KEPT:
        rng = np.random.default_rng(bench.context.derive_seed(bench.name, "thinned", share))
        sets = thin_sets(bench.sets, share, rng)
        yield row_of_hits(curve, share, "proved, sets thinned", certify_by_intervals(model.load(), bench.test, sets))


def measure_under_draws(model: LazyModel, mechanism: WordMechanism, curve: str, place: float) -> Iterator[Row]:
    """Yield accuracy under the genetic attack by a mechanism, of the model augmented by it, of IBP and normal training.

    Args:
        model: augmented by the mechanism's copies.
        mechanism: that draws the attack's words.
        curve: of the rows.
        place: of the rows.
    """
    bench = model.bench
    draws = GeneticAttack(bench.sizes.population, bench.sizes.generations).query_budget
    per_word = -(-draws // max(1, int(np.median(bench.test.texts.lengths))))
    uses = per_word * count_words(bench, bench.test.texts)
    source = speed_up(bench, mechanism, uses, bench.sizes.pool, "attacks")
    models = {NORMAL: share_model(bench, NORMAL), IBP: share_model(bench, IBP), "augmented": model}
    hits = {name: each.find_withstanding("genetic", source, model.title) for name, each in models.items()}
    for name, own in hits.items():
        yield row_of_hits(curve, place, f"attacked, {name}", own)
    clean, clean_ibp = model.find_right(), models[IBP].find_right()
    yield row_of(curve, place, "gain over ibp", estimate_paired_difference(clean, clean_ibp))
    yield from compare_hits(curve, place, "wins over ibp", clean, clean_ibp)
    for name in (IBP, NORMAL):
        yield from compare_hits(curve, place, f"wins over {name}, attacked", hits["augmented"], hits[name])


def measure_smoothed(model: LazyModel, mechanism: WordMechanism, curve: str) -> Iterator[Row]:
    """Yield what is certified of a model smoothed by the mechanism that its copies came from."""
    bench, sizes = model.bench, model.bench.sizes
    some = draw_documents(bench.test, sizes.smoothed, bench.context.derive_seed(bench.name, "smoothed"))
    found = certify_texts(
        mechanism,
        model.load().network.make_scorer(some),
        some.texts,
        SmoothingOptions(selection=sizes.selection, estimation=sizes.estimation),
        key=bench.derive_key("smoothing", model.title),
        replacements=bench.sets,
    )
    labels = some.labels.tolist()
    yield Row(curve, None, "certificate proved", float(is_proved(found.status)))
    for distance, share in zip(DISTANCES, found.accuracy_at_distances(labels, DISTANCES), strict=True):
        yield row_of(curve, distance, "certified by distance", share)
    for count, share in zip(CHANGES, found.accuracy_at_changes(labels, CHANGES), strict=True):
        yield row_of(curve, float(count), "certified by changes", share)


def draw_documents(documents: Documents, count: int, seed: int) -> Documents:
    """Return so many documents at random, in their order: the first of a table may all be of one class."""
    order = np.random.default_rng(seed).permutation(len(documents))
    return documents.take(np.sort(order[:count]))


def row_of_hits(curve: str, place: float | None, metric: str, hits: Hits) -> Row:
    """Return the share of texts that are right."""
    return row_of(curve, place, metric, estimate_share(int(hits.sum()), len(hits)))


def compare_hits(curve: str, place: float, metric: str, first: Hits, second: Hits) -> Iterator[Row]:
    """Yield the share that a model wins of the texts on which it and another differ, if there are any.

    Clopper and Pearson's interval on one side of a half is McNemar's test in its exact form.
    """
    differing = int((first != second).sum())
    if differing:
        yield row_of(curve, place, metric, estimate_share(int((first & ~second).sum()), differing))
