"""The statistical tests of google/differential-privacy: reader of their cases, the two testers, the majority vote.

The cases are public text files, `proto/testing/*.textproto` of that repository, which this repository does not hold
(CONTRIBUTING.md says how to get them). The testers follow `StatisticalTestsUtil.java` and `VotingUtil.java` there.
"""

import math
import os
import re
import types
from pathlib import Path

import numpy as np
from scipy import special

import deniable as dn

VARIABLE = "DENIABLE_TEST_DATA"
FOLDER = "google-differential-privacy/proto/testing"
_TOKEN = re.compile(r'\#[^\n]*|"([^"\\\n]*)"|([A-Za-z_]\w*)|([-+]?[\d.]+(?:[eE][-+]?\d+)?)|([{}\[\]:,])')
_NUMBER, _MARK = 3, 4


def find_folder():
    """Return the folder of the cases, or None where the variable or the folder is missing."""
    data = os.environ.get(VARIABLE)
    folder = None if data is None else Path(data) / FOLDER
    return folder if folder is not None and folder.is_dir() else None


def parse(text):
    """Return a message as {field: list of values}; a value is a float, a str (also of an enumeration) or a message."""
    assert not _TOKEN.sub("", text).strip()
    return _parse_message((m.lastindex, m[m.lastindex]) for m in _TOKEN.finditer(text) if m.lastindex)


def _parse_message(tokens):
    """Return the fields up to the closing brace, or to the end."""
    message = {}
    for _, name in tokens:
        if name == "}":
            break
        values, (_, mark) = message.setdefault(name, []), next(tokens)
        assert mark in {"{", ":"}
        values += [_parse_message(tokens)] if mark == "{" else _parse_values(tokens)
    return message


def _parse_values(tokens):
    """Take one value, or a list in brackets."""
    values, depth = [], 0
    for kind, text in tokens:
        if kind == _MARK:
            depth += {"[": 1, "]": -1, ",": 0}[text]
        else:
            values.append(float(text) if kind == _NUMBER else text)
        if not depth:
            break
    return values


class ClosenessCase(types.SimpleNamespace):
    """One distribution that noise is compared with, and what a vote must reject.

    The names of the fields are those of `ClosenessTestParameters` and `NoiseSamplingParameters`.
    """

    def make_mechanism(self, lower, seed):
        """Return our mechanism for ``l0_sensitivity`` coordinates that differ by up to ``linf_sensitivity``."""
        return make_mechanism(self.noise, self.epsilon, self.delta, dn.Box(lower, lower + self.linf_sensitivity), seed)

    def draw_references(self, random):
        """Return draws of the reference, and of distributions to reject: moved, scaled and of the other shape."""
        deviation, size = math.sqrt(self.variance), self.number_of_samples
        shapes = {"LAPLACE": random.laplace(0, math.sqrt(0.5), size), "GAUSSIAN": random.normal(0, 1, size)}
        right = shapes.pop(self.noise)
        (other,) = shapes.values()
        narrow, wide = 0.7, math.sqrt(self.scale_specificity)
        drawn = (right, right + self.shift_specificity, wide * right, narrow * right, other)
        return [self.mean + deviation * noise for noise in drawn]

    def is_close(self, samples, others):
        """Return one vote of the closeness test."""
        origin = round(self.mean / self.granularity)
        cells = [to_cells(y, self.granularity) - origin for y in (samples, others)]
        return is_close(*count_cells(*cells), self.l2_tolerance)


class PrivacyCase(types.SimpleNamespace):
    """Two neighbouring counts or sums, and the epsilon and delta that their noisy versions must hold."""

    def make_mechanism(self, lower, seed):
        """Return our mechanism on the domain from the smaller value to what a unit can make of it."""
        return make_mechanism(
            self.noise, self.sampling_epsilon, self.sampling_delta, dn.Box(lower, lower + self.width), seed
        )

    def sample(self, mechanism, offset=0.0):
        """Return noisy versions of the count or sum, and of its neighbour; ``offset`` is subtracted and added again."""
        inputs = [np.full((self.number_of_samples, 1), value - offset) for value in self.values]
        return [mechanism.sample(rows)[:, 0] + offset for rows in inputs]

    def find_wrong_stretch(self, scale):
        """Return by how much to move both versions apart so that a vote must reject them.

        That is 1 / 0.7 of the sensitivity, or more where even that leaves delta within the tolerance of the case.
        """
        stretch = self.width / 0.7 / abs(self.values[0] - self.values[1])
        while self.compute_delta(stretch, scale) < self.delta + self.failure_specificity * self.delta_tolerance:
            stretch *= 1.1
        return stretch

    def compute_delta(self, stretch, scale):
        """Return delta at the case's epsilon of two values so many times farther apart."""
        distance = stretch * abs(self.values[0] - self.values[1]) / scale
        if self.noise == "LAPLACE":
            return -math.expm1(min(self.epsilon - distance, 0) / 2)
        shift = self.epsilon / distance
        return special.ndtr(distance / 2 - shift) - math.exp(self.epsilon) * special.ndtr(-distance / 2 - shift)

    def is_private(self, samples, stretch=1.0):
        """Return one vote of the approximate DP test on pairs of noisy versions, moved apart by a factor first."""
        moves = [(stretch - 1) * (value - min(self.values)) for value in self.values]
        samples = [y + move for y, move in zip(samples, moves, strict=True)]
        cells = [to_cells(np.rint(y) if self.is_integer else y, self.granularity) for y in samples]
        return is_private(*count_cells(*cells), self.epsilon, self.delta + self.delta_tolerance)


def make_mechanism(noise, epsilon, delta, domain, seed):
    """Return Laplace or Gaussian noise on a domain."""
    if noise == "LAPLACE":
        return dn.Laplace(epsilon=epsilon, domain=domain, seed=seed)
    return dn.Gaussian(epsilon=epsilon, delta=delta, domain=domain, seed=seed)


def read_closeness_cases(text, noise):
    """Return the cases of a file of `DistributionClosenessTestCase`."""
    message = parse(text)
    (limits,), (voting,) = message["validity_parameters"], message["voting_parameters"]
    shared = {name: value for name, (value,) in limits.items()}
    cases = []
    for case in message["distribution_closeness_test_case"]:
        fields = {"name": case["name"][0].strip(), "votes": int(voting["number_of_votes"][0])}
        for part in ("closeness_test_parameters", "noise_sampling_parameters"):
            fields |= {name: value for name, (value,) in case[part][0].items()}
        fields |= {name: int(fields[name]) for name in ("number_of_samples", "l0_sensitivity")}
        cases.append(ClosenessCase(**{"noise": noise, "delta": 0.0, **shared, **fields}))
    return cases


def read_privacy_cases(text, kind):
    """Return the cases of a file of `CountDpTestCase`, `BoundedSumDpTestCase` or `LongBoundedSumDpTestCase`.

    A privacy unit adds at most one entry to each of l0 partitions, and moves each by at most 1, or by the larger bound
    in absolute value. The files put that distance into one number: l0 times as much for Laplace, sqrt(l0) for Gaussian.
    """
    message = parse(text)
    cases = []
    for case in message[f"{kind}_dp_test_case"]:
        (test,), (sampling,) = case["dp_test_parameters"], case[f"{kind}_sampling_parameters"]
        noise, partitions, largest = sampling["noise_type"][0], sampling["max_partitions_contributed"][0], 1.0
        entry = "raw_increment_by" if kind == "count" else "raw_entry"
        entries = [np.array(sampling.get(name, []), dtype=float) for name in (entry, f"neighbour_{entry}")]
        if kind != "count":
            bounds = sampling["lower_bound"][0], sampling["upper_bound"][0]
            largest = max(map(abs, bounds))
            entries = [np.clip(values, *bounds) for values in entries]
        cases.append(
            PrivacyCase(
                noise=noise,
                name=case["name"][0].strip(),
                votes=int(message["voting_parameters"][0]["number_of_votes"][0]),
                **{name: test[name][0] for name in ("epsilon", "delta", "delta_tolerance")},
                failure_specificity=message["validity_parameters"][0]["failure_specificity"][0],
                granularity=test.get("granularity", [1.0])[0],
                number_of_samples=int(sampling["number_of_samples"][0]),
                sampling_epsilon=sampling["epsilon"][0],
                sampling_delta=sampling.get("delta", [0.0])[0],
                width=largest * (partitions if noise == "LAPLACE" else math.sqrt(partitions)),
                values=tuple(float(values.sum()) for values in entries),
                is_integer=kind != "bounded_sum",
            )
        )
    return cases


def to_cells(samples, granularity):
    """Return the number of each sample's nearest multiple of the granularity, halves rounded up."""
    return np.floor(samples / granularity + 0.5).astype(np.int64)


def count_cells(cells, others):
    """Return how often each cell from the lowest to the highest occurs, for both."""
    low = min(cells.min(), others.min())
    length = int(max(cells.max(), others.max()) - low) + 1
    return [np.bincount(part - low, minlength=length) for part in (cells, others)]


def is_close(counts, others, tolerance):
    """Return `verifyCloseness`: whether collisions within and across two sets say that their l2 distance is small."""
    n = counts.sum()
    value = (
        (counts * (counts - 1)).sum() / 2 + (others * (others - 1)).sum() / 2 - (n - 1) / n * (counts * others).sum()
    )
    return bool(value < tolerance * (n - 1) * tolerance * n / 4)


def is_private(counts, others, epsilon, bound):
    """Return `verifyApproximateDp`: whether two histograms' hockey-stick divergences are below a bound."""
    n, factor = counts.sum(), math.exp(epsilon)
    return all(np.maximum(a - factor * b, 0).sum() / n < bound for a, b in ((counts, others), (others, counts)))


def hold_ballots(draw_votes, votes):
    """Return the majority of each of several ballots, all of which end as soon as all are decided."""
    cast = []
    while True:
        cast.append(draw_votes(len(cast)))
        accepted = np.sum(cast, axis=0)
        if (np.maximum(accepted, len(cast) - accepted) > votes // 2).all():
            return (accepted > votes // 2).tolist()
