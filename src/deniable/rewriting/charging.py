"""What a rewritten text costs the person who wrote it, as a ledger counts it."""

from deniable.core.classes import is_builtin_class
from deniable.core.errors import InputError
from deniable.ledger import Cost, Ledger, get_charged_guarantee, make_gaussian_cost, make_pure_cost
from deniable.rewriting.methods.base import RewritingMethod, VectorMethod
from deniable.text.batches import CellBatch, require_persons
from deniable.vectors import Gaussian


def make_method_cost(method: RewritingMethod) -> Cost:
    """Return what one text costs.

    Raises:
        InputError: the method is of another's class, or its guarantee is not proved, or of a kind whose composition is
            not known here.
    """
    if not is_builtin_class(type(method)):
        raise InputError(
            f"A ledger counts what this package verifies, and {type(method).__name__} is a class of another: take a "
            "method of deniable.registry.methods, or VectorMethod with a mechanism of your own."
        )
    guarantee = get_charged_guarantee(method.name, method.verify(), "record")
    facts = {"mechanism": method.name, "epsilon": guarantee.epsilon, "unit": "text"}
    if guarantee.kind == "PureDP":
        return make_pure_cost(guarantee.epsilon, facts)
    mechanism = method.mechanism if isinstance(method, VectorMethod) else None
    if guarantee.kind == "ApproxDP" and isinstance(mechanism, Gaussian):
        squared_mu = mechanism.squared_mu(method.model.latent)
        return make_gaussian_cost(squared_mu, {**facts, "delta": guarantee.delta})
    raise InputError(f"A ledger cannot count {method.name}: its noise is not Gaussian. Choose another method.")


def charge_texts(ledger: Ledger, cost: Cost, cells: CellBatch) -> None:
    """Charge each text of a batch to its person; noise is fresh, so every run pays.

    Raises:
        InputError: the ledger cannot be used.
        BudgetExceeded, PersonsMissing: its budget does not cover some rows, or some name no person; nothing was charged
            then.
    """
    ledger.charge_afresh(cost, ledger.keys.hash_persons(require_persons(cells)), cells.rows.tolist())
