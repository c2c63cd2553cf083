"""Every refusal of every command, word for word: one line on standard error, exit code 2, nothing written.

The wordings stand in ``expected.txt``. A new refusal is a new line ``$ deniable …`` there; ``python -m
tests.catalogue`` writes what it says, and whatever else is said otherwise now.
"""

import contextlib
import os
import sys
from pathlib import Path

import pytest

import deniable as dn
from tests.catalogue.entries import COMMANDS, Entry, read_entries, write_entries
from tests.catalogue.folder import make_folder
from tests.catalogue.models import make_language_models, make_models
from tests.commands import run

for module, extra in (("torch", "train"), ("gguf", "lm"), ("fastapi", "serve"), ("cryptography", "sign")):
    pytest.importorskip(module, reason=f"{module} is not installed: pip install 'deniable[{extra}]'")

ENTRIES = read_entries()
IS_WRITING = "DENIABLE_WRITE_CATALOGUE" in os.environ


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return the folder of inputs, in which the commands run; models come with the first command that reads one."""
    place = tmp_path_factory.mktemp("catalogue")
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    with contextlib.chdir(place):
        make_folder(place)
        yield place
        assert list(dn.Ledger("l.db").list_units()) == []  # no refusal has charged anything
    sys.dont_write_bytecode = before
    sys.modules.pop("own_mechanisms", None)


def look(folder):
    """Return what tells that a file of a folder was made, removed or changed, but for ledgers, which are opened."""
    files = ((path.name, path.lstat()) for path in folder.iterdir() if not path.name.startswith(("l.db", "callers.db")))
    return {(name, state.st_ino, state.st_mtime_ns, state.st_size) for name, state in files}


def find_faults(entry, result, is_unchanged):
    """Return what no refusal may do."""
    *remarks, error = entry.said or [""]
    faults = {
        "it succeeds": entry.code == 0,
        "it writes": not is_unchanged,
        "standard output is not empty": result.out != b"",
        "no line says what is wrong": not error.startswith("deniable: "),
        "more than one line says so": not all(line.startswith(("warning", "note: ")) for line in remarks),
        "a bug is shown": "internal error" in result.err or "Traceback" in result.err,
    }
    return [fault for fault, is_there in faults.items() if is_there]


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_refusals(folder, command):
    """Whatever is wrong, a command says what the catalogue has, and does nothing else."""
    expected = [entry for entry in ENTRIES if entry.command == command]
    assert expected, f"deniable {command} has no entry"
    if any(".pt" in entry.line for entry in expected) and not Path("text.pt").exists():
        make_models(folder)
    if any("llama" in entry.line for entry in expected) and not Path("llama").exists():
        make_language_models(folder)
    found, faults = [], {}
    for before in expected:
        files = look(folder)
        result = call(before)
        said = result.err.replace(f"{folder}/", "…/").splitlines()
        entry = Entry(before.line, tuple(said), result.code).keep_if_equal(before)
        faults[entry.line] = find_faults(entry, result, look(folder) == files)
        found.append(entry)
    if IS_WRITING:
        write_entries(found)
    else:
        assert "\n".join(map(str, found)) == "\n".join(map(str, expected))
    assert {line: kinds for line, kinds in faults.items() if kinds} == {}


def call(entry):
    """Run a line; ``< FILE`` at its end is standard input."""
    words = entry.words
    if "<" in words:
        *words, _, source = words
        return run(*words, stdin=Path(source).read_bytes())
    return run(*words)
