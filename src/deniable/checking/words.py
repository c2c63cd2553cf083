"""What the certificate of privatized words should say: the law is built from its space and parameters, and proved."""

import dataclasses
import inspect
import json
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from deniable.checking.fields import Stated
from deniable.checking.spaces import find_space
from deniable.checking.statements import OWNERS_CHOICE, PRIVATE_COUNT, VERSION, Statements
from deniable.core.guarantees import ANY_TWO_WORDS, Status, Verdict
from deniable.core.keys import NoiseSource
from deniable.registry.words import WORD_MECHANISMS
from deniable.space import Space
from deniable.text.batches import Tally
from deniable.text.certificate import (
    CERTIFICATE_SCHEMA,
    NOISE_DESCRIPTIONS,
    Certificate,
    encode_document_guarantee,
    list_unprotected,
)
from deniable.text.escapes import Escapes
from deniable.text.release import Release
from deniable.text.release_certificate import (
    CHOICE_DISCLOSURE,
    CHOSEN_BY_OWNER,
    CHOSEN_FROM_DATA,
    NOTHING_COPIED,
    list_steps,
)
from deniable.text.tokens import CasePolicy, UnknownPolicy
from deniable.words import WordMechanism
from deniable.words.prior import Prior, build_prior, read_prior

MAX_EPSILON = 1e6
"""Beyond it no computation is begun; an epsilon of 50 already promises next to nothing."""
_PRIOR_NAMES = {
    "attacker": re.compile(r"the best .* if words follow (.+) \(without any output: [0-9.]+ %; by reading words .*\)"),
    "expected_kept": re.compile(r".* of words, if words follow (.+)"),
}
_FIGURES = (*_PRIOR_NAMES, "bands", "most_exposed")
_PUBLIC_SEED: NoiseSource = "public seed"


@dataclasses.dataclass(frozen=True)
class _Options:
    """The options of a release as its certificate states them, and how each field is marked."""

    noise: tuple[NoiseSource, Stated]
    unknown: tuple[UnknownPolicy, Stated]
    case: tuple[CasePolicy, Stated]
    unescape: tuple[Escapes | None, Stated]
    chosen: tuple[str, Stated]
    kept_words: int

    @classmethod
    def read(cls, statements: Statements) -> "_Options":
        """Return the options of a certificate, the default in place of what is none."""
        source_by_text = {text: source for source, text in NOISE_DESCRIPTIONS.items()}
        noise, noise_mark = statements.choose([*source_by_text], NOISE_DESCRIPTIONS["random"], "noise")
        escapes: list[Escapes | None] = ["html", None]
        unknowns: list[UnknownPolicy] = ["draw", "mask", "drop"]
        cases: list[CasePolicy] = ["lower", "copy"]
        return cls(
            noise=(source_by_text[noise], noise_mark),
            unknown=statements.choose(unknowns, "draw", "release", "unknown"),
            case=statements.choose(cases, "lower", "release", "case"),
            unescape=statements.choose(escapes, None, "release", "unescape"),
            chosen=statements.choose([CHOSEN_BY_OWNER, CHOSEN_FROM_DATA], CHOSEN_BY_OWNER, "chosen"),
            kept_words=statements.get_count("release", "kept_words") or 0,
        )

    def make_release(self, mechanism: WordMechanism) -> Release:
        """Return a release with these options, but for the kept words, of which only the number is known."""
        # With a ledger noise is keyed too; what the ledger allows is only stated.
        keys = {"random": None, "keyed": bytes(32), "ledger": bytes(32), _PUBLIC_SEED: "seed:0"}
        return Release(
            mechanism,
            unknown=self.unknown[0],
            case=self.case[0],
            unescape=self.unescape[0],
            key=keys[self.noise[0]],
        )

    def list_unprotected(self, statements: Statements) -> list[Any]:
        """Return what a certificate should call not protected."""
        return [
            *statements.list_revealing(),
            *([CHOICE_DISCLOSURE] if self.chosen[0] == CHOSEN_FROM_DATA else []),
            *list_unprotected(self.unknown[0], self.case[0], self.kept_words),
            *statements.list_copied(),
        ]


def expect_word_certificate(
    statements: Statements, space: Space | Path | None, hide: Sequence[str | Path], prior: Prior | Path | None
) -> tuple[dict[str, Any], str]:
    """Return what every field of a certificate should be, and why its law is not at hand, if it is not.

    Args:
        statements: of the certificate.
        space: the checker's own; see `find_space`.
        hide: see `find_space`.
        prior: the checker's own public frequencies, or a file of counts; None for Zipf's law.

    Raises:
        InputError: the mechanism is none of this package or cannot be built, or a file cannot be read.
    """
    name = statements.require_name("mechanism", "name", known=WORD_MECHANISMS)
    epsilon = statements.require_number("mechanism", "epsilon", maximum=MAX_EPSILON)
    options = _Options.read(statements)
    found_space, reason = find_space(statements, space, hide)
    if found_space is None:
        return _expect_without_law(statements, options, epsilon, reason), reason
    space_fields = _describe_space(statements, found_space)
    if space_fields["fingerprint"] != statements.get("space", "fingerprint"):
        reason = "the words, vectors, metric or hidden classes at hand are not those of the certificate"
        expected = _expect_without_law(statements, options, epsilon, reason)
        return {**expected, "space": _mark_equal(space_fields, statements.get_object("space"), reason)}, reason
    mechanism = _build_mechanism(statements, name, found_space)
    return _expect_with_law(statements, options, mechanism, space_fields, prior), ""


def _build_mechanism(statements: Statements, name: str, space: Space) -> WordMechanism:
    """Return the mechanism of a certificate, with those of its parameters that are arguments."""
    mechanism_class = WORD_MECHANISMS[name]
    arguments = inspect.signature(mechanism_class).parameters
    values = {
        parameter: math.inf if value == "inf" else value
        for parameter, value in statements.get_object("mechanism").items()
        if parameter in arguments and parameter != "space" and (value == "inf" or not isinstance(value, str))
    }
    return mechanism_class(space, **values)


def _expect_with_law(
    statements: Statements,
    options: _Options,
    mechanism: WordMechanism,
    space_fields: dict[str, Any],
    prior: Prior | Path | None,
) -> dict[str, Any]:
    """Return what every field should be, by the very code that writes certificates."""
    space, release = mechanism.space, options.make_release(mechanism)
    public_prior = read_prior(prior, space) if isinstance(prior, Path) else build_prior(space, prior)
    certificate = Certificate.of(
        release,
        Tally(),
        chosen_from_data=options.chosen[0] == CHOSEN_FROM_DATA,
        prior=public_prior,
        copied=NOTHING_COPIED,
    )
    fields: dict[str, Any] = json.loads(certificate.to_json())
    for parameter in ("name", *mechanism.parameters):
        # Of another value, such as a text, no law was built.
        if fields["mechanism"][parameter] == statements.get("mechanism", parameter):
            fields["mechanism"][parameter] = Stated(OWNERS_CHOICE)
    is_refuted = fields["verification"]["status"] == "refuted"
    documents = [] if is_refuted else _expect_documents(statements, mechanism, fields["guarantee"]["status"])
    return {
        **fields,
        **_expect_from_statements(statements, options),
        **_expect_figures(statements, fields, public_prior),
        "documents": documents,
        "space": space_fields,
        "release": _expect_options(statements, options, release.fingerprint),
    }


def _expect_documents(statements: Statements, mechanism: WordMechanism, status: str) -> list[Any]:
    """Return the guarantees of whole records, computed for the lengths that are stated."""
    entries = statements.get_list("documents")
    records = ["longest"] if len(entries) == 1 else ["median", "longest"]
    expected = []
    for record, entry in zip(records, entries, strict=False):
        words = Statements(entry if isinstance(entry, dict) else {}).get_count("words", minimum=1)
        if words is None:
            expected.append({"record": record, "words": Stated("", "no integer of at least 1")})
            continue
        guarantee = encode_document_guarantee(mechanism, words, cast("Status", status))
        expected.append({"record": record, **json.loads(json.dumps(guarantee)), "words": Stated(PRIVATE_COUNT)})
    return expected


def _expect_figures(statements: Statements, fields: dict[str, Any], prior: Prior) -> dict[str, Any]:
    """Return what is kept and what an attacker guesses, where that is under the prior at hand."""
    matches = [pattern.fullmatch(statements.get_text(name)) for name, pattern in _PRIOR_NAMES.items()]
    names = {match[1] if match else "" for match in matches}
    if len(names) == 1 and not names & {"", prior.name}:
        return dict.fromkeys(_FIGURES, Stated("under a prior that is not at hand: give its file of counts"))
    return {name: fields[name] for name in _FIGURES}


def _expect_options(statements: Statements, options: _Options, fingerprint: str | Stated | None) -> dict[str, Any]:
    """Return what is expected of the options; where no word was kept, an equal fingerprint vouches for them."""
    is_vouched = not options.kept_words and fingerprint == statements.get("release", "fingerprint")
    marks: dict[str, tuple[Any, Stated]] = {
        "unknown": options.unknown, "case": options.case, "unescape": options.unescape,
    }  # fmt: skip
    if options.kept_words:
        fingerprint = Stated("kept words are only counted, so that it cannot be computed again")
    return {
        **{name: value if is_vouched and not mark.problem else mark for name, (value, mark) in marks.items()},
        "kept_words": 0 if is_vouched else statements.mark_count("release", "kept_words"),
        "fingerprint": fingerprint,
    }


def _expect_from_statements(statements: Statements, options: _Options) -> dict[str, Any]:
    """Return what is expected of the fields that follow from others, or from nothing that is seen here."""
    return {
        "schema": CERTIFICATE_SCHEMA,
        "deniable": VERSION,
        "noise": options.noise[1],
        "chosen": options.chosen[1],
        "steps": statements.list_steps(
            list_steps(options.unescape[0], NOTHING_COPIED), has_ledger=options.noise[0] == "ledger"
        ),
        "records": statements.mark_count("records"),
        "words": statements.mark_count("words", problem=_find_count_problem(statements)),
        "not_protected": options.list_unprotected(statements),
    }


def _find_count_problem(statements: Statements) -> str:
    """Return how the counts of records, words and lengths contradict each other; nothing where they do not."""
    records, words = statements.get_count("records"), statements.get_count("words")
    if records is None or words is None or statements.get("verification", "status") == "refuted":
        return ""
    entries = statements.get_list("documents")
    lengths = [Statements(entry).get_count("words") for entry in entries if isinstance(entry, dict)]
    # A length of 0 is not listed.
    median, longest = [0, 0, *(length or 0 for length in lengths)][-2:]
    lower_half, upper_half = (records + 1) // 2, records // 2
    least, most = upper_half * median + longest, lower_half * median + upper_half * longest
    if median > longest or not least <= words <= most:
        return f"{records:,} records cannot have so many: the median has {median:,} words, the longest {longest:,}"
    return ""


def _describe_space(statements: Statements, space: Space) -> dict[str, Any]:
    """Return what a certificate should say of a space."""
    is_renamed = space.fingerprint is not None and statements.get("space", "source") != space.source
    return {
        "source": Stated(f"a name; the space at hand is called {space.source}") if is_renamed else space.source,
        "words": len(space),
        "metric": space.metric_name,
        "hidden": {hidden.name: len(hidden.members) for hidden in space.hidden_classes},
        "fingerprint": space.fingerprint or Stated("a metric of the owner's own has no fingerprint"),
    }


def _mark_equal(expected: dict[str, Any], fields: dict[str, Any], reason: str) -> dict[str, Any]:
    """Return what is expected of a space, with a mark for what is equal although the spaces differ."""
    return {name: Stated(reason) if value == fields.get(name) else value for name, value in expected.items()}


def _expect_without_law(statements: Statements, options: _Options, epsilon: float, reason: str) -> dict[str, Any]:
    """Return what every field should be where the law cannot be built: what follows from other fields."""
    unchecked = Stated(f"not checked: {reason}")
    metric = statements.get("space", "metric")
    status = statements.get("verification", "status")
    guarantee = {
        "kind": "MetricDP",
        "epsilon": epsilon,
        "metric": metric,
        "source": unchecked,
        "status": unchecked,
        "unit": "word",
        "adjacency": ANY_TWO_WORDS,
    }
    verdict_names = [f.name for f in dataclasses.fields(Verdict) if f.name not in {"rounded_verdict", "seconds"}]
    return {
        **_expect_from_statements(statements, options),
        "private": options.noise[0] != _PUBLIC_SEED and status != "refuted",
        "mechanism": Stated(OWNERS_CHOICE),
        "guarantee": guarantee,
        "verification": {**dict.fromkeys(verdict_names, unchecked), "guarantee": guarantee},
        "documents": unchecked,
        **dict.fromkeys(_FIGURES, unchecked),
        "arithmetic": unchecked,
        "meaning": unchecked,
        "space": {
            **dict.fromkeys(("source", "words", "metric", "hidden", "fingerprint"), unchecked),
        },
        "release": _expect_options(statements, options, unchecked),
    }
