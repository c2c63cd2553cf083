"""The regular graph of lists of near words, against the written rules, edge by edge."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import deniable as dn
from tests.contracts import reference


def join(lists, degree=12, places=None, **options):
    """Return the neighbours (m, c) of words that have these near words, in lists of so many places."""
    places = places or count_places(lists)
    near = np.array([[*row, *[-1] * (places - len(row))] for row in lists])
    space = dn.Space([f"w{word}" for word in range(len(lists))], near=near, metric=dn.Metric.steps(degree), **options)
    return space.graph.neighbours


def count_places(lists):
    """Return the places that the longest list needs."""
    return max(1, *map(len, lists))


def check_regular(neighbours, count, degree):
    """Each word has c others as neighbours, in order, and is a neighbour of each of them."""
    assert neighbours.shape == (count, min(degree, count - 1))
    assert neighbours.dtype == np.int32
    joined = np.zeros((count, count), dtype=bool)
    joined[np.arange(count)[:, None], neighbours] = True
    assert (joined.sum(axis=1) == neighbours.shape[1]).all()
    assert (joined == joined.T).all()
    assert not joined.diagonal().any()
    assert (np.diff(neighbours, axis=1) > 0).all()


def random_lists(count, longest, seed=0):
    """Return lists of up to so many words, chosen at random."""
    generator = np.random.default_rng(seed)
    lists = []
    for word in range(count):
        others = generator.permutation(np.delete(np.arange(count), word))
        lists.append(others[: generator.integers(longest + 1)].tolist())
    return lists


def clustered_lists(count, size=20):
    """Return lists that hold the words of the same cluster alone, nearest numbers first."""
    clusters = [[*range(word - word % size, min(count, word - word % size + size))] for word in range(count)]
    return [
        sorted({*cluster} - {word}, key=lambda other, word=word: (abs(other - word), other))
        for word, cluster in enumerate(clusters)
    ]


MAKERS = {
    "full": lambda count: random_lists(count, count - 1, seed=3),
    "some": lambda count: random_lists(count, 10),
    "clusters": clustered_lists,
    "empty": lambda count: [[] for _ in range(count)],
    "hub": lambda count: [[0] if word else [1] for word in range(count)],
    "one empty": lambda count: [[], *random_lists(count, 30, seed=1)[1:]],
}
COUNTS = (2, 3, 5, 7, 12, 13, 14, 15, 16, 20, 26, 27, 40, 100)


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("degree", [2, 4, 12, pytest.param(64, marks=pytest.mark.deep)])
def test_graph_is_regular_and_that_of_the_rules(maker, degree):
    """For any number of words and any lists, every word has c neighbours, those that the rules give; twice the same."""
    for count in COUNTS:
        lists = MAKERS[maker](count)
        neighbours = join(lists, degree)
        check_regular(neighbours, count, degree)
        assert neighbours.tolist() == reference.regular_graph(lists, degree, count_places(lists))
        np.testing.assert_array_equal(join(lists, degree), neighbours)


@pytest.mark.parametrize("maker", MAKERS)
def test_graph_of_many_words(maker):
    """A thousand words have twelve neighbours each."""
    check_regular(join(MAKERS[maker](1000)), 1000, 12)


@pytest.mark.parametrize("examples", [40, pytest.param(300, marks=pytest.mark.deep)])
def test_graph_of_any_lists(examples):
    """Whatever the lists, the graph is regular, and that of the rules."""

    @settings(max_examples=examples)
    @given(count=st.integers(2, 24), degree=st.sampled_from([2, 4, 6]), data=st.data())
    def check(count, degree, data):
        numbers = st.lists(st.integers(0, count - 1), max_size=8, unique=True)
        drawn = data.draw(st.lists(numbers, min_size=count, max_size=count))
        lists = [[other for other in row if other != word] for word, row in enumerate(drawn)]
        neighbours = join(lists, degree)
        check_regular(neighbours, count, degree)
        assert neighbours.tolist() == reference.regular_graph(lists, degree, count_places(lists))

    check()


@settings(max_examples=30)
@given(seed=st.integers(0, 1000), count=st.integers(3, 30))
@example(seed=0, count=3)
def test_repeats_the_word_itself_and_gaps_change_nothing(seed, count):
    """A list counts as the words that it names, each at its first place: -1, repeats and the word itself do not."""
    generator = np.random.default_rng(seed)
    lists = random_lists(count, 8, seed)
    noisy = []
    for word, row in enumerate(lists):
        noise = [-1, word, *row[:1]]
        noisy.append([entry for other in row for entry in (other, noise[generator.integers(len(noise))])])
    np.testing.assert_array_equal(join(noisy, 4, 16), join(lists, 4, 16))


def test_near_words_become_neighbours():
    """Where lists agree, the first of them are joined: words on a ring have the nearest of each side."""
    count = 30
    offsets = [offset for step in range(1, 11) for offset in (step, -step)]
    lists = [[(word + offset) % count for offset in offsets] for word in range(count)]
    for word, row in enumerate(join(lists, 6)):
        assert {int(other) for other in row} == {(word + offset) % count for offset in offsets[:6]}


def test_one_word_without_near_words_leaves_the_others_theirs():
    """A word whose near words are all hidden, or not there, takes few edges apart: the others keep theirs."""
    lists = clustered_lists(200)
    expected = join(lists)
    neighbours = join([[], *lists[1:]])
    shared = [
        len({*row.tolist()} & {*other.tolist()}) for row, other in zip(neighbours[20:], expected[20:], strict=True)
    ]
    assert np.mean(shared) > 11.5
    assert min(shared) >= 8


def test_hidden_words_leave():
    """Words of a hidden class are in no list, and the graph is that of the words that are left."""
    lists = random_lists(40, 20, seed=5)
    hidden = {3, 4, 17, 39}
    word_class = dn.WordClass("secret", frozenset(f"w{word}" for word in hidden))
    numbers = {word: number for number, word in enumerate(word for word in range(40) if word not in hidden)}
    left = [[numbers[other] for other in lists[word] if other in numbers] for word in numbers]
    expected = reference.regular_graph(left, 12, 20)
    assert join(lists, hide=[word_class]).tolist() == expected
    assert join([*lists, []]).tolist() != expected


@pytest.mark.parametrize("hide", [(), pytest.param(("names", "places", "numbers"), marks=pytest.mark.deep)])
def test_neighbours_of_glove_are_near_words(hide):
    """In any part of the default space words have neighbours of their own lists, and not those of next numbers."""
    for size in (100, 1000, 10_000):
        space = dn.Space.glove(size, hide=hide)
        neighbours = space.graph.neighbours
        check_regular(neighbours, space.graph.word_count, 12)
        near = [{word for word, distance in space.neighbours(word, 12) if distance == 1} for word in ("he", "two")]
        assert {"she", "him", "his"} & near[0]
        assert hide or {"three", "one", "four"} & near[1]
        apart = np.abs(neighbours - np.arange(len(neighbours))[:, None])
        assert np.mean(apart <= 6) < 0.3
