"""An attack on released vectors: a search for the likeliest text, guided by the encoder's gradients."""

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from deniable.core.arrays import FloatArray
from deniable.rewriting.audits import encode_clipped_vectors, get_clip_domain
from deniable.rewriting.autoencoder import clip_to_l2_ball
from deniable.rewriting.methods import VectorMethod
from deniable.rewriting.ranking import NormOrder, get_norm_order
from deniable.rewriting.tokens import SPECIAL_TOKENS, UNKNOWN
from deniable.rewriting.training import pad_token_rows
from deniable.vectors.domains import Box, Domain, L1Ball, L2Ball

TokenTuple = tuple[int, ...]
"""The token ids of a text, none of them special."""
_TEXTS_PER_GROUP = 256
"""Texts searched at a time: all edits of each are in memory."""
_TEXTS_PER_ENCODING = 512
_TEXTS_PER_SCORING = 32
"""Texts whose swaps are scored at a time: every position and every word takes a number in memory."""
_TINY = 1e-12


@dataclasses.dataclass(frozen=True)
class _SearchTarget:
    """The public knowledge of the attacker.

    Attributes:
        method: under attack.
        domain: of its mechanism.
        order: of the norm in which the nearest text is the likeliest.
    """

    method: VectorMethod
    domain: Domain
    order: NormOrder


@torch.inference_mode(mode=False)
def search_nearest_texts(
    method: VectorMethod, released: FloatArray, starts: Sequence[str], *, rounds: int = 12, swaps_per_round: int = 32
) -> list[str]:
    """Return, for each release (k, n), a text nearest to it that a search from its start finds.

    The nearer a text, the likelier the release: by the l1 distance to the text's clipped vector under Laplace noise,
    by the l2 distance under Gaussian noise; other noise has no such distance. Each round looks at edits of one token
    or two: swaps and insertions of words that the derivative of the distance by the tokens' vectors favours (HotFlip,
    Ebrahimi et al. 2018, section 3.2), deletions, and exchanges of neighbours. The encoder then decides which of them
    is the nearest. Derivatives only propose edits: the clip to a domain other than a ball or a box is ignored in them.

    Starts are guesses such as `VectorMethod.decode` or `studies.text_guesses.fit_inverter` makes. A result is never
    farther than its start, which is returned where nothing nearer is found. Words of a start that the model does not
    know are left out before the search. All texts count as equally likely: under much noise a meaningless text can be
    nearer than the true one, and a guess by a language model can be better.

    Args:
        method: under attack.
        released: (k, n) vectors that it released.
        starts: one text for each; it may be empty.
        rounds: maximum number of edits of a text.
        swaps_per_round: swaps of each text that are encoded in a round, and about as many insertions, at least one per
            position.

    Raises:
        InputError: a start that is too long, or a mechanism that does not clip.
    """
    if not len(starts):
        return []
    start_vectors = encode_clipped_vectors(method, starts)  # raises
    target = _SearchTarget(method, get_clip_domain(method), get_norm_order(method.mechanism))
    start_distances = _compute_distances(start_vectors, released, target.order)
    found_texts: list[str] = []
    for first in range(0, len(starts), _TEXTS_PER_GROUP):
        part = slice(first, first + _TEXTS_PER_GROUP)
        found_texts.extend(_improve_texts(target, starts[part], released[part], rounds, swaps_per_round))
    end_distances = _compute_distances(encode_clipped_vectors(method, found_texts), released, target.order)
    is_better = (end_distances < start_distances) & np.array([len(text) > 0 for text in found_texts])
    return [text if is_nearer else start for text, start, is_nearer in zip(found_texts, starts, is_better, strict=True)]


def _improve_texts(
    target: _SearchTarget, starts: Sequence[str], released: FloatArray, rounds: int, swaps_per_round: int
) -> list[str]:
    vocabulary = target.method.model.vocabulary
    rows = [tuple(number for number in vocabulary.to_ids(text) if number != UNKNOWN) for text in starts]
    # A search may begin with an empty text, but not end with it.
    best_distances = np.where([len(row) > 0 for row in rows], _measure_distances(target, rows, released), np.inf)
    active = list(range(len(rows)))
    for _ in range(rounds):
        edits = _propose_edits(target, [rows[row_index] for row_index in active], released[active], swaps_per_round)
        edit_counts = [len(row_edits) for row_edits in edits]
        edit_distances = _measure_distances(
            target, [row for row_edits in edits for row in row_edits], released[np.repeat(active, edit_counts)]
        )
        moved = []
        for row_index, row_edits, distances in zip(
            active, edits, np.split(edit_distances, np.cumsum(edit_counts)[:-1]), strict=True
        ):
            for best in np.argsort(distances, kind="stable"):
                if not distances[best] < best_distances[row_index]:
                    break
                # Some token sequences belong to no text, for example the second part of a contraction without a first.
                if vocabulary.to_ids(vocabulary.to_text(row_edits[best])) == [*row_edits[best]]:
                    rows[row_index], best_distances[row_index] = row_edits[best], distances[best]
                    moved.append(row_index)
                    break
        active = moved
        if not active:
            break
    return [vocabulary.to_text(row) for row in rows]


def _propose_edits(
    target: _SearchTarget, rows: Sequence[TokenTuple], released: FloatArray, swaps_per_round: int
) -> list[list[TokenTuple]]:
    """Return all edits of each text that a round tries."""
    edits = _propose_swaps(target, rows, released, swaps_per_round)
    for row_edits, row_inserts in zip(edits, _propose_inserts(target, rows, released, swaps_per_round), strict=True):
        row_edits.extend(row_inserts)
    for row, row_edits in zip(rows, edits, strict=True):
        if len(row) > 1:
            row_edits.extend(row[:position] + row[position + 1 :] for position in range(len(row)))
        row_edits.extend(
            (*row[:position], row[position + 1], row[position], *row[position + 2 :])
            for position in range(len(row) - 1)
        )
    return edits


def _propose_swaps(
    target: _SearchTarget, rows: Sequence[TokenTuple], released: FloatArray, swaps_per_round: int
) -> list[list[TokenTuple]]:
    """Return the texts with one token replaced that are estimated to be the nearest."""
    swaps: list[list[TokenTuple]] = [[] for _ in rows]
    weight = target.method.model.network.tokens.weight.detach()
    for part in _batch_by_length(rows, _TEXTS_PER_SCORING):
        tokens, lengths = pad_token_rows([rows[row_index] for row_index in part])
        gradients = _compute_gradients(target, tokens, lengths, released[part])
        distance_changes = gradients @ weight.T - (gradients * weight[tokens]).sum(dim=2, keepdim=True)  # (b, L, V)
        distance_changes[:, :, : len(SPECIAL_TOKENS)] = torch.inf
        distance_changes.scatter_(2, tokens[:, :, None], torch.inf)
        distance_changes[torch.arange(tokens.shape[1]) >= lengths[:, None]] = torch.inf
        flat_changes = distance_changes.flatten(1)
        best = flat_changes.topk(min(swaps_per_round, flat_changes.shape[1]), largest=False)
        for row_index, changes, chosen in zip(part, best.values, best.indices.tolist(), strict=True):
            pairs = [
                divmod(choice, len(weight))
                for choice, is_allowed in zip(chosen, changes.isfinite(), strict=True)
                if is_allowed
            ]
            swaps[row_index] = [
                (*rows[row_index][:place], word, *rows[row_index][place + 1 :]) for place, word in pairs
            ]
    return swaps


def _propose_inserts(
    target: _SearchTarget, rows: Sequence[TokenTuple], released: FloatArray, swaps_per_round: int
) -> list[list[TokenTuple]]:
    """Return the texts with one token inserted, the estimated best ones for every position, up to the model's limit.

    The estimate is that of a swap of `UNKNOWN`, inserted there first.
    """
    limit, weight = target.method.model.limit, target.method.model.network.tokens.weight.detach()
    insert_places = [
        (row_index, place) for row_index, row in enumerate(rows) if len(row) < limit for place in range(len(row) + 1)
    ]
    extended_rows = [
        (*rows[row_index][:place], UNKNOWN, *rows[row_index][place:]) for row_index, place in insert_places
    ]
    inserts: list[list[TokenTuple]] = [[] for _ in rows]
    for part in _batch_by_length(extended_rows, _TEXTS_PER_ENCODING):
        owners, places = np.array(insert_places)[part].T
        gradients = _compute_gradients(
            target, *pad_token_rows([extended_rows[choice] for choice in part]), released[owners]
        )
        place_gradients = gradients[torch.arange(len(part)), torch.from_numpy(places)]
        ranked = (
            (place_gradients @ weight[len(SPECIAL_TOKENS) :].T)
            .topk(min(swaps_per_round, len(weight) - len(SPECIAL_TOKENS)), largest=False)
            .indices
        )
        for row_index, place, words in zip(
            owners.tolist(), places.tolist(), (len(SPECIAL_TOKENS) + ranked).tolist(), strict=True
        ):
            chosen = words[: max(1, swaps_per_round // (len(rows[row_index]) + 1))]
            inserts[row_index].extend((*rows[row_index][:place], word, *rows[row_index][place:]) for word in chosen)
    return inserts


def _compute_gradients(target: _SearchTarget, tokens: Tensor, lengths: Tensor, released: FloatArray) -> Tensor:
    """Return the derivatives (b, L, embedding) of distances with respect to the embeddings of tokens (b, L)."""
    network = target.method.model.network
    weight = network.tokens.weight.detach()
    with torch.enable_grad():
        # Every place has a vector of its own, which both directions of the encoder read.
        place_embeddings = weight[tokens].flatten(0, 1).requires_grad_()
        place_ids = len(SPECIAL_TOKENS) + torch.arange(len(place_embeddings)).view(tokens.shape)
        vectors = network.encode(
            place_ids, lengths, torch.cat([weight[: len(SPECIAL_TOKENS)], place_embeddings])
        ).double()
        for domain in (target.method.decoder_domain, target.domain):
            vectors = _clip_differentiably(vectors, domain)
        total_distance = (vectors - torch.from_numpy(released)).abs().pow(target.order).sum()
        (gradients,) = torch.autograd.grad(total_distance, place_embeddings)
    return gradients.view(*tokens.shape, weight.shape[1])


def _clip_differentiably(vectors: Tensor, domain: Domain | None) -> Tensor:
    """Return vectors (b, n) clipped to a box or a ball, up to rounding; unchanged for any other domain."""
    if isinstance(domain, Box):
        return vectors.clamp(domain.lower, domain.upper)
    if isinstance(domain, L2Ball):
        return clip_to_l2_ball(vectors, domain.radius)
    if isinstance(domain, L1Ball):
        norms = vectors.abs().sum(dim=1, keepdim=True).clamp_min(_TINY)
        return vectors * (domain.radius / norms).clamp_max(1.0)
    return vectors


def _measure_distances(target: _SearchTarget, rows: Sequence[TokenTuple], released: FloatArray) -> FloatArray:
    """Return the distance (k,) of each text to its release (k, n); an l2 distance is squared."""
    method = target.method
    vectors = np.empty((len(rows), method.model.latent))
    with torch.inference_mode():
        for part in _batch_by_length(rows, _TEXTS_PER_ENCODING):
            vectors[part] = (
                method.model.network.encode(*pad_token_rows([rows[index] for index in part])).double().numpy()
            )
    inner = vectors if method.decoder_domain is None else method.decoder_domain.clip(vectors)
    return _compute_distances(target.domain.clip(inner), released, target.order)


def _compute_distances(vectors: FloatArray, released: FloatArray, order: NormOrder) -> FloatArray:
    with np.errstate(over="ignore"):  # from a release that far away all texts are equally far
        distances: FloatArray = (np.abs(vectors - released) ** order).sum(axis=1)
    return distances


def _batch_by_length(rows: Sequence[TokenTuple], batch_size: int) -> Iterator[list[int]]:
    """Yield indices of texts in batches of similar lengths."""
    order = sorted(range(len(rows)), key=lambda index: len(rows[index]))
    for first in range(0, len(order), batch_size):
        yield order[first : first + batch_size]
