"""A module of callables that audits, detectors and generators call: each goes wrong in its own way."""

MECHANISMS = """
import itertools, time
import numpy as np

number = 0.5
records = [0.0] * 20

def canaries():
    return [5.0]

def steps(records, seed):
    yield None

def endless():
    return itertools.repeat(0)

def leave():
    raise SystemExit(0)

def leaves(*_):
    raise SystemExit(1)

def hangs(*_):
    time.sleep(600)

def stubborn(x):
    while True:
        try:
            time.sleep(1)
        except Exception:
            pass

def scores(records, seed):
    return lambda canaries: np.zeros(len(canaries))

def constant(x):
    return 1.0

def nothing(x):
    return None

def nan(x):
    return float("nan")

calls = []

def reshapes(x):
    calls.append(1)
    return [0.0] * (1 + len(calls) % 2)

def odd(x):
    class Odd(BaseException):
        pass

    raise Odd("base")

def fails(x):
    raise RuntimeError("two\\nlines")

def complains(text):
    raise ValueError(f"cannot use {text}: texts must be short")

def law(records, prefix):
    return np.full(4, 0.25)

def law_of_half(records, prefix):
    return np.full(4, 0.125)

def law_of_signs(records, prefix):
    return np.array([-0.5, 1.5])

def law_of_nothing(records, prefix):
    return np.zeros(4, dtype=int)

def law_of_nan(records, prefix):
    return np.full(4, np.nan)

def law_of_texts(records, prefix):
    return ["a", "b"]

def law_of_tables(records, prefix):
    return np.full((2, 2), 0.25)

def law_of_lengths(records, prefix):
    return np.full(len(records), 1 / len(records))

def law_of_calls(records, prefix):
    calls.append(1)
    moved = len(calls) / 1_000_000
    return np.array([0.5 + moved, 0.5 - moved])

def law_of_prints(records, prefix):
    print(records)
    return np.full(4, 0.25)

def law_of_tokens(records, prefix):
    return 1.5

def find_nothing(text):
    raise ValueError(f"cannot read {text}")

def find_text(text):
    return [text]

def find_beyond(text):
    return [(0, len(text) + 1, "NAME")]

def write_few(request):
    return ["a"]

def write_blanks(request):
    return [" "] * request.count

def write_numbers(request):
    return [1] * request.count

def write_none(request):
    raise ValueError("no\\nmodel")
"""
