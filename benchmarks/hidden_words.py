"""Who is still named where names, places and numbers are hidden, and what hiding them costs.

    pip install --target DIR mimesis==22.2.0
    PYTHONPATH=DIR python benchmarks/hidden_words.py [--epsilon 3] [--texts 100] [--write FILE.jsonl]
        [--conll FILE ...] [--data DATA]

The texts are letters of business in English that carry persons, cities, telephone numbers, dates, card and account
numbers, e-mail addresses, URLs and IP addresses of ten locales, labelled (start, end, kind). Names and cities are those
of mimesis, which the lists of hidden words were not made from. ``--conll`` adds public text that people labelled: one
token a line, its tag (B-person, I-LOC, ...) last, sentences apart by a blank line. ``--write`` keeps the made texts, a
JSON object a line. DATA holds ``imdb_train.parquet`` with columns text and label.

All texts are privatized by the mechanism that ``auto`` chooses, with classes hidden and without. Printed are:

survival: the share of the words of labelled spans that stand anywhere in the private version of their own text, less
    the rate at which the same words stand in `OTHER_TEXTS` private versions of other texts, with intervals over texts;
    the share of spans all of whose words stand there; and the words that do so most often (of "Los Angeles", "los");
costs: the share of the words of film reviews in each class, its most frequent words, and how much of it is written in
    lower case, which names hardly ever are; the false alarms of ``tools/word_classes.tsv`` by frequency in reviews;
accuracy: of a classifier that is trained on private reviews and tested on original ones, hidden against not.
"""

import argparse
import dataclasses
import importlib
import itertools
import json
import string
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

import deniable as dn
from deniable.measure.intervals import Estimate, estimate_clustered_mean, estimate_clustered_share
from deniable.measure.utility import measure_utility
from deniable.space.grammar import fold_word

LOCALES = ("en", "en-gb", "de", "fr", "es", "it", "pt-br", "pl", "nl", "tr")
TEMPLATES = (
    "Dear {name}, your order of {date} is on its way to {place}. Questions? Call {phone} or write to {email}.",
    "{name} from {place} asked to move the meeting with {name} to {date}; please confirm by mail to {email}.",
    "Invoice for {name}, {place}: the amount was charged to the card {card} on {date}.",
    "We could not reach {name} under {phone}. The parcel was returned to our office in {place}.",
    "Please transfer the deposit to the account {account} of {name} before {date}.",
    "The login from {ip} on {date} was not made by {name}, who was in {place} that day.",
    "Our new colleague {name} starts in {place} on {date} and replaces {name}. Her number is {phone}.",
    "Complaint: {name} bought two tickets from {place} to {place} at {url} and never received them.",
    "The patient {name}, born on {date} in {place}, reports pain in the left knee since the fall.",
    "Hi, this is {name}. I forgot my password for {url}, my address is {email}, the last card ended in {card}.",
    "According to the minutes {name} and {name} met in {place} and agreed to sign the contract on {date}.",
    "The flat in {place} belongs to {name}; the rent goes to {account}. The caretaker answers at {phone}.",
)
GROUPS = {
    "name": "names",
    "place": "places",
    **dict.fromkeys(("phone", "date", "card", "account"), "numbers"),
    **dict.fromkeys(("email", "url", "ip"), "addresses"),
}
MONTHS = "months"
"""Group of the words of numbers that hold no digit: months, written out."""
CONLL_KINDS = {"per": "name", "person": "name", "loc": "place", "location": "place", "geo-loc": "place"}
OTHER_TEXTS = 20
"""Private versions of other texts, in which the chance level is counted."""
HEADINGS = ("texts", "group", "words", "in their own text", "by chance", "beyond chance", "whole spans", "most often")
SHOWN_SURVIVORS = 12
REVIEWS = 4_000
SHOWN_WORDS = 50
JUDGED_WORDS = Path(__file__).parents[1] / "tools" / "word_classes.tsv"


@dataclasses.dataclass(frozen=True)
class LabelledText:
    """A text, where it is from, and its spans (start, end, kind)."""

    text: str
    source: str
    spans: tuple[tuple[int, int, str], ...]


class Entities:
    """Draws things of each kind, of one locale, from a public seed."""

    def __init__(self, locale: str, seed: int) -> None:
        mimesis = importlib.import_module("mimesis")  # a source of texts, not a dependency
        self._generator = np.random.default_rng((seed, *locale.encode()))
        self._person = mimesis.Person(locale, seed=seed)
        self._address = mimesis.Address(locale, seed=seed)
        self._internet = mimesis.Internet(seed=seed)
        self._payment = mimesis.Payment(seed=seed)
        self._date = mimesis.Datetime(seed=seed)
        self._country = locale[-2:].upper()

    def draw(self, kind: str) -> str:
        """Return one thing of a kind of `GROUPS`."""
        draws: dict[str, Any] = {
            "name": self._person.full_name,
            "place": self._address.city,
            "phone": self._person.telephone,
            "email": self._person.email,
            "url": self._internet.url,
            "ip": self._internet.ip_v4,
            "card": self._payment.credit_card_number,
            "account": lambda: f"{self._country}{self._generator.integers(10**15, 10**16)}",
            "date": self._draw_date,
        }
        return str(draws[kind]())

    def _draw_date(self) -> str:
        day = self._date.date()
        return str(day.strftime(str(self._generator.choice(["%Y-%m-%d", "%d/%m/%Y", "%d.%m.%Y", "%d %B %Y"]))))


def fill_template(template: str, entities: Entities, source: str) -> LabelledText:
    """Return a template with its places filled in, and their spans."""
    text, spans = "", []
    for literal, kind, _, _ in string.Formatter().parse(template):
        text += literal
        if kind is not None:
            thing = entities.draw(kind)
            spans.append((len(text), len(text) + len(thing), kind))
            text += thing
    return LabelledText(text, source, tuple(spans))


def make_texts(count: int, seed: int = 0) -> list[LabelledText]:
    """Return ``count`` letters for each locale, the templates in turn."""
    texts = []
    for locale in LOCALES:
        entities = Entities(locale, seed)
        texts += [fill_template(TEMPLATES[row % len(TEMPLATES)], entities, locale) for row in range(count)]
    return texts


def parse_conll(lines: Iterable[str], source: str) -> Iterator[LabelledText]:
    """Yield the sentences of a file of tokens and tags that have a person or a place."""
    for is_blank, sentence in itertools.groupby(lines, key=lambda line: not line.strip()):
        text = ""
        spans: list[tuple[int, int, str]] = []
        for line in [] if is_blank else sentence:
            token, tag = line.split()[0], line.split()[-1].lower()
            text += " " if text else ""
            kind = CONLL_KINDS.get(tag[2:])
            if kind is not None:
                is_next = tag[0] == "i" and spans and spans[-1][1:] == (len(text) - 1, kind)
                start = spans.pop()[0] if is_next else len(text)
                spans.append((start, len(text) + len(token), kind))
            text += token
        if spans:
            yield LabelledText(text, source, tuple(spans))


def find_span_words(space: dn.Space, text: LabelledText) -> dict[str, list[str]]:
    """Return the folded words of the spans of a text, by group."""
    words: defaultdict[str, list[str]] = defaultdict(list)
    for start, end, kind in text.spans:
        for word in map(fold_word, space.split_words(text.text[start:end])[1::2]):
            is_month = GROUPS[kind] == "numbers" and word.isalpha()
            words[MONTHS if is_month else GROUPS[kind]].append(word)
    return words


def count_whole_spans(space: dn.Space, text: LabelledText, output: frozenset[str], group: str) -> tuple[int, int]:
    """Return how many spans of a group a text has, and of how many all words stand in its private version."""
    spans = [text.text[start:end] for start, end, kind in text.spans if GROUPS[kind] == group]
    words = [[fold_word(word) for word in space.split_words(span)[1::2]] for span in spans]
    return len(spans), sum(bool(row) and all(word in output for word in row) for row in words)


def count_survivors(
    own: Sequence[Sequence[str]], outputs: Sequence[frozenset[str]]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Return for each of n texts its words, those that stand in its private version, and the same by chance.

    Args:
        own: n lists of words.
        outputs: the words of n private versions.

    Returns:
        (n,) words, (n,) survivors, and (n,) the mean number of survivors in `OTHER_TEXTS` versions of other texts.
    """
    count = len(own)
    step = max(count // (OTHER_TEXTS + 1), 1)
    shifts = [step * number % count for number in range(1, OTHER_TEXTS + 1) if step * number % count]
    words = np.array([len(row) for row in own])
    survivors = np.array([sum(word in outputs[at] for word in row) for at, row in enumerate(own)])
    by_chance = np.array(
        [
            np.mean([sum(word in outputs[(at + shift) % count] for word in row) for shift in shifts])
            for at, row in enumerate(own)
        ]
    )
    return words, survivors, by_chance


def format_share(estimate: Estimate) -> str:
    """Return a share in percent with its interval."""
    return f"{100 * estimate.value:.1f}% ({100 * estimate.low:.1f} to {100 * estimate.high:.1f})"


def print_survival(title: str, release: dn.Release, texts: Sequence[LabelledText]) -> None:
    """Print a line for each group, with the columns of `HEADINGS`."""
    space = release.mechanism.space
    private = release.batch([text.text for text in texts]).texts
    outputs = [frozenset(map(fold_word, space.split_words(text or "")[1::2])) for text in private]
    found = [find_span_words(space, text) for text in texts]
    for group in dict.fromkeys([*GROUPS.values(), MONTHS]):
        words, survivors, by_chance = count_survivors([row[group] for row in found], outputs)
        if not words.sum():
            continue
        own, chance = estimate_clustered_share(survivors, words), by_chance.sum() / words.sum()
        beyond = estimate_clustered_mean(survivors - by_chance, words)
        spans, whole = np.array([count_whole_spans(space, *pair, group) for pair in zip(texts, outputs, strict=True)]).T
        survived = Counter(
            word for row, output in zip(found, outputs, strict=True) for word in row[group] if word in output
        )
        cells = (
            title,
            group,
            f"{words.sum():,}",
            format_share(own),
            f"{100 * chance:.1f}%",
            format_share(beyond),
            format_share(estimate_clustered_share(whole, spans)) if spans.any() else "",
            ", ".join(word for word, _ in survived.most_common(SHOWN_SURVIVORS)),
        )
        print(f"| {' | '.join(cells)} |", flush=True)


def count_reviews(texts: Iterable[str], space: dn.Space) -> tuple[Counter[str], Counter[str]]:
    """Return how often each folded word stands in the texts, and how often in lower case."""
    total: Counter[str] = Counter()
    lower: Counter[str] = Counter()
    for text in texts:
        words = space.split_words(text)[1::2]
        total.update(map(fold_word, words))
        lower.update(word for word in words if word == fold_word(word))
    return total, lower


def print_costs(texts: Sequence[str], space: dn.Space) -> None:
    """Print what hiding does to words of reviews that are no names."""
    total, lower = count_reviews(texts, space)
    count = total.total()
    print(f"\n{len(texts):,} reviews, {count:,} words")
    for word_class in space.hide:
        words = Counter({word: number for word, number in total.items() if word in word_class})
        small = sum(lower[word] for word in words)
        shares = f"{100 * words.total() / count:.2f}% of words, {100 * small / count:.2f}% in lower case"
        print(f"{word_class.name}: {shares}")
        print("  " + ", ".join(f"{word} {number}" for word, number in words.most_common(SHOWN_WORDS)))
    listed = set().union(*(word_class.words for word_class in space.hide))
    rows = [line.split("\t") for line in JUDGED_WORDS.read_text(encoding="utf-8").splitlines() if line[0] != "#"]
    ordinary = [word for word, label, _ in rows if label == "word"]
    wrong = [word for word in ordinary if word in listed]
    share = sum(total[word] for word in wrong) / max(sum(total[word] for word in ordinary), 1)
    print(f"judged ordinary words that hide: {len(wrong)} of {len(ordinary)}, {100 * share:.2f}% by frequency")


def build_release(epsilon: float, *, is_hidden: bool) -> dn.Release:
    """Return the default release, with classes hidden or without."""
    space = dn.Space.glove() if is_hidden else dn.Space.glove(hide=())
    return dn.Release(dn.mechanism("auto", space, epsilon=epsilon), key="seed:0")


def print_accuracy(texts: Sequence[str], labels: npt.NDArray[np.int64], releases: dict[str, dn.Release]) -> None:
    """Print the accuracy of a classifier trained on private reviews, and on the originals."""
    ids = [str(row) for row in range(len(texts))]
    private = {name: [text or "" for text in release.batch(texts, ids).texts] for name, release in releases.items()}
    results = measure_utility(texts, private, labels)
    original = next(iter(results.values())).accuracy.original
    print(f"\naccuracy, {len(texts):,} reviews, cross-validated; original {original.format_percent()}")
    for name, result in results.items():
        print(f"{name}: {result.accuracy.private.format_percent()}")


def main(arguments: list[str] | None = None) -> None:
    """Print survival, costs and accuracy."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--epsilon", type=float, default=3.0)
    parser.add_argument("--texts", type=int, default=100, help="texts for each locale")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", type=Path, help="keep the made texts and their spans in this file")
    parser.add_argument("--conll", type=Path, nargs="*", default=[], help="labelled public text, a token a line")
    parser.add_argument("--data", type=Path, help="folder with imdb_train.parquet")
    options = parser.parse_args(arguments)
    texts = make_texts(options.texts, options.seed)
    if options.write:
        lines = [json.dumps(dataclasses.asdict(text), ensure_ascii=False) for text in texts]
        options.write.write_text("\n".join(lines) + "\n", encoding="utf-8")
    corpora = {"made letters": texts}
    for path in options.conll:
        corpora[path.stem] = list(parse_conll(path.read_text(encoding="utf-8").splitlines(), path.stem))
    releases = {name: build_release(options.epsilon, is_hidden=name == "hidden") for name in ("hidden", "not hidden")}
    print(f"epsilon {options.epsilon:g}, {releases['hidden'].mechanism.name}\n")
    print(f"| {' | '.join(HEADINGS)} |\n|---|---|---:|---:|---:|---:|---:|---|")
    for (corpus, rows), (name, release) in itertools.product(corpora.items(), releases.items()):
        print_survival(f"{corpus}, {name}", release, rows)
    if options.data is not None:
        table = pq.read_table(options.data / "imdb_train.parquet", columns=["text", "label"])
        chosen = np.random.default_rng(options.seed).permutation(len(table))[:REVIEWS]
        reviews = [text.replace("<br />", "\n") for text in table.column("text").take(chosen).to_pylist()]
        print_costs(reviews, releases["hidden"].mechanism.space)
        print_accuracy(reviews, np.array(table.column("label").take(chosen).to_pylist()), releases)


if __name__ == "__main__":
    main()
