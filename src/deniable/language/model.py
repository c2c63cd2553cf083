"""A causal language model from a file or folder: loaded offline, named by its content, asked for logits."""

import dataclasses
import functools
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.core.arrays import FloatArray, IntArray
from deniable.core.errors import InputError, escape_unprintable, import_extra, is_interruption, shorten_text
from deniable.core.parallel import get_progress_reporter
from deniable.language.files import compute_digest, find_model, open_header, read_license
from deniable.language.loading import EXTRA, OWNER, check_reading, load_network, refuse_foreign

if TYPE_CHECKING:
    import torch

_MAX_TOKENS = 1_024
"""Tokens of a text whose probability is measured, at most."""
_MAX_LOGITS = 2**27
"""Logits that are held at once, at most, where texts are read together: half of a GB."""
_LOSS_ROWS = 128
"""Tokens whose losses are computed together."""
_UNLIMITED = 10**9
"""Length from which on a tokenizer means that it knows no limit."""
_LETTER, _LINE_END = "a", "\n"
"""What stands before tokens, or texts, where a tokenizer treats the beginning of a text in its own way."""
_SURROGATE = re.compile("[\ud800-\udfff]")
"""Half of a character, which a text may hold and no tokenizer takes."""


@dataclasses.dataclass(frozen=True)
class ModelCard:
    """What a certificate says of a language model.

    Attributes:
        name: of the file or folder.
        sha256: of the file; of a folder, of the digests of its files in the order of their names.
        license: as the file says; None where it says nothing.
        parameters: number of weights.
        vocabulary: number of tokens.
        context: number of tokens that the model reads at most.
    """

    name: str
    sha256: str
    license: str | None
    parameters: int
    vocabulary: int
    context: int


@dataclasses.dataclass(frozen=True, eq=False)
class LanguageModel:
    """A public causal language model and its tokenizer.

    Attributes:
        card: what it is.
        network: of transformers.
        tokenizer: of transformers.
    """

    card: ModelCard
    network: Any = dataclasses.field(repr=False)
    tokenizer: Any = dataclasses.field(repr=False)

    @classmethod
    def load(cls, source: str | Path, *, device: str = "cpu") -> "LanguageModel":
        """The model of a GGUF file, of a folder as transformers writes it, or ``smollm2``; nothing is fetched.

        Weights of a folder are read from safetensors files only, since others can run code.

        Args:
            source: where the model is.
            device: where torch computes, for example ``cuda``.

        Raises:
            InputError: an extra is missing, or the files hold no causal language model with a tokenizer.
        """
        path = find_model(source)
        for package in ("torch", "transformers", "accelerate", *(["gguf"] if path.is_file() else [])):
            import_extra(package, OWNER, EXTRA)
        _check_device(device)
        with refuse_foreign(path):
            digest, header = compute_digest(path), open_header(path)
            network, tokenizer = load_network(path, header, device)
            vocabulary = int(network.get_output_embeddings().weight.shape[0])
            _check_vocabulary(tokenizer, vocabulary)
            check_reading(network)
            parameters = sum(weights.numel() for weights in network.parameters())
            context, license_name = _find_context(network, tokenizer), read_license(path, header)
        name = escape_unprintable(path.absolute().name)
        return cls(ModelCard(name, digest, license_name, parameters, vocabulary, context), network, tokenizer)

    @functools.cached_property
    def start_tokens(self) -> list[int]:
        """The token that the tokenizer puts before each text, where it does."""
        tokens: list[int] = self.tokenizer("")["input_ids"][:1]
        return tokens if tokens == [self.tokenizer.bos_token_id] else []

    @functools.cached_property
    def end_tokens(self) -> frozenset[int]:
        """The tokens that end a text: all special ones; none for a model that knows no end."""
        tokenizer, settings = self.tokenizer, getattr(self.network, "generation_config", None)
        named = getattr(settings, "eos_token_id", None)
        tokens = [
            *tokenizer.all_special_ids,
            *(number for number, token in tokenizer.added_tokens_decoder.items() if token.special),
            *(named if isinstance(named, list) else [] if named is None else [named]),
        ]
        return frozenset(token for token in map(int, tokens) if token < self.card.vocabulary)

    @property
    def has_conversations(self) -> bool:
        """Whether the model was trained on conversations, and names their form."""
        return self.tokenizer.chat_template is not None

    @property
    def end_token(self) -> int | None:
        """The token that ends a document or an answer; None where the tokenizer has none."""
        token: int | None = self.tokenizer.eos_token_id
        return token if token in self.end_tokens else None

    @functools.cached_property
    def words(self) -> dict[int, str]:
        """The word that each token is, in lower case, for those that begin with a space and are all of a word."""
        return {
            token: text.strip().lower()
            for token, text in enumerate(self.decode_tokens())
            if text.startswith(" ") and text.strip().isalpha()
        }

    def decode_tokens(self) -> list[str]:
        """The text of each token within another text: some tokenizers leave out a space where a text begins."""
        (letter,) = self.encode([_LETTER])
        tokens = range(min(len(self.tokenizer), self.card.vocabulary))
        before, *decoded = self.tokenizer.batch_decode([letter, *([*letter, token] for token in tokens)])
        return [text.removeprefix(before) for text in decoded]

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The tokens of each text: none is special, also where a text spells one."""
        if not texts:
            return []
        tokens: list[list[int]] = self.tokenizer(
            [_SURROGATE.sub("\ufffd", text) for text in texts],
            add_special_tokens=False,
            split_special_tokens=True,
            verbose=False,
        )["input_ids"]
        return tokens

    def encode_inside(self, texts: Sequence[str]) -> list[list[int]]:
        """The tokens of each text inside another text: some tokenizers put a space where a text begins."""
        plain = self.encode(texts)
        first, (letter, both) = self.encode([_LINE_END])[0], self.encode([_LETTER, _LINE_END + _LETTER])
        if both[-len(letter) :] == letter:
            return plain
        longer = self.encode([_LINE_END + text for text in texts])
        # Where the end of the line and the text have a token in common, the text is as if it began there.
        return [
            whole[len(first) :] if whole[: len(first)] == first else own
            for own, whole in zip(plain, longer, strict=True)
        ]

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of some tokens."""
        text: str = self.tokenizer.decode(list(tokens), skip_special_tokens=True)
        return text

    def build_prompt(self, request: str, opening: str) -> list[int]:
        """The tokens after which a text goes on that answers a request and begins with some words.

        A model that was trained on conversations is asked in its own form, any other by the request as a heading.

        Raises:
            InputError: it is longer than the context, or the model's form for conversations cannot be used.
        """
        request, opening = (_SURROGATE.sub("\ufffd", text) for text in (request, opening))
        if not self.has_conversations:
            (heading,) = self.encode([f"{request}\n\n{opening}"])
            tokens = [*self.start_tokens, *heading]
        else:
            turns = [{"role": "user", "content": request}]
            try:
                text = self.tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
            except Exception as error:  # a template is a program of the file, and may fail in any way
                if is_interruption(error) or isinstance(error, MemoryError):
                    raise
                raise InputError(
                    f"The form for conversations of {self.card.name} cannot be used: {type(error).__name__}: "
                    f"{shorten_text(str(error))}. Give another model."
                ) from None
            tokens = self.tokenizer(text + opening, add_special_tokens=False, verbose=False)["input_ids"]
        if not tokens or max(tokens) >= self.card.vocabulary:
            raise InputError(f"The prompt is empty, or has a token that {self.card.name} does not know: give another.")
        if len(tokens) >= self.card.context:
            raise InputError(
                f"The prompt has {len(tokens):,} tokens, but {self.card.name} reads {self.card.context:,} at most: "
                "shorten it."
            )
        return tokens

    def measure_surprise(self, texts: Sequence[str], batch: int = 8) -> FloatArray:
        """(n,) mean negative log-probability of a token of each text; nan where none is read, see `sum_losses`."""
        totals, counts = self.sum_losses(texts, batch)
        return np.where(counts > 0, totals / np.maximum(counts, 1), np.nan)

    def sum_losses(self, texts: Sequence[str], batch: int = 8) -> tuple[FloatArray, IntArray]:
        """(n,) negative log-probability of each text, and (n,) number of its tokens that have one.

        The first token has one where the model marks the beginning of a text. Texts are cut at the context, and at
        1,024 tokens.
        """
        import torch

        totals, counts = np.zeros(len(texts)), np.zeros(len(texts), dtype=np.int64)
        limit = min(self.card.context, _MAX_TOKENS)
        tokens = [[*self.start_tokens, *one][:limit] for one in self.encode(texts)]
        order = sorted(
            (place for place, one in enumerate(tokens) if len(one) > 1), key=lambda place: -len(tokens[place])
        )
        if order:
            batch = max(1, min(batch, _MAX_LOGITS // (len(tokens[order[0]]) * self.card.vocabulary)))
        report = get_progress_reporter()
        for start in range(0, len(order), batch):
            report(start, len(order))
            places = order[start : start + batch]
            padded, mask = self.pad([tokens[place] for place in places])
            positions = (mask.cumsum(1) - 1).clamp(min=0)
            with torch.inference_mode():
                logits = self.network(input_ids=padded, attention_mask=mask, position_ids=positions).logits
                for row, place in enumerate(places):
                    counts[place] = known = len(tokens[place]) - 1
                    parts = zip(
                        torch.split(logits[row, -known - 1 : -1], _LOSS_ROWS),
                        torch.split(padded[row, -known:], _LOSS_ROWS),
                        strict=True,
                    )
                    losses = [
                        torch.nn.functional.cross_entropy(one.float(), part, reduction="sum") for one, part in parts
                    ]
                    totals[place] = float(sum(losses))
        report(len(order), len(order))
        return totals, counts

    def pad(self, rows: Sequence[Sequence[int]], width: int = 0) -> "tuple[torch.Tensor, torch.Tensor]":
        """Tokens (n, width or the longest) with padding before shorter rows, and 1 where there is none, else 0."""
        import torch

        width = max(width, *map(len, rows))
        pad_token = min(self.end_tokens, default=0)
        padded = [[pad_token] * (width - len(row)) + list(row) for row in rows]
        mask = [[0] * (width - len(row)) + [1] * len(row) for row in rows]
        return torch.tensor(padded, device=self.network.device), torch.tensor(mask, device=self.network.device)


def _check_device(device: str) -> None:
    import torch

    try:
        torch.empty(0, device=device)
    except (AssertionError, NotImplementedError, RuntimeError) as error:
        reason = shorten_text(str(error)).removesuffix(".")
        raise InputError(f"The device {device!r} cannot be used: {reason}. Give another device, such as cpu.") from None


def _check_vocabulary(tokenizer: Any, vocabulary: int) -> None:  # noqa: ANN401 - of transformers
    # Special ones that were added, such as for padding, are not drawn, and no text has them.
    added = {number for number, token in tokenizer.added_tokens_decoder.items() if token.special}
    largest = max((number for number in tokenizer.get_vocab().values() if number not in added), default=-1)
    if not 0 <= largest < vocabulary:
        raise ValueError(
            f"its tokenizer numbers tokens up to {largest:,}, and the model has {vocabulary:,}: give the files of one "
            "model"
        )


def _find_context(network: Any, tokenizer: Any) -> int:  # noqa: ANN401 - of transformers
    """The number of tokens that a model reads at most, by its settings or else by its tokenizer."""
    config = network.config.get_text_config()
    stated = (getattr(config, name, None) for name in ("max_position_embeddings", "seq_length"))
    context = next((number for number in stated if number is not None), tokenizer.model_max_length)
    if not isinstance(context, int) or not 1 < context < _UNLIMITED:
        raise ValueError("it does not say how many tokens it reads at most (max_position_embeddings in config.json)")
    return context
