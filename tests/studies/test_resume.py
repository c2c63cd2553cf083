"""The ledger and the runner: nothing finished is measured twice, and a run resumes to the same rows."""

import dataclasses
import itertools
import json
import math
import tempfile
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.core.parallel import parallel_map
from studies.ledger import Ledger
from studies.rows import read_results
from studies.runner import Context, find_unfinished, measure_cells, run_study
from studies.study import Grid
from tests.refusals import refuses
from tests.studies.toy import CELLS, TOY, Sizes, measure

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


def refuse():
    pytest.fail("computed again")


@given(entries=st.dictionaries(st.text(), VALUES, min_size=1, max_size=4), cut=st.integers(0), junk=st.binary())
def test_a_ledger_survives_every_cut(entries, cut, junk):
    """Whatever was written to its end is kept wherever a crash cuts the file, and the file ends as without a crash."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "unfinished"
        first = Ledger(folder, {"seed": 0})
        for name, value in entries.items():
            assert first.remember(name, lambda value=value: value) == json.loads(json.dumps(value))
        path = folder / "ledger.jsonl"
        whole = path.read_bytes()
        lines = whole.splitlines(keepends=True)
        cut %= len(whole) + 1
        rest = b"" if cut == len(whole) else junk.replace(b"\n", b"")
        path.write_bytes(whole[:cut] + (rest if not whole[:cut].endswith(b"\n") else b""))
        again = Ledger(folder, {"seed": 0})
        ends = list(itertools.accumulate(map(len, lines)))
        assert len(again) == max(sum(end <= cut for end in ends) - 1, 0)
        for number, (name, value) in enumerate(entries.items()):
            compute = refuse if number < len(again) and ends[number + 1] <= cut else (lambda value=value: value)
            assert again.remember(name, compute) == json.loads(json.dumps(value))
        assert path.read_bytes() == whole


@pytest.mark.parametrize(
    ("parameters", "value"), [({"seed": 7, "sizes": [1, 2]}, 7), ({"seed": 0, "sizes": [1]}, [1]), ({"seed": 0}, None)]
)
def test_other_parameters_are_refused(tmp_path, parameters, value):
    """An unfinished run with other parameters is refused in one line, and dropped by force."""
    Ledger(tmp_path / "run", {"seed": 0, "sizes": (1, 2)}).remember("one", lambda: 1)
    with refuses(value):
        Ledger(tmp_path / "run", parameters)
    assert len(Ledger(tmp_path / "run", parameters, force=True)) == 0


def test_no_ledger(tmp_path):
    """A file that is no ledger is refused in one line."""
    (tmp_path / "ledger.jsonl").write_text("text\n")
    with refuses(tmp_path):
        Ledger(tmp_path)


def test_many_threads(tmp_path):
    """Threads that finish at once each keep their entry in a line of its own."""
    ledger, barrier = Ledger(tmp_path / "run", {}), threading.Barrier(4)

    def compute(number):
        barrier.wait()
        return {"number": number}

    parallel_map(lambda number: ledger.remember(str(number), lambda: compute(number)), range(8), workers=4)
    again = Ledger(tmp_path / "run", {})
    assert [again.remember(str(number), refuse)["number"] for number in range(8)] == list(range(8))


def test_arrays_and_scratch(tmp_path):
    """Arrays outlive the run, scratch files and the ledger do not; without a folder nothing is kept."""
    ledger = Ledger(tmp_path / "run", {})
    assert ledger.load_array("a b/c", lambda: np.arange(3)).tolist() == [0, 1, 2]
    ledger.scratch("checkpoint").write_text("half")
    ledger.close()
    ledger.close()
    assert not (tmp_path / "run").exists()
    assert Ledger(tmp_path / "other", {}).load_array("a b/c", refuse).tolist() == [0, 1, 2]
    assert Ledger().scratch("checkpoint") is None
    assert Ledger().load_array("a", lambda: np.ones(1)).tolist() == [1]


def test_a_run_writes_rows_and_facts(tmp_path):
    """A run leaves rows in the order of its cells, derived ones last, facts, and nothing else."""
    results = run_study(TOY, tmp_path, seed=3)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["toy_study.csv", "toy_study.json"]
    kept = read_results(tmp_path, "toy_study")
    assert [(row.curve, row.x) for row in kept.rows[::2]] == [*CELLS, ("gain", None)]
    assert [row.value for row in kept.rows] == pytest.approx([row.value for row in results.rows], rel=1e-7)
    assert kept.rows[1].value == math.inf
    facts = kept.facts
    assert (facts["seed"], facts["grid"], facts["sizes"]) == (3, "full", {"trials": 4})


def test_a_seed_repeats_the_rows():
    """Rows follow from seed and cell alone, in whatever order and on however many cores cells are measured."""
    rows = measure_cells(TOY, TOY.full, Context(Sizes(), 3))
    turned = dataclasses.replace(TOY, derive=None, is_parallel=True)
    assert set(measure_cells(turned, Grid(CELLS[::-1], Sizes()), Context(Sizes(), 3))) == set(rows[:-1])
    assert measure_cells(TOY, TOY.full, Context(Sizes(), 4)) != rows


def test_an_interrupted_run_resumes(tmp_path):
    """After an interruption only the missing cells are measured, and the rows are those of a whole run."""
    count = itertools.count()

    def measure_some(context, curve, x):
        if next(count) == 5:
            raise KeyboardInterrupt
        return measure(context, curve, x)

    study = dataclasses.replace(TOY, measure=measure_some)
    with pytest.raises(KeyboardInterrupt):
        run_study(study, tmp_path)
    assert find_unfinished(study, tmp_path).is_dir()
    results = run_study(study, tmp_path)
    assert next(count) == len(CELLS) + 1
    assert results.facts["resumed"] >= 5
    assert results.rows == run_study(TOY, tmp_path / "whole").rows


def test_what_is_missing_is_said_before_the_run(tmp_path):
    """A missing package, data set or output is named in one line, and no cell is measured."""
    study = dataclasses.replace(TOY, measure=lambda *_: refuse(), files=("x.npz",))
    with refuses("x.npz"):
        run_study(study, tmp_path)
    with refuses("x.npz"):
        run_study(study, tmp_path, data=tmp_path)
    with refuses("nosuchpackage"):
        run_study(dataclasses.replace(study, packages=("nosuchpackage",)), tmp_path)
    (tmp_path / "toy_study.csv").write_text("")
    with refuses("toy_study.csv"):
        run_study(dataclasses.replace(study, files=()), tmp_path)


def test_shared_work_is_done_once():
    """What several cells need is computed once, also by threads that need other shared work for it."""
    context, count = Context(None), itertools.count()

    def compute():
        return [context.share("part", lambda: next(count)) for _ in range(2)]

    found = parallel_map(lambda _: context.share("whole", compute), range(8), workers=4)
    assert found == [[0, 0]] * 8
    assert next(count) == 1
