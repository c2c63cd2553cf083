r"""Texts of a public language model, tilted by what was released: readable, and as private as the noisy sums.

With l(t|h) the model's logits after h, v_y(w) what an occurrence of word w adds to the released classifier's score of
class y, w(t) the word that token t is, and s(t) a bias for each token::

    P_y(t|h)  is proportional to  exp((l(t|h) + clip(strength v_y(w(t)), -6, 6) + s(t)) / temperature)

A text goes on after the prompt and an opening, a token drawn by the released shares of openings. Strength and s are
fitted in rounds of texts that are not released: the strength such that the classifier's label is the class that a text
was drawn for in four of five texts (`deniable.persons.generators.tilted`), and s such that tokens have the released
shares near the beginnings of the model's own texts. A token whose count was not above the noise keeps what the model
gives it, scaled with all others of that kind, and is held below that noise.

**Theorem.** If the noisy sums behind ``knowledge`` are together (epsilon, delta)-DP, so are the texts with their
labels: they are a function of ``knowledge``, a public model, a public prompt and a seed (post-processing, Dwork and
Roth 2014, Proposition 2.1). The premise on the model cannot be checked: one that was trained on the private records
breaks it.
"""

import dataclasses
import math
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from deniable.core.arrays import FloatArray, IntArray
from deniable.core.errors import InputError, shorten_text
from deniable.core.parallel import ProgressReporter
from deniable.core.randomness import derive_key_from_seed, make_generator
from deniable.language.model import LanguageModel
from deniable.language.options import WritingOptions
from deniable.language.writing import TextRequest, write_texts
from deniable.persons.generators.knowledge import ReleasedKnowledge, TextGenerator, balance_probabilities
from deniable.persons.generators.tilted import AGREEMENT
from deniable.persons.options import SynthesisOptions, build_request
from deniable.persons.style import Style, count_style

_DAMPING, _MAX_STYLE, _MAX_TILT = 0.6, 4.0, 6.0
_SMOOTHING_TEXTS = 3.0
"""Texts' worth of even counts that are added to both sides before shares are compared."""
_MAX_STRENGTH_FACTOR = 2.0
"""By which the strength changes in a round, at most."""
_MAX_DRAFTS = 3
"""Texts written for each that is asked for, at most."""
_TRIAL_TEXTS = 32
"""Texts that a prompt is tried with."""
_REPEATED_WORDS = 6
"""Words of the prompt in a row that a text may not repeat."""
_LEAST_WORDS = 2
_ASSISTANT_REMARK = re.compile(
    r"\b(as an ai\b|(i am|i'm) an ai\b|language model\b|(i am|i'm) sorry, but|i can(no|')t (assist|help|fulfill)"
    r"|here('s| is) (a|an|the|my|your) (\w+ ){0,3}(review|text|example|version|draft|response|rewrite)"
    r"|i('ve| have) (rewritten|reworked|revised|written|crafted)"
    r"|(happy|glad|pleased) to (assist|help you|provide|critique|rewrite|review this|write))",
    re.IGNORECASE,
)


@dataclasses.dataclass(eq=False)
class Writing:
    """How far texts are written: a run that was interrupted goes on from here, and whoever waits is told.

    Attributes:
        fit: strength and style, once they are known.
        texts: those that are usable, in their order.
        written: how many were written, usable or not.
        report: called after every batch with the number of texts that are written, those of the rounds included, and
            of all.
    """

    fit: "Fit | None" = None
    texts: list[str] = dataclasses.field(default_factory=list)
    written: int = 0
    report: ProgressReporter = lambda done, total: None  # noqa: ARG005 - reports nothing


@dataclasses.dataclass(frozen=True, eq=False)
class Fit:
    """What the rounds found.

    Attributes:
        rounds: how many there were.
        strength: of the tilt towards a class.
        style: s (V,), the bias of each token.
        agreement: share of the last round's texts whose label was the class they were drawn for.
        divergence: Jensen-Shannon divergence, in bits, of the tokens near the beginnings of these texts from the
            released shares; None where no style was released.
    """

    rounds: int
    strength: float
    style: FloatArray
    agreement: float
    divergence: float | None


@dataclasses.dataclass(frozen=True, eq=False)
class LanguageModelTexts(TextGenerator):
    """Texts of a tilted language model.

    Attributes:
        model: public.
        prompt: what each text is, such as "a film review"; ``{label}`` in it is the name of a class.
        options: how tokens are drawn.
        writing: what is written already, and is added to.

    Raises:
        InputError: a class that the prompt cannot name, prompt and text are longer than the model's context, or too
            few texts are usable.
    """

    model: LanguageModel
    prompt: str
    options: WritingOptions
    writing: Writing

    def write_drafts(self, knowledge: ReleasedKnowledge, count: int, seed: int) -> list[str]:
        """See `TextGenerator`."""
        key, writing, fitted = derive_key_from_seed(seed), self.writing, self.options.rounds * self.options.round_texts
        total = fitted + count
        fit = self._fit(knowledge, key, total)
        biases = _tilt(self.model, knowledge, fit.strength) + fit.style
        asked = [build_request(self.prompt, name) for name in knowledge.classifier.classes]
        for batch in self._write(knowledge, biases, "text", (key, count), writing.written):
            writing.written += len(batch)
            writing.texts += [text for text, code in batch if is_usable(text, asked[code])]
            writing.report(fitted + min(len(writing.texts), count), total)
            if len(writing.texts) >= count:
                return writing.texts[:count]
        raise _make_usability_error(self.model, self.prompt, len(writing.texts), writing.written)

    def describe(self) -> dict[str, Any]:
        """Return what a certificate says of model, prompt and fit."""
        fit, card = self.writing.fit, dataclasses.asdict(self.model.card)
        found = {} if fit is None else {name: value for name, value in vars(fit).items() if name != "style"}
        unusable = self.writing.written - len(self.writing.texts)
        return {
            "language model": {
                "model": card,
                "prompt": self.prompt,
                "draws": dataclasses.asdict(self.options),
                "fit": found,
                "texts written anew": unusable,
            }
        }

    def _fit(self, knowledge: ReleasedKnowledge, key: bytes, total: int) -> Fit:
        """Return strength and style after all rounds, each of texts under the law of the one before."""
        released, classifier = knowledge.style, knowledge.classifier
        fit, rounds, size = self.writing.fit, self.options.rounds, self.options.round_texts
        if fit is None:
            style = np.zeros(self.model.card.vocabulary)
            fit = Fit(0, _guess_strength(self.model, knowledge, self.options), style, 0.0, None)
        for number in range(fit.rounds, rounds):
            biases = _tilt(self.model, knowledge, fit.strength) + fit.style
            texts, codes = list[str](), list[int]()
            for batch in self._write(knowledge, biases, f"round {number}", (key, size)):
                texts += [text for text, _ in batch]
                codes += [code for _, code in batch]
                if len(texts) >= size:
                    break
                self.writing.report(number * size + len(texts), total)
            probabilities = classifier.predict_probabilities(texts)
            labels = balance_probabilities(probabilities, knowledge.class_shares).argmax(axis=1)
            agreement, strength, style = float(np.mean(labels == codes)), fit.strength, fit.style
            counts, divergence = count_style(self.model, texts)[: len(style)], None
            if released is not None:
                divergence = measure_divergence(released.token_shares, counts)
            if number < rounds - 1:
                strength *= _find_strength_factor(agreement, float(np.sum(knowledge.class_shares**2)))
                style = style if released is None else _move_style(style, released, counts)
            fit = self.writing.fit = Fit(number + 1, strength, style, agreement, divergence)
            self.writing.report((number + 1) * size, total)
        return fit

    def _write(
        self, knowledge: ReleasedKnowledge, biases: FloatArray, name: str, run: tuple[bytes, int], first: int = 0
    ) -> Iterator[list[tuple[str, int]]]:
        """Yield texts with their classes, a batch at a time, from number ``first`` on.

        ``run`` is the key of the draws, and the number n of texts that classes have their shares in: of the first n, of
        the next n, and so on.
        """
        key, count = run
        blocks = [make_generator(key, f"{name}: classes and openings {block}") for block in range(_MAX_DRAFTS)]
        codes = np.concatenate([knowledge.draw_codes(count, generator) for generator in blocks])
        openings = np.concatenate([_draw_openings(knowledge.style, count, generator) for generator in blocks])
        prompts = [
            self.model.build_prompt(build_request(self.prompt, label), "") for label in knowledge.classifier.classes
        ]
        requests = [
            TextRequest(f"{name} {number}", (*prompts[code], *([opening] if opening >= 0 else [])), code)
            for number, (code, opening) in enumerate(zip(codes.tolist(), openings.tolist(), strict=True))
        ]
        place = first
        for batch in write_texts(self.model, requests, biases, key, self.options, first=first):
            asked = requests[place : place + len(batch)]
            place += len(batch)
            yield [
                (self.model.decode([*request.prompt[len(prompts[request.code]) :], *tokens]).strip(), request.code)
                for request, tokens in zip(asked, batch, strict=True)
            ]


def try_prompt(options: SynthesisOptions) -> None:
    """Check that texts of a prompt are usable, on a few of the model without any tilt: before a budget is spent.

    Raises:
        InputError: hardly any is.
    """
    model, prompt = options.model, options.prompt
    if model is None or prompt is None:
        return
    asked = [build_request(prompt, name) for name in options.classes]
    prompts = [model.build_prompt(request, "") for request in asked]
    count = len(asked)
    requests = [
        TextRequest(f"trial {number}", tuple(prompts[number % count]), number % count) for number in range(_TRIAL_TEXTS)
    ]
    biases = np.zeros((count, model.card.vocabulary))
    writing = dataclasses.replace(options.writing, batch=_TRIAL_TEXTS)
    (batch,) = write_texts(model, requests, biases, derive_key_from_seed(options.seed or 0), writing)
    usable = sum(
        is_usable(model.decode(tokens).strip(), asked[request.code])
        for request, tokens in zip(requests, batch, strict=True)
    )
    # Half of what the whole needs: a tilt may help a little.
    if 2 * _MAX_DRAFTS * usable < len(requests):
        raise _make_usability_error(model, prompt, usable, len(requests))


def _make_usability_error(model: LanguageModel, prompt: str, usable: int, written: int) -> InputError:
    return InputError(
        f"Only {usable:,} of {written:,} texts of {model.card.name} were usable, others being empty, of the prompt's "
        f"words or an assistant's: say in another prompt what a text is. Got {shorten_text(repr(prompt))}."
    )


def is_usable(text: str, request: str) -> bool:
    """Return whether a text has words, and neither repeats its request nor speaks as an assistant."""
    words, asked = ([*re.findall(r"\w+", part.lower())] for part in (text, request))
    if len(words) < _LEAST_WORDS or _ASSISTANT_REMARK.search(text):
        return False
    count = min(_REPEATED_WORDS, len(asked))
    runs = {tuple(asked[place : place + count]) for place in range(len(asked) - count + 1)}
    return runs.isdisjoint(tuple(words[place : place + count]) for place in range(len(words) - count + 1))


def measure_divergence(shares: FloatArray, others: FloatArray) -> float:
    """Return the Jensen-Shannon divergence, in bits, of two shares, each scaled to sum to 1."""
    from scipy.spatial.distance import jensenshannon

    if not (shares.sum() > 0 and others.sum() > 0):
        return 1.0
    return float(jensenshannon(shares, others, base=2) ** 2)


def _tilt(model: LanguageModel, knowledge: ReleasedKnowledge, strength: float) -> FloatArray:
    """Return (K, V) what the tilt adds to the logits of each class: clip(strength v_y(w(t)), -6, 6)."""
    return np.clip(strength * _get_token_weights(model, knowledge), -_MAX_TILT, _MAX_TILT)


def _get_token_weights(model: LanguageModel, knowledge: ReleasedKnowledge) -> FloatArray:
    """Return (K, V) the weight of the word that each token is, 0 for other tokens."""
    weights = knowledge.classifier.word_weights
    places = {word: place for place, word in enumerate(knowledge.classifier.feature_map.words)}
    token_weights = np.zeros((weights.shape[1], model.card.vocabulary))
    for token, word in model.words.items():
        if word in places:
            token_weights[:, token] = weights[places[word]]
    return token_weights


def _guess_strength(model: LanguageModel, knowledge: ReleasedKnowledge, options: WritingOptions) -> float:
    """Return the strength of the first round.

    Over T tokens of share p a tilt moves the score by strength T sum p v^2, and the score's deviation is the root of
    T sum p v^2; 0.84 deviations put four of five texts on the right side.
    """
    shares = np.full(model.card.vocabulary, 1 / max(len(model.words), 1))
    if knowledge.style is not None and knowledge.style.token_shares.any():
        shares = knowledge.style.token_shares
    variance = float((_get_token_weights(model, knowledge) ** 2 @ shares).mean())
    return 0.84 / math.sqrt(options.max_tokens * variance) if variance > 0 else 0.0


def _find_strength_factor(agreement: float, chance: float) -> float:
    """Return by how much the strength grows, the logit of the agreement being about in proportion to it."""

    def measure_gain(share: float) -> float:
        share = min(max(share, 1e-3), 1 - 1e-3)
        return math.log(share / (1 - share)) - math.log(chance / (1 - chance)) if chance < 1 else 0.0

    target, gain = measure_gain(AGREEMENT), measure_gain(agreement)
    if target <= 0:
        return 1.0  # one class is so frequent that labels say nothing
    return min(max(target / max(gain, 1e-6), 1 / _MAX_STRENGTH_FACTOR), _MAX_STRENGTH_FACTOR)


def _move_style(style: FloatArray, released: Style, counts: FloatArray) -> FloatArray:
    """Return the bias of each token, moved towards the released shares.

    Args:
        style: s (V,).
        released: shares that were measured.
        counts: (V,) of the tokens of the model's own texts.
    """
    total = max(float(counts.sum()), 1.0)
    shares, smoothing = counts / total, _SMOOTHING_TEXTS / total
    is_seen = released.token_shares > 0
    unseen_factor = (1 - released.token_shares.sum() + smoothing) / (shares[~is_seen].sum() + smoothing)
    wanted = np.where(is_seen, released.token_shares, np.minimum(shares * unseen_factor, released.limit))
    moved: FloatArray = style + _DAMPING * np.log((wanted + smoothing) / (shares + smoothing))
    return np.clip(moved, -_MAX_STYLE, _MAX_STYLE)


def _draw_openings(style: Style | None, count: int, generator: np.random.Generator) -> IntArray:
    """Return (count,) tokens that texts begin with; -1 for none, where none was seen."""
    if style is None or not style.opening_shares.any():
        return np.full(count, -1)
    return generator.choice(len(style.opening_shares), count, p=style.opening_shares / style.opening_shares.sum())
