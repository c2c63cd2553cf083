"""A folder with a small space, tables of short reviews and word sets, for the commands about models of texts."""

import csv
import json

import numpy as np

WORDS = ["good", "great", "fine", "bad", "awful", "poor", "film", "movie", "plot", "the", "a", "was", "not", "very"]
SETS = {"good": ["great", "fine"], "bad": ["awful", "poor"], "film": ["movie"]}
SPACE = ("--space", "words.npz")
TABLE = ("--label", "label", *SPACE)
QUICK = ("--epochs", "8", "--learning-rate", "0.03")


def lines(count=80, seed=1):
    """Return so many texts of three to nine words, and their classes, which one word of each tells."""
    coins = np.random.default_rng(seed)
    found = []
    for number in range(count):
        good = number % 2 == 0
        filler = coins.choice(WORDS[6:], coins.integers(2, 9)).tolist()
        filler.insert(int(coins.integers(len(filler) + 1)), str(coins.choice(WORDS[:3] if good else WORDS[3:6])))
        found.append((" ".join(filler), "good" if good else "bad"))
    return found


def write(path, rows, names=("text", "label")):
    """Write a csv of rows."""
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([names, *rows])


def furnish(place):
    """Write words.npz, train.csv, test.csv, pairs.csv and sets.json to a folder."""
    coins = np.random.default_rng(0)
    vectors = 0.3 * coins.normal(size=(len(WORDS), 6))
    vectors[:3, 0] += 2.0
    vectors[3:6, 0] -= 2.0
    np.savez(place / "words.npz", words=np.array(WORDS), vectors=vectors)
    write(place / "train.csv", lines())
    write(place / "test.csv", lines(20, seed=2))
    shuffled = [lines(80, 3)[at] for at in coins.permutation(80)]
    both = [(first, second, str(one == other)) for (first, one), (second, other) in zip(lines(), shuffled, strict=True)]
    write(place / "pairs.csv", both, ("before", "text", "label"))
    (place / "sets.json").write_text(json.dumps(SETS))
