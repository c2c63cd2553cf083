"""The folder in which the catalogue runs its commands: small inputs, each named for what is wrong with it."""

import gzip
import io
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

import deniable as dn
from tests.catalogue.mechanisms import MECHANISMS
from tests.commands import run

WORDS = ["the", "and", "london", "paris", "tokyo", "food", "good", "great", "bad", "was", "red", "blue", "dog", "cat"]
TELLING = (("awful", "poor", "bad"), ("great", "fine", "good"))
MORE_WORDS = [*TELLING[1], *TELLING[0], "film", "movie", "plot", "the", "a", "was", "not", "very"]
LONG = "good " * 20_001


def parquet(**columns):
    """Return a table as parquet."""
    return write_parquet(pa.table(columns))


def write_parquet(table):
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()


def npz(**arrays):
    """Return arrays as a file of numpy."""
    sink = io.BytesIO()
    np.savez(sink, **arrays)
    return sink.getvalue()


def vectors(words, rows):
    """Return words and vectors as a file of numpy."""
    return npz(words=np.array(words), vectors=np.array(rows, dtype=float))


def zstd(data):
    return zstandard.ZstdCompressor().compress(data)


def gz(data):
    return gzip.compress(data, mtime=0)


def spread(words, dimensions=4):
    """Return vectors that lie apart, the same on every machine."""
    return [[(7 * i * i + 3 * i * j + j) % 23 / 10 for j in range(dimensions)] for i, _ in enumerate(words)]


def draw_rows(count):
    """Return texts, their classes, persons and stars: one word of each text tells its class."""
    others = MORE_WORDS[6:]
    for row in range(count):
        code = row % 2
        words = [others[(row * step + step) % len(others)] for step in range(1, 4 + row % 3)]
        text = " ".join([*words, TELLING[code][row // 2 % 3]])
        yield text, ("bad", "good")[code], f"p{row // 3}", str(1 + row % 2 + 3 * code)


def table(rows, names="text,label"):
    """Return rows as csv."""
    return "\n".join([names, *(",".join(row) for row in rows)]) + "\n"


def labelled(*rows):
    return table(rows)


def make_images(count=24, test=12, shape=(16, 16), **changes):
    """Return a set of images of three classes, some of its arrays changed or left out."""
    held = {}
    for part, size in (("train", count), ("test", test)):
        labels = np.arange(size) % 3
        held[f"x_{part}"] = (np.arange(np.prod((size, *shape))).reshape(size, *shape) * 7 % 251).astype(np.uint8)
        held[f"y_{part}"] = labels
    held |= changes
    return npz(**{name: array for name, array in held.items() if array is not None})


REVIEWS = [*draw_rows(200)]
CORPUS = [f"{row[0]} {MORE_WORDS[number % 14]}" for number, row in enumerate(REVIEWS[:30])]
CITY = [13, 19, "CITY"]
NPY = b"\x93NUMPY"


def label_row(row, *spans):
    """Return the labelled spans of a row."""
    return {"row": row, "entities": spans}


def list_spans():
    """Return files of labelled spans by their names."""
    spans = {
        "none": [],
        "beyond": [label_row(0, CITY, [90, 95, "CITY"])],
        "empty": [label_row(0, CITY, [20, 20, "CITY"])],
        "text_start": [label_row(0, CITY, ["1", 19, "CITY"])],
        "again": [label_row(0, CITY), label_row(0, CITY)],
        "nobody": [label_row("nobody", CITY)],
        "column": [{**label_row(0, CITY), "column": "nothing"}],
        "text": [{**label_row(0, CITY), "text": "The food, in Paris, was great"}],
        "kind": [label_row(0, [13, 19, None])],
        "row": [label_row(4, [0, 3, "P"])],
        "null": [label_row(1, [0, 3, "P"])],
    }
    files = {f"spans_{name}.jsonl": "".join(json.dumps(line) + "\n" for line in found) for name, found in spans.items()}
    return files | {"spans_latin.jsonl": b'{"row": 0, "kind": "\xe9"}\n', "spans_broken.jsonl": '{"row": 0\n'}


def list_tables():
    """Return tables by their names."""
    plain = "text,label\nthe food,a\nthe dog,b\n"
    return {
        "in.csv": 'id,text,note\r\na1,"The food, in London, was great",007\r\nb2,zork and the dog,"x ""y"""\r\n',
        "null.jsonl": '{"text": "the food"}\n{"text": null}\n',
        "lines.txt": "the food\n",
        "blank.txt": "\n\n",
        "empty.csv": "",
        "blank.csv": "\n\r\n",
        "header.csv": "text,label\n",
        "other_columns.csv": "id,body\n1,x\n",
        "open_quote.csv": 'id,text\n1,the\n2,"open\nand on\n',
        "closed_quote.csv": 'id,text\n1,"the"food\n',
        "long_row.csv": "id,text\n1,the\n2,the,food\n",
        "latin.csv": b"id,text\n1,the\n2,caf\xe9\n",
        "text_twice.csv": "text,text\n1,2\n",
        "swallowed.csv": 'id,text,note\n1,the food,x\n2,the dog,"x\n3,the cat,y\n4,london,y"\n',
        "utf16.csv": "text\nthe\n".encode("utf-16"),
        "sep.csv": "sep=;\ntext;n\n",
        "is_gzip.csv": gz(b"text\nthe\n"),
        "is_parquet.csv": parquet(text=["a"]),
        "broken.jsonl": '{"text": "the"}\n{"text": "the"\n',
        "other_keys.jsonl": '{"txt": "the"}\n',
        "key_twice.jsonl": '{"text": "the"}\n{"text": "a", "text": "a"}\n',
        "number.jsonl": '{"text": 5}\n',
        "empty.parquet": "",
        "cut.parquet": parquet(text=["a"])[:-20],
        "integers.parquet": parquet(text=[1, 2]),
        "text_twice.parquet": write_parquet(
            pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], names=["text", "text"])
        ),
        "other_columns.parquet": parquet(body=["a"]),
        "is_gzip.parquet": gz(b"text\n"),
        "plain.csv.gz": "text\nthe\n",
        "cut.csv.gz": gz(b"text\n" + b"the food\n" * 999)[:-9],
        "twice.csv.gz": gz(gz(b"text\n")),
        "is_zstd.csv.gz": zstd(b"text\n"),
        "is_gzip.csv.zst": gz(b"text\n"),
        "plain.csv.zst": "text\nthe\n",
        "cut.csv.zst": zstd(b"text\n" + b"the food\n" * 999)[:-3],
        "id_twice.csv": "id,text\na,the\nb,food\n\na,dog\n",
        "one_id.csv": "id,text\n1,the\n1.0,food\n",
        "one_id.tsv": "id\ttext\ncafe\u0301\tthe\n caf\u00e9\tfood\n",
        "one_id.jsonl": '{"id": 10, "text": "the"}\n{"id": 1e1, "text": "food"}\n',
        "one_id.parquet": parquet(id=["0", "-0."], text=["the", "food"]),
        "blank_id.csv": "id,text\n1,the\n ,food\n",
        "blank_id.jsonl": '{"id": "", "text": "the"}\n',
        "half_id.jsonl": '{"id": 1.5, "text": "the"}\n',
        "null_id.parquet": parquet(id=[1.0, None], text=["a", "b"]),
        "half_id.parquet": parquet(id=[1.0, 1.5], text=["a", "b"]),
        "large_id.parquet": parquet(id=[1.0, 2.0**53], text=["a", "b"]),
        "large_id32.parquet": parquet(id=pa.array([2**24], pa.float32()), text=["a"]),
        "true_id.parquet": parquet(id=[True, False], text=["a", "b"]),
        "bytes_id.parquet": parquet(id=[b"a", b"b"], text=["a", "b"]),
        "persons.csv": "id,who,text\n1,ann,the food was good\n2,bob,the dog\n3,ann,london paris\n4,eve,the cat\n",
        "wide.csv": table(
            (("the food", "x", "", "zork", f"k{row % 2}") for row in range(20)), "text,one,none,odd,kind"
        ),
        "train.csv": table(row[:2] for row in REVIEWS[:80]),
        "test.csv": table(row[:2] for row in REVIEWS[80:100]),
        "pairs.csv": table(((row[0], *row[:2]) for row in REVIEWS[:40]), "before,text,label"),
        "private.csv": table(REVIEWS, "text,label,person,stars"),
        "copy.csv": table(REVIEWS, "text,label,person,stars"),
        "public.csv": table(row[:2] for row in REVIEWS[:100]),
        "one_class.csv": "text,label\nthe food good,a\nthe dog good,a\n",
        "one_label.csv": "text,label\nthe food good,a\nthe dog good,\n",
        "one_text.csv": "text,label\nthe food good,1\n  ,0\n",
        "one_known.csv": "text,label\nthe food good,1\nzork blah,0\n",
        "lone_class.csv": "text,label\nthe food,a\nthe dog,b\nthe cat,b\n",
        "one_pair.csv": "text,label\n" + "the food,a\nthe food,b\n" * 20,
        "unknown.csv": "text,label\nzork,a\nblarg,b\n",
        "unknown_class.csv": labelled(("good", "mixed")),
        "nothing_known.csv": labelled(("zork", "bad"), ("good", "")),
        "blanks.csv": labelled((" ", "bad")),
        "long_text.csv": labelled((LONG, "good")),
        "few_texts.csv": "text\na b\n \nc\n",
        "blank_texts.csv": "text\n \n\n",
        "one_text_often.csv": "text\n" + "a b\n" * 50,
        "corpus.csv": table(((text,) for text in CORPUS), "text"),
        "probability.csv": "text,probability\na good film,1\n",
        "counts.csv": "zork,8\n",
        "short_row.csv": "text,label\na\n",
        "labels.csv": plain,
    }


def list_spaces():
    """Return files of vectors by their names."""
    twice = [[1, 2], [1, 2]]
    return {
        "space.npz": vectors(WORDS, spread(WORDS)),
        "words.npz": vectors(MORE_WORDS, spread(MORE_WORDS, 6)),
        "empty.txt": "",
        "short.txt": "the 1 2\nfood 1\n",
        "no_number.txt": "the 1 2\nfood 1 two\n",
        "nan.txt": "the 1 2\nfood 1 nan\n",
        "infinite.txt": "the 1 2\nfood inf 1\n",
        "one_word.txt": "the 1 2\n",
        "no_numbers.txt": "the\nfood\n",
        "empty.npz": "",
        "no_zip.npz": b"PK\x03\x04 no zip",
        "cut.npz": vectors(["the", "food"], [[1], [2]])[:-30],
        "one_vector.npz": vectors(["the", "food"], [[1, 2]]),
        "flat.npz": vectors(["the", "food"], [1, 2]),
        "one_point.npz": vectors(["the", "food"], twice),
        "far.npz": vectors(["the", "food", "dog"], [[1e200], [2e200], [0]]),
        "empty.bin": "",
        "cut.bin": b"2 3\nthe \0\0",
        "huge.bin": b"2 99999999999999999999\nthe \0\0",
        "cut.txt.gz": gz(b"the 1 2\nfood 2 1\n")[:-9],
        "plain.txt.gz": "the 1 2\n",
    }


def list_values():
    """Return lists, keys, inputs and outputs of audits, sets of substitutes and certificates by their names."""
    sets = {"good": ["great", "fine"], "bad": ["awful", "poor"], "film": ["movie"]}
    deep = "[" * 100_000
    return {
        "noise.key": bytes(range(32)),
        "short.key": "12345",
        "list.txt": "the\n",
        "latin.txt": b"caf\xe9",
        "spaces.txt": "\n  \n",
        "two.txt": "new york\n",
        "pets.txt": "dog\n",
        "cut.gguf": b"GGUF\3\0\0\0",
        "more_pets.txt": "Dog\ncat\n",
        "years.txt": "1990\n",
        "health.txt": "dog\n",
        "drugs.txt": "dog\ninsulin\n",
        "nobody.txt": "nobody\n",
        "there.csv": "old",
        "mine.html": "mine",
        "signed.csv.certificate.json.sig": "notes of mine",
        "rome.json": '"rome"',
        "one.json": "1",
        "one_again.json": "1.0",
        "list.json": "[1.0, 2.0]",
        "two_lines.txt": "I love rome\nmy rome\n",
        "other_lines.txt": "I love paris\nmy paris\n",
        "three_lines.txt": "a\nb\nc\n",
        "numbers.txt": "1\ntwo\n",
        "one_distance.txt": "1\n",
        "blank_numbers.txt": "1\n\n2\n  \n",
        "a.npy": write_npy(np.arange(600.0).reshape(300, 2)),
        "b.npy": write_npy(np.arange(400.0).reshape(200, 2)),
        "broken.npy": NPY,
        "open.npy": NPY + b"\x01\x00v\x00{[[(" + b" " * 114,
        "broken_value.jsonl": "{\n",
        "sets.json": json.dumps(sets),
        "empty_sets.json": "{}",
        "no_sets.json": "[]",
        "text_sets.json": '{"good": "great"}',
        "number_sets.json": '{"good": [1]}',
        "unknown_sets.json": '{"good": ["zork"], "blah": ["great"]}',
        "latin_sets.json": b'{"good": ["\xff"]}',
        "deep_sets.json": deep,
        "cut_sets.json.gz": gz(json.dumps(sets).encode())[:20],
        "plain_sets.json.xz": "no xz",
        "empty.json": "",
        "deep.json": deep,
        "deep_objects.json": '{"a":' * 500 + "1" + "}" * 500,
        "field_twice.json": '{"schema": 1, "schema": 2}',
        "nan.json": '{"schema": NaN}',
        "infinite.json": '{"schema": 1e999}',
        "long_number.json": '{"schema": ' + "9" * 5000 + "}",
        "schema_6.json": '{"schema": "deniable-certificate/6"}',
        "schema_10.json": '{"schema": "deniable-certificate/10"}',
        "utf16.json": b"\xff\xfe",
        "large.json": " " * (5 << 20),
        "object.json": "{}",
        "object.json.sig": "x",
        "token": "0123456789abcdef" * 2,
        "short.token": "abc-secret",
        "odd.token": "é" * 40,
        "three.token": f"ann {'0123456789abcdef' * 2} x\n",
        "twice.token": f"ann {'0123456789abcdef' * 2}\nann {'0123456789abcdef' * 2}1\n",
        "shared.token": f"ann {'0123456789abcdef' * 2}\nbob {'0123456789abcdef' * 2}\n",
        "neighbours.jsonl": '{"records": "aa", "other": "aaa"}\n',
        "same_neighbours.jsonl": '{"records": "aa", "other": "aa"}\n',
        "lone_neighbour.jsonl": '{"records": "aa", "others": "ab"}\n',
        "list_neighbours.jsonl": '["aa", "ab"]\n',
        "text_prefix.jsonl": '{"records": "aa", "other": "ab", "prefix": "a"}\n',
        "negative_prefix.jsonl": '{"records": "aa", "other": "ab", "prefix": [1, -1]}\n',
        "own_mechanisms.py": MECHANISMS,
    }


def write_npy(array):
    sink = io.BytesIO()
    np.save(sink, array)
    return sink.getvalue()


def list_images():
    """Return sets of images by their names."""
    return {
        "images.npz": make_images(),
        "no_y_train.npz": make_images(y_train=None),
        "no_y_test.npz": make_images(y_test=None),
        "few_labels.npz": make_images(y_test=np.zeros(5, int)),
        "bright.npz": make_images(x_train=np.full((24, 16, 16), 2.0), x_test=np.zeros((12, 16, 16))),
        "flat_images.npz": make_images(x_train=np.zeros((24, 256), np.uint8)),
        "two_sizes.npz": make_images(x_test=np.zeros((12, 16, 20), np.uint8)),
        "one_class.npz": make_images(y_train=np.zeros(24, int)),
        "large_class.npz": make_images(y_test=np.full(12, 10**18)),
        "tiny.npz": make_images(shape=(4, 4)),
        "oblong.npz": make_images(shape=(20, 24)),
        "colour.npz": make_images(shape=(16, 16, 3)),
        "four_classes.npz": make_images(y_train=np.arange(24) % 4),
        "other_classes.npz": make_images(y_train=np.arange(24) % 3 + 5, y_test=np.arange(12) % 3 + 5),
    }


def make_folder(folder: Path) -> None:
    """Write everything to a folder, which is the current one."""
    for name, content in {**list_tables(), **list_spaces(), **list_spans(), **list_values(), **list_images()}.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    (folder / "folder").mkdir()
    (folder / "link.csv").symlink_to("in.csv")
    (folder / "hard.csv").hardlink_to(folder / "in.csv")
    (folder / "link_nowhere").symlink_to("nowhere")
    os.mkfifo(folder / "fifo.csv")
    shutil.copy(folder / "corpus.csv", folder / "used.pt.checkpoint")
    dn.create_ledger("callers.db", 5.0, delta=None, unit="caller", secret=bytes(32), key_path="callers.db.key")
    for command in ("ledger create l.db --budget 20 --delta 1e-6", "key sign.key --sign"):
        done = run(*command.split())
        assert done.code == 0, done.err
