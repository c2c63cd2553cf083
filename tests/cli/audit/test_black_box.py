"""``deniable audit`` of callables, commands, recorded outputs and the zoo."""

import json
import shlex
import sys

import numpy as np
import pytest

from deniable.registry.zoo import ZOO_ENTRIES

MECHANISMS = """
import time
import numpy as np

random = np.random.default_rng(1)
calls = []

def lost(x):
    return np.round(x + random.laplace(scale=0.2, size=x.shape), 3)

def kept(x):
    return np.round(x + random.laplace(scale=x.size, size=x.shape), 3)

def many(rows):
    return np.round(rows + random.laplace(scale=0.2, size=rows.shape), 3)

def texts(text):
    return text if random.random() < 0.9 else "else"

def prints(x):
    print("a secret")
    return 1.0

def hangs(x):
    time.sleep(60)

def slow(x):
    time.sleep(0.05)
    return float(random.random())

def nothing(x):
    return None

def nan(x):
    return float("nan") if random.random() < 0.1 else 0.5

def reshapes(x):
    calls.append(1)
    return [0.0] * (1 + len(calls) % 2)

def odd(x):
    class Odd(BaseException):
        pass

    raise Odd("base")

def leaves(x):
    raise SystemExit(1)

async def later(x):
    return 1.0

def stubborn(x):
    while True:
        try:
            time.sleep(1)
        except Exception:
            pass

def in_place(x):
    x += random.laplace(size=x.shape)
    return np.round(x, 3)

buffer = np.zeros(1)

def same_array(x):
    buffer[:] = x
    return buffer

def fails(x):
    raise RuntimeError("two\\nlines")

constant = 3
"""

SWAP = """
import random, sys
for line in sys.stdin:
    print(" ".join(word if random.random() < 0.9 else random.choice(["rome", "paris"]) for word in line.split()))
"""


@pytest.fixture(autouse=True)
def mechanisms(place):
    """Write a module of mechanisms, a program, and outputs, into the folder where the command runs."""
    name = f"boxes_{place.parent.name}_{place.name}".replace("-", "_")
    (place / f"{name}.py").write_text(MECHANISMS)
    (place / "swap.py").write_text(SWAP)
    (place / "one.txt").write_text("I love rome\nmy rome\n")
    (place / "other.txt").write_text("I love paris\nmy paris\n")
    random = np.random.default_rng(0)
    np.save(place / "a.npy", np.round(random.normal(size=(600, 2)), 2))
    np.save(place / "b.npy", np.round(random.normal(2, size=(600, 2)), 2))
    (place / "a.jsonl").write_text("\n".join(json.dumps(["the", "cat"][int(u < 0.8)]) for u in random.random(400)))
    (place / "b.jsonl").write_text("\n".join(json.dumps(["the", "cat"][int(u < 0.2)]) for u in random.random(400)))
    yield name
    sys.modules.pop(name, None)


def program(*arguments):
    """Return a command line that runs this Python."""
    return shlex.join([sys.executable, *arguments])


def test_a_callable_that_loses_more_than_it_claims(call, mechanisms):
    """A callable of the current folder is refuted on zeros against ones, with exit code 1."""
    result = call("audit", f"{mechanisms}:lost", "--claim", "1", "--samples", "400", "--seed", "1")
    assert (result.code, result.err) == (1, "")
    first, second, witness, method = result.text.splitlines()
    assert first == f"{mechanisms}:lost, by its outputs alone"
    assert second.startswith("refuted: claimed epsilon 1, true epsilon >= ")
    assert second.endswith(" with 95 % confidence")
    assert "guesses are right; nearest inputs " in witness
    assert "coin-flip game" in method
    assert "400 samples" in method


def test_a_callable_that_keeps_its_claim(call, mechanisms):
    """A correct callable is not refuted, and the verdict says what it would have seen."""
    result = call("audit", f"{mechanisms}:kept", "--claim", "1", "--dim", "4", "--samples", "3000", "--seed", "1")
    assert (result.code, result.err) == (0, "")
    assert "\nnot refuted: claimed epsilon 1, " in result.text
    assert "\npower: a true epsilon of " in result.text


def test_arrays_are_not_shared(call, mechanisms):
    """A sampler that writes into its input keeps its claim, and one that returns the same array loses it."""
    assert call("audit", f"{mechanisms}:in_place", "--claim", "1", "--samples", "900", "--seed", "1").code == 0
    assert call("audit", f"{mechanisms}:same_array", "--claim", "1", "--samples", "100", "--seed", "1").code == 1


def test_a_slow_sampler_gets_its_verdict(call, mechanisms):
    """An anytime audit out of time ends with a verdict, not with a complaint about one call."""
    options = ["--claim", "1", "--method", "anytime", "--seconds", "2.2"]
    assert call("audit", f"{mechanisms}:slow", *options).code == 0


def test_lines_of_numbers_are_numbers(call, place):
    """Text files whose lines are numbers are audited as numbers."""
    random = np.random.default_rng(0)
    for name, middle in (("p.txt", 0), ("q.txt", 1)):
        (place / name).write_text("".join(f"{value:.3f}\n" for value in random.normal(middle, 0.1, size=400)))
    assert call("audit", "--outputs", "p.txt", "q.txt", "--claim", "1").code == 1


@pytest.mark.parametrize("text", ["food and/or wine", "Rome.", "3.14", "long " * 100])
def test_texts_that_look_like_files(call, text):
    """A text is a text where there is no such file and it is not named like one."""
    options = ["--inputs", text, "other", "--claim", "9", "--samples", "64", "--lines"]
    assert call("audit", "--command", program("swap.py"), *options).code == 0


def test_batched_and_json(call, mechanisms):
    """A batched callable takes many inputs at once; --json prints the verdict's fields."""
    result = call("audit", f"{mechanisms}:many", "--claim", "1", "--batched", "--samples", "500", "--json")
    assert result.code == 1
    read = json.loads(result.text)
    assert read["mechanism"] == f"{mechanisms}:many"
    assert read["samples"] == 500
    assert read["lower_bound"] > 1
    assert read["witness"]["guesses"] >= read["witness"]["right"] > 0


def test_inputs_from_files(call, place, mechanisms):
    """Inputs are the values of two JSON files: texts, or numbers."""
    (place / "x.json").write_text('"rome"')
    (place / "y.json").write_text('"paris"')
    options = ["--inputs", "x.json", "y.json", "--claim", "1", "--samples", "200"]
    result = call("audit", f"{mechanisms}:texts", *options)
    assert result.code == 1
    assert "'rome'" in result.text
    (place / "x.json").write_text("[0, 0]")
    (place / "y.json").write_text("[1, 1]")
    assert call("audit", f"{mechanisms}:lost", *options).code == 1


@pytest.mark.parametrize("lines", [[], ["--lines"]])
def test_a_command_on_two_texts(call, lines):
    """A program in any language is audited on two texts, and stops when it is convinced."""
    options = ["--inputs", "I love rome", "I love paris", "--claim", "0.5", "--samples", "200", *lines]
    result = call("audit", "--command", program("swap.py"), *options)
    assert (result.code, result.err) == (1, "")
    assert "anytime-valid, stopped when convinced" in result.text


def test_a_command_on_pairs_of_texts(call):
    """Two files with a text a line make pairs, whose trials are pooled, each at its distance."""
    options = ["--inputs", "one.txt", "other.txt", "--claim", "5", "--samples", "300", "--lines"]
    result = call("audit", "--command", program("swap.py"), *options)
    assert (result.code, result.err) == (0, "")
    assert "2 pooled pairs" in result.text


def test_distances_from_a_file(call, place):
    """The distances of pairs can lie in a file; they must be as many as the pairs."""
    (place / "apart.txt").write_text("1\n0.1\n")
    options = ["--inputs", "one.txt", "other.txt", "--claim", "3", "--samples", "300", "--lines"]
    assert call("audit", "--command", program("swap.py"), *options, "--distance", "apart.txt").code == 1
    (place / "apart.txt").write_text("1\n")
    result = call("audit", "--command", program("swap.py"), *options, "--distance", "apart.txt")
    assert result.code == 2
    assert "one distance for each pair. Got shape (1,) for 2." in result.err


@pytest.mark.parametrize("kind", ["npy", "jsonl"])
def test_recorded_outputs(call, kind):
    """Two files of outputs are refuted or not like a sampler."""
    assert call("audit", "--outputs", f"a.{kind}", f"b.{kind}", "--claim", "0.5").code == 1
    assert call("audit", "--outputs", f"a.{kind}", f"b.{kind}", "--claim", "9").code == 0


@pytest.mark.parametrize(
    ("mechanism", "options", "message"),
    [
        ("prints", [], "The sampler printed 'a secret"),
        ("hangs", ["--seconds", "0.5"], "did not end within the 0.5 seconds"),
        ("slow", ["--seconds", "0.5"], "in 0.5 seconds, fewer than asked for"),
        ("nothing", [], "Got nothing."),
        ("nan", [], "The sampler must return finite numbers. Got nan"),
        ("reshapes", [], "one shape"),
        ("fails", [], r"The sampler raised 'RuntimeError: two\nlines' for the input [0.0]"),
        ("odd", [], "The sampler raised 'Odd: base'"),
        ("leaves", [], "The sampler raised 'SystemExit: 1'"),
        ("later", [], "The sampler is asynchronous"),
        ("stubborn", ["--seconds", "0.5"], "did not end within the 0.5 seconds"),
        ("constant", [], "has no callable 'constant'"),
        ("absent", [], "has no callable 'absent'"),
        ("lost", ["--claim", "-1"], "The 'claim' parameter of audit must be a float in [0, inf). Got -1.0."),
        ("lost", ["--claim", "nan"], "Got nan."),
        ("lost", ["--dim", "0"], "The option --dim must be at least 1. Got 0."),
        ("lost", ["--samples", "3"], "The 'samples' parameter of audit must be an int from 20 to 100,000,000. Got 3."),
        ("lost", ["--distance", "0"], "The 'distance' parameter of audit must be a float in (0, inf). Got 0.0."),
        ("lost", ["--distance", "none.txt"], "'none.txt' cannot be read"),
        ("lost", ["--confidence", "1"], "The 'confidence' parameter"),
        ("lost", ["--method", "best"], "The 'method' parameter"),
        ("lost", ["--method", "pooled"], "The method 'pooled' does not fit the inputs given"),
        ("lost", ["--inputs", "none.json", "none.json"], "The file 'none.json' cannot be read"),
        ("lost", ["--inputs", "one.txt", "other.txt"], "The input 'one.txt' is not JSON"),
    ],
)
def test_what_cannot_be_audited(call, refused, mechanisms, mechanism, options, message):
    """A sampler or an option that cannot be used is one line, exit code 2 and no verdict."""
    message = message.replace("[0.0]", "[")
    claim = [] if "--claim" in options else ["--claim", "1"]
    assert message in refused(call("audit", f"{mechanisms}:{mechanism}", *claim, *options))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Say what to audit: a mechanism, module:callable, --command, --outputs or --zoo. Got none of them."),
        (["tem", "--zoo"], "Got a mechanism and --zoo."),
        (["none.such:thing", "--claim", "1"], "No module named 'none'"),
        (["json:loads"], "Missing option '--claim'"),
        (["json:loads", "--claim", "1", "--epsilon", "1"], "The option --epsilon does not go with a callable."),
        (["adept", "--epsilon", "1", "--claim", "1"], "The option --claim does not go with a vector mechanism."),
        (["tem", "--epsilon", "1", "--samples", "99"], "The option --samples does not go with a word mechanism."),
        (["laplac", "--epsilon", "1"], "Unknown mechanism 'laplac'. Did you mean 'laplace'?"),
        (["json:loads", "--claim", "1", "--seconds", "nan"], "The 'seconds' parameter"),
        (["json:loads", "--claim", "1", "--samples", "0"], "The 'samples' parameter"),
        (["--command", "cat", "--claim", "1"], "A command needs --inputs A B"),
        (["--command", "", "--inputs", "a", "b", "--claim", "1"], "needs a program"),
        (["--command", "'", "--inputs", "a", "b", "--claim", "1"], "cannot be taken apart"),
        (["--command", "cat", "--inputs", "a", "a", "--claim", "1"], "must be two different texts. Got 'a' twice."),
        (["--command", "cat", "--inputs", "one.txt", "swap.py", "--claim", "1"], "as many lines"),
        (["--command", "cat", "--inputs", "no.txt", "no2.txt", "--claim", "1"], "The file 'no.txt' cannot be read"),
        (["--command", "/none/such", "--inputs", "a", "b", "--claim", "1"], "cannot be run: No such file"),
        (["--command", "true", "--inputs", "a", "b", "--claim", "1"], "wrote nothing for the input"),
        (["--command", "false", "--inputs", "a", "b", "--claim", "1"], "failed with exit code 1"),
        (
            ["--command", "sleep 9", "--inputs", "a", "b", "--claim", "1", "--timeout", "0.2"],
            "did not end within 0.2 seconds",
        ),
        (["--command", "echo a", "--lines", "--inputs", "a", "b", "--claim", "1"], "answer each line by one line"),
        (["--outputs", "a.npy", "a.jsonl", "--claim", "1"], "as many outputs. Got 600 and 400."),
        (["--outputs", "one.txt", "other.txt", "--claim", "1"], "at least 22 outputs each. Got 2."),
        (["--outputs", "no.npy", "a.npy", "--claim", "1"], "The file 'no.npy' cannot be read"),
        (["--outputs", "a.npy", "b.npy", "--inputs", "a", "b", "--claim", "1"], "--inputs does not go with --outputs"),
        (["--command", "cat", "--lines", "--inputs", "a\nb", "c", "--claim", "1"], "must be one line"),
        (["adept-gaussian", "--epsilon", "1"], "The 'delta' parameter of"),
        (["adept", "--epsilon", "1", "--dim", "0"], "The 'dimension' parameter of verify"),
    ],
)
def test_what_cannot_be_run(call, refused, arguments, message):
    """Wrong options are one line and exit code 2."""
    assert message in refused(call("audit", *arguments))


def test_files_without_outputs(call, place):
    """Empty and broken files are told by name."""
    (place / "empty.txt").write_bytes(b"")
    (place / "broken.npy").write_bytes(b"\x93NUMPY")
    (place / "broken.jsonl").write_bytes(b"{\n")
    (place / "latin.txt").write_bytes(b"\xe9\n" * 50)
    for name, message in (
        ("empty.txt", "holds no outputs"),
        ("broken.npy", "holds no array"),
        ("broken.jsonl", "Line 1 of 'broken.jsonl' cannot be read as JSON"),
        ("latin.txt", "is not UTF-8"),
    ):
        result = call("audit", "--outputs", name, name, "--claim", "1")
        assert (result.code, result.out, len(result.err.splitlines())) == (2, b"", 1)
        assert message in result.err


@pytest.mark.parametrize(("name", "status"), [("adept", "refuted"), ("adept-true", "proved"), ("dptext", "refuted")])
def test_vector_mechanisms_by_name(call, name, status):
    """A vector mechanism of the package is verified by its law, for vectors of the dimension given."""
    result = call("audit", name, "--epsilon", "1", "--dim", "8")
    assert result.code == (1 if status == "refuted" else 0)
    assert result.text.startswith(f"{name} on vectors (8,), 1-DP: ")
    assert f"\n{status}: claimed epsilon 1, " in result.text


def test_the_zoo(call, monkeypatch):
    """The table has a row for each entry, and the exit code is 1 unless every verdict is as expected."""
    import dataclasses

    from deniable.published.adept import text_entries as texts
    from deniable.published.dpal import zoo as images
    from deniable.registry import zoo

    monkeypatch.setattr(images, "DPAL_ENTRIES", images.DPAL_ENTRIES[:1])
    monkeypatch.setattr(texts, "ADEPT_TEXT_ENTRIES", texts.ADEPT_TEXT_ENTRIES[:1])
    few = [entry for entry in ZOO_ENTRIES if entry.name in ("adept", "copy", "public-seed", "laplace")]
    monkeypatch.setattr(zoo, "ZOO_ENTRIES", tuple(few))
    result = call("audit", "--zoo")
    assert (result.code, result.err) == (0, "")
    rows = result.text.splitlines()
    assert [row.split()[0] for row in rows[2:8]] == [*(entry.name for entry in few), "dpal-differences", "adept-texts"]
    assert rows[-1] == "every verdict is as expected"
    wrong = dataclasses.replace(few[0], exact_status="proved")
    monkeypatch.setattr(zoo, "ZOO_ENTRIES", (wrong,))
    monkeypatch.setattr(images, "DPAL_ENTRIES", ())
    monkeypatch.setattr(texts, "ADEPT_TEXT_ENTRIES", ())
    result = call("audit", "--zoo", "--json")
    assert result.code == 1
    (read,) = json.loads(result.text)
    assert (read["mechanism"], read["expected"], read["exact"]["status"]) == ("adept", False, "refuted")


def test_the_zoo_without_torch(call, monkeypatch):
    """Without torch the other entries are audited, and one line says how many are left out and what they need."""
    import importlib.util

    from deniable.registry import zoo

    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None if name == "torch" else find(name, *more))
    monkeypatch.setattr(zoo, "ZOO_ENTRIES", tuple(entry for entry in ZOO_ENTRIES if entry.name == "adept"))
    result = call("audit", "--zoo")
    assert result.code == 0
    assert result.err == "10 entries need torch, and are left out: install deniable[train].\n"
    assert "dpal" not in result.text
