"""Runs that are resumed: what is taken from a journal, what is refused, and what is left of it."""

import json
import os
import stat

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deniable as dn
from tests.text.helpers import KEY, ODD_PIECES, WORDS
from tests.text.tables.helpers import buffers

ROWS = [(f"r{number}", " ".join(WORDS[number % 7 :]), f"p{number % 3}") for number in range(12)]
TABLE = "id,text,person\n" + "".join(",".join(row) + "\n" for row in ROWS)
WINDOW = 600
"""Characters of a window of two rows."""
BASIC = ("--id", "id", "--workers", "1")
KEYED = (*BASIC, "--key-file", "key")


@pytest.fixture
def journal(place):
    """Return where the journal of a run from in.csv to out.csv is, in a folder with a table of 12 rows."""
    (place / "in.csv").write_text(TABLE)
    return place / ".out.csv.journal"


@pytest.fixture
def release(privatize):
    """Return a function that runs in windows of two rows, and is interrupted when so many have been drawn."""

    def running(source="in.csv", output="out.csv", options=KEYED, windows=None, resume=True, epsilon=1):
        drawn = []
        draw = dn.Release.privatize_cells

        def draw_window(self, *arguments, **settings):
            if len(drawn) == windows:
                raise KeyboardInterrupt
            drawn.append(1)
            return draw(self, *arguments, **settings)

        with buffers(window=WINDOW), pytest.MonkeyPatch.context() as patch:
            patch.setattr(dn.Release, "privatize_cells", draw_window)
            result = privatize(source, output, *options, *(["--resume"] if resume else []), epsilon=epsilon)
        assert result.code == (0 if windows is None else 2) or (windows is None and result.code == 2)
        return result, len(drawn)

    return running


def list_left(place):
    """Return the names of files beside what every test has."""
    return sorted({path.name for path in place.iterdir()} - {"in.csv", "space.npz", "key", "other.csv"})


def read_window(path):
    """Return the new texts of a window, and all that is kept of them besides."""
    table = pa.ipc.open_stream(path.read_bytes()[32:]).read_all()
    assert table.column_names == ["text"]
    return table.column(0).to_pylist(), table.schema.metadata[b"facts"]


@pytest.mark.parametrize("windows", [3, *(pytest.param(one, marks=pytest.mark.deep) for one in (1, 5))])
def test_a_resumed_run_is_an_undisturbed_one(place, journal, release, windows):
    """A run that died after any window ends with the file, the certificate and the counts of one that did not."""
    options = (*KEYED, "--person", "person")
    plain, drawn = release(output="plain.csv", options=options, resume=False)
    release(options=options, windows=windows)
    assert journal.is_dir()
    resumed, later_drawn = release(options=options)
    for ending in ("", ".certificate.json"):
        assert (place / f"out.csv{ending}").read_bytes() == (place / f"plain.csv{ending}").read_bytes()
    assert windows + later_drawn == drawn == 6
    counts = [[line for line in one.err.splitlines() if line.startswith("for you only")] for one in (plain, resumed)]
    assert counts[0] == counts[1]
    assert not journal.exists()


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_windows_come_back(place, release, kind):
    """Odd texts, nulls and empty ones come back from a journal as they were drawn, from lists and from Arrow."""
    pieces = [piece for piece in ODD_PIECES if kind == "jsonl" or piece != "\ud800"]
    texts = [None, "", *(f"the {piece} food" for piece in pieces)]
    rows = [{"id": f"r{number}", "text": text} for number, text in enumerate(texts)]
    if kind == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), place / "in.parquet", row_group_size=3)
    else:
        (place / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    source, target = f"in.{kind}", f"out.{kind}"
    release(source, f"plain.{kind}", resume=False)
    release(source, target, windows=3)
    release(source, target)
    assert (place / target).read_bytes() == (place / f"plain.{kind}").read_bytes()


def test_a_run_without_a_key_keeps_one(place, journal, release):
    """Without a key the run's fresh key is kept for its owner alone, and what was drawn before stays as it was."""
    release(options=BASIC, windows=2)
    assert len((journal / "run.key").read_bytes()) == 32
    assert stat.S_IMODE(journal.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in journal.iterdir()} == {0o600}
    texts = [text.decode() for number in (1, 2) for text in read_window(journal / f"window-{number}")[0]]
    _, drawn = release(options=BASIC)
    assert drawn == 4
    assert [line.split(",")[1] for line in (place / "out.csv").read_text().splitlines()[1:5]] == texts
    assert not journal.exists()


def test_nothing_private_stands_in_the_journal(place, journal, release):
    """A window holds new texts and counts, but no private text, no key, and nothing by which a guess can be checked."""
    (place / "in.csv").write_text(TABLE.replace("food", "zork"))
    digests = []
    for key in (KEY, bytes(32)):
        (place / "key").write_bytes(key)
        release(options=(*KEYED, "--force"), windows=3)
        paths = sorted(journal.glob("window-*"))
        assert len(paths) == 3
        for texts, facts in map(read_window, paths):
            assert b"zork" not in b"".join(texts) + facts
        assert not any(key in path.read_bytes() for path in journal.iterdir())
        digests.append(json.loads(read_window(paths[0])[1])["digest"])
    assert digests[0] != digests[1]


def check_refusal(result, value):
    """Check that a run was refused in one line with a value in it."""
    line, *more = result.err.splitlines()[-1:]
    assert (result.code, more) == (2, [])
    assert value in line


@pytest.mark.parametrize("change", ["id", "text", "person", "rows"])
def test_a_table_that_changed_is_refused(place, journal, release, change):
    """Another text or id, or rows more in a finished window: refused with its rows, and nothing is written."""
    options = (*KEYED, "--person", "person")
    release(options=options, windows=2)
    lines = TABLE.splitlines(keepends=True)
    changed = {
        "id": [*lines[:3], lines[3].replace("r2", "rX"), *lines[4:]],
        "text": [*lines[:3], lines[3].replace("food", "dog"), *lines[4:]],
        "person": [*lines[:3], lines[3].replace("p2", "p1"), *lines[4:]],
        "rows": [*lines[:3], "n,the,x\n", *lines[3:]],
    }
    (place / "in.csv").write_text("".join(changed[change]))
    check_refusal(release(options=options)[0], "rows 3 to")
    assert not (place / "out.csv").exists()
    (place / "in.csv").write_text(TABLE)
    assert release(options=options)[0].code == 0
    assert not journal.exists()


@pytest.mark.parametrize(
    ("change", "value"),
    [
        ({"source": "other.csv"}, "'other.csv'"),
        ({"options": (*BASIC, "--test-seed", "1")}, "'public seed'"),
        ({"epsilon": 2}, "epsilon 2"),
        ({"options": (*KEYED, "--case", "copy")}, "options"),
        ({"options": (*KEYED, "--drop", "person")}, "dropped"),
        ({"key": bytes(32)}, "key"),
    ],
)
def test_another_run_is_refused(place, journal, release, change, value):
    """A journal serves its own run alone: what differs is named, and --force starts anew."""
    (place / "other.csv").write_text(TABLE)
    release(windows=2)
    (place / "key").write_bytes(change.pop("key", KEY))
    check_refusal(release(**change)[0], value)
    result, drawn = release(**{**change, "options": (*change.get("options", KEYED), "--force")})
    assert (result.code, drawn) == (0, 6)
    assert not journal.exists()


def test_a_journal_that_waits_is_not_overlooked(journal, release):
    """Without --resume a run that could be resumed is named; --force removes its journal, and keeps none."""
    release(windows=2)
    check_refusal(release(resume=False)[0], "--resume")
    _, drawn = release(options=(*KEYED, "--force"), resume=False)
    assert drawn == 6
    assert not journal.exists()


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "swap", "gone"])
def test_damaged_windows_are_drawn_again(place, journal, release, damage):
    """A window whose file is cut, changed, another's or missing is not believed, and drawn again."""
    release(output="plain.csv")
    release(windows=3)
    window = journal / "window-2"
    data = window.read_bytes()
    flipped = bytes([*data[:99], data[99] ^ 1, *data[100:]])
    contents = {"cut": data[:-1], "flip": flipped, "empty": b"", "swap": window.with_name("window-1").read_bytes()}
    window.unlink() if damage == "gone" else window.write_bytes(contents[damage])
    assert release()[1] == 4
    assert (place / "out.csv").read_bytes() == (place / "plain.csv").read_bytes()


@pytest.mark.parametrize("damage", ["gone", "zeros", "short", "run", "list"])
def test_a_journal_without_its_key_serves_nothing(journal, release, damage):
    """A fresh key that was destroyed is not replaced by zeros or by another: the run starts anew."""
    release(options=BASIC, windows=2)
    if damage == "gone":
        (journal / "run.key").unlink()
    elif damage == "run":
        (journal / "run.json").unlink()
    elif damage == "list":
        (journal / "run.json").write_text("[]")
        check_refusal(release(options=BASIC)[0], "another run")
        return
    else:
        (journal / "run.key").write_bytes(bytes(32 if damage == "zeros" else 5))
    assert release(options=BASIC)[1] == 6


def test_the_key_goes_first(place, journal, release, monkeypatch):
    """At the end the key is overwritten and removed before anything else is."""
    release(options=BASIC, windows=2)
    removed, unlink = [], type(place).unlink

    def watch(path, **options):
        removed.append((path.name, path.read_bytes() if path.name == "run.key" else b""))
        unlink(path, **options)

    monkeypatch.setattr(type(place), "unlink", watch)
    release(options=BASIC)
    in_journal = [entry for entry in removed if entry[0].startswith(("run.", "window-"))]
    assert in_journal[0] == ("run.key", bytes(32))
    assert not journal.exists()


def test_a_journal_of_somebody_else_is_refused(place, journal, release):
    """A folder that others can open, or that is none, is no journal: its key may be known."""
    journal.mkdir(mode=0o700)
    journal.chmod(0o750)
    check_refusal(release()[0], "your own")
    journal.rmdir()
    (place / "target").mkdir()
    journal.symlink_to(place / "target")
    check_refusal(release()[0], "folder")


def test_two_runs_do_not_share_a_journal(place, journal, release, privatize, monkeypatch):
    """While a run uses its journal another one is refused, and cannot remove it."""
    results, draw = [], dn.Release.privatize_cells

    def run_another(self, *arguments, **settings):
        if not results:
            results.append(None)
            results[:] = [privatize("in.csv", "out.csv", *KEYED, *extra) for extra in (["--resume"], ["--force"])]
        return draw(self, *arguments, **settings)

    monkeypatch.setattr(dn.Release, "privatize_cells", run_another)
    assert release()[0].code == 0
    assert len(results) == 2
    for result in results:
        check_refusal(result, "Another run")
    assert list_left(place) == ["out.csv", "out.csv.certificate.json"]
    assert not journal.exists()


def test_runs_that_cannot_be_resumed(place, journal, release, privatize):
    """What is read or written through a pipe, or seen as it is drawn, is refused; so is a bad table."""
    (place / "names").write_text("london\n")
    for source, output, more in (
        ("-", "out.csv", ()),
        ("in.csv", "-", ()),
        ("in.csv", "out.csv", ("--entities", "names")),
    ):
        formats = ("--format", "csv") if "-" in (source, output) else ()
        result = privatize(source, output, *KEYED, "--resume", "--certificate", "c.json", *formats, *more)
        assert result.code == 2
    (place / "in.csv").write_text("id,text,person\na\n")
    check_refusal(release()[0], "line 2")
    assert list_left(place) == ["names"]
    assert not journal.exists()


def test_a_run_with_a_ledger(place, journal, release):
    """With a ledger a resumed run leaves out the rows that it left out, charges nothing twice, and says the same."""
    options = (*BASIC, "--person", "person", "--over-budget", "drop", "--ledger")
    for name in ("plain", "killed"):
        dn.create_ledger(str(place / name), 15.0, delta=1e-6, unit="person", secret=KEY)
        (place / f"{name}.key").write_bytes(KEY)
    plain, _ = release(output="plain.csv", options=(*options, "plain"))
    release(options=(*options, "killed"), windows=4)
    killed, _ = release(options=(*options, "killed"))
    for ending in ("", ".certificate.json"):
        assert (place / f"out.csv{ending}").read_bytes() == (place / f"plain.csv{ending}").read_bytes()
    told = [
        [line for line in one.err.splitlines() if line.startswith(("ledger", "warning"))] for one in (plain, killed)
    ]
    assert told[0] == told[1]
    assert 1 < len((place / "out.csv").read_text().splitlines()) < len(ROWS) + 1
    assert not journal.exists()


@pytest.mark.skipif(os.name != "posix", reason="links")
def test_a_journal_lies_beside_the_file_behind_a_link(place, journal, release):
    """Where the output is a link, the journal is where its file is."""
    (place / "folder").mkdir()
    (place / "out.csv").symlink_to(place / "folder" / "out.csv")
    release(windows=2)
    assert (place / "folder" / journal.name).is_dir()
