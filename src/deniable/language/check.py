"""What a language model says of itself, how well it knows some texts, and how fast it writes on this machine.

The perplexity of a word is::

    exp(negative log-probability of the texts / number of their words, split at white space)

Unlike the perplexity of a token it can be compared between models whose tokens differ. Where a model does not mark the
beginning of a text, the first token of each has no probability and costs nothing.
"""

import dataclasses
import math
import time
from collections.abc import Sequence

import numpy as np

from deniable.core.errors import InputError
from deniable.core.parallel import expect_passes, get_progress_reporter
from deniable.core.report import Fact, Report, Section
from deniable.language.model import LanguageModel, ModelCard
from deniable.language.options import WritingOptions
from deniable.language.writing import TextRequest, write_texts

_SAMPLE = """\
The train was late again this morning, so I walked to the next station and bought a coffee on the way. By the time it
came, nobody on the platform was talking any more.

My sister asked me to look after her garden for two weeks. I watered the tomatoes every evening, forgot the roses twice,
and told her the truth when she came home.

We stayed in a small hotel near the harbour. The room was clean and the breakfast was good, but the walls were thin, and
the neighbours had a great deal to say to each other at night.

To change the filter, switch the machine off and let it cool down. Turn the lid to the left, take the old filter out,
and press the new one in until you hear a click.

The council decided on Tuesday to close the old bridge to cars from next spring. Shops on both sides fear that fewer
customers will come; those who live near it hope to sleep better."""
SAMPLE_TEXTS = tuple(" ".join(text.split()) for text in _SAMPLE.split("\n\n"))
"""English as anybody may write it, made for this package."""

_REQUEST, _OPENING = "Write a short text about an ordinary day.", "I"
_MIN_SECONDS = 2.0
"""Seconds that the tokens of a batch after its first ones must take for their speed to be believed."""


@dataclasses.dataclass(frozen=True)
class Reading:
    """How well a model knows some texts.

    Attributes:
        texts: number of those that were read.
        words: number of their words.
        tokens: number of their tokens.
        perplexity: of a word; infinite beyond the floats.
    """

    texts: int
    words: int
    tokens: int
    perplexity: float


@dataclasses.dataclass(frozen=True)
class Speed:
    """How fast a model writes on this machine, as busy as it is.

    Attributes:
        batch: number of texts that are written together.
        max_tokens: number of tokens of a text, at most.
        prompt_seconds: seconds for the prompts of a batch.
        step_seconds: seconds for a token of each text of a batch.
        threads: of torch.
        device: where torch computes.
    """

    batch: int
    max_tokens: int
    prompt_seconds: float
    step_seconds: float
    threads: int
    device: str

    @property
    def tokens_per_second(self) -> float:
        """Tokens of all texts of a batch together."""
        return self.batch / self.step_seconds

    def estimate_seconds(self, rows: int) -> float:
        """The time for some texts, none of which ends before its last token."""
        return math.ceil(rows / self.batch) * (self.prompt_seconds + self.max_tokens * self.step_seconds)


@dataclasses.dataclass(frozen=True)
class ModelCheck:
    """What was found of a language model.

    Attributes:
        card: what it says of itself.
        has_conversations: whether it was trained on conversations, and names their form.
        has_end: whether a token of it ends a text.
        source: of the texts that it read.
        reading: how well it knows them.
        speed: how fast it writes.
        rows: number of texts whose time is estimated.
    """

    card: ModelCard
    has_conversations: bool
    has_end: bool
    source: str
    reading: Reading
    speed: Speed
    rows: int

    def make_report(self) -> Report:
        """What was found, for people, programs and pages."""
        return Report(
            f"{self.card.name}: a causal language model",
            (
                Section("", tuple(self._list_facts())),
                Section("what it knows", tuple(self._list_reading())),
                Section("how fast it writes here", tuple(self._list_speed())),
            ),
            "deniable.model-check.1",
        )

    def __str__(self) -> str:
        """Return the report as text."""
        return self.make_report().to_text().rstrip("\n")

    def _list_facts(self) -> list[Fact]:
        card = self.card
        unknown = "the files name none, so nobody is allowed anything by them: ask who made the model"
        endless = "" if self.has_end else "no token ends a text: each has as many as are allowed"
        requests = ("conversation", endless, "as in a conversation, in the model's own form")
        if not self.has_conversations:
            requests = ("heading", endless, "as a heading, which the text goes on from")
        return [
            Fact("sha256", card.sha256),
            Fact("license", card.license, "" if card.license else unknown, "" if card.license else "not stated"),
            _count("parameters", card.parameters),
            _count("vocabulary", card.vocabulary, "tokens"),
            _count("context", card.context, "tokens"),
            Fact("requests", *requests),
        ]

    def _list_reading(self) -> list[Fact]:
        reading = self.reading
        own = "a few lines that come with this package: give --public texts of your kind" if not self.source else ""
        return [
            _count("texts", reading.texts, f"of {self.source}" if self.source else "", own),
            _count("words", reading.words),
            Fact("perplexity of a word", round(reading.perplexity, 1), "the lower, the better it knows such texts"),
            Fact("tokens of a word", round(reading.tokens / reading.words, 2)),
        ]

    def _list_speed(self) -> list[Fact]:
        speed = self.speed
        together = f"{speed.batch} texts together on {speed.device}, threads: {speed.threads}"
        extent = f"for {self.rows:,} texts of {speed.max_tokens} tokens; fewer where texts end sooner"
        return [
            Fact("tokens a second", round(speed.tokens_per_second), together),
            Fact("seconds", round(speed.estimate_seconds(self.rows), 1), extent),
        ]


def check_model(
    model: LanguageModel,
    texts: Sequence[str] = SAMPLE_TEXTS,
    *,
    source: str = "",
    rows: int = 1_000,
    options: WritingOptions | None = None,
) -> ModelCheck:
    """What is found of a model: how well it knows some texts, and how fast it writes.

    Args:
        model: public.
        texts: public; those without a word of which the model gives a probability are left out.
        source: of these texts; empty for those of this package.
        rows: number of texts whose time is estimated.
        options: how texts would be written; None for the defaults.

    Raises:
        InputError: no text can be read, or the model cannot write; see `measure_speed`.
    """
    with expect_passes(1):
        reading = read_texts(model, texts)
    speed = measure_speed(model, options or WritingOptions())
    return ModelCheck(model.card, model.has_conversations, bool(model.end_tokens), source, reading, speed, rows)


def read_texts(model: LanguageModel, texts: Sequence[str]) -> Reading:
    """How well a model knows some texts; of one that is cut, the words that were read count.

    Raises:
        InputError: there is no text of two tokens.
    """
    totals, counts = model.sum_losses(texts)
    words = 0
    for text, count, tokens in zip(texts, counts.tolist(), model.encode(texts), strict=True):
        read = count + (not model.start_tokens)
        words += len((text if read >= len(tokens) else model.decode(tokens[:read])).split()) if count else 0
    if not words:
        raise InputError(f"None of the {len(texts):,} public texts has two tokens: give others.")
    loss = float(totals.sum()) / words
    perplexity = math.exp(loss) if loss < math.log(np.finfo(np.float64).max) else math.inf
    return Reading(int((counts > 0).sum()), words, int(counts.sum()), perplexity)


def measure_speed(model: LanguageModel, options: WritingOptions) -> Speed:
    """How fast a model writes a batch: some tokens of each text are timed, until they take two seconds.

    Raises:
        InputError: its context holds no prompt and text, or its form for conversations cannot be used.
    """
    import torch

    prompt = model.build_prompt(_REQUEST, _OPENING)
    max_tokens = min(options.max_tokens, model.card.context - len(prompt))
    _time_batch(model, prompt, dataclasses.replace(options, max_tokens=1, batch=1))  # libraries prepare themselves
    report = get_progress_reporter()
    times: dict[int, float] = {}
    for tokens in sorted({1, *(min(4**power, max_tokens) for power in range(1, 6))}):
        report(len(times), 4)
        times[tokens] = _time_batch(model, prompt, dataclasses.replace(options, max_tokens=tokens))
        if times[tokens] - times[1] >= _MIN_SECONDS:
            break
    report(4, 4)
    most = max(times)
    step = (times[most] - times[1]) / (most - 1) if most > 1 else times[1]
    step = max(step, times[most] / most / max_tokens)  # where both are within what a clock can tell
    return Speed(
        batch=options.batch,
        max_tokens=max_tokens,
        prompt_seconds=max(times[1] - step, 0.0),
        step_seconds=step,
        threads=torch.get_num_threads(),
        device=str(model.network.device),
    )


def _time_batch(model: LanguageModel, prompt: Sequence[int], options: WritingOptions) -> float:
    """The seconds for one batch of texts, none of which ends before its last token."""
    options = dataclasses.replace(options, min_tokens=options.max_tokens)
    requests = [TextRequest(str(number), tuple(prompt), 0) for number in range(options.batch)]
    biases = np.zeros((1, model.card.vocabulary))
    start = time.perf_counter()
    for _ in write_texts(model, requests, biases, bytes(32), options):
        pass
    return time.perf_counter() - start


def _count(label: str, number: int, unit: str = "", note: str = "") -> Fact:
    return Fact(label, number, note, f"{number:,} {unit}".strip())
