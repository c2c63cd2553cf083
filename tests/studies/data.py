"""A small folder of data on which every study runs: reviews, pairs, flight enquiries, vectors of words, and digits."""

import io
import json
import lzma
import tarfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image
from sklearn.datasets import load_digits

from studies.private_collections import PUBLIC_REVIEWS
from studies.vocabularies import TABLES, VECTORS

SUBSTITUTIONS = "counterfitted_neighbors.json.xz"
_WORDS = """
the and for that was said with from his has are have but were not this who they had which will their its one
after new been also would two more first about when year there all out she other people her percent than over
into last some government time you years world can three president only state million could
"""
WORDS = tuple(_WORDS.split())
"""Sixty words that are among the most frequent of GloVe; those that two groups of texts use follow."""
KNOWN = {"IMDB": WORDS[:40], "NLI": WORDS[10:50]}
_REVIEWS, _SENTENCES = 48, 60


def make(place):
    """Write the data sets to a folder: each group of tables uses 40 of the words, and one without a vector."""
    vectors = np.random.default_rng(4).normal(size=(len(WORDS), 6)).astype(np.float16)
    np.savez(place / VECTORS, words=np.bytes_("\n".join(WORDS)), vectors=vectors)
    for seed, name in enumerate(("imdb_train.parquet", "imdb_test.parquet")):
        pq.write_table(pa.table(reviews(_REVIEWS, seed)), place / name)
    pq.write_table(pa.table(sentences(_SENTENCES)), place / PUBLIC_REVIEWS)
    for file, columns in TABLES["NLI"].items():
        texts = {column: [" ".join(KNOWN["NLI"][20:]).title() + "!", None] for column in columns}
        texts[columns[0]][1] = f"{', '.join(KNOWN['NLI'][:20])} zzz"
        for column, held in pairs(_REVIEWS).items():
            texts.setdefault(column, ["same", "same"]).extend(held)
        pq.write_table(pa.table(texts), place / file)
    near = {word: [WORDS[at ^ 1], "zzz"] for at, word in enumerate(WORDS)}
    (place / SUBSTITUTIONS).write_bytes(lzma.compress(json.dumps(near).encode()))
    digits = load_digits()
    pixels, labels = (digits.images * 255 / 16).round().astype(np.uint8), digits.target.astype(np.uint8)
    halves = {"x_train": pixels[:300], "y_train": labels[:300], "x_test": pixels[300:500], "y_test": labels[300:500]}
    np.savez(place / "mnist.npz", **halves)
    coloured(place / "cifar10_jpeg_q75.tar.xz", pixels, labels)
    for seed, name in enumerate(("train", "dev", "test")):
        pq.write_table(pa.table(enquiries((160, 30, 60)[seed], seed)), place / f"atis_{name}.parquet")
    return place


def enquiries(count, seed):
    """Return texts as in ATIS with their intents: distinct ones, but for a few that several splits hold."""
    rng = np.random.default_rng(seed)
    starts = {
        "atis_flight": ("show me flights", "i want to fly", "list all flights", "which planes go"),
        "atis_airfare": ("what is the fare", "how much is a ticket"),
        "atis_ground_service": ("what ground transportation is there",),
    }
    cities, days = ("boston", "denver", "san francisco", "dallas"), ("monday", "tuesday", "friday", "sunday")
    texts, intents = [], []
    for _ in range(count):
        intent = rng.choice(list(starts), p=(0.7, 0.2, 0.1))
        leave, arrive = rng.choice(cities, 2, replace=False)
        where = f"in {leave}" if intent == "atis_ground_service" else f"from {leave} to {arrive}"
        texts.append(f"{rng.choice(starts[intent])} {where} on {rng.choice(days)} at {rng.integers(1, 13)}")
        intents.append(str(intent))
    return {"text": texts, "intent": intents}


def coloured(path, pixels, labels):
    """Write digits, each of one colour on black, as an archive of images of 32 x 32 pixels."""
    with tarfile.open(path, "w:xz") as archive:
        for number, (image, label) in enumerate(zip(pixels[:200], labels[:200], strict=True)):
            shades = np.stack([image, image // 2, 255 - image], axis=2)
            held = io.BytesIO()
            Image.fromarray(np.pad(shades, ((12, 12), (12, 12), (0, 0)))).save(held, "PNG")
            header = tarfile.TarInfo(f"{'train' if number < 150 else 'test'}/{label}/{number}.png")
            header.size = len(held.getvalue())
            archive.addfile(header, io.BytesIO(held.getvalue()))


def reviews(count, seed):
    """Return reviews whose words tell their class, each with a word that no space knows."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(count) % 2)
    halves = KNOWN["IMDB"][:20], KNOWN["IMDB"][20:]
    texts = [f"{' '.join(rng.permutation(halves[label])).title()}, zzz." for label in labels]
    return {"text": texts, "label": labels}


def sentences(count):
    """Return public sentences, most of whose words are those of their class."""
    rng = np.random.default_rng(7)
    labels = rng.permutation(np.arange(count) % 2)
    halves = KNOWN["IMDB"][:20], KNOWN["IMDB"][20:]
    words = [[*rng.choice(halves[label], 8), *rng.choice(halves[1 - label], 2)] for label in labels]
    return {"text": [f"{' '.join(each)} ." for each in words], "label": labels}


def pairs(count):
    """Return premises and hypotheses: half of them share their words."""
    rng = np.random.default_rng(5)
    labels = ["same" if same else "other" for same in rng.integers(0, 2, count)]
    halves = {"same": KNOWN["NLI"][:20], "other": KNOWN["NLI"][20:]}
    premises = [" ".join(rng.choice(halves["same"], 4)) for _ in labels]
    return {
        "premise": premises,
        "hypothesis": [" ".join(rng.choice(halves[label], 3)) for label in labels],
        "label": labels,
    }
