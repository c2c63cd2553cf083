"""A text that explains a released vector best, searched for with the encoder's gradients."""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from deniable.errors import InputError, bad_parameter
from deniable.rewrite.attacks.ranking import Order, order_of
from deniable.rewrite.audits import clipped_vectors
from deniable.rewrite.autoencoder import clipped
from deniable.rewrite.methods.base import VectorMethod
from deniable.rewrite.tokens import SPECIAL, UNKNOWN
from deniable.rewrite.training import side_by_side
from deniable.vectors.domains import Array, Box, Domain, L1Ball, L2Ball

Row = tuple[int, ...]
"""The numbers of the tokens of a text, none of them special."""
_GROUP = 256
"""Texts searched for at a time: all edits of each are held."""
_ENCODED = 512
_SCORED = 32
"""Texts whose swaps are scored at a time: a number is held for every place and every word."""
_TINY = 1e-12


@dataclasses.dataclass(frozen=True)
class _Aim:
    """What the attacker knows.

    Attributes:
        method: under attack.
        domain: of its mechanism.
        order: of the norm in which the nearest text is the likeliest.
    """

    method: VectorMethod
    domain: Domain
    order: Order


@torch.inference_mode(mode=False)
def searched(
    method: VectorMethod, released: Array, starts: Sequence[str], *, rounds: int = 12, tried: int = 32
) -> list[str]:
    """Return, for each release (k, n), a text nearest to it that a search from its start finds.

    Near is what makes a release likely: the l1 distance to the text's clipped vector under Laplace noise, the l2
    distance under Gaussian (the published noise of DPText has no such measure). Each round looks at edits of one token
    or two: swaps and insertions of words that the derivative of the distance by the tokens' vectors favours (HotFlip,
    Ebrahimi et al. 2018, section 3.2), deletions, and exchanges of neighbours. The encoder then decides which of them
    is the nearest. Derivatives only propose: those of a domain other than a ball or a box pass through its clip as if
    it did nothing.

    Starts are guesses such as `VectorMethod.decode` or `deniable.rewrite.attacks.inversion` makes. What comes back is
    never farther than the start, which itself comes back where nothing nearer is found. Words of a start that the model
    does not know are left out before the search. All texts count as equally likely: under much noise one that nobody
    would write is nearer than the truth, and a guess that knows the language can be the better one.

    Args:
        method: under attack.
        released: (k, n) vectors that it released.
        starts: one text for each; an empty one will do.
        rounds: edits made of a text, at most.
        tried: swaps of each text that are encoded in a round, and about as many insertions, at least one per place.

    Raises:
        InputError: releases and starts that do not go together, a release that is not finite, a start that is too long,
            a number below 1, or a mechanism that does not clip.
    """
    for name, value in (("rounds", rounds), ("tried", tried)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise bad_parameter("searched", name, "an int of at least 1", value)
    given = np.asarray(released, dtype=np.float64)
    if not len(starts) and not given.size:
        return []
    if given.shape != (len(starts), method.model.latent):
        raise InputError(
            f"Releases must be of shape ({len(starts)}, {method.model.latent}) for {len(starts)} starts. Got shape "
            f"{given.shape}: give one start for each release of the method."
        )
    if not np.isfinite(given).all():
        row = int(np.flatnonzero(~np.isfinite(given).all(axis=1))[0])
        raise InputError(f"Releases must be finite. Got {given[row].tolist()} in row {row + 1}: leave it out.")
    start_vectors = clipped_vectors(method, starts)  # raises
    aim = _Aim(method, cast("Any", method.mechanism).domain, order_of(method.mechanism))
    before = _distances(start_vectors, given, aim.order)
    found: list[str] = []
    for first in range(0, len(starts), _GROUP):
        part = slice(first, first + _GROUP)
        found.extend(_climbed(aim, starts[part], given[part], rounds, tried))
    after = _distances(clipped_vectors(method, found), given, aim.order)
    better = (after < before) & np.array([len(text) > 0 for text in found])
    return [text if nearer else start for text, start, nearer in zip(found, starts, better, strict=True)]


def _climbed(aim: _Aim, starts: Sequence[str], released: Array, rounds: int, tried: int) -> list[str]:
    vocabulary = aim.method.model.vocabulary
    rows = [tuple(number for number in vocabulary.numbers(text) if number != UNKNOWN) for text in starts]
    # A text of no tokens is where a search may begin, not where it ends.
    least = np.where([len(row) > 0 for row in rows], _apart(aim, rows, released), np.inf)
    going = list(range(len(rows)))
    for _ in range(rounds):
        edits = _edits(aim, [rows[at] for at in going], released[going], tried)
        sizes = [len(some) for some in edits]
        apart = _apart(aim, [row for some in edits for row in some], released[np.repeat(going, sizes)])
        moved = []
        for at, some, distances in zip(going, edits, np.split(apart, np.cumsum(sizes)[:-1]), strict=True):
            for best in np.argsort(distances, kind="stable"):
                if not distances[best] < least[at]:
                    break
                # A clitic behind no word is not spelled out as it stands: such tokens are those of no text.
                if vocabulary.numbers(vocabulary.text(some[best])) == [*some[best]]:
                    rows[at], least[at] = some[best], distances[best]
                    moved.append(at)
                    break
        going = moved
        if not going:
            break
    return [vocabulary.text(row) for row in rows]


def _edits(aim: _Aim, rows: Sequence[Row], released: Array, tried: int) -> list[list[Row]]:
    """Return the texts of a round for each of some texts."""
    found = _swaps(aim, rows, released, tried)
    for some, more in zip(found, _inserts(aim, rows, released, tried), strict=True):
        some.extend(more)
    for row, some in zip(rows, found, strict=True):
        if len(row) > 1:
            some.extend(row[:at] + row[at + 1 :] for at in range(len(row)))
        some.extend((*row[:at], row[at + 1], row[at], *row[at + 2 :]) for at in range(len(row) - 1))
    return found


def _swaps(aim: _Aim, rows: Sequence[Row], released: Array, tried: int) -> list[list[Row]]:
    """Return the texts with another token in one place that are estimated to be the nearest."""
    found: list[list[Row]] = [[] for _ in rows]
    weight = aim.method.model.network.tokens.weight.detach()
    for part in _alike(rows, _SCORED):
        tokens, lengths = side_by_side([rows[at] for at in part])
        slopes = _slopes(aim, tokens, lengths, released[part])
        change = slopes @ weight.T - (slopes * weight[tokens]).sum(dim=2, keepdim=True)  # (b, L, V)
        change[:, :, : len(SPECIAL)] = torch.inf
        change.scatter_(2, tokens[:, :, None], torch.inf)
        change[torch.arange(tokens.shape[1]) >= lengths[:, None]] = torch.inf
        flat = change.flatten(1)
        best = flat.topk(min(tried, flat.shape[1]), largest=False)
        for at, changes, chosen in zip(part, best.values, best.indices.tolist(), strict=True):
            pairs = [divmod(one, len(weight)) for one, fine in zip(chosen, changes.isfinite(), strict=True) if fine]
            found[at] = [(*rows[at][:place], word, *rows[at][place + 1 :]) for place, word in pairs]
    return found


def _inserts(aim: _Aim, rows: Sequence[Row], released: Array, tried: int) -> list[list[Row]]:
    """Return texts that may grow with words inserted in every place that are estimated to be the best there.

    The estimate is that of a swap of `UNKNOWN`, inserted there first.
    """
    limit, weight = aim.method.model.limit, aim.method.model.network.tokens.weight.detach()
    holes = [(at, place) for at, row in enumerate(rows) if len(row) < limit for place in range(len(row) + 1)]
    longer = [(*rows[at][:place], UNKNOWN, *rows[at][place:]) for at, place in holes]
    found: list[list[Row]] = [[] for _ in rows]
    for part in _alike(longer, _ENCODED):
        owners, places = np.array(holes)[part].T
        slopes = _slopes(aim, *side_by_side([longer[one] for one in part]), released[owners])
        here = slopes[torch.arange(len(part)), torch.from_numpy(places)]
        ranked = (here @ weight[len(SPECIAL) :].T).topk(min(tried, len(weight) - len(SPECIAL)), largest=False).indices
        for at, place, words in zip(owners.tolist(), places.tolist(), (len(SPECIAL) + ranked).tolist(), strict=True):
            chosen = words[: max(1, tried // (len(rows[at]) + 1))]
            found[at].extend((*rows[at][:place], word, *rows[at][place:]) for word in chosen)
    return found


def _slopes(aim: _Aim, tokens: Tensor, lengths: Tensor, released: Array) -> Tensor:
    """Return the derivatives (b, L, embedding) of distances by the vectors of tokens (b, L)."""
    network = aim.method.model.network
    weight = network.tokens.weight.detach()
    with torch.enable_grad():
        # Every place has a vector of its own, which both directions of the encoder read.
        own = weight[tokens].flatten(0, 1).requires_grad_()
        places = len(SPECIAL) + torch.arange(len(own)).view(tokens.shape)
        vectors = network.encode(places, lengths, torch.cat([weight[: len(SPECIAL)], own])).double()
        for domain in (aim.method.ball, aim.domain):
            vectors = _brought(vectors, domain)
        apart = (vectors - torch.from_numpy(released)).abs().pow(aim.order).sum()
        (slopes,) = torch.autograd.grad(apart, own)
    return slopes.view(*tokens.shape, weight.shape[1])


def _brought(vectors: Tensor, domain: Domain | None) -> Tensor:
    """Return vectors (b, n) as `Domain.clip` does, up to rounding; as they are for a domain not known here."""
    if isinstance(domain, Box):
        return vectors.clamp(domain.lower, domain.upper)
    if isinstance(domain, L2Ball):
        return clipped(vectors, domain.radius)
    if isinstance(domain, L1Ball):
        norms = vectors.abs().sum(dim=1, keepdim=True).clamp_min(_TINY)
        return vectors * (domain.radius / norms).clamp_max(1.0)
    return vectors


def _apart(aim: _Aim, rows: Sequence[Row], released: Array) -> Array:
    """Return the distance (k,) of each text to its release (k, n); an l2 distance is squared."""
    method = aim.method
    found = np.empty((len(rows), method.model.latent))
    with torch.inference_mode():
        for part in _alike(rows, _ENCODED):
            found[part] = method.model.network.encode(*side_by_side([rows[at] for at in part])).double().numpy()
    inner = found if method.ball is None else method.ball.clip(found)
    return _distances(aim.domain.clip(inner), released, aim.order)


def _distances(vectors: Array, released: Array, order: Order) -> Array:
    with np.errstate(over="ignore"):  # of a release that far off no text is nearer than another
        distances: Array = (np.abs(vectors - released) ** order).sum(axis=1)
    return distances


def _alike(rows: Sequence[Row], most: int) -> Iterator[list[int]]:
    """Yield the numbers of texts, so many at a time, of which each has about as many tokens."""
    order = sorted(range(len(rows)), key=lambda at: len(rows[at]))
    for first in range(0, len(order), most):
        yield order[first : first + most]
