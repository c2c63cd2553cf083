"""Every command that writes files, on tables so small that a run takes a moment."""

import csv
import dataclasses
import gzip
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import deniable as dn

MARK = "zyxprivatum"
"""How a word of every private text begins, which no space has: it is in no output but those that copy texts."""
WORDS = ("good", "great", "fine", "bad", "awful", "poor", "film", "movie", "plot", "the", "a", "was", "not", "very")
_MORE_WORDS = ("red", "blue", "dog", "cat", "food", "london")


@dataclasses.dataclass(frozen=True)
class Command:
    """A command that writes.

    Attributes:
        name: of the row in tables.
        arguments: of the program; ``{in}`` is the folder of inputs, outputs are in ``out/``.
        outputs: every file that it writes, in ``out/``.
        certified: of them, what is released and must never be there without the others in ``certificates``.
        certificates: what says how private it is.
        owner_only: outputs that nobody but their owner may open.
        checkpoint: a file that an interrupted run leaves, for its owner alone; "" for none.
        writes_stdout: whether the table goes to standard output.
        is_repeatable: whether two runs write the same bytes.
        copies_texts: whether outputs hold the private texts by their nature.
        overwrites: whether outputs that exist are overwritten.
        tries_cache: whether faults of the cache are tried too, which all commands use in one way.
        charges_ledger: whether it charges the ledger ``ledger/l.db``, whose faults are tried too; see `LEDGER`.
    """

    name: str
    arguments: tuple[str, ...]
    outputs: tuple[str, ...]
    certified: tuple[str, ...] = ()
    certificates: tuple[str, ...] = ()
    owner_only: tuple[str, ...] = ()
    checkpoint: str = ""
    writes_stdout: bool = False
    is_repeatable: bool = True
    copies_texts: bool = False
    overwrites: bool = True
    tries_cache: bool = False
    charges_ledger: bool = False


_SPACE = ("--space", "{in}/space.txt", "--hide", "none")
_PRIVATIZE = (*_SPACE, "--epsilon", "2", "--key", "seed:7")
LEDGER, LEDGER_KEY = Path("ledger", "l.db"), "l.db.key"
"""The ledger that each run has anew in its own folder, a copy of that of the inputs, and its key, in theirs."""
_LEARN = ("--label", "label", *_SPACE)
_BUDGET = ("--epsilon", "8", "--delta", "1e-4", "--classes", "bad,good", "--records", "3000")


def _make_release(name: str, start: Sequence[str], table: str, *options: str) -> Command:
    certificate = f"{table}.certificate.json"
    is_signed = "--sign-key" in options
    outputs = (certificate, table, *((f"{certificate}.sig",) if is_signed else ()))
    arguments = (*start, "--output", f"out/{table}", "--force", *options)
    certificates = outputs[:1] + outputs[2:]
    return Command(name, arguments, outputs, (table,), certificates, tries_cache="csv" in table and is_signed)


def _make_training(name: str, *arguments: str, is_repeatable: bool = True) -> Command:
    companions = ("m.pt.card.json", "m.pt.card.txt", "m.pt.owner.json")
    return Command(
        name,
        ("train", *arguments, "--output", "out/m.pt", "--force"),
        ("m.pt", *companions),
        ("m.pt",),
        companions[:2],
        companions[2:],
        "m.pt.checkpoint",
        is_repeatable=is_repeatable,
    )


_SIGN = ("--sign-key", "{in}/sign.key")
QUICK_COMMANDS = (
    _make_release("privatize, signed", ("privatize", "{in}/table.csv", *_PRIVATIZE), "private.csv", *_SIGN),
    Command("key --sign", ("key", "out/sign.key", "--sign"), ("sign.key", "sign.key.pub"),
            owner_only=("sign.key",), is_repeatable=False, overwrites=False),
)  # fmt: skip
"""Those of the normal suite."""

LEDGER_COMMAND = dataclasses.replace(
    _make_release("privatize, ledger", ("privatize", "{in}/table.csv", *_SPACE, "--epsilon", "2"), "private.csv",
                  "--column", "text", "--id", "id", "--person", "label", "--ledger", str(LEDGER), "--key",
                  f"{{in}}/{LEDGER_KEY}"), charges_ledger=True,
)  # fmt: skip
COMMANDS = (
    *QUICK_COMMANDS,
    _make_release("privatize, parquet", ("privatize", "{in}/table.parquet", *_PRIVATIZE), "private.parquet"),
    _make_release("privatize, jsonl.gz", ("privatize", "{in}/table.jsonl.gz", *_PRIVATIZE), "private.jsonl.gz"),
    _make_release("privatize, csv.zst", ("privatize", "{in}/table.csv.zst", *_PRIVATIZE), "private.csv.zst"),
    Command("privatize to a pipe",
            ("privatize", "{in}/table.csv", *_PRIVATIZE, "--output", "-", "--certificate", "out/c.json", "--force"),
            ("c.json",), writes_stdout=True),
    Command("key", ("key", "out/noise.key"), ("noise.key",), owner_only=("noise.key",), is_repeatable=False,
            overwrites=False),
    Command("ledger create", ("ledger", "create", "out/l.db", "--budget", "5"), ("l.db.key", "l.db"),
            owner_only=("l.db.key", "l.db"), is_repeatable=False, overwrites=False),
    LEDGER_COMMAND,
    Command("certificate check", ("certificate", "check", "{in}/c.json", "--space", "{in}/space.txt", "--html",
                                  "out/check.html", "--force"), ("check.html",), tries_cache=True),
    Command("measure", ("measure", "{in}/train.csv", *_LEARN, "--epsilons", "1", "--shadow-models", "6",
                        "--output", "out/r.html", "--force"), ("r.html", "r.json"), owner_only=("r.html", "r.json"),
            copies_texts=True, is_repeatable=False),
    Command("compare", ("compare", "{in}/train.csv", *_LEARN, "--shadow-models", "6", "--epsilons", "100", "--public",
                        "{in}/public.csv", "--public-label", "label", "--output", "out/r.html", "--force"),
            ("r.html", "r.json"), owner_only=("r.html", "r.json"), is_repeatable=False, copies_texts=True),
    _make_release("rewrite", ("rewrite", "{in}/rewriter.pt", "{in}/table.csv", "--method", "tokens", "--epsilon", "5",
                              "--test-seed", "7"), "private.csv", *_SIGN),
    Command("synthesize", ("synthesize", "{in}/train.csv", "--label", "label", "--rows", "20", "--epsilon", "20",
                           "--delta", "1e-6", "--records", "600", "--public", "{in}/public.csv", "--public-label",
                           "label", "--output", "out/o.csv", *_SIGN, "--force"),
            ("o.csv", "o.csv.certificate.json", "o.csv.classifier.model", "o.csv.baseline.csv",
             "o.csv.certificate.json.sig", "o.csv.owner.json"),
            ("o.csv", "o.csv.classifier.model"), ("o.csv.certificate.json", "o.csv.certificate.json.sig"),
            ("o.csv.owner.json",), is_repeatable=False),
    _make_training("train text, bow", "text", "{in}/train.csv", "--kind", "bow", *_LEARN, "--epochs", "2", "--seed",
                   "1", "--checkpoint-every", "3", is_repeatable=False),
    _make_training("train private-text", "private-text", "{in}/train.csv", "--label", "label", *_BUDGET,
                   "--public", "{in}/public.csv", "--public-label", "label", is_repeatable=False),
    _make_training("train image", "image", "{in}/images.npz", "--kind", "plain", "--steps", "4", "--width", "0.1",
                   "--checkpoint-every", "2", "--test-seed", "1", is_repeatable=False),
    _make_training("train rewriter", "rewriter", "{in}/public.csv", "--quick", "--latent", "4", "--epochs", "1",
                   "--seed", "1", "--checkpoint-every", "2", is_repeatable=False),
    Command("predict", ("predict", "{in}/text.pt", "{in}/table.csv", *_SPACE, "--output", "out/p.csv", "--force"),
            ("p.csv",), copies_texts=True),
    Command("certify text", ("certify", "text", "{in}/text.pt", "{in}/test.csv", *_LEARN, "--substitutions",
                             "{in}/sets.json", "--output", "out/c.json", "--force"), ("c.json",),
            owner_only=("c.json",), copies_texts=True, is_repeatable=False),
    Command("attack text", ("attack", "text", "{in}/text.pt", "{in}/test.csv", *_LEARN, "--substitutions",
                            "{in}/sets.json", "--search", "greedy", "--seed", "1", "--output", "out/a.csv", "--force"),
            ("a.csv",), owner_only=("a.csv",), copies_texts=True, is_repeatable=False),
)  # fmt: skip
"""Those of the full sweep."""


def _draw_rows(count: int, seed: int) -> list[tuple[str, str]]:
    """Return texts of four to nine words, and their classes, which one word of each tells."""
    generator = np.random.default_rng(seed)
    rows = []
    for number in range(count):
        is_good = number % 2 == 0
        words = generator.choice(WORDS[6:], generator.integers(3, 8)).tolist()
        own_word = MARK + chr(97 + number // 26) + chr(97 + number % 26)  # which counts with noise do not name
        words += [str(generator.choice(WORDS[:3] if is_good else WORDS[3:6])), own_word]
        rows.append((" ".join(words), "good" if is_good else "bad"))
    return rows


def _write_csv(path: Path, names: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([names, *rows])


def make_inputs(folder: Path) -> None:
    """Write what the quick commands read: a space of 20 words as a GloVe text file, a table, a key that signs.

    A ledger and its key are there too.
    """
    generator = np.random.default_rng(0)
    words = (*WORDS, *_MORE_WORDS)
    vectors = 0.3 * generator.normal(size=(len(words), 6))
    vectors[:3, 0] += 2.0
    vectors[3:6, 0] -= 2.0
    lines = [f"{word} {' '.join(map(str, vector))}\n" for word, vector in zip(words, vectors.tolist(), strict=True)]
    (folder / "space.txt").write_text("".join(lines))
    rows = [(f"r{number}", *row, f"{number:03}") for number, row in enumerate(_draw_rows(12, 3))]
    _write_csv(folder / "table.csv", ("id", "text", "label", "note"), rows)
    _run("key", str(folder / "sign.key"), "--sign")
    (folder / LEDGER).parent.mkdir()
    dn.create_ledger(
        str(folder / LEDGER), 1000.0, delta=None, unit="person", secret=bytes(range(32)), key_path=folder / LEDGER_KEY
    )


def _run(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "deniable", *arguments], check=True, capture_output=True)


def make_all_inputs(folder: Path) -> None:
    """Write what all commands read."""
    import pyarrow as pa
    from pyarrow import parquet

    from tests.cli.image_models import images

    make_inputs(folder)
    rows = [{"text": text, "label": label} for text, label in _draw_rows(12, 3)]
    parquet.write_table(pa.Table.from_pylist(rows), folder / "table.parquet", row_group_size=5)
    with gzip.open(folder / "table.jsonl.gz", "wt", encoding="utf-8") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in rows)
    with pa.CompressedOutputStream(str(folder / "table.csv.zst"), "zstd") as compressed:
        compressed.write((folder / "table.csv").read_bytes())
    for name, count, seed in (("train.csv", 80, 1), ("test.csv", 12, 2)):
        _write_csv(folder / name, ("text", "label"), _draw_rows(count, seed))
    public = [(text.rpartition(" ")[0], label) for text, label in _draw_rows(100, 9)]
    _write_csv(folder / "public.csv", ("text", "label"), public)
    (folder / "sets.json").write_text('{"good": ["great", "fine"], "bad": ["awful", "poor"], "film": ["movie"]}')
    images(folder / "images.npz")
    small = dn.rewriting.RewriterOptions(latent=8, hidden=12, embedding=6, epochs=1)
    texts = [text for text, _ in public]
    dn.texts.save_model(dn.rewriting.fit_rewriter(texts[9:], texts[:9], small, seed=1), folder / "rewriter.pt")
    space = ("--space", str(folder / "space.txt"), "--hide", "none")
    text_model = ("train", "text", str(folder / "train.csv"), "--kind", "fasttext", "--label", "label")
    _run(*text_model, "--epochs", "2", *space, "--output", str(folder / "text.pt"))
    table = ("privatize", str(folder / "table.csv"), "--epsilon", "2", "--key", "seed:7")
    _run(*table, *space, "--output", str(folder / "c.csv"), "--certificate", str(folder / "c.json"))
