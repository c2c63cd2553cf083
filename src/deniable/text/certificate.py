"""The certificate that accompanies texts whose words were privatized: what is guaranteed, why, and what is not.

It says nothing about the private text beyond what the released text itself shows. Shares of changed
or unknown words are statistics of the private text and never stand in it.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from deniable import __version__
from deniable.auditing import verify
from deniable.core.errors import InputError, join_names, make_parameter_error
from deniable.core.guarantees import Status, find_weakest_status, is_proved, limit_status
from deniable.core.keys import NoiseSource
from deniable.core.numbers import (
    as_percent,
    format_exact,
    format_lower,
    format_odds,
    format_upper,
    format_upper_percent,
)
from deniable.core.report import Fact
from deniable.space import Space
from deniable.text.batches import Tally
from deniable.text.release import Release
from deniable.text.release_certificate import (
    CHOICE_DISCLOSURE,
    CHOSEN_BY_OWNER,
    CHOSEN_FROM_DATA,
    NOTHING_COPIED,
    ReleaseCertificate,
    list_copied,
    list_ledger_steps,
    list_revealing,
    list_steps,
)
from deniable.text.tables.layout import CopiedContent
from deniable.words import WordMechanism
from deniable.words.laws import RingLaw
from deniable.words.outcomes import NOT_KNOWN
from deniable.words.prior import Prior, build_prior

CERTIFICATE_SCHEMA = "deniable-certificate/10"
PUBLIC_VECTORS = "public texts only: texts that vectors or lists of near words were made from are not protected"
RECORD_DELTA = 1e-6
"""Delta of the composed guarantee of a whole record."""


NOISE_DESCRIPTIONS: dict[NoiseSource, str] = {
    "random": "fresh noise from the operating system; not repeatable",
    "keyed": "noise from the owner's secret key; releasing a record id again shows whether its text changed",
    "ledger": "noise from the key of the owner's ledger; releasing a record id again shows whether its text changed",
    "public seed": "not private: public seed; anyone who knows the seed can undo the noise",
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Certificate(ReleaseCertificate):
    """What accompanies texts whose words were privatized; see `ReleaseCertificate` for the fields of every release.

    Attributes:
        chosen: how epsilon was chosen: without a look at the private texts, or from them.
        documents: for the median and the longest record the guarantees of the whole record, ``pure`` and
            ``approximate``; none where the mechanism is refuted.
        attacker: for how many words the best guess from one output word is right, and the public prior under which it
            is.
        bands: how often it is right about frequent and about rare words.
        most_exposed: which word stays unchanged most often.
        space: source, words, metric, hidden classes (number of words of each) and fingerprint of the
            vocabulary, and what its vectors were made from.
        release: the options, and the fingerprint of everything that an output is a function of besides text, id
            and key.
        words: number of words of the released texts.
        expected_kept: share of words that stay as they are, and the public prior under which they do.
    """

    chosen: str
    documents: list[dict[str, Any]]
    attacker: str
    bands: str
    most_exposed: str
    space: dict[str, Any]
    release: dict[str, Any]
    words: int
    expected_kept: str

    @classmethod
    def of(
        cls,
        release: Release,
        tally: Tally,
        *,
        chosen_from_data: bool = False,
        prior: Prior | None = None,
        copied: CopiedContent | Sequence[str] = NOTHING_COPIED,
        drops_rows: bool = False,
    ) -> "Certificate":
        """Return the certificate of what a release gave.

        The first one for a mechanism verifies it, which takes seconds in the default space.

        Args:
            release: how the texts were released.
            tally: the sum of what its batches counted, of which only `records`, `words` and `lengths` are used.
            chosen_from_data: whether epsilon was chosen by looking at the private texts.
            prior: public word frequencies under which the attacker's success is given; None for Zipf's law by the
                space's ranks.
            copied: what went with the texts unchanged: names of columns, or also what a file says about itself.
            drops_rows: whether rows were left out that the budget of the release's ledger does not cover.

        Raises:
            InputError: a prior that was made from private texts, or ``copied`` is a single text.
        """
        mechanism = release.mechanism
        space = mechanism.space
        verdict = verify(mechanism)
        guarantee = limit_status(verdict.guarantee, verdict)
        if isinstance(copied, str):
            raise make_parameter_error("Certificate", "copied", "a list of column names", copied)
        copied_content = copied if isinstance(copied, CopiedContent) else CopiedContent(tuple(copied))
        parameters = {**mechanism.parameters, **mechanism.derived_parameters}
        return cls(
            schema=CERTIFICATE_SCHEMA,
            deniable=__version__,
            private=release.noise != "public seed" and verdict.status != "refuted",
            mechanism={"name": mechanism.name, **parameters},
            guarantee=guarantee.to_dict(),
            chosen=CHOSEN_FROM_DATA if chosen_from_data else CHOSEN_BY_OWNER,
            verification={name: value for name, value in verdict.to_dict().items() if name != "seconds"},
            documents=[]
            if verdict.status == "refuted"
            else _compute_record_guarantees(mechanism, tally, guarantee.status),
            **describe_figures(mechanism, prior),
            space={
                "source": space.source,
                "words": len(space),
                "metric": space.metric_name,
                "hidden": {hidden.name: len(hidden.members) for hidden in space.hidden_classes},
                "fingerprint": space.fingerprint,
                "vectors": describe_vectors(space),
            },
            release={
                "unknown": release.unknown,
                "case": release.case,
                "kept_words": len(release.keep),
                "unescape": release.unescape,
                "fingerprint": release.fingerprint,
            },
            noise=NOISE_DESCRIPTIONS[release.noise],
            arithmetic=_describe_arithmetic(mechanism),
            steps=[
                *list_steps(release.unescape, copied_content),
                *list_ledger_steps(release.describe_ledger(), drops_rows=drops_rows),
            ],
            meaning=_describe_meaning(mechanism, guarantee.status),
            records=tally.records,
            words=tally.words,
            not_protected=[
                *list_revealing(copied_content),
                *([CHOICE_DISCLOSURE] if chosen_from_data else []),
                *list_unprotected(release.unknown, release.case, len(release.keep), copied_content),
            ],
        )

    def describe_amount(self) -> str:
        """Return the number of words."""
        return f"{self.words:,} words"

    def describe_guarantee(self) -> str:
        """Return epsilon per word, the metric, and how epsilon was chosen where that matters."""
        line = f"{format_exact(self.guarantee['epsilon'])}-metric-DP per word, distance {self.guarantee['metric']}"
        return f"{line}; epsilon was chosen {self.chosen}" if self.chosen == CHOSEN_FROM_DATA else line

    def list_promises(self) -> Sequence[tuple[str, str]]:
        """Return what holds of every word, what an attacker guesses, and the most exposed word."""
        hidden = join_names([*self.space["hidden"]])
        within = f"; of {hidden} nothing but the class is revealed" if hidden else ""
        guessed = self.attacker.partition(", if words follow")[0]
        epsilon = format_exact(self.guarantee["epsilon"])
        return (
            ("protects", f"each word, epsilon {epsilon} ({self.guarantee['status']}){within}"),
            ("attacker", f"{guessed}, and for more with the words around it"),
            ("most exposed", self.most_exposed.partition(", and no other word")[0]),
        )

    def list_own_facts(self) -> Sequence[Fact]:
        """Return what is kept, what an attacker guesses, and the guarantees of whole records."""
        record_lines = [
            f"the {entry['record']} record, {entry['words']:,} words: {format_total_loss(entry)}"
            for entry in self.documents
        ]
        hidden = describe_hidden_classes(self.space["hidden"])
        return (
            *([Fact("hidden", hidden)] if hidden else []),
            Fact("vectors", self.space["vectors"]["made_from"]),
            Fact("expected kept", self.expected_kept),
            Fact("attacker", [self.attacker, self.bands]),
            Fact("most exposed", self.most_exposed),
            *([Fact("whole records", record_lines)] if record_lines else []),
        )


def describe_vectors(space: Space) -> dict[str, Any]:
    """Return what the vectors, or lists of near words, of a space were made from, and the guarantee of these texts.

    Where to words are drawn depends on all vectors, so that the guarantee of words says nothing of the texts that
    vectors learned from.
    """
    if space.guarantee is None:
        return {"made_from": PUBLIC_VECTORS, "guarantee": None}
    guarantee = space.guarantee
    promise = f"({format_exact(guarantee.epsilon)}, {format_exact(guarantee.delta)})-DP, unit {guarantee.unit}"
    return {
        "made_from": f"private texts too: {promise}, {guarantee.status}, in addition to the guarantee of words",
        "guarantee": guarantee.to_dict(),
    }


def describe_hidden_classes(sizes: dict[str, int]) -> str:
    """Return what hidden classes give, in plain words; nothing where there are none.

    Args:
        sizes: the number of words of each class that may come out.
    """
    if not sizes:
        return ""
    classes = ", ".join(f"{name} ({size:,} word{'s' * (size != 1)})" for name, size in sizes.items())
    return f"{classes}; which word of its class it was is not revealed at all (epsilon 0), except by copied capitals"


def format_total_loss(entry: dict[str, Any]) -> str:
    """Return epsilon of many words, the sum and where it is less the composed one.

    Args:
        entry: what `encode_document_guarantee` returned.
    """
    pure, approximate = entry["pure"], entry["approximate"]
    line = f"epsilon {format_upper(pure['epsilon'])}"
    if approximate["epsilon"] < pure["epsilon"]:
        line += f", or {format_upper(approximate['epsilon'])} with delta {format_exact(approximate['delta'])}"
    return line if approximate["status"] == "proved" else f"{line} ({approximate['status']})"


def _compute_record_guarantees(mechanism: WordMechanism, tally: Tally, status: Status) -> list[dict[str, Any]]:
    """Return the guarantee of the median and of the longest record, against any other of its length.

    Args:
        mechanism: drew the words.
        tally: of the records.
        status: of the guarantee of a word, which no record's exceeds.
    """
    lengths = {"median": tally.median_length(), "longest": max(tally.lengths, default=0)}
    return [
        {"record": record, **encode_document_guarantee(mechanism, words, status)}
        for record, words in lengths.items()
        if words
    ]


def encode_document_guarantee(mechanism: WordMechanism, words: int, status: Status) -> dict[str, Any]:
    """Return the guarantee of so many words together as JSON holds it: ``words``, ``pure`` and ``approximate``.

    Args:
        mechanism: drew the words.
        words: their number, at least 1.
        status: of the guarantee of a word, which theirs does not exceed.
    """
    guarantee = mechanism.document_guarantee(words, RECORD_DELTA)
    limited = {
        name: dataclasses.replace(one, status=find_weakest_status(status, one.status))
        for name, one in (("pure", guarantee.pure), ("approximate", guarantee.approximate))
    }
    return {"words": words, **{name: one.to_dict() for name, one in limited.items()}}


def describe_figures(mechanism: WordMechanism, prior: Prior | None = None) -> dict[str, str]:
    """What stays, what an attacker guesses, and which word is most exposed, in plain words, with their condition.

    Args:
        mechanism: draws the words.
        prior: how frequent words are, declared public: never made from the private texts; None for Zipf's law.

    Returns:
        ``expected_kept``, ``attacker``, ``bands`` and ``most_exposed``, see `Certificate`.

    Raises:
        InputError: a prior that was made from private texts.
    """
    public_prior = build_prior(mechanism.space, prior)
    if not public_prior.is_public:
        raise InputError(
            f"A certificate is public. Got the prior of {public_prior.name}, which is not declared public: use "
            "read_prior, or a Prior."
        )
    kept = mechanism.expected_kept_share(public_prior)
    blind = public_prior.blind_success  # what everybody knows without the release is no promise
    guessed = f"at least {format_lower(as_percent(max(kept.value, blind)), decimals=1)}%"
    bands, most_exposed = f"by frequency: {NOT_KNOWN}", NOT_KNOWN
    if mechanism.law.is_tabulated:
        outcomes = mechanism.outcomes(public_prior)
        guessed = format_upper_percent(outcomes.guessed)
        bands, most_exposed = outcomes.describe_bands(), outcomes.describe_exposed()
    return {
        "expected_kept": f"{kept} of words, if words follow {public_prior.name}",
        "attacker": f"the best guess from one output word is right for {guessed} of words, if words follow "
        f"{public_prior.name} ({100 * blind:.1f}% without any output; more for attackers who read words in context)",
        "bands": bands,
        "most_exposed": most_exposed,
    }


def _describe_arithmetic(mechanism: WordMechanism) -> str:
    stream = "AES-128-CTR keystreams, so that the guarantee is computational in that step"
    if mechanism.law.is_tabulated:
        return f"draws from integer tables that sum to 2^62, no entry below 2^24; {stream}"
    if not mechanism.is_builtin:
        return "draws by a class that is not deniable's, which nothing here verifies"
    return f"simulated in floating point, only words leave; {stream}"


def choose_example_words(space: Space) -> tuple[str, str, str]:
    """Return a word that is not hidden, the nearest other one, and one at a median distance from it.

    Where distance is counted in steps, the last is in the middle of those that are farthest.
    """
    candidates: list[str] = [word for word in ("london", "doctor") if word in space.index_by_word]
    candidates += [space.words[number] for number in range(len(space) // 10, len(space))]
    word = next((word for word in candidates if space.find_class(space.index_of(word)) is None), candidates[0])
    distances = space.distances([space.point_by_word[space.index_of(word)]])[0][space.point_by_word]
    order = np.argsort(distances, kind="stable")
    others = order[distances[order] > 0]
    if space.graph is not None:
        open_words = others[space.point_by_word[others] < space.graph.word_count]
        others = open_words if len(open_words) else others
        farthest = others[distances[others] == distances[others].max()]
        return word, space.words[others[0]], space.words[farthest[len(farthest) // 2]]
    return word, space.words[others[0]], space.words[order[len(order) // 2]]


def _describe_meaning(mechanism: WordMechanism, status: Status) -> list[str]:
    """Return what one output word can tell, by a guarantee of this status."""
    if status == "refuted":
        return ["the claim is false: how much one output word tells is bounded by nothing that is known here"]
    condition = "" if is_proved(status) else f"if the guarantee holds, which is {status}: "
    lines = [
        f"{condition}one output word can change anyone's odds between {words}{example} by a factor of up to "
        f"{format_odds(loss, format_upper)}"
        for words, example, loss in list_word_pairs(mechanism)
    ]
    return [*lines, "for a text of L words the factor is raised to the power of L at worst"]


def list_word_pairs(mechanism: WordMechanism) -> list[tuple[str, str, float]]:
    """Return kinds of pairs of words, in plain words an example of each, and their largest loss in nats."""
    return (_list_vector_pairs if mechanism.space.graph is None else _list_step_pairs)(mechanism)


def _list_vector_pairs(mechanism: WordMechanism) -> list[tuple[str, str, float]]:
    """Return two pairs of words."""
    word, near_word, far_word = choose_example_words(mechanism.space)
    pairs = []
    for label, other in (("nearest words", near_word), ("words a median distance apart", far_word)):
        distance = mechanism.space.distance(word, other)
        loss = mechanism.guarantee.loss(distance)
        pairs.append((f"the {label} {word!r} and {other!r}", f" (distance {distance:.2f})", loss))
    return pairs


def _list_step_pairs(mechanism: WordMechanism) -> list[tuple[str, str, float]]:
    """Return near words, any two words, and a word of a hidden class and another."""
    space, graph, guarantee = mechanism.space, mechanism.space.graph, mechanism.guarantee
    if graph is None:
        raise ValueError("the metric of the space counts no steps")
    word, near_word, far_word = choose_example_words(space)
    hidden_aside = " that are not hidden" if graph.class_count else ""
    pairs = []
    losses = guarantee.loss(float(graph.reach)), guarantee.loss(float(graph.steps[-1]))
    if isinstance(mechanism.law, RingLaw) and is_proved(guarantee.status):
        far, farthest = mechanism.law.bound_far_losses()
        losses = min(losses[0], far), min(losses[1], farthest)
    if graph.word_count > 1:
        near = f", one step apart, such as {word!r} and {near_word!r},"
        pairs.append(("near words", near, guarantee.loss(1.0)))
        pairs.append((f"any two words{hidden_aside}", f", such as {word!r} and {far_word!r},", losses[0]))
    if graph.class_count:
        member = space.words[space.hidden_classes[0].members[0]]
        hidden = "a word of a hidden class and any word outside it"
        pairs.append((hidden, f", such as {member!r} and {word!r},", losses[1]))
    return pairs


def list_unprotected(unknown: str, case: str, kept_words: int, copied: CopiedContent = NOTHING_COPIED) -> list[str]:
    """Return what a release shows of the private texts, in plain words.

    Args:
        unknown: how unknown words were read, see `Release`.
        case: of the output, see `Release`.
        kept_words: number of public words that pass through.
        copied: what went with the texts unchanged.
    """
    signs = "mathematical, currency and modifier signs (^ and the like)"
    items = [f"number and order of words, white space, punctuation, {signs}"]
    if case == "copy":
        items.append("capital letters, copied from the private text")
    if unknown == "mask":
        items.append("which words are not in the vocabulary, shown as [unknown]")
    if unknown == "drop":
        items.append("that words outside the vocabulary are absent")
    if kept_words:
        items.append(f"{kept_words} public words that pass through wherever they occur, with their capitals")
    return [*items, *list_copied(copied)]
