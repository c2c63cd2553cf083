"""An interrupted synthesis: what was measured and written so far, as a checkpoint keeps it.

Nothing private but the run's key is kept: noisy sums are released anyway, and texts are made from them. Measuring anew
would spend the budget again.
"""

import dataclasses
from typing import Any

import numpy as np

from deniable.persons.generators.knowledge import ReleasedKnowledge
from deniable.persons.generators.language_model import Fit, Writing
from deniable.persons.release import Measured, Release
from deniable.persons.style import Style


@dataclasses.dataclass(eq=False)
class SynthesisRun:
    """A synthetic table that a language model writes, see `deniable.learning.loop.Checkpoint`.

    Attributes:
        release: whose steps `charge` and `measure` are done once.
        table: how far the table is.
        baseline: how far the table without private records is.
        measured: everything that is released; None until it is measured.
    """

    release: Release
    table: Writing = dataclasses.field(default_factory=Writing)
    baseline: Writing = dataclasses.field(default_factory=Writing)
    measured: Measured | None = None

    def state(self) -> dict[str, Any]:
        """Return what the rest of the run depends on, once something is measured."""
        if self.measured is None or self.measured.knowledge is None:
            return {}
        classifier, knowledge, style = self.measured.classifier, self.measured.knowledge, self.measured.knowledge.style
        return {
            "count": classifier.facts["nominal number of units"],
            "weights": _to_tensor(classifier.weights),
            "class shares": _to_tensor(knowledge.class_shares),
            "length shares": _to_tensor(knowledge.length_shares),
            "column shares": {name: _to_tensor(shares) for name, shares in self.measured.column_shares.items()},
            "style": None if style is None else _encode(style),
            "ledger": list(self.release.ledger_steps),
            "table": _encode_writing(self.table),
            "baseline": _encode_writing(self.baseline),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go back to where `state` was taken."""
        self.release = dataclasses.replace(self.release, ledger_steps=tuple(state["ledger"]))
        classifier = self.release.describe_classifier(state["count"], state["weights"].numpy())
        style = None if state["style"] is None else Style(**_decode(state["style"]))
        shares = (state["class shares"].numpy(), state["length shares"].numpy())
        columns = {name: tensor.numpy() for name, tensor in state["column shares"].items()}
        self.measured = Measured(classifier, ReleasedKnowledge(classifier, *shares, style), columns)
        for name in ("table", "baseline"):
            setattr(self, name, _decode_writing(state[name]))


def _to_tensor(array: np.ndarray[Any, Any]) -> Any:  # noqa: ANN401 - a tensor
    import torch

    return torch.from_numpy(np.ascontiguousarray(array))


def _encode(record: Style | Fit) -> dict[str, Any]:
    return {name: _to_tensor(one) if isinstance(one, np.ndarray) else one for name, one in vars(record).items()}


def _decode(content: dict[str, Any]) -> dict[str, Any]:
    return {name: one.numpy() if hasattr(one, "numpy") else one for name, one in content.items()}


def _encode_writing(writing: Writing) -> dict[str, Any]:
    fit = None if writing.fit is None else _encode(writing.fit)
    return {"fit": fit, "texts": list(writing.texts), "written": writing.written}


def _decode_writing(content: dict[str, Any]) -> Writing:
    fit = None if content["fit"] is None else Fit(**_decode(content["fit"]))
    return Writing(fit, list(content["texts"]), content["written"])
