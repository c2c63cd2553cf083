"""The certificate that goes with a released text: what is promised, on what ground, and what is not.

It says nothing about the private text beyond what the released text itself shows. Shares of changed
or unknown words are statistics of the private text and never stand in it.
"""

import dataclasses
import json
import math
from typing import Any

import numpy as np

from deniable import __version__
from deniable.auditing import verify
from deniable.core.errors import InputError
from deniable.core.evidence import encode_nonfinite_numbers, limit_status
from deniable.core.guarantees import Status, find_weakest_status, is_proved
from deniable.core.keys import NoiseSource
from deniable.space import Space
from deniable.text.release import Release, Tally
from deniable.text.tables.layout import CopiedContent
from deniable.words import WordMechanism
from deniable.words.prior import Prior, build_prior

CERTIFICATE_SCHEMA = "deniable-certificate/4"
RECORD_DELTA = 1e-6
"""Delta of the composed guarantee of a whole record."""

_MAX_LISTED_COLUMNS = 20
"""Columns that are named."""
_NOTHING_COPIED = CopiedContent()

_CHOSEN_FROM_DATA = "from the private texts themselves: the guarantee does not cover the choice"
_CHOSEN_BY_OWNER = "by the owner, who did not declare that the private texts had a part in it"
_CHOICE_DISCLOSURE = "what the choice of epsilon, made from the private texts, shows of them"

_NOISE_DESCRIPTIONS: dict[NoiseSource, str] = {
    "random": "fresh noise from the operating system; not repeatable",
    "keyed": "noise from the owner's secret key; releasing a record id again shows whether its text changed",
    "public seed": "not private: public seed; anyone who knows the seed can undo the noise",
}


@dataclasses.dataclass(frozen=True)
class Certificate:
    """What accompanies a released text; field for field the JSON file of the command line.

    Attributes:
        schema: version of this layout.
        deniable: version of the software.
        private: False where the noise came from a public seed, or the guarantee is refuted.
        mechanism: name and parameters.
        guarantee: kind, epsilon per unit of distance, metric, source, and whether the source
            proves it or only claims it.
        chosen: how epsilon was chosen: without a look at the private texts, or from them.
        verification: the verdict of `deniable.verify` on this very law; infinite numbers are texts.
        documents: for the median and the longest record the guarantee of the whole record; none where
            the mechanism is refuted.
        attacker: what the best guess from one output word recovers, and the public prior under which it does.
        space: source, words, dimensions, metric and fingerprint of the vocabulary.
        release: the options, and the fingerprint of everything that an output is a function of beside text, id
            and key.
        noise: where the noise came from.
        arithmetic: how draws were made.
        meaning: what one output word can tell, in plain words.
        records: number of records released.
        words: number of words of the released texts.
        expected_kept: share of words that stay as they are, and the public prior under which they do.
        not_protected: what the released text shows of the private one.
    """

    schema: str
    deniable: str
    private: bool
    mechanism: dict[str, Any]
    guarantee: dict[str, Any]
    chosen: str
    verification: dict[str, Any]
    documents: list[dict[str, Any]]
    attacker: str
    space: dict[str, Any]
    release: dict[str, Any]
    noise: str
    arithmetic: str
    meaning: list[str]
    records: int
    words: int
    expected_kept: str
    not_protected: list[str]

    @classmethod
    def of(
        cls,
        release: Release,
        tally: Tally,
        *,
        chosen_from_data: bool = False,
        prior: Prior | None = None,
        copied: CopiedContent = _NOTHING_COPIED,
    ) -> "Certificate":
        """Return the certificate of what a release gave.

        The first one for a mechanism verifies it, which takes seconds in the default space.

        Args:
            release: how the texts were released.
            tally: the sum of what its batches counted, of which only `records`, `words` and `lengths` are used.
            chosen_from_data: whether epsilon was chosen by looking at the private texts.
            prior: public word frequencies under which the attacker's success is told; None for Zipf's law by the
                space's ranks.
            copied: what went with the texts unchanged.
        """
        mechanism = release.mechanism
        space = mechanism.space
        verdict = verify(mechanism)
        guarantee = limit_status(mechanism.guarantee, verdict)
        parameters = {**mechanism.parameters, **mechanism.derived_parameters}
        return cls(
            schema=CERTIFICATE_SCHEMA,
            deniable=__version__,
            private=release.noise != "public seed" and verdict.status != "refuted",
            mechanism={"name": mechanism.name, **parameters},
            guarantee={"kind": type(guarantee).__name__, **dataclasses.asdict(guarantee)},
            chosen=_CHOSEN_FROM_DATA if chosen_from_data else _CHOSEN_BY_OWNER,
            verification=verdict.to_dict(),
            documents=[]
            if verdict.status == "refuted"
            else _compute_record_guarantees(mechanism, tally, guarantee.status),
            attacker=describe_attacker(mechanism, prior),
            space={
                "source": space.source,
                "words": len(space),
                "dimensions": space.vectors.shape[1],
                "metric": space.metric.name,
                "fingerprint": space.fingerprint,
            },
            release={
                "unknown": release.unknown,
                "case": release.case,
                "kept_words": len(release.keep),
                "fingerprint": release.fingerprint,
            },
            noise=_NOISE_DESCRIPTIONS[release.noise],
            arithmetic=_describe_arithmetic(mechanism),
            meaning=_describe_meaning(mechanism, guarantee.status),
            records=tally.records,
            words=tally.words,
            expected_kept=describe_expected_kept(mechanism, prior),
            not_protected=[*([_CHOICE_DISCLOSURE] if chosen_from_data else []), *_list_unprotected(release, copied)],
        )

    def to_json(self) -> str:
        """Return the certificate as JSON text, ended by a line break."""
        fields = {name: encode_nonfinite_numbers(value) for name, value in dataclasses.asdict(self).items()}
        return json.dumps(fields, indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    def summary(self) -> str:
        """Return the certificate as a few lines for a person."""
        guarantee, verification = self.guarantee, self.verification
        lines = [
            f"{self.records:,} records, {self.words:,} words, by {self.mechanism['name']}",
            f"guarantee      {guarantee['epsilon']:g}-metric-DP per word, {guarantee['metric']} distance",
            f"{'':<15}{guarantee['status']}: {guarantee['source']}",
            *([f"{'':<15}epsilon was chosen {self.chosen}"] if self.chosen == _CHOSEN_FROM_DATA else []),
            f"verification   {verification['status']}: {_format_verification(verification)}",
            f"{'':<15}{verification['method']}",
            f"noise          {self.noise}",
            f"expected kept  {self.expected_kept}",
            f"attacker       {self.attacker}",
        ]
        record_lines = [_format_record_guarantee(entry) for entry in self.documents]
        sections = (("whole records", record_lines), ("meaning", self.meaning), ("not protected", self.not_protected))
        for title, entries in sections:
            lines += [f"{title if not i else '':<15}{entry}" for i, entry in enumerate(entries)]
        return "\n".join(lines)


def _format_verification(verification: dict[str, Any]) -> str:
    """Return what a verdict found, in a few words."""
    if verification["status"] == "refuted":
        return f"the true epsilon is at least {verification['lower_bound']:.6g}"
    if verification["witness"] is None or isinstance(verification["epsilon"], str):
        return f"claimed epsilon {verification['claim']:g}"
    if verification["status"] != "proved":
        return f"the true epsilon is between {verification['lower_bound']:.6g} and {verification['epsilon']:.6g}"
    unused_percent = 100 * (1 - verification["epsilon"] / verification["claim"])
    return f"exact epsilon {verification['epsilon']:.6g}" + (
        f", {unused_percent:.0f} % of it unused" if unused_percent >= 1 else ""
    )


def _format_record_guarantee(entry: dict[str, Any]) -> str:
    """Return what holds for one record as a whole, in one line."""
    line = f"the {entry['record']} record, {entry['words']:,} words: epsilon {_format_epsilon(entry['epsilon'])}"
    if entry["approximate_epsilon"] < entry["epsilon"]:
        line += f", or {_format_epsilon(entry['approximate_epsilon'])} with delta {entry['delta']:g}"
    return line if entry["status"] == "proved" else f"{line} ({entry['status']})"


def _format_epsilon(epsilon: float) -> str:
    return f"{epsilon:,.0f}" if epsilon >= 100 else f"{epsilon:.3g}"  # noqa: PLR2004 - three figures, or whole


def _compute_record_guarantees(mechanism: WordMechanism, tally: Tally, status: Status) -> list[dict[str, Any]]:
    """Return the guarantee of the median and of the longest record, against any other of its length.

    Args:
        mechanism: drew the words.
        tally: of the records.
        status: of the guarantee of a word, which no record's exceeds.
    """
    entries = []
    for record, words in (("median", tally.median_length()), ("longest", max(tally.lengths, default=0))):
        if words:
            guarantee = mechanism.document_guarantee(words, RECORD_DELTA)
            entries.append(
                {
                    "record": record,
                    "words": words,
                    "epsilon": guarantee.pure.epsilon,
                    "approximate_epsilon": guarantee.approximate.epsilon,
                    "delta": RECORD_DELTA,
                    "by": guarantee.approximate.source,
                    "status": find_weakest_status(status, guarantee.approximate.status),
                }
            )
    return entries


def describe_expected_kept(mechanism: WordMechanism, prior: Prior | None = None) -> str:
    """Return the share of words that stay as they are, in plain words, with its condition.

    Args:
        mechanism: draws the words.
        prior: how frequent words are, declared public: never made from the private texts; None for Zipf's law.

    Raises:
        InputError: a prior that was made from private texts.
    """
    public_prior = _build_public_prior(mechanism, prior)
    return f"{mechanism.expected_kept_share(public_prior)} of words, if words follow {public_prior.name}"


def describe_attacker(mechanism: WordMechanism, prior: Prior | None = None) -> str:
    """Return what the best guess from one output word recovers, in plain words, with its condition.

    Args:
        mechanism: draws the words.
        prior: how frequent words are, declared public: never made from the private texts; None for Zipf's law.

    Raises:
        InputError: a prior that was made from private texts.
    """
    public_prior = _build_public_prior(mechanism, prior)
    if mechanism.law.is_tabulated:
        success = f"{100 * mechanism.outcomes(public_prior)[1]:.1f} %"
    else:
        success = (
            f"at least {100 * max(mechanism.expected_kept_share(public_prior).value, public_prior.blind_success):.1f} %"
        )
    return (
        f"an attacker who knows the mechanism names {success} of words, if words follow {public_prior.name} "
        f"(without the output: {100 * public_prior.blind_success:.1f} %; by reading words in context: more)"
    )


def _build_public_prior(mechanism: WordMechanism, prior: Prior | None) -> Prior:
    """Return the prior under which a certificate gives figures.

    Raises:
        InputError: it was made from private texts.
    """
    public_prior = build_prior(mechanism.space, prior)
    if not public_prior.is_public:
        raise InputError(
            f"A certificate is public. Got the prior of {public_prior.name}, which is not declared public: use read_prior, or "
            "a Prior."
        )
    return public_prior


def _describe_arithmetic(mechanism: WordMechanism) -> str:
    stream = "AES-128-CTR keystreams, so that the guarantee is computational in that step"
    if mechanism.law.is_tabulated:
        return f"draws from integer tables that sum to 2^62, no entry below 2^24; {stream}"
    if not mechanism.is_builtin:
        return "draws by a class that is not deniable's, which nothing here verifies"
    return f"simulated in floating point, only words leave; {stream}"


def choose_example_words(space: Space) -> tuple[str, str, str]:
    """Return a word of the space, its nearest neighbour, and one at a median distance from it."""
    word = "london" if "london" in space else space.words[len(space) // 10]
    distances = space.distances([space.point_by_word[space.index_of(word)]])[0][space.point_by_word]
    order = np.argsort(distances, kind="stable")
    nearest = order[distances[order] > 0][0]
    return word, space.words[nearest], space.words[order[len(order) // 2]]


def format_odds(loss: float) -> str:
    """Return exp(loss) in plain figures."""
    if loss < math.log(1000):
        return f"{math.exp(loss):.3g}"
    exponent = loss / math.log(10)
    return f"10^{exponent:.1f}"


def _describe_meaning(mechanism: WordMechanism, status: Status) -> list[str]:
    """Return what one output word can tell, by a guarantee of this status."""
    if status == "refuted":
        return ["the claim is false: how much one output word tells is bounded by nothing that is known here"]
    space, guarantee = mechanism.space, mechanism.guarantee
    condition = "" if is_proved(status) else f"if the guarantee holds, which is {status}: "
    word, near_word, far_word = choose_example_words(space)
    lines = []
    for label, other in (("nearest words", near_word), ("words a median distance apart", far_word)):
        distance = space.distance(word, other)
        lines.append(
            f"{condition}one output word changes anyone's odds between the {label} {word!r} and {other!r} "
            f"(distance {distance:.2f}) at most {format_odds(guarantee.loss(distance))}-fold"
        )
    lines.append("over a text these add up: L words, L times the exponent at worst")
    return lines


def _list_unprotected(release: Release, copied: CopiedContent) -> list[str]:
    signs = "mathematical, currency and modifier signs (^ and the like)"
    items = [f"number and order of words, white space, punctuation, {signs}"]
    if release.case == "copy":
        items.append("capital letters, copied from the private text")
    if release.unknown == "mask":
        items.append("which words the vocabulary does not know, shown as [unknown]")
    if release.unknown == "drop":
        items.append("that words the vocabulary does not know are absent")
    if release.keep:
        items.append(f"{len(release.keep)} public words that pass through wherever they stand, with their capitals")
    return [*items, *list_copied(copied)]


def list_copied(copied: CopiedContent) -> list[str]:
    """Return what a table has unchanged from the private one, in plain words."""
    sections = (
        ("the columns copied unchanged", [repr(name) for name in copied.columns]),
        ("what the file says about itself, copied unchanged", list(copied.metadata)),
    )
    items = []
    for title, names in sections:
        if names:
            remainder = f" and {len(names) - _MAX_LISTED_COLUMNS} more" if len(names) > _MAX_LISTED_COLUMNS else ""
            items.append(f"{title}: {', '.join(names[:_MAX_LISTED_COLUMNS])}{remainder}")
    return items
