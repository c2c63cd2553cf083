"""Runs that are resumed: the key that a journal keeps, what is refused, and what is left of it."""

import os
import stat

import pytest

import deniable as dn
from tests.text.helpers import KEY, WORDS
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
def release(privatize, journal):
    """Return a function that runs in windows of two rows; of one that dies at a window the journal stays."""

    def running(source="in.csv", output="out.csv", options=KEYED, dies_at=None, is_kept=True, resume=True, epsilon=1):
        drawn, seen = [], []
        draw = dn.Release.privatize_cells

        def draw_window(self, *arguments, **settings):
            if len(drawn) == dies_at:
                if not is_kept:
                    raise KeyboardInterrupt
                seen.append((journal.read_bytes(), journal.stat().st_mode))
                raise KeyboardInterrupt
            drawn.append(draw(self, *arguments, **settings))
            return drawn[-1]

        with buffers(window=WINDOW), pytest.MonkeyPatch.context() as patch:
            patch.setattr(dn.Release, "privatize_cells", draw_window)
            result = privatize(source, output, *options, *(["--resume"] if resume else []), epsilon=epsilon)
        if seen:  # a run that ends by itself takes its journal along
            assert (result.code, journal.exists()) == (2, False)
            journal.write_bytes(seen[0][0])
            journal.chmod(stat.S_IMODE(seen[0][1]))
        return result, [text for batch in drawn for text in batch.texts]

    return running


def list_left(place):
    """Return the names of files beside what every test has."""
    return sorted({path.name for path in place.iterdir()} - {"in.csv", "space.npz", "key", "other.csv"})


def check_refusal(result, value):
    """Check that a run was refused in one line with a value in it."""
    line, *more = result.err.splitlines()[-1:]
    assert (result.code, more) == (2, [])
    assert value in line


@pytest.mark.parametrize("options", [BASIC, (*BASIC, "--person", "person")])
def test_a_resumed_run_draws_what_the_dead_one_drew(place, journal, release, options):
    """What a run drew before it died is the beginning of what the resumed one gives."""
    _, before = release(options=options, dies_at=3)
    result, texts = release(options=options)
    assert (len(before), texts[:6]) == (6, before)
    assert f"resuming from {journal.name}" in result.err
    assert [line.split(",")[1] for line in (place / "out.csv").read_text().splitlines()[1:]] == texts
    assert list_left(place) == ["out.csv", "out.csv.certificate.json"]


@pytest.mark.parametrize("options", [KEYED, (*BASIC, "--test-seed", "1")])
def test_a_run_with_a_key_keeps_no_journal(place, release, options):
    """It draws the same noise by itself, and writes its key nowhere."""
    seen, draw = [], dn.Release.privatize_cells

    def watch(self, *arguments, **settings):
        seen.append(list_left(place))
        return draw(self, *arguments, **settings)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dn.Release, "privatize_cells", watch)
        texts = [release(options=(*options, "--force"))[1] for _ in range(2)]
    assert texts[0] == texts[1]
    assert not any(name.endswith(".journal") for names in seen for name in names)


def test_only_its_owner_opens_a_journal(journal, release):
    """A journal is a file for its owner alone, of a fresh key and nothing else; --force draws another one."""
    keys = []
    for _ in range(2):
        release(options=(*BASIC, "--force"), dies_at=2)
        assert stat.S_IMODE(journal.stat().st_mode) == 0o600
        keys.append(journal.read_bytes())
    assert list(map(len, keys)) == [32, 32]
    assert keys[0] != keys[1]


def test_another_run_draws_noise_of_its_own(journal, release):
    """With the key of a dead run, other options or another epsilon draw other words, and the same run the same."""
    _, before = release(options=BASIC, dies_at=4)
    key = journal.read_bytes()
    drawn = []
    for change in ({}, {"epsilon": 2}, {"options": (*BASIC, "--case", "copy")}):
        journal.write_bytes(key)
        journal.chmod(0o600)
        result, texts = release(**{"options": BASIC, **change})
        assert result.code == 0
        drawn.append(texts[:8])
        (journal.parent / "out.csv").unlink()
        (journal.parent / "out.csv.certificate.json").unlink()
    assert drawn[0] == before
    assert before not in drawn[1:]


def test_a_journal_that_waits_is_not_overlooked(journal, release):
    """Without --resume a run that could be resumed is named; --force removes its journal, and keeps none."""
    release(options=BASIC, dies_at=2)
    check_refusal(release(options=BASIC, resume=False)[0], "--resume")
    assert release(options=(*BASIC, "--force"), resume=False)[0].code == 0
    assert not journal.exists()


@pytest.mark.parametrize("content", [b"", bytes(31), bytes(32), bytes(33)])
def test_a_damaged_journal_is_refused(journal, release, content):
    """What holds no key, or the zeros that a run leaves if it dies while it removes its key, is no journal."""
    journal.write_bytes(content)
    journal.chmod(0o600)
    check_refusal(release(options=BASIC)[0], "damaged")
    assert release(options=(*BASIC, "--force"))[0].code == 0


def test_the_key_is_overwritten(place, release, monkeypatch):
    """At the end zeros take the place of the key before its file is removed."""
    removed, unlink = [], type(place).unlink

    def watch(path, **options):
        removed.append((path.name, path.read_bytes().strip(b"\0")))
        unlink(path, **options)

    monkeypatch.setattr(type(place), "unlink", watch)
    release(options=BASIC)
    assert (".out.csv.journal", b"") in removed


@pytest.mark.skipif(os.name != "posix", reason="modes")
def test_a_journal_of_somebody_else_is_refused(place, journal, release):
    """What others can open, or what is no file, is no journal: its key may be known."""
    release(options=BASIC, dies_at=2)
    journal.chmod(0o640)
    check_refusal(release(options=BASIC)[0], "your own")
    journal.rename(place / "target")
    journal.symlink_to(place / "target")
    check_refusal(release(options=BASIC)[0], "your own")


def test_runs_that_cannot_be_resumed(place, journal, release, privatize):
    """What is read or written through a pipe is refused; a bad table ends a run without a journal."""
    for source, output in (("-", "out.csv"), ("in.csv", "-")):
        options = (*KEYED, "--resume", "--certificate", "c.json", "--format", "csv")
        check_refusal(privatize(source, output, *options), "paths in place of -")
    (place / "in.csv").write_text("id,text,person\na\n")
    check_refusal(release()[0], "line 2")
    assert list_left(place) == []
    assert not journal.exists()


def test_a_run_with_a_ledger(place, release):
    """With a ledger a resumed run charges nothing twice, and leaves out the rows that an undisturbed one leaves out."""
    options = (*BASIC, "--person", "person", "--over-budget", "drop", "--ledger")
    for name in ("plain", "killed"):
        dn.create_ledger(str(place / name), 15.0, delta=1e-6, unit="person", secret=KEY)
        (place / f"{name}.key").write_bytes(KEY)
    release(output="plain.csv", options=(*options, "plain"), resume=False)
    release(options=(*options, "killed"), dies_at=4, is_kept=False)
    result, _ = release(options=(*options, "killed"))
    assert "charged before" in result.err
    for ending in ("", ".certificate.json"):
        assert (place / f"out.csv{ending}").read_bytes() == (place / f"plain.csv{ending}").read_bytes()
    assert 1 < len((place / "out.csv").read_text().splitlines()) < len(ROWS) + 1
    spent = [[one.units for one in dn.Ledger(str(place / name)).list_units("p0")] for name in ("plain", "killed")]
    assert spent[0] == spent[1]


@pytest.mark.skipif(os.name != "posix", reason="links")
def test_a_journal_lies_beside_the_file_behind_a_link(place, journal, release):
    """Where the output is a link, the journal is where its file is."""
    (place / "folder").mkdir()
    (place / "out.csv").symlink_to(place / "folder" / "out.csv")
    (place / "folder" / journal.name).write_text("{}")
    check_refusal(release(options=BASIC)[0], f"folder/{journal.name}")
