"""What the samplers of this room share: a toy language model in bfloat16, and what an audit says of a sampler."""

import dataclasses
import functools
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from deniable.auditing.samplers.audit import audit_language_model
from deniable.auditing.samplers.calls import Sampler
from deniable.core.arrays import FloatArray
from deniable.core.guarantees import Status, Verdict
from deniable.core.numbers import format_exact
from deniable.published.entry import ZooEntry

VOCABULARY = 64
"""Tokens of the toy model; token 0 ends a text."""
_WIDTH, _BLOCKS = 32, 4
MAX_TOKENS = 64
"""Tokens of a prompt that the model reads, at most."""
_REQUEST = "write one more note of a doctor that is like this one"


def round_to_bfloat16(values: FloatArray) -> FloatArray:
    """Return the values, each with 8 bits, as bfloat16 holds them."""
    bits = values.astype(np.float32).view(np.uint32)
    # Half of the last place, and one more where it is odd: ties go to even.
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)
    return rounded.astype(np.uint32).view(np.float32).astype(np.float64)


def read_tokens(text: str) -> list[int]:
    """Return the token of each word of a text, none of them the end."""
    return [1 + zlib.crc32(word.encode()) % (VOCABULARY - 1) for word in text.split()]


@functools.cache
def _load_weights() -> tuple[FloatArray, FloatArray]:
    random = np.random.default_rng(7)
    embeddings = round_to_bfloat16(random.normal(size=(VOCABULARY, _WIDTH)))
    return embeddings, round_to_bfloat16(random.normal(size=(_WIDTH, VOCABULARY)))


def compute_logits(prompts: Sequence[Sequence[int]], width: int | None = None) -> FloatArray:
    """Return logits (B, V) after B prompts, which are padded on the left to one width.

    A state is the sum of the embeddings of a prompt, in bfloat16. As in the kernels of real models it is added up in
    blocks whose borders depend on the width, so that the width decides how it is rounded.

    Args:
        prompts: tokens of each.
        width: of the batch; None for that of the longest prompt.
    """
    embeddings, output = _load_weights()
    width = max(map(len, prompts)) if width is None else width
    rows = np.zeros((len(prompts), width, _WIDTH))
    for row, prompt in zip(rows, prompts, strict=True):
        row[width - len(prompt) :] = embeddings[list(prompt)] if len(prompt) else 0
    state = np.zeros((len(prompts), _WIDTH))
    for block in np.array_split(rows, min(_BLOCKS, width), axis=1):
        part = np.zeros_like(state)
        for place in range(block.shape[1]):
            part = round_to_bfloat16(part + block[:, place])
        state = round_to_bfloat16(state + part)
    return round_to_bfloat16(state @ output / 4)


def make_prompt(record: str | None, prefix: Sequence[int]) -> list[int]:
    """Return a public request, a record unless it is None, and a prefix, as tokens."""
    return [*read_tokens(_REQUEST), *read_tokens(record or ""), *prefix]


def compute_one(record: str | None, prefix: Sequence[int]) -> FloatArray:
    """Return logits (V,) after a record, None for none, and a prefix: alone in its batch, at a fixed width."""
    row: FloatArray = compute_logits([make_prompt(record, prefix)[-MAX_TOKENS:]], MAX_TOKENS)[0]
    return row


@dataclasses.dataclass(frozen=True)
class BrokenSampler:
    """A next-token sampler with a flaw, its mended twin, and the neighbours and the claim that both are audited on.

    Attributes:
        name: of the sampler; its twin is called ``name-mended``.
        source: the package.
        flaw: why the claim is false.
        law: the sampler, see `audit_language_model`.
        mended: its twin.
        pairs: neighbours.
        claim: ``claim``, ``epsilon``, ``delta`` and ``tokens`` of the audit.
        steps: of the audit.
    """

    name: str
    source: str
    flaw: str
    law: Sampler
    mended: Sampler
    pairs: tuple[tuple[Any, ...], ...]
    claim: dict[str, Any]
    steps: int = 1

    @property
    def entries(self) -> tuple[ZooEntry, ZooEntry]:
        """The entries of the sampler and of its twin."""
        return (
            make_entry(self, self.name, self.source, self.flaw, self.law),
            make_entry(self, f"{self.name}-mended", f"control: {self.name} mended", "", self.mended),
        )

    def audit(self, law: Sampler) -> Verdict:
        """Return the verdict on the sampler or on its twin."""
        return audit_language_model(law, self.pairs, steps=self.steps, seed=0, **self.claim).verdict


def make_entry(sampler: BrokenSampler, name: str, source: str, flaw: str, law: Sampler) -> ZooEntry:
    """Return the entry of one law, audited as a sampler and its twin are."""
    status: Status = "refuted" if flaw else "not refuted"
    claim = sampler.claim
    numbers = f"({format_exact(claim['epsilon'])}, {format_exact(claim.get('delta', 0.0))})-DP"
    return ZooEntry(
        name=name,
        source=source,
        claim=f"{numbers}, {claim['claim']}, {claim['tokens']} tokens",
        flaw=flaw,
        verify_law=functools.partial(sampler.audit, law),
        expected_of_law=status,
    )
