"""One comparison of a small table by its command, which many tests read."""

import dataclasses
import json

import numpy as np
import pytest

import deniable as dn
from tests.commands import run
from tests.comparison.toy import CLASSES, SPACE, make_table
from tests.rewriting.untrained import untrained


@dataclasses.dataclass(frozen=True)
class Compared:
    """What ``deniable compare`` wrote: its JSON and its page."""

    content: dict
    page: str

    @property
    def releases(self):
        """The sections of the releases by name, in the order of the page."""
        return {name: fields for name, fields in self.content.items() if isinstance(fields, dict) and "way" in fields}

    def get(self, name):
        """Return the releases of a way."""
        return [fields for fields in self.releases.values() if fields["way"] == name]


@pytest.fixture(scope="session")
def compare(tmp_path_factory):
    """Return a function that compares 120 labelled rows, with as few models as a comparison can have."""
    folder = tmp_path_factory.mktemp("compare")
    np.savez(folder / "space.npz", words=np.array(SPACE.words), vectors=SPACE.vectors)
    for name, rows, seed in (("t & u.csv", 120, 0), ("public.csv", 300, 1)):
        lines = [
            f"{text},{CLASSES[code]},p{row // 2}"
            for row, (text, code) in enumerate(zip(*make_table(rows, seed), strict=True))
        ]
        (folder / name).write_text("\n".join(["text,kind,who", *lines]) + "\n")
    (folder / "names.txt").write_text("london\n")
    dn.texts.save_model(untrained(SPACE.words), folder / "model.pt")

    def comparing(*options):
        page = folder / "page.html"
        files = {name: folder / name for name in ("names.txt", "public.csv", "model.pt")}
        result = run("compare", folder / "t & u.csv", "--label", "kind", "--space", folder / "space.npz", "--hide",
                     "none", "--folds", 2, "--shadow-models", 6, "--rows", 100, "--report", page, "--force", "--json",
                     *(files.get(option, option) for option in options))  # fmt: skip
        assert result.code == 0
        return Compared(json.loads(result.text), page.read_text("utf-8"))

    return comparing


@pytest.fixture(scope="session")
def compared(compare):
    """Return a comparison with every way; its table has names in some texts."""
    public = ("--public", "public.csv", "--public-label", "kind")
    records = ("--model", "model.pt", "--text-epsilons", 20)
    return compare(*public, *records, "--epsilons", 50, "--recoveries", "0.45,0.7", "--entities", "names.txt")
