"""What the certificate of rewritten texts should say: guarantees hold for any model of the sizes that are stated."""

import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from deniable.checking.document import OWNERS_CHOICE, PRIVATE_COUNT, VERSION, Stated, Statements
from deniable.core.errors import import_extra
from deniable.text.escapes import Escapes
from deniable.text.release_certificate import NOTHING_COPIED, list_steps

if TYPE_CHECKING:
    from deniable.rewriting.model import Rewriter

_MODEL_NOTE = "a size of the model, which is not at hand; the guarantee was computed for it"
_MAX_EPSILON, _MAX_SIZE, _MAX_LIMIT, _MAX_COLUMNS = 1e6, 1 << 20, 1_000, 10_000


def expect_rewrite_certificate(statements: Statements) -> dict[str, Any]:
    """Return what every field of a certificate should be: the law of the noise is built for the stated model.

    Raises:
        InputError: the method is unknown or cannot be built, a size is out of bounds, or torch is missing.
    """
    import_extra("torch", "A certificate of rewritten texts", "train")
    from deniable.registry import REWRITING_METHODS, list_methods_with
    from deniable.rewriting.certificate import (
        FRESH_NOISE,
        PUBLIC_SEED_NOISE,
        SHAPE_WITH_NULLS,
        RewrittenTable,
        certify_rewriting,
    )

    name = statements.require_name("mechanism", "name", known=REWRITING_METHODS)
    from_data, chosen_mark = statements.is_chosen_from_data("chosen")
    noise, noise_mark = statements.choose([FRESH_NOISE, PUBLIC_SEED_NOISE], FRESH_NOISE, "noise")
    options: dict[str, Any] = {"epsilon": statements.require_number("mechanism", "epsilon", maximum=_MAX_EPSILON)}
    if name in list_methods_with("delta"):
        options["delta"] = statements.require_number("mechanism", "delta", maximum=1.0)
    if name in list_methods_with("max_draws"):
        options["max_draws"] = statements.require_count("mechanism", "draws", maximum=_MAX_LIMIT)
    # The sizes of a model are all that laws depend on; this one has no weights.
    model = SimpleNamespace(
        vocabulary=range(statements.require_count("model", "words", maximum=_MAX_SIZE)),
        limit=statements.require_count("model", "limit", maximum=_MAX_LIMIT),
        latent=statements.require_count("model", "coordinates", maximum=_MAX_SIZE),
        radius=statements.require_number("model", "radius", maximum=1e100),
    )
    method = REWRITING_METHODS[name](cast("Rewriter", model), seed=0 if noise == PUBLIC_SEED_NOISE else None, **options)
    # A row has as many columns of texts as it says, and one where it says nothing.
    columns = 1
    if "texts" in statements.get_object("row"):
        columns = statements.require_count("row", "texts", maximum=_MAX_COLUMNS)
    records, texts, count_problem = statements.get_count("records"), statements.get_count("texts"), ""
    has_row = statements.get("row") is not None
    if has_row and records is not None and texts is not None and texts > records * columns:
        count_problem = f"{records:,} records with {columns} texts each cannot have so many together"
    is_decoded = any("HTML entities" in step for step in statements.get_list("steps") if isinstance(step, str))
    escapes: Escapes | None = "html" if is_decoded else None
    has_nulls = SHAPE_WITH_NULLS in statements.get_list("not_protected")
    certificate = certify_rewriting(
        method,
        RewrittenTable(0, 0, columns, has_nulls=has_nulls),
        model={"trained on": statements.get_text("model", "trained on")},
        chosen_from_data=from_data,
    )
    fields: dict[str, Any] = json.loads(certificate.to_json())
    if fields["row"] is not None:
        fields["row"]["texts"] = Stated(PRIVATE_COUNT)
    *choice, shape, training, methods = fields["not_protected"]
    if shape in statements.get_list("not_protected"):
        shape = Stated("whether the format knows null is seen in the table")
    unprotected = [*statements.list_revealing(), *choice, shape, *statements.list_copied(), training, methods]
    arguments = ["name", *("draws" if option == "max_draws" else option for option in options)]
    return {
        **fields,
        "deniable": VERSION,
        "mechanism": {**fields["mechanism"], **dict.fromkeys(arguments, Stated(OWNERS_CHOICE))},
        "noise": noise_mark,
        "chosen": chosen_mark,
        "steps": statements.list_steps(list_steps(escapes, NOTHING_COPIED)),
        "records": statements.mark_count("records"),
        "texts": statements.mark_count("texts", problem=count_problem),
        "model": {
            **dict.fromkeys(("words", "limit", "coordinates", "radius"), Stated(_MODEL_NOTE)),
            **dict.fromkeys(("trained on", "fingerprint"), Stated("the model is not at hand")),
        },
        "not_protected": unprotected,
    }
