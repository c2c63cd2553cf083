"""What the certificate of a synthetic table, or the card of a private classifier, should say: its budget, composed."""

import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from deniable.checking.document import OWNERS_LEDGER, VERSION, Stated, Statements, compare_fields
from deniable.core.errors import InputError
from deniable.core.guarantees import Unit
from deniable.persons.budget import Budget, describe_groups, judge_budget
from deniable.persons.certificate import FRESH_NOISE, PUBLIC_SEED_NOISE, build_linear_card, certify_budget
from deniable.persons.classifier import LinearClassifier
from deniable.persons.linear_training import plan_linear_training
from deniable.persons.options import ClassifierOptions, GeneratorName, SynthesisOptions
from deniable.persons.planning import COUNTS_MEASUREMENT, plan_budget
from deniable.text.release_certificate import CHOSEN_BY_OWNER, CHOSEN_FROM_DATA

if TYPE_CHECKING:
    from deniable.language.model import LanguageModel

_MAX_EPSILON, _MAX_DOMAINS = 1e3, 200
_PUBLIC_NAMES = "public names, of which the number enters the budget"
_NOT_AT_HAND = "the classifier and its public texts are not at hand"
_MODEL_NOT_AT_HAND = "the language model, of which the number of tokens enters the budget, is not at hand"
_UNITS: tuple[Unit, ...] = ("record", "person")
_LANGUAGE_MODEL: GeneratorName = "language-model"
_GENERATORS: tuple[GeneratorName, ...] = ("tilted", "recombined", "candidates", "counts", _LANGUAGE_MODEL)
_COUNT_SOURCES = ("declared", "measured with noise")


def expect_synthesis_certificate(statements: Statements) -> dict[str, Any]:
    """Return what every field of a certificate should be, from epsilon, delta and what was measured.

    Raises:
        InputError: what the budget follows from is missing or out of bounds.
    """
    unit, unit_mark = statements.choose(_UNITS, "record", "guarantee", "unit")
    generator, generator_mark = statements.choose(_GENERATORS, "tilted", "mechanism", "generator")
    noise, noise_mark = statements.choose((FRESH_NOISE, PUBLIC_SEED_NOISE), FRESH_NOISE, "noise")
    from_data, chosen_mark = statements.is_chosen_from_data("chosen")
    source, source_mark = statements.choose(_COUNT_SOURCES, "declared", "nominal", "source")
    units = statements.get_count("nominal", "units", minimum=1)
    measurements = statements.get_list("measurements")
    epsilon = statements.require_number("guarantee", "epsilon", maximum=_MAX_EPSILON)
    delta = statements.require_number("guarantee", "delta", maximum=1.0)
    options = SynthesisOptions(
        classes=_read_names(statements.get("mechanism", "classes"), "mechanism.classes"),
        epsilon=epsilon,
        delta=delta,
        records=(units or 1) if source == "declared" else None,
        chosen_from_data=from_data,
        seed=0 if noise == PUBLIC_SEED_NOISE else None,
        rows=statements.get_count("records", minimum=1) or 1,
        generator=generator,
        domains=_read_domains(statements),
        counts=any(isinstance(one, dict) and one.get("name") == COUNTS_MEASUREMENT for one in measurements),
        propose=(lambda _: []) if generator == "candidates" else None,
        model=_stand_in_for_model(statements) if generator == _LANGUAGE_MODEL else None,
        prompt="a text" if generator == _LANGUAGE_MODEL else None,
    )
    feature_count, size_mark = _read_features(measurements[0] if measurements else None, len(options.classes))
    budget = plan_budget(options, feature_count, unit)
    nominal = {"units": units or 1, "source": source}
    certificate = certify_budget(budget, options, nominal, {})
    fields: dict[str, Any] = json.loads(certificate.to_json())
    fields["measurements"][0]["coordinates"] = size_mark
    return {
        **fields,
        "deniable": VERSION,
        "mechanism": {
            "name": "synthesize",
            "generator": generator_mark,
            "features": Stated(_NOT_AT_HAND),
            "classes": Stated(_PUBLIC_NAMES),
            "domains": Stated(_PUBLIC_NAMES),
            **({"language model": Stated(_MODEL_NOT_AT_HAND)} if generator == _LANGUAGE_MODEL else {}),
        },
        "guarantee": {
            **fields["guarantee"],
            **_expect_epsilon(budget, measurements, fields["measurements"]),
            "unit": unit_mark,
        },
        "noise": noise_mark,
        "steps": statements.list_steps(fields["steps"]),
        "records": statements.mark_count("records", minimum=1),
        "nominal": {"units": statements.mark_count("nominal", "units", minimum=1), "source": source_mark},
        "chosen": chosen_mark,
    }


def expect_linear_card(statements: Statements) -> dict[str, Any]:
    """Return what every field of a private linear classifier's card should be, from its budget.

    Raises:
        InputError: what the budget follows from is missing or out of bounds.
    """
    protection, data = "training records", "data"
    verdict_path = (protection, "verdict", "guarantee")
    unit, unit_mark = statements.choose(_UNITS, "record", protection, "unit")
    from_data, chosen_mark = statements.is_chosen_from_data(protection, "epsilon chosen")
    count_notes = {f"of {unit}s; {source}": source for source in _COUNT_SOURCES}
    note, note_mark = statements.choose([*count_notes], f"of {unit}s; declared", "notes", data, "nominal number")
    start, start_mark = statements.choose(
        ("zeros", "weights learned from labelled public texts"), "zeros", data, "started from"
    )
    nominal = statements.get_count(data, "nominal number", minimum=1) or 1
    is_seeded = statements.get(protection, "status") == "refuted"
    options = ClassifierOptions(
        classes=_read_names(statements.get(data, "classes"), "data.classes"),
        epsilon=statements.require_number(*verdict_path, "epsilon", maximum=_MAX_EPSILON),
        delta=statements.require_number(*verdict_path, "delta", maximum=1.0),
        records=nominal if count_notes[note] == "declared" else None,
        seed=0 if is_seeded else None,
    )
    feature_count, size_mark = _read_features(statements.get("measurements", "classifier"), len(options.classes))
    budget = plan_budget(options, feature_count, unit)
    guarantee, verdict = judge_budget(budget, options.seed)
    described = budget.describe_measurements()
    stand_in = SimpleNamespace(
        feature_map=range(feature_count),
        classes=options.classes,
        guarantee=guarantee,
        verdict=verdict,
        facts={
            "nominal number of units": nominal,
            "nominal number": count_notes[note],
            "measurements": described,
            "training": vars(plan_linear_training(budget, nominal)),
            "groups": describe_groups(budget),
            "epsilon chosen": CHOSEN_FROM_DATA if from_data else CHOSEN_BY_OWNER,
            "started from": start,
            "ledger": statements.list_ledger_lines(protection, "ledger"),
        },
    )
    card = build_linear_card(cast("LinearClassifier", stand_in), "")
    fields: dict[str, Any] = json.loads(card.to_json())
    fields["measurements"]["classifier"]["coordinates"] = size_mark
    vouched = _expect_epsilon(
        budget, list(statements.get_object("measurements").values()), list(fields["measurements"].values())
    )
    fields[protection]["verdict"]["guarantee"] |= vouched
    fields[protection]["verdict"]["seconds"] = Stated("how long the owner's proof took")
    fields[protection] |= {"unit": unit_mark, "epsilon chosen": chosen_mark}
    if "ledger" in fields[protection]:
        fields[protection]["ledger"] = [Stated(OWNERS_LEDGER) for _ in fields[protection]["ledger"]]
    fields["data"] |= {
        "nominal number": statements.mark_count(data, "nominal number", minimum=1),
        "classes": Stated(_PUBLIC_NAMES),
        "vocabulary": Stated(_NOT_AT_HAND),
        "started from": start_mark,
        "commitment": Stated("a commitment to the data, which only the owner can open"),
    }
    fields["notes"][data]["nominal number"] = note_mark
    return {**fields, "deniable": VERSION, "title": VERSION}


def _stand_in_for_model(statements: Statements) -> "LanguageModel":
    """Return what a budget reads of a language model: the number of its tokens."""
    vocabulary = statements.get_count("mechanism", "language model", "model", "vocabulary", minimum=1) or 1
    return cast("LanguageModel", SimpleNamespace(card=SimpleNamespace(vocabulary=vocabulary)))


def _expect_epsilon(budget: Budget, listed: list[Any], expected: list[Any]) -> dict[str, Any]:
    """Return epsilon and delta, which the listed bounds and noise compose to; only stated where these are wrong."""
    is_composed = all(check.status != "contradicted" for check in compare_fields(listed, expected))
    stated = Stated("it does not follow from the measurements that are listed")
    return {
        "epsilon": budget.epsilon if is_composed else stated,
        "delta": budget.delta if is_composed else stated,
    }


def _read_names(value: object, path: str) -> tuple[str, ...]:
    """Return the names in an array.

    Raises:
        InputError: it is no array of texts.
    """
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise InputError(f"The certificate cannot be checked: {path} must be a list of names.")
    return tuple(value)


def _read_domains(statements: Statements) -> dict[str, tuple[str, ...]]:
    """Return the values of the declared columns.

    Raises:
        InputError: there are too many, or their values are no names.
    """
    domains = statements.get_object("mechanism", "domains")
    if len(domains) > _MAX_DOMAINS:
        raise InputError(f"A certificate is checked with at most {_MAX_DOMAINS} columns. Got {len(domains):,}.")
    return {name: _read_names(values, "mechanism.domains") for name, values in domains.items()}


def _read_features(measurement: object, class_count: int) -> tuple[int, Stated]:
    """Return the number of features of a classifier, all that a budget reads of them, and its size's mark."""
    stated = Statements(measurement if isinstance(measurement, dict) else {}).get_count("coordinates", minimum=1)
    count, rest = divmod(stated or 0, class_count - 1)
    problem = "" if count and not rest else "no multiple of the number of classes less one"
    return max(count, 1), Stated(_NOT_AT_HAND, problem)
