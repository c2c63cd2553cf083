"""The options of text models, as commands and functions take them; nothing here needs torch."""

import dataclasses
from typing import Any, Literal, get_args

from deniable.core.errors import InputError, check_count, check_number_within, check_positive, make_parameter_error

TextNetworkName = Literal["cnn", "bow", "fasttext", "attention"]
"""Networks of kinds that claim no privacy: those of `deniable.models.text.networks.TEXT_NETWORKS`."""
TextAttackName = Literal["genetic", "greedy", "resampling"]
"""Attacks: those of `deniable.models.text.attacks.TEXT_ATTACKS`."""
TextTrainingMethod = Literal["normal", "ibp", "augmented"]
METHOD_OF_OPTION = {"kappa": "ibp", "ramp": "ibp", "copies": "augmented"}
"""Options of a single method."""
_DEFAULTS_OF_MODEL: dict[str, dict[str, Any]] = {"fasttext": {"learning_rate": 1e-2, "weight_decay": 0.0, "clip": None}}
_DEFAULT_EPOCHS, _MIN_STEPS = 10, 1_000
_MAX_EPOCHS, _MAX_COUNT = 100_000, 100_000_000
_MIN_VALUE, _MAX_VALUE = 1e-30, 1e30
"""Range of values, well inside that of float32."""


def _check_given(options: object, counts: tuple[str, ...], maximum: int, optional: tuple[str, ...]) -> None:
    """Refuse counts, a learning rate or a clipping norm outside their domains; optional ones may be None."""
    names = (*counts, "learning_rate", "clip")
    for name in [one for one in names if one not in optional or getattr(options, one) is not None]:
        if name in counts:
            check_count("training", name, getattr(options, name), maximum=maximum)
        else:
            check_number_within("training", name, getattr(options, name), _MIN_VALUE, _MAX_VALUE)


@dataclasses.dataclass(frozen=True)
class TextTrainingOptions:
    """Options of a training run; the defaults are those of Jia et al. 2019, section 5.1 and Appendix A.

    Their 10 epochs are 6,000 steps on 20,000 reviews, but too few steps on a small table, which gets more epochs.

    Attributes:
        method: normal; ibp, by certified bounds over substitutions; or augmented, by perturbed copies of the texts.
        epochs: passes over the documents; None for 10, or for as many as make 1,000 steps where 10 are fewer.
        batch_size: documents of a step.
        learning_rate: learning rate of the optimizer.
        weight_decay: weight decay of the optimizer.
        clip: l2 norm to which a gradient is clipped; None for no clipping.
        kappa: weight of the worst-case loss at the end of the ramp.
        ramp: share of the steps over which kappa and the size of the boxes grow from 0, linearly.
        copies: perturbed copies of each document, for the method augmented.
    """

    method: TextTrainingMethod = "normal"
    epochs: int | None = None
    batch_size: int = 32
    learning_rate: float = 1e-3
    weight_decay: float = 1e-4
    clip: float | None = 0.25
    kappa: float = 0.8
    ramp: float = 2 / 3
    copies: int = 4

    def __post_init__(self) -> None:
        methods = get_args(TextTrainingMethod)
        if self.method not in methods:
            raise make_parameter_error("training", "method", f"one of {', '.join(methods)}", self.method)
        check_number_within("training", "learning_rate", self.learning_rate, _MIN_VALUE, _MAX_VALUE)
        for name in ("kappa", "ramp", "weight_decay"):
            check_number_within("training", name, getattr(self, name), 0, 1)
        _check_given(self, ("epochs", "batch_size", "copies"), _MAX_EPOCHS, ("epochs", "clip"))

    def resolve_epochs(self, documents: int) -> "TextTrainingOptions":
        """Return the options with the number of epochs over so many documents."""
        if self.epochs is not None:
            return self
        texts_per_document = 1 + self.copies if self.method == "augmented" else 1
        batches = -(-documents * texts_per_document // self.batch_size)
        return dataclasses.replace(self, epochs=max(_DEFAULT_EPOCHS, -(-_MIN_STEPS // batches)))


def make_text_training_options(model: str, **given: object) -> TextTrainingOptions:
    """Return the default options of a model, with the given ones in their place.

    FastText learns embeddings, and a batch has no gradient for a word that it lacks: it takes a larger learning rate,
    and no weight decay, by which Adam would move all such words towards 0 at full speed.

    Args:
        model: one of `deniable.models.text.networks.TEXT_NETWORKS`.
        given: fields of `TextTrainingOptions`.

    Raises:
        InputError: an option of another method, or a bad value.
    """
    options = TextTrainingOptions(**{**_DEFAULTS_OF_MODEL.get(model, {}), **given})
    for name, method in METHOD_OF_OPTION.items():
        if name in given and options.method != method:
            raise InputError(
                f"The {name!r} option belongs to the method {method}, not to {options.method}: leave it out."
            )
    return options


def _describe(default: object) -> dict[str, Any]:
    """What help says of an option that is not about privacy: where it stands, and its default."""
    return {"deniable.cli": {"panel": "Training", "show_default": default}}


@dataclasses.dataclass(frozen=True)
class PrivateTextOptions:
    """Privacy.

    What is None follows from the other options and from the space, from no record.

    Attributes:
        epsilon: privacy budget of the training records.
        delta: delta of that budget; for example 1e-5.
        places: public capacity in records; missing rows are filled with empty records.
        batch_size: expected number of records in a batch, empty ones included.
        epochs: passes over the records.
        learning_rate: learning rate of the optimizer.
        clip: norm to which the gradient of a record is clipped.
        chosen_from_data: record that epsilon was chosen from this table.
    """

    epsilon: float
    delta: float
    places: int = dataclasses.field(metadata={"deniable.cli": {"names": ("--records",), "metavar": "N"}})
    batch_size: int | None = dataclasses.field(default=None, metadata=_describe("4,096, or all"))
    epochs: int | None = dataclasses.field(default=None, metadata=_describe("as many as make 60 steps"))
    learning_rate: float | None = dataclasses.field(default=None, metadata=_describe("by the noise"))
    clip: float = dataclasses.field(default=1.0, metadata=_describe(default=True))
    chosen_from_data: bool = False

    def __post_init__(self) -> None:
        check_positive("training", "epsilon", self.epsilon)
        check_positive("training", "delta", self.delta, 1.0)
        _check_given(self, ("places", "batch_size", "epochs"), _MAX_COUNT, ("batch_size", "epochs", "learning_rate"))
