"""What is declared of a data set before its private part is read, so that no record decides it for the others."""

import dataclasses
import math

from deniable.errors import InputError

PixelRange = tuple[float, float]
"""Values of black and white."""
_MIN_CLASSES = 2


@dataclasses.dataclass(frozen=True)
class DataDeclaration:
    """What the owner of a data set says of it.

    Attributes:
        pixel_range: values of black and white; None for 0 and 255 of uint8, and for 0 and 1 of floats.
        classes: names of the classes in the order of the model's outputs; None for those found in the training images,
            which then show in the model.

    Raises:
        InputError: a range that is empty or not finite, fewer than two classes, or one of them twice.
    """

    pixel_range: PixelRange | None = None
    classes: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.pixel_range is not None:
            low, high = self.pixel_range
            if not (low < high and math.isfinite(low) and math.isfinite(high)):
                raise InputError(
                    "The range of pixels must be two finite numbers, black and white, the first below the second. "
                    f"Got {low:g} and {high:g}: declare, for example, -1,1."
                )
        if self.classes is not None:
            check_classes("What is declared", self.classes)
            duplicates = [name for name in self.classes if self.classes.count(name) > 1]
            if duplicates:
                raise InputError(f"The declared classes hold {duplicates[0]!r} twice: name each once.")


def check_classes(where: str, names: tuple[str, ...]) -> None:
    """Raise `InputError` where there are fewer than two classes.

    Args:
        where: they stand, for the message.
        names: of the classes.
    """
    if len(names) < _MIN_CLASSES:
        got = f"the one class {names[0]}" if names else "no class"
        raise InputError(f"{where} holds {got}: a classifier needs two or more.")


NO_DECLARATION = DataDeclaration()
"""Nothing: the defaults stand."""
