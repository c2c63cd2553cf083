"""The journal of a run: what is taken from it, what is refused, and what is left of it."""

import dataclasses
import json
import os
import secrets
import stat

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable import TEM, InputError, Ledger, Release, Space, create_ledger
from deniable.core.files import PIPE
from deniable.text import table_release
from deniable.text.batches import Tally
from deniable.text.journal import Journal, Window, describe_run, name_journal, open_journal, remove_journal
from deniable.text.person_tally import PersonTally
from deniable.text.table_release import ReleaseFiles, privatize_table
from deniable.text.tables.layout import TableLayout
from deniable.text.tables.rows import ReleasedRows, TextRows, list_column
from tests.text.helpers import MECHANISM, SPACE, WORDS, buffers

KEY = bytes(range(32))
ROWS = [(f"r{number}", " ".join(WORDS[number % 7 :]), f"p{number % 3}") for number in range(12)]
TABLE = "id,text,person\n" + "".join(",".join(row) + "\n" for row in ROWS)
RUN = {"version": "1", "input": "in.csv", "release": "a"}
WINDOW = 600
"""Characters of a window of two rows."""


class Killed(BaseException):
    """Ends a run as if it had been killed, at a place that a test chooses."""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Return a folder with a table of 12 rows."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.csv").write_text(TABLE)
    return tmp_path


def make_files(kind="csv", *, source=None, target=None, force=False, **layout):
    name = source or f"in.{kind}"
    settings = {"id_column": "id", "person_column": "person", **layout}
    return ReleaseFiles(name, target or f"out.{kind}", "c.json", kind, TableLayout(name, **settings), force=force)


def run(files, key=KEY, windows=None, persons=None, release=None, **options):
    """Privatize with a journal; die when so many windows have been drawn."""
    drawn = []

    def count_window(release, *arguments, **settings):
        if len(drawn) == windows:
            raise Killed
        drawn.append(1)
        return privatize_cells(release, *arguments, **settings)

    privatize_cells = Release.privatize_cells
    with buffers(window=WINDOW), pytest.MonkeyPatch.context() as patch:
        patch.setattr(Release, "privatize_cells", count_window)
        options = {"resume": True, "workers": 1, **options}
        result = privatize_table(files, release or Release(MECHANISM, key=key), persons=persons, **options)
    return result, len(drawn)


def die(files, windows, **options):
    with pytest.raises(Killed):
        run(files, windows=windows, **options)


@pytest.mark.parametrize("windows", [1, 3, 5])
def test_a_resumed_run_is_an_undisturbed_one(place, windows):
    """A run that died after any window ends with the file, the certificate and the counts of one that did not."""
    plain, resumed = PersonTally(), PersonTally()
    (_, counts), drawn = run(make_files(target="plain.csv"), persons=plain, resume=False)
    certificate = (place / "c.json").read_bytes()
    (place / "c.json").unlink()
    die(make_files(), windows, persons=PersonTally())
    assert name_journal("out.csv").is_dir()
    (_, resumed_counts), later_drawn = run(make_files(), persons=resumed)
    assert (place / "out.csv").read_bytes() == (place / "plain.csv").read_bytes()
    assert (place / "c.json").read_bytes() == certificate
    assert (resumed_counts, windows + later_drawn) == (counts, drawn)
    assert resumed.describe(MECHANISM, "proved") == plain.describe(MECHANISM, "proved")
    assert not name_journal("out.csv").exists()


def test_a_run_without_a_key_keeps_one(place):
    """Without a key the run's fresh key is kept for its owner alone, and both parts of the output are drawn with it."""
    die(make_files(), 2, key=None)
    journal = name_journal("out.csv")
    fresh = (journal / "run.key").read_bytes()
    assert stat.S_IMODE(journal.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in journal.iterdir()} == {0o600}
    run(make_files(), key=None)
    undisturbed = [
        window.released.columns
        for window in release_alone(Release(MECHANISM), fresh)
    ]  # fmt: skip
    texts = [text for window in undisturbed for text in list_column(window["text"])]
    assert [line.split(",")[1] for line in (place / "out.csv").read_text().splitlines()[1:]] == texts
    assert not journal.exists()


def release_alone(release, key):
    """Return the windows of the table under a key, drawn without a journal."""
    layout = TableLayout("in", id_column="id")
    privatizer = table_release.RowPrivatizer(layout, release, key=key)
    for first in range(0, len(ROWS), 2):
        part = ROWS[first : first + 2]
        yield privatizer.release_window(TextRows(2, {"text": [row[1] for row in part]}, [row[0] for row in part]))


def test_nothing_private_stands_in_the_journal(place):
    """A window holds new texts and counts, but no private text, and no file holds the key of a keyed run."""
    (place / "in.csv").write_text(TABLE.replace("food", "zork"))
    die(make_files(), 3)
    contents = [path.read_bytes() for path in name_journal("out.csv").iterdir()]
    windows = [pa.ipc.open_stream(content[32:]).read_all() for content in contents if content[:1] != b"{"]
    assert len(windows) == 3
    for window in windows:
        assert window.column_names == ["text"]
        assert b"zork" not in b"".join(window.column(0).to_pylist()) + window.schema.metadata[b"facts"]
    assert not any(KEY in content for content in contents)


def test_the_same_text_under_another_key_has_another_digest():
    """Who lacks the key cannot tell whether a window holds a text that is guessed."""
    rows = TextRows(1, {"text": ["the food"]}, ["a"])
    digests = []
    for key in (KEY, bytes(32)):
        journal = Journal(name_journal("nothing"), key)
        journal.find_window(rows)
        digests.append(journal._digest)
    assert digests[0] != digests[1]


@pytest.mark.parametrize("change", ["id", "text", "person", "rows"])
def test_a_table_that_changed_is_refused(place, change):
    """Another text or id, or rows more in a finished window: refused with its rows, and nothing is written."""
    die(make_files(), 2)
    lines = TABLE.splitlines(keepends=True)
    changed = {
        "id": [*lines[:3], lines[3].replace("r2", "rX"), *lines[4:]],
        "text": [*lines[:3], lines[3].replace("food", "dog"), *lines[4:]],
        "person": [*lines[:3], lines[3].replace("p2", "p1"), *lines[4:]],
        "rows": [*lines[:3], "n,the,x\n", *lines[3:]],
    }
    (place / "in.csv").write_text("".join(changed[change]))
    with pytest.raises(InputError, match=r"The input has changed since the run whose journal is '.*', in rows 3 to"):
        run(make_files())
    assert not (place / "out.csv").exists()
    (place / "in.csv").write_text(TABLE)
    run(make_files())


@pytest.mark.parametrize(
    ("options", "difference"),
    [
        ({"source": "other.csv"}, "its input is 'in.csv', here it is 'other.csv'"),
        ({"replace_empty": True}, "its replace empty is False, here it is True"),
        ({"key": bytes(32)}, "its key is another one"),
        ({"key": "seed:1"}, "its noise is 'keyed', here it is 'public seed'"),
        ({"mechanism": TEM(SPACE, epsilon=2.0)}, "its mechanism is 'tem, epsilon 1.0', here it is 'tem, epsilon 2.0'"),
        ({"case": "copy"}, "its release has other options, or another space"),
    ],
)
def test_another_run_is_refused(place, options, difference):
    """A journal serves its own run alone: the message says what differs, and --force starts anew."""
    (place / "other.csv").write_text(TABLE)
    die(make_files(), 2)
    release_options = {name: options.pop(name) for name in ("key", "mechanism", "case") if name in options}
    release = Release(**{"mechanism": MECHANISM, "key": KEY, **release_options})
    with pytest.raises(InputError) as error:
        privatize_table(make_files(**options), release, resume=True)
    assert difference in str(error.value)
    assert "--force to start anew" in str(error.value)
    privatize_table(make_files(**options, force=True), release, resume=True)
    assert not name_journal("out.csv").exists()


@pytest.mark.usefixtures("place")
def test_a_journal_that_waits_is_not_overlooked():
    """Without --resume a run that could be resumed is named; --force removes its journal, and keeps none."""
    die(make_files(), 2)
    with pytest.raises(InputError, match="resume it with --resume, or remove the journal with --force"):
        run(make_files(), resume=False)
    _, drawn = run(make_files(force=True), resume=False)
    assert drawn == 6
    assert not name_journal("out.csv").exists()


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "swap", "gone"])
def test_damaged_windows_are_drawn_again(place, damage):
    """A window whose file is cut, changed, another's or missing is not believed, and drawn again."""
    run(make_files(target="plain.csv"))
    (place / "c.json").unlink()
    die(make_files(), 3)
    window = name_journal("out.csv") / "window-2"
    data = window.read_bytes()
    flipped = bytes([*data[:99], data[99] ^ 1, *data[100:]])
    contents = {"cut": data[:-1], "flip": flipped, "empty": b"", "swap": window.with_name("window-1").read_bytes()}
    window.unlink() if damage == "gone" else window.write_bytes(contents[damage])
    _, drawn = run(make_files())
    assert drawn == 4
    assert (place / "out.csv").read_bytes() == (place / "plain.csv").read_bytes()


@pytest.mark.parametrize("damage", ["gone", "zeros", "short", "run"])
@pytest.mark.usefixtures("place")
def test_a_journal_without_its_key_serves_nothing(damage):
    """A fresh key that was destroyed is not replaced by zeros or by another: the run starts anew."""
    die(make_files(), 2, key=None)
    key_path = name_journal("out.csv") / "run.key"
    if damage == "gone":
        key_path.unlink()
    elif damage == "run":
        (name_journal("out.csv") / "run.json").unlink()
    else:
        key_path.write_bytes(bytes(32 if damage == "zeros" else 5))
    _, drawn = run(make_files(), key=None)
    assert drawn == 6


def test_the_key_goes_first(place, monkeypatch):
    """At the end the key is overwritten and removed before anything else is."""
    die(make_files(), 2, key=None)
    removed = []
    unlink = type(place).unlink

    def watch(path, **options):
        removed.append((path.name, path.read_bytes() if path.name == "run.key" else b""))
        unlink(path, **options)

    monkeypatch.setattr(type(place), "unlink", watch)
    run(make_files(), key=None)
    in_journal = [entry for entry in removed if entry[0].startswith(("run.", "window-"))]
    assert in_journal[0] == ("run.key", bytes(32))


def test_a_journal_of_somebody_else_is_refused(place):
    """A folder that others can open, or that is none, is no journal: its key may be known."""
    journal = name_journal("out.csv")
    journal.mkdir(mode=0o700)
    journal.chmod(0o750)
    with pytest.raises(InputError, match="must be your own, and nobody else may open it"):
        run(make_files())
    journal.rmdir()
    (place / "target").mkdir()
    journal.symlink_to(place / "target")
    with pytest.raises(InputError, match="must be a folder"):
        run(make_files())


def test_two_runs_do_not_share_a_journal(place):
    """While a run uses its journal another one is refused, and cannot remove it."""
    with open_journal("out.csv", RUN, KEY, force=False):
        with pytest.raises(InputError, match="Another run is using the journal"), \
             open_journal("out.csv", RUN, KEY, force=True):  # fmt: skip
            pass
        with pytest.raises(InputError, match="Another run is using the journal"):
            remove_journal("out.csv")
    assert sorted(path.name for path in place.iterdir()) == ["in.csv"]


def test_nothing_is_left_of_a_run_without_windows(place):
    """A run that is refused before its first window leaves no journal, and stands in nobody's way."""
    (place / "in.csv").write_text("id,text,person\na\n")
    with pytest.raises(InputError, match="line 2 has 1 cells"):
        run(make_files())
    assert sorted(path.name for path in place.iterdir()) == ["in.csv"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"source": PIPE}, "give the path of an input in place of -"),
        ({"target": PIPE}, "give the path of an output in place of -"),
        ({"watcher": object()}, "leave out --entities, or --resume"),
    ],
)
def test_runs_that_cannot_be_resumed(place, options, message):
    """What is read or written through a pipe, or seen as it is drawn, is refused."""
    watcher = options.pop("watcher", None)
    with pytest.raises(InputError, match=message):
        privatize_table(make_files(**options), Release(MECHANISM, key=KEY), resume=True, watcher=watcher)
    assert sorted(path.name for path in place.iterdir()) == ["in.csv"]


@pytest.mark.usefixtures("place")
def test_a_release_without_a_name_is_refused():
    """Under a metric of one's own nobody can tell whose journal it is."""
    space = Space(WORDS, SPACE.vectors, metric=lambda one, others: abs(one - others).sum(axis=1))
    with pytest.raises(InputError, match="has no fingerprint"):
        privatize_table(make_files(), Release(TEM(space, epsilon=1.0)), resume=True)


texts = st.lists(st.none() | st.text(max_size=5) | st.just("\ud800 x"), min_size=1, max_size=5)


@given(columns=st.lists(texts, min_size=1, max_size=3), is_arrow=st.booleans(), is_whole=st.booleans())
def test_windows_come_back(tmp_path_factory, columns, is_arrow, is_whole):
    """Whatever new texts a window has, in lists or as Arrow holds them, it comes back equal, counts included."""
    count = min(map(len, columns))
    private = {f"c{number}": column[:count] for number, column in enumerate(columns)}
    if is_arrow:
        clean = {name: [text and text.replace("\ud800", "") for text in column] for name, column in private.items()}
        private = {name: pa.array(column, pa.large_string()) for name, column in clean.items()}
    rows = TextRows(count, private, [secrets.token_hex(2) for _ in range(count)])
    is_released = None if is_whole else np.arange(count) % 2 == 0
    window = Window(ReleasedRows(private, is_released), Tally(count, 7), list(range(count)), 3, 4)
    output = str(tmp_path_factory.mktemp("journal") / "out.csv")
    with open_journal(output, RUN, KEY, force=False) as journal:
        assert journal.find_window(rows) is None
        journal.keep_window(window)
        again = Journal(journal.path, KEY)
        restored = again.find_window(rows)
        assert type(restored.released.columns["c0"]) is type(private["c0"])
        assert {name: list_column(column) for name, column in restored.released.columns.items()} == {
            name: list_column(column) for name, column in private.items()
        }
        assert dataclasses.replace(restored, released=window.released) == window
        assert restored.released.list_released(count) == window.released.list_released(count)


def test_a_run_is_described_as_json():
    """What is stored of a run is equal to what is compared with it when it is read again."""
    layout = TableLayout("in.csv", ("a", "b"), copied=["c"])
    described = describe_run(Release(MECHANISM), "in.csv", "csv", layout)
    assert json.loads(json.dumps(described)) == described
    assert "name" not in described


def test_a_run_with_a_ledger(place):
    """With a ledger a resumed run leaves out the rows that it left out, charges nothing twice, and says the same."""
    results = []
    for name in ("plain", "killed"):
        create_ledger(str(place / name), 30.0, delta=1e-6, unit="person", secret=KEY)
        (place / f"{name}.key").write_bytes(KEY)
        release = Release(MECHANISM, ledger=Ledger(str(place / name)))
        files = dataclasses.replace(make_files(target=f"{name}.csv"), certificate=f"{name}.json")
        if name == "killed":
            with pytest.raises(Killed):
                run(files, release=release, windows=4, over_budget="drop")
        results.append(run(files, release=release, over_budget="drop")[0][1])
    assert results[0] == results[1]
    assert 0 < len(results[0].charges.left_out_rows) < len(ROWS)
    assert results[0].charges.known == 0
    assert (place / "plain.csv").read_bytes() == (place / "killed.csv").read_bytes()
    assert (place / "plain.json").read_bytes() == (place / "killed.json").read_bytes()


@pytest.mark.skipif(os.name != "posix", reason="links")
def test_a_journal_lies_beside_the_file_behind_a_link(place):
    """Where the output is a link, the journal is where its file is."""
    (place / "folder").mkdir()
    (place / "link.csv").symlink_to(place / "folder" / "out.csv")
    assert name_journal("link.csv") == place / "folder" / ".out.csv.journal"
