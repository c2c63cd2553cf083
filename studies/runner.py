"""Running a study: cells from the grid to rows, with a ledger, progress and resume."""

import contextlib
import dataclasses
import hashlib
import itertools
import json
import platform
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

from deniable import __version__
from deniable.cli.progress import show_steps, watch_command
from deniable.core.errors import InputError
from deniable.core.files import check_outputs, open_outputs
from deniable.core.parallel import count_cores, hide_progress, parallel_map
from studies.ledger import Ledger
from studies.rows import Results, Row, format_picture, format_rows
from studies.study import Grid, Study

Value = TypeVar("Value")
_SEED_BYTES = 8


class Context:
    """What a cell is measured with.

    Args:
        sizes: of the grid.
        seed: public; everything that is drawn follows from it.
        data: folder with data sets.
        ledger: of the run.
    """

    def __init__(self, sizes: Any, seed: int = 0, data: Path | None = None, ledger: Ledger | None = None) -> None:  # noqa: ANN401 - a study's own
        self.sizes, self.seed, self.data = sizes, seed, data
        self._ledger = ledger if ledger is not None else Ledger()
        self._locks, self._shared = defaultdict[str, threading.RLock](threading.RLock), dict[str, Any]()
        self.remember = self._ledger.remember
        self.load_array = self._ledger.load_array
        self.scratch = self._ledger.scratch

    def derive_seed(self, *parts: object) -> int:
        """Return the seed of one part, 62 bits: parts share no randomness, in whatever order they run."""
        text = "\0".join(map(str, (self.seed, *parts)))
        digest = hashlib.blake2b(text.encode(), digest_size=_SEED_BYTES).digest()
        return int.from_bytes(digest, "little") >> 2

    def share(self, name: str, compute: Callable[[], Value]) -> Value:
        """Return what several cells need, such as a space or a corpus; computed once in a run."""
        with self._locks[name]:
            if name not in self._shared:
                self._shared[name] = compute()
            value: Value = self._shared[name]
            return value

    def find_file(self, name: str) -> Path:
        """Return the path of a data set.

        Raises:
            InputError: no folder was named, or it lacks the file.
        """
        if self.data is None:
            raise InputError(f"This study needs {name}: name the folder that holds it with --data DIR.")
        path = self.data / name
        if not path.is_file():
            raise InputError(f"The data folder {str(self.data)!r} has no file {name!r}: name the folder that holds it.")
        return path


def run_study(
    study: Study,
    folder: Path,
    *,
    seed: int = 0,
    data: Path | None = None,
    quick: bool = False,
    force: bool = False,
    grid: Grid | None = None,
) -> Results:
    """Measure every cell, and write rows and facts, whole or not at all.

    Finished cells are kept in a folder beside the output; a run with the same parameters resumes from them.

    Args:
        study: which.
        folder: where NAME.csv and NAME.json go; made if it does not exist.
        seed: public.
        data: folder with data sets.
        quick: measure the small grid.
        force: overwrite results, and drop an unfinished run with other parameters.
        grid: another grid.

    Raises:
        InputError: a package or a data set is missing, the files cannot be written, or the folder holds an
            unfinished run with other parameters; found before the run.
    """
    chosen = grid or (study.quick if quick else study.full)
    for package in study.packages:
        if find_spec(package) is None:
            raise InputError(f"This study needs {package}, which is missing: install deniable[train].")
    files = {name: _digest_file(Context(None, seed, data).find_file(name)) for name in study.files}
    endings = (".csv", ".json") if study.paint is None else (".csv", ".json", ".png")
    paths = [folder / f"{study.stem}{ending}" for ending in endings]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"The output folder {str(folder)!r} cannot be made: {error.strerror}.") from None
    check_outputs(paths, force=force)
    sizes = dataclasses.asdict(chosen.sizes) if chosen.sizes is not None else {}
    parameters = {"version": __version__, "seed": seed, "files": files, "sizes": sizes, "cells": chosen.cells}
    ledger = Ledger(find_unfinished(study, folder), parameters, force=force)
    if (quick or study.is_small) and "torch" in study.packages:
        import torch

        torch.set_num_threads(1)  # threads wait for each other where other programs use the cores
    resumed, start = len(ledger), time.perf_counter()
    context = Context(chosen.sizes, seed, data, ledger)
    rows = measure_cells(study, chosen, context)
    picture = study.paint(context) if study.paint is not None else None
    facts = {
        "study": study.name,
        "version": __version__,
        "seed": seed,
        "grid": "given" if grid else "quick" if quick else "full",
        "sizes": sizes,
        "files": files,
        "machine": describe_machine(study),
        "seconds": round(time.perf_counter() - start, 1),
        **({"resumed": resumed} if resumed else {}),
        "python": platform.python_version(),
        **{name: version(name) for name in ("numpy", *study.packages) if _has_version(name)},
    }
    results = Results(tuple(rows), facts, picture)
    write_results(study, folder, results, force=force)
    ledger.close()
    return results


def describe_machine(study: Study) -> str:
    """Return the processor's cores, and the GPU that a study with torch computes on."""
    cores = f"{count_cores()} {platform.machine()} cores"
    if "torch" in study.packages:
        import torch

        if torch.cuda.is_available():
            return f"{torch.cuda.get_device_name()} and {cores}"
    return cores


def write_results(study: Study, folder: Path, results: Results, *, force: bool = False) -> None:
    """Write rows, facts and the picture, all or nothing."""
    facts = json.dumps(results.facts, indent=1, ensure_ascii=False) + "\n"
    contents = {".csv": format_rows(results.rows).encode(), ".json": facts.encode()}
    if results.picture is not None:
        contents[".png"] = format_picture(results.picture)
    paths = [str(folder / f"{study.stem}{ending}") for ending in contents]
    with open_outputs(*paths, force=force) as streams:
        for stream, content in zip(streams, contents.values(), strict=True):
            stream.write(content)


def find_unfinished(study: Study, folder: Path) -> Path:
    """Return where the finished cells of a run are kept until it is complete."""
    return folder / f"{study.stem}.unfinished"


def measure_cells(study: Study, grid: Grid, context: Context) -> list[Row]:
    """Return the rows of all cells in the order of the grid, then those that are derived from them."""
    done = itertools.count(1)

    def measure_cell(cell: tuple[Any, ...]) -> list[Row]:
        name = ", ".join(map(str, cell))
        rows = context.remember(name, lambda: [dataclasses.astuple(row) for row in study.measure(context, *cell)])
        steps.update(next(done), len(grid.cells), name)
        return [Row(*row) for row in rows]

    # Audits swap the standard output while a sampler runs, and in threads they may swap it back out of order.
    with (
        contextlib.redirect_stdout(sys.stdout),
        watch_command(),
        show_steps(study.name, "cell") as steps,
        hide_progress(),
    ):
        parts = parallel_map(measure_cell, grid.cells, workers=None if study.is_parallel else 1)
    rows = [row for part in parts for row in part]
    return [*rows, *(study.derive(rows) if study.derive is not None else ())]


def _digest_file(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, lambda: hashlib.blake2b(digest_size=8)).hexdigest()
    except OSError as error:
        raise InputError(f"Cannot read {str(path)!r}: {error.strerror}.") from None


def _has_version(name: str) -> bool:
    return name in {"numpy", "torch"}
