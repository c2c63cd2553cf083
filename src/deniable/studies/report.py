"""Running a study and writing its three files: numbers, figure and table."""

import dataclasses
import hashlib
import io
import json
import os
import platform
import time
from pathlib import Path
from typing import Any

import numpy as np

from deniable import __version__
from deniable.core.errors import InputError
from deniable.core.evidence import encode_nonfinite_numbers
from deniable.core.files import check_outputs, open_outputs
from deniable.core.parallel import count_cores
from deniable.studies.ledger import Ledger
from deniable.studies.study import Comparison, Result, Setting, Sizes, Study

ENDINGS = (".json", ".png", ".md")
_DPI = 110
_DATA = {".parquet", ".npz", ".xz"}


@dataclasses.dataclass(frozen=True)
class Report:
    """What was written.

    Attributes:
        numbers: path of the JSON file.
        figure: path of the picture.
        table: path of the markdown file.
        result: what the study found.
        seconds: how long it ran.
    """

    numbers: Path
    figure: Path
    table: Path
    result: Result
    seconds: float


def conduct(
    study: Study[Sizes],
    folder: Path,
    setting: Setting,
    *,
    quick: bool = False,
    force: bool = False,
    sizes: Sizes | None = None,
) -> Report:
    """Run a study and write NAME.json, NAME.png and NAME.md, whole or not at all.

    The results of a long study's parts are kept in `unfinished` meanwhile, and a run with the same
    parameters goes on from them.

    Args:
        study: which.
        folder: where the files go; made if it does not exist.
        setting: seed and data.
        quick: take the study's quick sizes.
        force: overwrite files that exist.
        sizes: other sizes.

    Raises:
        InputError: matplotlib is not installed, the files cannot be written, or the folder holds an
            unfinished run with other parameters; found before the run.
    """
    _check_matplotlib()
    paths = [folder / f"{study.name}{ending}" for ending in ENDINGS]
    _check_folder(folder)
    if folder.is_dir():
        check_outputs(paths, _data_files(setting.data), force=force, intermediates=[unfinished(study.name, folder)])
    chosen = sizes if sizes is not None else study.quick if quick else study.full
    parameters = {
        "version": __version__,
        "seed": setting.seed,
        **{f"file {name}": digest for name, digest in _digests(setting.data).items()},
        **{f"size {name}": value for name, value in dataclasses.asdict(chosen).items()},  # type: ignore[call-overload]
    }
    ledger = Ledger(unfinished(study.name, folder), parameters, force=force)
    before = len(ledger)
    start = time.perf_counter()
    result = study.run(chosen, dataclasses.replace(setting, ledger=ledger))
    figure = _picture(study, result)
    seconds = time.perf_counter() - start
    about = {
        "study": study.name,
        "paper": study.paper,
        "seed": setting.seed,
        "sizes": "given" if sizes is not None else "quick" if quick else "full",
        **{f"size {name}": value for name, value in dataclasses.asdict(chosen).items()},  # type: ignore[call-overload]
        **machine(),
        "seconds": round(seconds, 1),
        **({"results of earlier sittings": before} if before else {}),
    }
    numbers = {
        "about": about,
        "findings": list(result.findings),
        "table": [dataclasses.asdict(row) for row in result.table],
        "results": result.data,
    }
    contents = (
        json.dumps(encode_nonfinite_numbers(numbers), indent=1, ensure_ascii=False).encode() + b"\n",
        figure,
        _markdown(study, about, result).encode(),
    )
    folder.mkdir(parents=True, exist_ok=True)
    with open_outputs(*map(str, paths), force=force) as streams:
        for stream, content in zip(streams, contents, strict=True):
            stream.write(content)
    ledger.close()
    numbers_at, figure_at, table_at = paths
    return Report(numbers_at, figure_at, table_at, result, seconds)


def _digests(folder: Path | None) -> dict[str, str]:
    """Return the digest of each data set of a folder: they may be copied or moved between two sittings."""
    return {path.name: _digest(path) for path in _data_files(folder)}


def _data_files(folder: Path | None) -> list[Path]:
    """Return the data sets of a folder."""
    if folder is None or not folder.is_dir():
        return []
    return [path for path in sorted(folder.iterdir()) if path.suffix in _DATA and path.is_file()]


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, lambda: hashlib.blake2b(digest_size=8)).hexdigest()
    except OSError as error:
        raise InputError(f"Cannot read {str(path)!r}: {error.strerror}.") from None


def unfinished(name: str, folder: Path) -> Path:
    """Return where the results of a study's parts are kept until it is complete."""
    return folder / f"{name}.unfinished.jsonl"


def machine() -> dict[str, Any]:
    """Return what a reader needs to judge the seconds by."""
    return {
        "deniable": __version__,
        "cores": count_cores(),
        "processor": platform.machine(),
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def side_by_side(table: tuple[Comparison, ...]) -> str:
    """Return the statements and results as a markdown table."""
    lines = ["| the paper says | this run | |", "|---|---|---|"]
    lines += ["| " + " | ".join(_cell(text) for text in (row.paper, row.ours, row.outcome)) + " |" for row in table]
    return "\n".join(lines)


def _markdown(study: Study[Sizes], about: dict[str, Any], result: Result) -> str:
    found = "\n".join(f"- {line}" for line in result.findings)
    facts = "; ".join(f"{name} {_plain(value)}" for name, value in about.items() if name not in {"study", "paper"})
    details = result.details + "\n\n" if result.details else ""
    return (
        f"# {study.name}\n\n{study.paper}\n\n![{study.summary}]({study.name}.png)\n\n{found}\n\n"
        f"{side_by_side(result.table)}\n\n{details}Run with: {facts}.\n"
    )


def _plain(value: object) -> str:
    if isinstance(value, tuple | list):
        return ", ".join(map(_plain, value))
    return f"{value:,}" if isinstance(value, int) else str(value)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _picture(study: Study[Sizes], result: Result) -> bytes:
    """Return the figure as PNG."""
    import matplotlib as mpl  # noqa: PLC0415 - an extra

    style: Any = {"font.size": 10, "axes.spines.top": False, "axes.spines.right": False, "figure.dpi": _DPI}
    held = io.BytesIO()
    with mpl.rc_context(style):
        study.draw(result.data).savefig(held, format="png")
    return held.getvalue()


def _check_matplotlib() -> None:
    try:
        import matplotlib as mpl  # noqa: F401, PLC0415 - an extra
    except ImportError:
        raise InputError(
            "A study draws its figure with matplotlib, which is missing: install deniable[plot]."
        ) from None


def _check_folder(folder: Path) -> None:
    """Raise `InputError` unless the folder can be written, or made."""
    at = folder
    while not at.exists() and at != at.parent:
        at = at.parent
    if not at.is_dir():
        raise InputError(f"The output folder {str(folder)!r} cannot be made: {str(at)!r} is a file. Name another.")
    if not os.access(at, os.W_OK | os.X_OK):
        raise InputError(f"The output folder {str(folder)!r} cannot be written: name another.")
