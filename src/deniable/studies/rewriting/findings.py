"""The lines to read first, and the table of everything."""

from deniable.studies.rewriting.plan import PUBLISHED, TITLES
from deniable.studies.rewriting.series import cells, distance, methods, percent, plain, refutations, top
from deniable.studies.study import Data

_LEFT = 10.0
"""BLEU from which on something of a text is left."""


def findings(data: Data) -> tuple[str, ...]:
    """Return the lines to read first."""
    return (
        *_undisturbed(data),
        *_uncovered(data),
        *_refuted(data),
        *_found(data),
        *_utility(data),
        *_tuned(data),
        *_read(data),
        *_limits(data),
    )


def _undisturbed(data: Data) -> list[str]:
    (model,) = data["models"]
    through = model["without noise"]
    return [
        (
            f"without noise the auto-encoder (n = {model['latent']}) returns {percent(through['exact'])} of "
            f"{model['test texts']:,} test texts word for word, BLEU {through['bleu']:.1f}"
        )
    ]


def _uncovered(data: Data) -> list[str]:
    found = distance(data, PUBLISHED)
    if found is None:
        return []
    return [
        (
            f"of all {found['pairs']:,} pairs of texts {100 * found['share']:.5g} % lie farther apart than the 2C that "
            f"ADePT's noise is for; the farthest two {found['ratio']:.3g} times as far, the median two "
            f"{found['median ratio']:.3g} times"
        )
    ]


def _refuted(data: Data) -> list[str]:
    lines = [
        f"published ADePT at epsilon {row['claim']:g}, audited by its {_SEEN[row['seen']]}: {row['status']}, in truth "
        f"at least {row['bound']:.3g} (99.9 %)"
        for row in data["audits"]
        if row["method"] == PUBLISHED
    ]
    held = [row for row in data["audits"] if row["method"] != PUBLISHED]
    wrong = [TITLES[row["method"]] for row in held if row["status"] == "refuted"]
    if held:
        lines.append(
            f"of {len(held)} remedies audited alike {', '.join(wrong) if wrong else 'none'} "
            f"{'is' if len(wrong) <= 1 else 'are'} refuted"
        )
    return lines


_SEEN = {"vector": "vectors", "likelihood": "vectors' likelihood", "text": "rewritten texts alone"}


def _found(data: Data) -> list[str]:
    """Say where the attack by ranking refutes a claim, and how often it names a text."""
    lines = []
    for method in methods(data):
        for cell, found in refutations(data, method):
            lines.append(
                f"{TITLES[method]} at epsilon {cell['epsilon']:g}: among the first {found['first']} of "
                f"{found['candidates']:,} the true text is in {percent(found)} of releases, where "
                f"{plain(100 * found['permitted'])} % are permitted: in truth at least {found['least']:.3g} (99.9 %)"
            )
    if not lines:
        lines.append("naming the text among all of the corpus refutes no claim at any epsilon of this run")
    shown = [
        f"{cell['epsilon']:g}: {percent(named)}"
        for cell in cells(data, PUBLISHED)
        if (named := top(cell, "vector", 1)) is not None
    ]
    if shown:
        lines.append(f"the text is named from a vector of published ADePT, by epsilon: {'; '.join(shown)}")
    return lines


def _utility(data: Data) -> list[str]:
    """Say from which epsilon on each method leaves something, and how often the text is then named."""
    lines = []
    for method in methods(data):
        left = [cell for cell in cells(data, method) if cell["bleu"] >= _LEFT]
        if not left:
            lines.append(f"{TITLES[method]}: BLEU stays below {_LEFT:g} at every epsilon")
            continue
        cell = left[0]
        seen = [(source, found) for source in ("vector", "text") if (found := top(cell, source, 1)) is not None]
        named = " and ".join(f"from the {source} in {percent(found)}" for source, found in seen)
        lines.append(
            f"{TITLES[method]}: BLEU {cell['bleu']:.1f} at epsilon {cell['epsilon']:g}, the first with at least "
            f"{_LEFT:g}; intents {percent(cell['accuracy'])}; the text is named {named}"
        )
    return lines


def _tuned(data: Data) -> list[str]:
    """Say what training with the noise adds."""
    lines = []
    for row in data["tuned"]:
        cell = next(cell for cell in cells(data, row["method"]) if cell["epsilon"] == row["epsilon"])
        lines.append(
            f"{TITLES[row['method']]} at epsilon {row['epsilon']:g}: an auto-encoder trained on with its noise returns "
            f"BLEU {row['bleu']:.1f} and intents {percent(row['accuracy'])}; without, BLEU {cell['bleu']:.1f} and "
            f"{percent(cell['accuracy'])}"
        )
    return lines


def _read(data: Data) -> list[str]:
    return [
        f"{TITLES[row['method']]} at epsilon {row['epsilon']:g}: of the words of test texts the public decoder reads "
        f"{percent(row['public']['tokens'])}, one trained on releases {percent(row['trained']['tokens'])}; a search by "
        f"gradients makes {percent(row['searched']['tokens'])} of {percent(row['started']['tokens'])} on "
        f"{row['searched']['exact']['count']:,} of them"
        for row in data["inversions"]
    ]


def _limits(data: Data) -> list[str]:
    (model,) = data["models"]
    return [
        (
            f"the auto-encoder was trained on the {model['training texts']:,} training texts themselves, which no "
            "guarantee here covers, and without the noise of any method; one seed, one training"
        )
    ]


def details(data: Data) -> str:
    """Return every point as a table."""
    head = (
        "method", "epsilon", "BLEU", "returned word for word", "intents", "named from the vector", "among 10",
        "named from the text", "among 10", "permitted", "among 10",
    )  # fmt: skip
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for method in methods(data):
        for cell in cells(data, method):
            row = [TITLES[method], f"{cell['epsilon']:g}", f"{cell['bleu']:.1f}", percent(cell["exact"])]
            row.append(percent(cell["accuracy"]))
            for source in ("vector", "text"):
                row += [percent(found) if (found := top(cell, source, k)) else "-" for k in (1, 10)]
            row += [f"{plain(100 * found['permitted'])} %" if (found := top(cell, "text", k)) else "-" for k in (1, 10)]
            lines.append("| " + " | ".join(row) + " |")
        for told in (one for one in data["tuned"] if one["method"] == method):
            row = [f"{TITLES[method]}, trained on with it", f"{told['epsilon']:g}", f"{told['bleu']:.1f}"]
            row += [percent(told[name]) for name in ("exact", "accuracy")]
            lines.append("| " + " | ".join([*row, *"------"]) + " |")
    return "\n".join([*lines, "", *_audits(data), "", *_grown(data), "", *_inverted(data)])


def _audits(data: Data) -> list[str]:
    head = ("audited", "seen", "claim", "verdict", "at least", "would see", "loss of the pair")
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for row in data["audits"]:
        loss = "-" if row["loss"] is None else f"{row['loss']:.3g}"
        seen = f"{row['detectable']:.3g}"
        cells_ = (TITLES[row["method"]], row["seen"], f"{row['claim']:g}", row["status"], f"{row['bound']:.3g}", seen)
        lines.append("| " + " | ".join([*cells_, loss]) + " |")
    return lines


def _grown(data: Data) -> list[str]:
    head = ("coordinates", "pairs beyond 2C", "median over 2C", "largest over 2C", "sqrt(n)", "audit, at least")
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for row in data["grown"]:
        shown = (f"{row['n']}", f"{100 * row['share']:.5g} %", f"{row['median ratio']:.3g}", f"{row['ratio']:.3g}")
        lines.append("| " + " | ".join([*shown, f"{row['n'] ** 0.5:.3g}", f"{row['bound']:.3g}"]) + " |")
    return lines


def _inverted(data: Data) -> list[str]:
    head = ("read from the vector", "epsilon", *(f"{_READERS[name]}: {what}" for name in _READERS
            for what in ("exact", "words")))  # fmt: skip
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for row in data["inversions"]:
        shown = [percent(row[name][what]) for name in _READERS for what in ("exact", "tokens")]
        lines.append("| " + " | ".join([TITLES[row["method"]], f"{row['epsilon']:g}", *shown]) + " |")
    return lines


_READERS = {
    "public": "public decoder",
    "trained": "trained on releases",
    "started": "the same, some texts",
    "searched": "search from there",
}
