"""What a long study keeps: found again after an interruption, and only by a run with the same parameters."""

import json
import math
import threading

import numpy as np
import pytest

from deniable.core.errors import InputError
from deniable.core.parallel import parallel_map
from deniable.studies.ledger import Ledger

PARAMETERS = {"seed": 0, "size epsilons": (0.5, 2.0)}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "out" / "tiny.unfinished.jsonl"


def late():
    pytest.fail("computed again")


def test_results_are_kept_and_read_back(path):
    """A second run with the same parameters finds every result, as JSON gives it back, and computes none again."""
    first = Ledger(path, PARAMETERS)
    assert len(first) == 0
    results = {"a b": {"x": [1, 2.5, None]}, "infinite": math.inf, "ü\n": "text\n", "nothing": None}
    for name, result in results.items():
        assert first.remember(name, lambda result=result: result) == result
        assert first.remember(name, late) == result
    second = Ledger(path, {"seed": 0, "size epsilons": [0.5, 2.0]})
    assert len(second) == len(first) == 4
    assert {name: second.remember(name, late) for name in results} == results


def test_fresh_and_kept_results_are_alike(path):
    """A result comes back the same whether it was just computed or read: tuples are lists in both."""
    fresh = Ledger(path, PARAMETERS).remember("pair", lambda: {1: (1, 2)})
    assert fresh == Ledger(path, PARAMETERS).remember("pair", late) == {"1": [1, 2]}


@pytest.mark.parametrize("cut", range(1, 16))
def test_a_line_that_was_cut_off_is_computed_again(path, cut):
    """A crash in the middle of a line costs that one result; what follows is appended to whole lines."""
    ledger = Ledger(path, PARAMETERS)
    ledger.remember("one", lambda: 1)
    ledger.remember("two", lambda: "twice")
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    again = Ledger(path, PARAMETERS)
    assert len(again) == 1
    assert again.remember("one", late) == 1
    assert again.remember("two", lambda: "twice") == "twice"
    assert path.read_bytes() == whole


@pytest.mark.parametrize("kept", [0, 1, 20])
def test_a_first_line_that_was_cut_off(path, kept):
    """A crash in the very first line leaves nothing, and the run begins as a new one."""
    Ledger(path, PARAMETERS).remember("one", lambda: 1)
    whole = path.read_bytes()
    path.write_bytes(whole[:kept])
    again = Ledger(path, PARAMETERS)
    assert len(again) == 0
    again.remember("one", lambda: 1)
    assert path.read_bytes() == whole


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({**PARAMETERS, "seed": 7}, "an unfinished run with seed 0. Got 7: "),
        ({**PARAMETERS, "size epsilons": (0.5,)}, "an unfinished run with size epsilons [0.5, 2.0]. Got [0.5]: "),
        ({**PARAMETERS, "more": 1}, "an unfinished run with more None. Got 1: "),
        ({"seed": 0}, "an unfinished run with size epsilons [0.5, 2.0]. Got None: "),
    ],
)
def test_other_parameters(path, other, message):
    """A run with other parameters is refused by the first that differs, with both values, and loses nothing."""
    Ledger(path, PARAMETERS).remember("one", lambda: 1)
    before = path.read_bytes()
    with pytest.raises(InputError) as caught:
        Ledger(path, other)
    assert message in str(caught.value)
    assert "--force" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", ["no json\n", "3\n", '{"seed": 0}\n[1]\n', '{"seed": 0}\n3\n', "\n", "\ud800\n"])
def test_files_that_are_none(path, content):
    """A file of another kind is refused in one line, and stays."""
    path.parent.mkdir()
    path.write_bytes(content.encode("utf-8", "surrogatepass"))
    with pytest.raises(InputError, match=r"is no unfinished study: [^\n]*--force") as caught:
        Ledger(path, {"seed": 0})
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == content.encode("utf-8", "surrogatepass")


def test_force_begins_anew(path):
    """With force nothing that another run has kept counts; what this one has kept does."""
    Ledger(path, {"seed": 1}).remember("one", lambda: 1)
    ledger = Ledger(path, PARAMETERS, force=True)
    assert len(ledger) == 0
    assert ledger.remember("one", lambda: 2) == 2
    assert Ledger(path, PARAMETERS, force=True).remember("one", late) == 2


def test_without_a_path(tmp_path, monkeypatch):
    """Without a path results are remembered as long as the ledger lives, arrays are not, and no file appears."""
    monkeypatch.chdir(tmp_path)
    ledger = Ledger()
    assert ledger.remember("one", lambda: 1) == ledger.remember("one", late) == 1
    assert ledger.array("many", lambda: np.arange(3)).tolist() == [0, 1, 2]
    assert ledger.array("many", lambda: np.arange(2)).tolist() == [0, 1]
    ledger.close()
    assert list(tmp_path.iterdir()) == []


def test_arrays(path):
    """An array is kept under corpora, exactly, and found by runs with other parameters too."""
    values = np.random.default_rng(0).integers(0, 2**16, (3, 50), dtype=np.uint16)
    Ledger(path, PARAMETERS).array("corpus-1", lambda: values)
    assert [file.name for file in (path.parent / "corpora").iterdir()] == ["corpus-1.npy"]
    found = Ledger(path, {"seed": 9}).array("corpus-1", late)
    assert found.dtype == np.uint16
    np.testing.assert_array_equal(found, values)


@pytest.mark.parametrize("kept", [0, 5, 100, 200])
def test_a_damaged_array_is_computed_again(path, kept):
    """An array whose file is cut short, or holds something else, is computed again and kept whole."""
    ledger = Ledger(path, PARAMETERS)
    ledger.array("corpus", lambda: np.arange(40.0))
    (file,) = (path.parent / "corpora").iterdir()
    for content in (file.read_bytes()[:kept], b"x" * kept):
        file.write_bytes(content)
        assert ledger.array("corpus", lambda: np.arange(40.0)).tolist() == list(range(40))
        assert ledger.array("corpus", late).tolist() == list(range(40))
    assert [left.name for left in file.parent.iterdir()] == ["corpus.npy"]


def test_a_failure_keeps_nothing(path):
    """A part that fails or is interrupted is not kept, and leaves no file."""

    def stop():
        raise KeyboardInterrupt

    ledger = Ledger(path, PARAMETERS)
    for keep in (ledger.remember, ledger.array):
        with pytest.raises(KeyboardInterrupt):
            keep("one", stop)
    assert len(ledger) == 0
    assert not path.parent.exists()


def test_threads(path):
    """Parts that end at the same time in many threads are all kept, each on a line of its own."""
    ledger, gate = Ledger(path, PARAMETERS), threading.Barrier(16)

    def part(number):
        def compute():
            gate.wait(timeout=60)  # so that all of them end together
            return {"number": number, "text": "x" * 5_000}

        return ledger.remember(f"part {number}", compute)["number"]

    assert parallel_map(part, range(16), workers=16) == list(range(16))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert lines[0] == {"seed": 0, "size epsilons": [0.5, 2.0]}
    assert sorted(name for name, _ in lines[1:]) == sorted(f"part {number}" for number in range(16))
    again = Ledger(path, PARAMETERS)
    assert [again.remember(f"part {number}", late)["number"] for number in range(16)] == list(range(16))


def test_close_removes(path):
    """A complete study leaves no file of its results; the arrays stay for other studies."""
    ledger = Ledger(path, PARAMETERS)
    ledger.remember("one", lambda: 1)
    ledger.array("corpus", lambda: np.ones(2))
    ledger.close()
    ledger.close()
    assert [file.name for file in path.parent.iterdir()] == ["corpora"]
