"""A module of mechanisms, a program, and recorded outputs, in the folder where the commands run."""

import json
import sys

import numpy as np
import pytest

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

def complains(text):
    raise ValueError(f"cannot use {text}: texts must be short")

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
    for input_name, value in (("rome", "rome"), ("one", 1), ("one_too", 1.0), ("list", [1.0, 2.0])):
        (place / f"{input_name}.json").write_text(json.dumps(value))
    random = np.random.default_rng(0)
    np.save(place / "a.npy", np.round(random.normal(size=(600, 2)), 2))
    np.save(place / "b.npy", np.round(random.normal(2, size=(600, 2)), 2))
    (place / "a.jsonl").write_text("\n".join(json.dumps(["the", "cat"][int(u < 0.8)]) for u in random.random(400)))
    (place / "b.jsonl").write_text("\n".join(json.dumps(["the", "cat"][int(u < 0.2)]) for u in random.random(400)))
    yield name
    sys.modules.pop(name, None)
