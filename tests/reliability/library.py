"""The library of `faults.c`, compiled once per run."""

import shutil
import subprocess
import sys
from pathlib import Path

KINDS = ("open", "write", "fsync", "close", "rename", "unlink", "mkdir", "link")
"""Operations that can fail, in the order of the library."""


def find_obstacle() -> str | None:
    """Return why the library cannot be built here; None where it can."""
    if not sys.platform.startswith("linux"):
        return f"faults are injected with LD_PRELOAD, on Linux. Got {sys.platform}."
    if shutil.which("cc") is None:
        return "faults are injected by a small library in C, and there is no compiler cc."
    return None


def build_library(folder: Path) -> Path:
    """Compile the library into a folder, and return its path."""
    library = folder / "faults.so"
    source = Path(__file__).with_name("faults.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", str(library), str(source), "-ldl"], check=True)
    return library
