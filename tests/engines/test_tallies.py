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

import deniable as dn
from deniable.engines.tallies import RecordSet, TallyFolder, digest_id, make_certificate, merge_tallies
from tests.refusals import refuses
from tests.text.helpers import MECHANISM, SPACE, WORDS

RELEASE = dn.Release(MECHANISM, key="seed:1")
IDS = [f"r{number}" for number in range(10)]
ALL = RecordSet.of_digests(map(digest_id, IDS))


def records_of(first, last):
    return RecordSet.of_digests(map(digest_id, IDS[first:last]))


def tally_of(count):
    """Return the counts of so many records of three words, one of them unknown, all of them with HTML."""
    return dn.Tally(
        count, 3 * count, Counter({3: count}), count, 1, 0, 3 * count, RELEASE.batch(["&amp;"]).tally.markup
    )


@pytest.fixture
def folder(tmp_path):
    """Return the folder of a run of ten records."""
    run = TallyFolder(tmp_path / "tallies")
    run.create(RELEASE, ["text"], ALL)
    return run


def test_tasks_add_up(folder, tmp_path):
    """The counts of all tasks are those of the run; tasks and runs without records count nothing."""
    folder.commit(records_of(0, 6), tally_of(6))
    folder.commit(records_of(6, 10), tally_of(4))
    folder.commit(RecordSet(), dn.Tally())
    assert merge_tallies(folder.path) == tally_of(6) + tally_of(4)
    empty = TallyFolder(tmp_path / "empty")
    empty.create(RELEASE, ["text"], RecordSet())
    assert merge_tallies(empty.path) == dn.Tally()


def test_a_task_that_runs_again_counts_once(folder):
    """Retries and copies of a task, also at the same time, leave one file; what a killed one leaves is no count."""
    (folder.path / ".task-12.json.0123").write_text('{"records": 3')
    copies = [threading.Thread(target=folder.commit, args=(ALL, tally_of(10))) for _ in range(8)]
    for copy in copies:
        copy.start()
    for copy in copies:
        copy.join()
    folder.commit(ALL, tally_of(10))
    assert merge_tallies(folder.path) == tally_of(10)
    assert len(list(folder.path.iterdir())) == 3


def test_a_task_that_counts_something_else_is_refused(folder):
    """The same records with other counts are an error, not a sum."""
    folder.commit(records_of(0, 6), tally_of(6))
    with refuses("6 records"):
        folder.commit(records_of(0, 6), dataclasses.replace(tally_of(6), changed=5))


def test_fresh_noise_may_change_other_words(tmp_path):
    """With fresh noise in every run the words that changed may differ, and nothing else may."""
    folder = TallyFolder(tmp_path / "fresh", is_fresh=True)
    folder.create(dn.Release(MECHANISM), ["text"], ALL)
    folder.commit(ALL, tally_of(10))
    folder.commit(ALL, dataclasses.replace(tally_of(10), changed=0))
    assert merge_tallies(folder.path) == tally_of(10)
    with refuses("10 records"):
        folder.commit(ALL, dataclasses.replace(tally_of(10), words=29))
    with refuses("another run"):
        folder.create(dn.Release(MECHANISM), ["text"], ALL)


@pytest.mark.parametrize("second", [None, (0, 5), (5, 10), (3, 7), (0, 4)])
def test_records_that_are_not_there_once_are_refused(folder, second):
    """A run of which tasks are missing, or that was read in other parts, has no tally, whatever the numbers say."""
    folder.commit(records_of(0, 6), tally_of(6))
    if second is not None:
        folder.commit(records_of(*second), tally_of(second[1] - second[0]))
    with refuses("10"):
        merge_tallies(folder.path)


@pytest.mark.parametrize("key", ["env:DENIABLE_KEY", None, "seed:2", "epsilon", "case"])
def test_other_runs_are_refused(folder, key):
    """A folder serves one release and one table: a run under another key, epsilon or option has no certificate."""
    options = {"epsilon": {}, "case": {"case": "copy"}}.get(key)
    mechanism = dn.TEM(SPACE, epsilon=2.0) if key == "epsilon" else MECHANISM
    other = dn.Release(mechanism, key="seed:1" if options is not None else key, **(options or {}))
    folder.commit(ALL, tally_of(10))
    folder.create(RELEASE, ["text"], ALL)
    assert make_certificate(RELEASE, folder.path) == dn.Certificate.of(RELEASE, tally_of(10))
    for run in ((other, ["text"], ALL), (RELEASE, ["note"], ALL), (RELEASE, ["text"], records_of(0, 9))):
        with refuses("another run"):
            folder.create(*run)
    if key != "seed:2":  # two seeds are one kind of noise, of which a certificate says that it is public
        with refuses("another release"):
            make_certificate(other, folder.path)


@pytest.mark.parametrize("reference", ["env:DENIABLE_TALLY_KEY", "file:{}/key"])
def test_another_key_is_another_run(tmp_path, monkeypatch, reference):
    """A run under another key at the same place is refused before a task runs; the folder holds nothing of a key."""
    release = dn.Release(MECHANISM, key=reference.format(tmp_path))
    folder = TallyFolder(tmp_path / "keyed")

    def put(key):
        (tmp_path / "key").write_bytes(key)
        monkeypatch.setenv("DENIABLE_TALLY_KEY", key.hex())

    put(bytes(range(32)))
    for _ in range(2):
        folder.create(release, ["text"], ALL)
    put(bytes(range(1, 33)))
    with refuses("another run"):
        folder.create(release, ["text"], ALL)
    content = (folder.path / "run.json").read_text()
    assert bytes(range(32)).hex() not in content
    assert len(json.loads(content)["key"]) == 32
    folder.commit(ALL, tally_of(10))
    assert make_certificate(release, folder.path) == dn.Certificate.of(release, tally_of(10))


def test_a_key_that_workers_alone_can_read(tmp_path, monkeypatch):
    """A program without the key makes the folder all the same, and finds it again, also when it has the key by then."""
    release = dn.Release(MECHANISM, key="env:DENIABLE_TALLY_KEY")
    folder = TallyFolder(tmp_path / "keyed")
    folder.create(release, ["text"], ALL)
    monkeypatch.setenv("DENIABLE_TALLY_KEY", bytes(32).hex())
    folder.create(release, ["text"], ALL)
    assert json.loads((folder.path / "run.json").read_text())["key"] is None


def test_releases_without_a_fingerprint_are_told_apart(tmp_path):
    """A metric of the caller has no fingerprint: the certificate of a run still has no other epsilon."""
    space = dn.Space(WORDS, SPACE.vectors, metric=lambda one, two: np.abs(one[:, None] - two[None]).sum(axis=-1))
    one, other = (dn.Release(dn.TEM(space, epsilon=epsilon)) for epsilon in (1.0, 50.0))
    folder = TallyFolder(tmp_path / "unnamed", is_fresh=True)
    folder.create(other, ["text"], ALL)
    folder.commit(ALL, tally_of(10))
    with refuses("another release"):
        make_certificate(one, folder.path)


def test_the_folder_is_for_its_owner(folder):
    """Nobody else can open the folder or its files; one that others can open is refused."""
    folder.commit(ALL, tally_of(10))
    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.path.iterdir()} == {0o600}
    folder.path.chmod(0o750)
    for use in (lambda: merge_tallies(folder.path), lambda: folder.create(RELEASE, ["text"], ALL)):
        with refuses("chmod 700"):
            use()


def test_folders_that_are_none(tmp_path):
    """A folder that is not there, cannot be made, or is named by something else is one line."""
    cases = [
        (lambda: TallyFolder(tmp_path / "nowhere").commit(ALL, tally_of(10)), "nowhere"),
        (lambda: merge_tallies(tmp_path), "folder of tallies"),
        (lambda: TallyFolder(tmp_path / "a" / "b").create(RELEASE, ["text"], ALL), "No such file or directory"),
    ]
    for call, value in cases:
        with refuses(value):
            call()


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
        with refuses(file.name):
            use()


@pytest.mark.parametrize("part", ["records", "digest", "copied", "columns"])
def test_a_damaged_file_of_a_run_is_one_line(folder, part):
    """A run whose file lacks a part, or has it of another type, is refused whatever is asked of it."""
    folder.commit(ALL, tally_of(10))
    run = json.loads((folder.path / "run.json").read_text())
    parts = run["copied"] if part == "columns" else run
    for value in (None, 1.5, [1], "absent"):
        parts[part] = value
        if value == "absent":
            del parts[part]
        (folder.path / "run.json").write_text(json.dumps(run))
        with refuses("run.json"):
            make_certificate(RELEASE, folder.path)


def test_a_file_system_that_cannot_keep_counts_is_one_line(folder, monkeypatch):
    """Where files cannot be linked, or written, the error names the folder, and nothing is left in it."""
    monkeypatch.setattr(os, "link", mock.Mock(side_effect=PermissionError(1, "Operation not permitted")))
    with refuses("Operation not permitted"):
        folder.commit(ALL, tally_of(10))
    assert [file.name for file in folder.path.iterdir()] == ["run.json"]
