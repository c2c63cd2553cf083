"""What the certificate of rewritten texts should say: guarantees hold for any model of the sizes that are stated."""

import dataclasses
import json
from typing import TYPE_CHECKING, Any, cast

from deniable.checking.fields import Stated
from deniable.checking.statements import OWNERS_CHOICE, PRIVATE_COUNT, VERSION, Statements
from deniable.core.errors import InputError, import_extra
from deniable.text.escapes import Escapes
from deniable.text.release_certificate import CHOSEN_BY_OWNER, CHOSEN_FROM_DATA, NOTHING_COPIED, list_steps

if TYPE_CHECKING:
    from deniable.rewriting.model import Rewriter

_MODEL_NOTE = "a size of the model, which is not at hand; the guarantee was computed for it"
_MAX_EPSILON, _MAX_SIZE, _MAX_LIMIT, _MAX_COLUMNS = 1e6, 1 << 20, 1_000, 10_000
_ESCAPES: Escapes = "html"
_NULLS = "number and order of the records, line ends, and which texts are null"


@dataclasses.dataclass(frozen=True)
class _StatedModel:
    """The sizes of a model, which are all that laws depend on; it has no weights."""

    vocabulary: range
    limit: int
    latent: int
    radius: float


def expect_rewrite_certificate(statements: Statements) -> dict[str, Any]:
    """Return what every field of a certificate should be: the law of the noise is built for the stated model.

    Raises:
        InputError: the method is unknown or cannot be built, a size is out of bounds, or torch is missing.
    """
    import_extra("torch", "A certificate of rewritten texts", "train")
    from deniable.registry.methods import (
        METHODS_WITH_DELTA,
        METHODS_WITH_DRAW_LIMIT,
        REWRITING_METHODS,
    )
    from deniable.rewriting.certificate import (
        FRESH_NOISE,
        PUBLIC_SEED_NOISE,
        certify_rewriting,
    )

    name = statements.require_name("mechanism", "name", known=REWRITING_METHODS)
    chosen, chosen_mark = statements.choose([CHOSEN_BY_OWNER, CHOSEN_FROM_DATA], CHOSEN_BY_OWNER, "chosen")
    noise, noise_mark = statements.choose([FRESH_NOISE, PUBLIC_SEED_NOISE], FRESH_NOISE, "noise")
    options: dict[str, Any] = {"epsilon": statements.require_number("mechanism", "epsilon", maximum=_MAX_EPSILON)}
    if name in METHODS_WITH_DELTA:
        options["delta"] = statements.require_number("mechanism", "delta", maximum=1.0)
    if name in METHODS_WITH_DRAW_LIMIT:
        options["max_draws"] = _require_size(statements, "mechanism", "draws", maximum=_MAX_LIMIT)
    model = _read_model(statements)
    method = REWRITING_METHODS[name](cast("Rewriter", model), seed=0 if noise == PUBLIC_SEED_NOISE else None, **options)
    # A row has as many columns of texts as it says, and one where it says nothing.
    columns = 1
    if "texts" in statements.get_object("row"):
        columns = _require_size(statements, "row", "texts", maximum=_MAX_COLUMNS)
    is_decoded = any("HTML entities" in step for step in statements.get_list("steps") if isinstance(step, str))
    escapes = _ESCAPES if is_decoded else None
    certificate = certify_rewriting(
        method,
        0,
        0,
        columns=["text"] * columns,
        nulls=_NULLS in statements.get_list("not_protected"),
        unescape=escapes,
        model={"trained on": statements.get_text("model", "trained on")},
        chosen_from_data=chosen == CHOSEN_FROM_DATA,
    )
    fields: dict[str, Any] = json.loads(certificate.to_json())
    if fields["row"] is not None:
        fields["row"]["texts"] = Stated(PRIVATE_COUNT)
    *choice, shape, training, methods = fields["not_protected"]
    if shape in statements.get_list("not_protected"):
        shape = Stated("whether the format knows null is seen in the table")
    unprotected = [*statements.list_revealing(), *choice, shape, *statements.list_copied(), training, methods]
    arguments = {key: Stated(OWNERS_CHOICE) for key in ("name", *options) if key != "max_draws"}
    draws = {"draws": Stated(OWNERS_CHOICE)} if "max_draws" in options else {}
    return {
        **fields,
        "deniable": VERSION,
        "mechanism": {**fields["mechanism"], **arguments, **draws},
        "noise": noise_mark,
        "chosen": chosen_mark,
        "steps": statements.list_steps(list_steps(escapes, NOTHING_COPIED)),
        "records": statements.mark_count("records"),
        "texts": statements.mark_count("texts", problem=_find_count_problem(statements, columns)),
        "model": {
            **dict.fromkeys(("words", "limit", "coordinates", "radius"), Stated(_MODEL_NOTE)),
            "trained on": Stated("the model is not at hand"),
            "fingerprint": Stated("the model is not at hand"),
        },
        "not_protected": unprotected,
    }


def _read_model(statements: Statements) -> _StatedModel:
    """Return the sizes of the model.

    Raises:
        InputError: one is out of bounds.
    """
    return _StatedModel(
        range(_require_size(statements, "model", "words", maximum=_MAX_SIZE)),
        _require_size(statements, "model", "limit", maximum=_MAX_LIMIT),
        _require_size(statements, "model", "coordinates", maximum=_MAX_SIZE),
        statements.require_number("model", "radius", maximum=1e100),
    )


def _require_size(statements: Statements, *steps: str, maximum: int) -> int:
    """Return the size at a path.

    Raises:
        InputError: there is none, or it is out of bounds.
    """
    size = statements.get_count(*steps, minimum=1)
    if size is None or size > maximum:
        raise InputError(
            f"The certificate cannot be checked: {'.'.join(steps)} must be an integer from 1 to {maximum:,}."
        )
    return size


def _find_count_problem(statements: Statements, columns: int) -> str:
    """Return how the counts of records and texts contradict each other; nothing where they do not."""
    records, texts = statements.get_count("records"), statements.get_count("texts")
    if records is not None and texts is not None and texts > records * columns and statements.get("row") is not None:
        return f"{records:,} records with {columns} texts each cannot have so many together"
    return ""
