"""What the certificate of privatized words should say: the law is built from its space and parameters, and proved."""

import contextlib
import dataclasses
import inspect
import json
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from deniable.checking.document import OWNERS_CHOICE, PRIVATE_COUNT, VERSION, Stated, Statements
from deniable.core.errors import InputError, shorten_text
from deniable.core.guarantees import ANY_TWO_WORDS, Status, Verdict
from deniable.core.keys import NoiseSource
from deniable.registry import WORD_MECHANISMS
from deniable.space import Space
from deniable.space.metrics import resolve_metric
from deniable.space.word_classes import BUILTIN_CLASSES
from deniable.text.batches import Tally
from deniable.text.certificate import (
    CERTIFICATE_SCHEMA,
    NOISE_DESCRIPTIONS,
    Certificate,
    describe_vectors,
    encode_document_guarantee,
    list_unprotected,
)
from deniable.text.release import Release
from deniable.text.release_certificate import CHOICE_DISCLOSURE, NOTHING_COPIED, list_steps
from deniable.words import WordMechanism
from deniable.words.prior import Prior, build_prior, read_prior

_GLOVE_SOURCE = re.compile(r"GloVe 6B(?: 50d)?, ([1-9][0-9]{0,5}) most frequent words")
_METRIC_NAME = re.compile(r"(?P<metric>[^,(]+(?:\([^()]*\))?)(?:, with (?P<classes>.+) hidden)?")
MIN_REBUILT_WORDS, MAX_REBUILT_WORDS = 2, 50_000
"""Words of a space that is built because a certificate says so: proofs take the square of their number."""
MAX_FOLLOWED_EDGES = MAX_REBUILT_WORDS * 16
"""Edges that a search from one word may follow where a certificate says how steps are counted: there is one search a
word, and for some mechanisms a hundred. With twelve neighbours and five steps 12^5 = 250,000 are followed."""
MAX_EPSILON = 1e6
"""Beyond it no computation is begun; an epsilon of 50 already promises next to nothing."""
_PRIOR_NAMES = {
    "attacker": re.compile(r"the best .* if words follow (.+) \([0-9.]+% without any output; more for .*\)"),
    "expected_kept": re.compile(r".* of words, if words follow (.+)"),
}
_FIGURES = (*_PRIOR_NAMES, "bands", "most_exposed")
_VECTOR_FIELDS = ("made_from", "guarantee")
_PUBLIC_SEED: NoiseSource = "public seed"
_POLICIES: dict[str, tuple[str | None, ...]] = {
    "unknown": ("draw", "mask", "drop"),
    "case": ("lower", "copy"),
    "unescape": (None, "html"),
}
"""What a release can do with unknown words, case and escapes, the default first."""


@dataclasses.dataclass(frozen=True)
class _Options:
    """The options of a release as its certificate states them, the default in place of what is none, and their marks.

    Attributes:
        noise: where it came from, and how that is marked.
        from_data: whether epsilon was chosen from the private texts, and how that is marked.
        policies: of the unknown words, case and escapes, each by its name, and how it is marked.
        kept_words: their number.
    """

    noise: tuple[NoiseSource, Stated]
    from_data: tuple[bool, Stated]
    policies: dict[str, tuple[Any, Stated]]
    kept_words: int

    @classmethod
    def read(cls, statements: Statements) -> "_Options":
        """Return the options of a certificate."""
        source_by_text = {text: source for source, text in NOISE_DESCRIPTIONS.items()}
        noise, noise_mark = statements.choose([*source_by_text], NOISE_DESCRIPTIONS["random"], "noise")
        return cls(
            (source_by_text[noise], noise_mark),
            statements.is_chosen_from_data("chosen"),
            {name: statements.choose(values, values[0], "release", name) for name, values in _POLICIES.items()},
            statements.get_count("release", "kept_words") or 0,
        )

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - of several types
        """Return a policy."""
        return self.policies[name][0]


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
        for field, value in space_fields.items():
            is_equal = value == statements.get("space", field)
            expected["space"][field] = Stated(reason) if is_equal else value
        return expected, reason
    mechanism_class = WORD_MECHANISMS[name]
    parameters = inspect.signature(mechanism_class).parameters.keys() - {"space"}
    arguments = {
        parameter: math.inf if value == "inf" else value
        for parameter, value in statements.get_object("mechanism").items()
        if parameter in parameters and (value == "inf" or not isinstance(value, str))
    }
    return _expect_with_law(statements, options, mechanism_class(found_space, **arguments), space_fields, prior), ""


def _expect_with_law(
    statements: Statements,
    options: _Options,
    mechanism: WordMechanism,
    space_fields: dict[str, Any],
    prior: Prior | Path | None,
) -> dict[str, Any]:
    """Return what every field should be, by the very code that writes certificates."""
    space = mechanism.space
    # With a ledger noise is keyed too; what the ledger allows is only stated.
    keys = {"random": None, "keyed": bytes(32), "ledger": bytes(32), _PUBLIC_SEED: "seed:0"}
    # Of kept words only the number is known.
    release = Release(mechanism, **{name: options[name] for name in _POLICIES}, key=keys[options.noise[0]])
    public_prior = read_prior(prior, space) if isinstance(prior, Path) else build_prior(space, prior)
    certificate = Certificate.of(
        release,
        Tally(),
        chosen_from_data=options.from_data[0],
        prior=public_prior,
        copied=NOTHING_COPIED,
    )
    fields: dict[str, Any] = json.loads(certificate.to_json())
    for parameter in ("name", *mechanism.parameters):
        # Of another value, such as a text, no law was built.
        if fields["mechanism"][parameter] == statements.get("mechanism", parameter):
            fields["mechanism"][parameter] = Stated(OWNERS_CHOICE)
    figures = {name: fields[name] for name in _FIGURES}
    matches = [pattern.fullmatch(statements.get_text(name)) for name, pattern in _PRIOR_NAMES.items()]
    prior_names = {match[1] if match else "" for match in matches}
    if len(prior_names) == 1 and not prior_names & {"", public_prior.name}:
        figures = dict.fromkeys(_FIGURES, Stated("under a prior that is not at hand: give its file of counts"))
    is_refuted = fields["verification"]["status"] == "refuted"
    documents = [] if is_refuted else _expect_documents(statements, mechanism, fields["guarantee"]["status"])
    return {
        **fields,
        **_expect_from_statements(statements, options),
        **figures,
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


def _expect_options(statements: Statements, options: _Options, fingerprint: str | Stated | None) -> dict[str, Any]:
    """Return what is expected of the options; where no word was kept, an equal fingerprint vouches for them."""
    is_vouched = not options.kept_words and fingerprint == statements.get("release", "fingerprint")
    if options.kept_words:
        fingerprint = Stated("kept words are only counted, so that it cannot be computed again")
    return {
        **{
            name: value if is_vouched and not mark.problem else mark for name, (value, mark) in options.policies.items()
        },
        "kept_words": 0 if is_vouched else statements.mark_count("release", "kept_words"),
        "fingerprint": fingerprint,
    }


def _expect_from_statements(statements: Statements, options: _Options) -> dict[str, Any]:
    """Return what is expected of the fields that follow from others, or from nothing that is seen here."""
    return {
        "schema": CERTIFICATE_SCHEMA,
        "deniable": VERSION,
        "noise": options.noise[1],
        "chosen": options.from_data[1],
        "steps": statements.list_steps(
            list_steps(options["unescape"], NOTHING_COPIED), has_ledger=options.noise[0] == "ledger"
        ),
        "records": statements.mark_count("records"),
        "words": statements.mark_count("words", problem=_find_count_problem(statements)),
        "not_protected": [
            *statements.list_revealing(),
            *([CHOICE_DISCLOSURE] if options.from_data[0] else []),
            *list_unprotected(options["unknown"], options["case"], options.kept_words),
            *statements.list_copied(),
        ],
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
    is_known = space.guarantee is not None or _GLOVE_SOURCE.fullmatch(space.source) is not None
    not_seen = dict.fromkeys(_VECTOR_FIELDS, Stated("vectors do not show what they were made from"))
    return {
        "vectors": describe_vectors(space) if is_known else not_seen,
        "source": Stated(f"a name; the space at hand is called {space.source}") if is_renamed else space.source,
        "words": len(space),
        "metric": space.metric_name,
        "hidden": {hidden.name: len(hidden.members) for hidden in space.hidden_classes},
        "fingerprint": space.fingerprint or Stated("a metric of the owner's own has no fingerprint"),
    }


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
            "vectors": dict.fromkeys(_VECTOR_FIELDS, unchecked),
        },
        "release": _expect_options(statements, options, unchecked),
    }


def find_space(
    statements: Statements, given: Space | Path | None, hide: Sequence[str | Path] = ()
) -> tuple[Space | None, str]:
    """Return the space that a certificate is about, or None and why it is not at hand.

    No path or address of the certificate is ever opened.

    Args:
        statements: of the certificate.
        given: the checker's own space, or a file of words and vectors; None for the words of the package.
        hide: files with lists of the hidden classes that do not come with the package.

    Raises:
        InputError: the checker's file cannot be read, or does not suit the metric.
    """
    if isinstance(given, Space):
        return given, ""
    name = _METRIC_NAME.fullmatch(statements.get_text("space", "metric"))
    stated = (name["classes"] or "") if name else ""
    for path in hide:  # the name of a list may hold what stands between names
        stated = re.sub(rf"(?<![^ ]){re.escape(Path(path).stem)}(?=, | and |$)", "", stated)
    classes = [one for one in re.split(", | and ", stated) if one]
    metric = None
    with contextlib.suppress(InputError):  # a metric of the owner's own
        metric = resolve_metric(name["metric"] if name else "").name
    unknown = [name for name in classes if name not in BUILTIN_CLASSES]
    if metric is None or unknown:
        missing = f"the list of the hidden class {shorten_text(repr(unknown[0]), 40)}" if metric else "the metric"
        return None, f"{missing} is not at hand"
    hidden = [*(name for name in classes if name in BUILTIN_CLASSES), *hide] if name and name["classes"] else []
    if given is not None:
        return Space.load(given, metric=metric, hide=hidden), ""
    match = _GLOVE_SOURCE.fullmatch(statements.get_text("space", "source"))
    size = int(match[1]) if match else 0
    if not MIN_REBUILT_WORDS <= size <= MAX_REBUILT_WORDS:
        return None, f"the space is not at hand (nor one of up to {MAX_REBUILT_WORDS:,} words of GloVe): give its file"
    options = resolve_metric(metric).step_options
    if options and min(size * options.neighbours, options.neighbours**options.reach) > MAX_FOLLOWED_EDGES:
        return None, f"to count {metric} from each of {size:,} words takes long: give the space"
    return Space.glove(size, metric=metric, hide=hidden), ""
