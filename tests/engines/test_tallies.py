"""Counts of tasks: each record counts once, whatever runs again, and a folder that cannot say so is refused."""

import dataclasses
import json
import os
import stat
import threading
from collections import Counter
from unittest import mock

import numpy as np
import pytest

from deniable import TEM, Certificate, InputError, Release, Space, Tally
from deniable.engines.tallies import (
    RecordSet,
    TallyFolder,
    digest_id,
    make_certificate,
    make_folder,
    merge_tallies,
)
from deniable.text.escapes import MarkupCounts
from tests.text.helpers import MECHANISM, SPACE, WORDS

RELEASE = Release(MECHANISM, key="seed:1")
IDS = [f"r{number}" for number in range(10)]
ALL = RecordSet.of_digests(map(digest_id, IDS))


def records_of(first, last):
    return RecordSet.of_digests(map(digest_id, IDS[first:last]))


def tally_of(count):
    return Tally(count, 3 * count, Counter({3: count}), count, 1, 0, 3 * count, MarkupCounts(count, 1, 0))


@pytest.fixture
def folder(tmp_path):
    """Return the folder of a run of ten records."""
    run = TallyFolder(tmp_path / "tallies")
    run.create(RELEASE, ["text"], ALL)
    return run


def test_tasks_add_up(folder):
    """The counts of all tasks are those of the run; a task without records leaves nothing."""
    folder.commit(records_of(0, 6), tally_of(6))
    folder.commit(records_of(6, 10), tally_of(4))
    folder.commit(RecordSet(), Tally())
    assert merge_tallies(folder.path) == tally_of(6) + tally_of(4)


def test_a_run_without_records_has_no_counts(tmp_path):
    """An empty table has an empty tally."""
    folder = TallyFolder(tmp_path / "empty")
    folder.create(RELEASE, ["text"], RecordSet())
    assert merge_tallies(folder.path) == Tally()


def test_a_task_that_runs_again_counts_once(folder):
    """Retries and copies of a task, also at the same time, leave one file."""
    copies = [threading.Thread(target=folder.commit, args=(ALL, tally_of(10))) for _ in range(8)]
    for copy in copies:
        copy.start()
    for copy in copies:
        copy.join()
    folder.commit(ALL, tally_of(10))
    assert merge_tallies(folder.path) == tally_of(10)
    assert len(list(folder.path.iterdir())) == 2


def test_a_task_that_counts_something_else_is_refused(folder):
    """The same records with other counts are an error, not a sum, and the message shows no count."""
    folder.commit(records_of(0, 6), tally_of(6))
    other = dataclasses.replace(tally_of(6), changed=5)
    with pytest.raises(InputError, match=r"^A task ran again on the same 6 records, and counted something else"):
        folder.commit(records_of(0, 6), other)


def test_fresh_noise_may_change_other_words(tmp_path):
    """With fresh noise in every run the words that changed may differ, and nothing else may."""
    folder = TallyFolder(tmp_path / "fresh", is_fresh=True)
    folder.create(Release(MECHANISM), ["text"], ALL)
    folder.commit(ALL, tally_of(10))
    folder.commit(ALL, dataclasses.replace(tally_of(10), changed=0))
    assert merge_tallies(folder.path) == tally_of(10)
    with pytest.raises(InputError, match="counted something else"):
        folder.commit(ALL, dataclasses.replace(tally_of(10), words=29))
    with pytest.raises(InputError, match="is that of another run"):
        folder.create(Release(MECHANISM), ["text"], ALL)


def test_missing_records_are_refused(folder):
    """A run of which tasks are missing has no tally."""
    folder.commit(records_of(0, 6), tally_of(6))
    with pytest.raises(InputError, match="has 6 of 10 records: write the whole private table first"):
        merge_tallies(folder.path)


@pytest.mark.parametrize("second", [(0, 5), (5, 10), (3, 7), (0, 4)])
def test_records_in_two_tasks_are_refused(folder, second):
    """A table that was read twice in different parts is refused, also where the number of records is right."""
    folder.commit(records_of(0, 6), tally_of(6))
    folder.commit(records_of(*second), tally_of(second[1] - second[0]))
    with pytest.raises(InputError, match=r"(does not count each of the 10 records of the run once|write the whole)"):
        merge_tallies(folder.path)


def test_other_runs_are_refused(folder):
    """A folder serves one release, columns and records; the same run finds it again."""
    folder.create(RELEASE, ["text"], ALL)
    for release, columns, records in (
        (Release(MECHANISM, key="seed:1", case="copy"), ["text"], ALL),
        (RELEASE, ["note"], ALL),
        (RELEASE, ["text"], records_of(0, 9)),
    ):
        with pytest.raises(InputError, match=r"is that of another run: name a new folder for each\.$"):
            folder.create(release, columns, records)


@pytest.mark.parametrize(
    "other",
    [
        Release(MECHANISM, key="env:DENIABLE_KEY"),
        Release(MECHANISM),
        Release(TEM(SPACE, epsilon=2.0), key="seed:1"),
    ],
    ids=["secret key", "no key", "epsilon"],
)
def test_a_certificate_says_where_the_noise_came_from(folder, other):
    """A run under a public seed has no certificate of a secret key, nor of another epsilon."""
    folder.commit(ALL, tally_of(10))
    assert make_certificate(RELEASE, folder.path) == Certificate.of(RELEASE, tally_of(10))
    with pytest.raises(InputError, match="is that of another release: give the one that the run was given"):
        make_certificate(other, folder.path)
    with pytest.raises(InputError, match="is that of another run"):
        folder.create(other, ["text"], ALL)


@pytest.mark.parametrize("reference", ["env:DENIABLE_TALLY_KEY", "file:{}/key"])
def test_another_key_is_another_run(tmp_path, monkeypatch, reference):
    """A run under another key at the same place is refused before a task runs; the folder holds nothing of a key."""
    release = Release(MECHANISM, key=reference.format(tmp_path))
    folder = TallyFolder(tmp_path / "keyed")
    for key, is_same in ((bytes(range(32)), True), (bytes(range(32)), True), (bytes(range(1, 33)), False)):
        (tmp_path / "key").write_bytes(key)
        monkeypatch.setenv("DENIABLE_TALLY_KEY", key.hex())
        if is_same:
            folder.create(release, ["text"], ALL)
        else:
            with pytest.raises(InputError, match=r"is that of another run: name a new folder for each\.$"):
                folder.create(release, ["text"], ALL)
    content = (folder.path / "run.json").read_text()
    assert bytes(range(32)).hex() not in content
    assert len(json.loads(content)["key"]) == 32
    folder.commit(ALL, tally_of(10))
    assert make_certificate(release, folder.path) == Certificate.of(release, tally_of(10))


def test_another_seed_is_another_run(folder):
    """A public seed is a key too: under another one the noise is another."""
    with pytest.raises(InputError, match="is that of another run"):
        folder.create(Release(MECHANISM, key="seed:2"), ["text"], ALL)


def test_a_key_that_workers_alone_can_read(tmp_path, monkeypatch):
    """A program without the key makes the folder all the same, and finds it again, also when it has the key by then."""
    release = Release(MECHANISM, key="env:DENIABLE_TALLY_KEY")
    folder = TallyFolder(tmp_path / "keyed")
    folder.create(release, ["text"], ALL)
    monkeypatch.setenv("DENIABLE_TALLY_KEY", bytes(32).hex())
    folder.create(release, ["text"], ALL)
    assert json.loads((folder.path / "run.json").read_text())["key"] is None


def test_releases_without_a_fingerprint_are_told_apart(tmp_path):
    """A metric of the caller has no fingerprint: the certificate of a run still has no other epsilon."""
    space = Space(WORDS, SPACE.vectors, metric=measure_distances)
    one, other = (Release(TEM(space, epsilon=epsilon)) for epsilon in (1.0, 50.0))
    assert one.fingerprint is None
    folder = TallyFolder(tmp_path / "unnamed", is_fresh=True)
    folder.create(other, ["text"], ALL)
    folder.commit(ALL, tally_of(10))
    with pytest.raises(InputError, match="is that of another release"):
        make_certificate(one, folder.path)


def measure_distances(points, others):
    """Return the distances of points from others, by the sum of differences."""
    return np.abs(points[:, None] - others[None]).sum(axis=-1)


def test_the_folder_is_for_its_owner(folder):
    """Nobody else can open the folder or its files; one that others can open is refused."""
    folder.commit(ALL, tally_of(10))
    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.path.iterdir()} == {0o600}
    folder.path.chmod(0o750)
    for use in (lambda: merge_tallies(folder.path), lambda: folder.create(RELEASE, ["text"], ALL)):
        with pytest.raises(InputError, match=r"Others can open the folder of tallies .*: chmod 700"):
            use()


def test_what_a_killed_task_leaves_is_no_count(folder):
    """A file that was not written to its end does not count."""
    (folder.path / ".task-12.json.0123").write_text('{"records": 3')
    folder.commit(ALL, tally_of(10))
    assert merge_tallies(folder.path) == tally_of(10)


def test_folders_that_are_none(tmp_path):
    """A folder that is not there, for a worker or for its owner, or cannot be made, is one line."""
    with pytest.raises(InputError, match="is not there for a worker: name one on a file system"):
        TallyFolder(tmp_path / "nowhere").commit(ALL, tally_of(10))
    with pytest.raises(InputError, match="is no folder of tallies: give the one that the run was given"):
        merge_tallies(tmp_path)
    with pytest.raises(InputError, match="cannot be made: No such file or directory"):
        TallyFolder(tmp_path / "a" / "b").create(RELEASE, ["text"], ALL)


def test_a_folder_is_named_by_its_path(folder, tmp_path, monkeypatch):
    """What is no path or no release is one line; a path stands for the same folder wherever the program goes."""
    folder.commit(ALL, tally_of(10))
    for use in (lambda: make_folder(5), lambda: merge_tallies(5), lambda: make_certificate(RELEASE, RELEASE)):
        with pytest.raises(InputError, match=r"is named by its path\. Got one (int|Release)"):
            use()
    with pytest.raises(InputError, match="The 'release' parameter of make_certificate must be the Release of the run"):
        make_certificate(str(folder.path), RELEASE)
    monkeypatch.chdir(folder.path.parent)
    relative = make_folder(folder.path.name)
    monkeypatch.chdir(tmp_path.parent)
    assert merge_tallies(relative.path) == tally_of(10)
    assert make_folder(None) is None


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "[" * 100_000,
        '{"records": 10}',
        '{"records": 10, "digest": "zz", "tally": {}}',
        '{"records": "10", "digest": "1", "tally": {"lengths": {}, "markup": {}}}',
        '{"records": 10, "digest": "1", "tally": {"lengths": {}, "markup": {}, "words": [1]}}',
        '{"records": 10, "digest": "1", "tally": {"lengths": {"3": true}, "markup": {}}}',
    ],
    ids=lambda content: content[:60],
)
def test_damaged_files_of_counts_are_one_line(folder, content):
    """A file that something else wrote over is named, for a task that runs again and for the owner."""
    folder.commit(ALL, tally_of(10))
    (file,) = folder.path.glob("task-*.json")
    file.write_text(content)
    for use in (lambda: merge_tallies(folder.path), lambda: folder.commit(ALL, tally_of(10))):
        with pytest.raises(InputError, match=r"The file of counts .* is damaged: name a new folder"):
            use()


@pytest.mark.parametrize("part", ["records", "digest", "copied", "columns"])
@pytest.mark.parametrize("value", [None, 1.5, [1], "absent"])
def test_a_damaged_file_of_a_run_is_one_line(folder, part, value):
    """A run whose file lacks a part, or has it of another type, is refused whatever is asked of it."""
    folder.commit(ALL, tally_of(10))
    run = json.loads((folder.path / "run.json").read_text())
    parts = run["copied"] if part == "columns" else run
    parts[part] = value
    if value == "absent":
        del parts[part]
    (folder.path / "run.json").write_text(json.dumps(run))
    with pytest.raises(InputError, match=r"The file of counts .*run\.json' is damaged"):
        make_certificate(RELEASE, folder.path)


def test_a_file_system_that_cannot_keep_counts_is_one_line(folder, monkeypatch):
    """Where files cannot be linked, or written, the error names the folder, and nothing is left in it."""
    monkeypatch.setattr(os, "link", mock.Mock(side_effect=PermissionError(1, "Operation not permitted")))
    with pytest.raises(InputError, match=r"cannot be written to: Operation not permitted\. Name one on another file"):
        folder.commit(ALL, tally_of(10))
    assert [file.name for file in folder.path.iterdir()] == ["run.json"]
