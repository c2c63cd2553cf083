"""Hidden classes: one point each, whatever their words; lists are checked, and nothing else of a space changes."""

import pickle
from pathlib import Path

import numpy as np
import pytest

import deniable as dn
from tests.refusals import refuses

WORDS = ("the", "john", "mary", "7", "1990", "dog", "cat", "blue", "red")
VECTORS = np.random.default_rng(7).normal(size=(len(WORDS), 3))
PETS = dn.WordClass("pets", frozenset({"dog", "Cat", "unicorn"}))
NAMES = dn.WordClass("people", frozenset({"john", "mary", "zoltan"}))


@pytest.fixture
def space():
    """Return nine words, four of them in two listed classes, two of them numbers."""
    return dn.Space(WORDS, VECTORS, hide=[PETS, NAMES, "numbers"])


class TestMerging:
    """Words of a class share a point; all others keep theirs."""

    def test_points(self, space):
        """The words of a class share a point; their own vectors, and the points of other words, stay."""
        for first, second in (("dog", "cat"), ("john", "mary"), ("7", "1990")):
            assert space.point_by_word[space.index_of(first)] == space.point_by_word[space.index_of(second)]
        assert space.point_count == 7
        np.testing.assert_array_equal(space.vectors[: len(WORDS)], VECTORS)
        np.testing.assert_array_equal(space.points[space.point_by_word[0]], VECTORS[0])

    @pytest.mark.parametrize("dimensions", [1, 5])
    def test_classes_lie_apart(self, dimensions):
        """A class is in the direction of its words, as near to other points as unrelated words, and no nearer."""
        words = [f"w{number}" for number in range(60)]
        vectors = np.random.default_rng(dimensions).normal(size=(60, dimensions))
        one, other = (dn.WordClass(name, frozenset(words[i : i + 5])) for name, i in (("one", 3), ("other", 20)))
        space = dn.Space(words, vectors, hide=[one, other])
        offsets = space.vectors - space.vectors.mean(axis=0)
        least = np.sqrt(2) * np.median(np.linalg.norm(offsets, axis=1))
        for hidden in space.hidden_classes:
            point = space.point_by_word[hidden.members[0]]
            others = np.delete(space.distances([point])[0], point)
            assert others.min() >= least * (1 - 1e-9)
            if hidden.name == "addresses":  # the mean of all words, which has no direction
                continue
            place = space.points[point] - space.vectors.mean(axis=0)
            direction = offsets[hidden.members].mean(axis=0)
            np.testing.assert_allclose(place / np.linalg.norm(place), direction / np.linalg.norm(direction), atol=1e-9)
        first = space.point_by_word[space.hidden_classes[0].members[0]]
        free = [space.point_by_word[n] for n in range(60) if space.find_class(n) is None]
        assert space.distances([first])[0][free].min() == pytest.approx(least)

    def test_classes_in_the_middle(self):
        """A class whose words are around the centre has a place too; one without a word in the space hides nothing."""
        vectors = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 2.0], [0.0, -2.0]])
        space = dn.Space(["dog", "cat", "up", "down"], vectors, hide=[PETS, NAMES, "numbers"])
        assert np.isfinite(space.points).all()
        assert space.distance("dog", "up") > 0 == space.distance("dog", "cat")
        assert [hidden.name for hidden in space.hidden_classes] == ["pets", "addresses"]
        for word in ("zoltan", "7"):
            assert word not in space
            with refuses(f"'{word}'"):
                dn.Release(dn.TEM(space, epsilon=1.0), keep=[word])

    @pytest.mark.parametrize("kind", [dn.TEM, dn.TightExponential])
    def test_every_word_of_a_class_has_the_same_law(self, space, kind):
        """Listed words, those that the space lacks, numbers of any shape: the law depends on the class alone."""
        mechanism = kind(space, epsilon=2.0)
        for first, others in (
            ("dog", ["cat", "UNICORN"]),
            ("7", ["1990", "555-0123", "3rd"]),
            ("a@b.c", ["x.com", "www.x.org/y"]),
        ):
            law = mechanism.probabilities(first)
            for other in others:
                np.testing.assert_array_equal(mechanism.probabilities(other), law)
            assert law[space.index_of("dog")] == law[space.index_of("cat")]

    def test_the_claim_is_about_the_merged_metric(self, space):
        """The exact epsilon over the points is proved; a law that tells words of a class apart is refuted."""
        verdict = dn.verify(dn.CalibratedExponential(space, epsilon=2.0))
        assert verdict.status == "proved"
        assert verdict.guarantee.metric == "euclidean, with numbers, pets and people hidden"
        rows = np.full((len(space), len(space)), 1.0)
        rows[space.index_of("dog"), space.index_of("dog")] = 1.3
        assert dn.verify(rows / rows.sum(axis=1, keepdims=True), space=space, epsilon=2.0).status == "refuted"


class TestReading:
    """Which word of the space a word is read as."""

    def test_find_number_and_class(self, space):
        """Own words are themselves; others of a class are its first word; addresses are the placeholder."""
        assert space.find_number("Mary") == WORDS.index("mary")
        assert space.find_number("zoltan") == WORDS.index("john")
        assert space.find_number("12,000.50") == WORDS.index("7")
        assert space.words[space.find_number("jo@x.com")] == "example.org"
        assert space.find_number("zork") is None
        assert "zoltan" in space
        assert "zork" not in space
        assert space.find_class(space.index_of("unicorn")).name == "pets"
        assert space.find_class(space.index_of("red")) is None

    def test_the_grammar(self, space):
        """A space that hides classes cuts texts by the whole grammar, another by the plain one."""
        assert space.split_words("call 555-0123")[1::2] == ["call", "555-0123"]
        assert dn.Space(WORDS, VECTORS).split_words("call 555-0123")[1::2] == ["call", "555", "0123"]

    def test_the_unknown_word_is_not_hidden(self):
        """Unknown words are read as an ordinary word, also where a name lies nearer to the middle."""
        vectors = np.array([[0.0, 0.1], [1.0, 1.0], [-1.0, -0.9]])
        assert dn.Space(["john", "the", "red"], vectors).unknown_word == "john"
        assert dn.Space(["john", "the", "red"], vectors, hide=[NAMES]).unknown_word in {"the", "red"}


class TestIdentity:
    """Fingerprints, pickles and names tell spaces with different classes apart."""

    def test_fingerprints(self, space):
        """A word more in a list, a class less, another name: another fingerprint; the order of classes is the same."""
        more = dn.WordClass("pets", frozenset({"dog", "cat", "unicorn", "emu"}))
        lists = [(), [PETS, NAMES], [more, NAMES, "numbers"], [dn.WordClass("beasts", PETS.words), NAMES, "numbers"]]
        others = [dn.Space(WORDS, VECTORS, hide=hide) for hide in lists]
        assert len({space.fingerprint, *(other.fingerprint for other in others)}) == 5
        for hide in (["numbers", PETS, NAMES], space.hide):
            assert dn.Space(WORDS, VECTORS, hide=hide).fingerprint == space.fingerprint
        assert dn.Space(WORDS, VECTORS, hide=()).fingerprint == dn.Space(WORDS, VECTORS).fingerprint

    def test_points_are_the_same_on_every_processor(self):
        """Where classes lie, and so the name of keyed noise, follows from the vectors to the last bit."""
        vectors = (np.arange(240).reshape(60, 4) * 37 % 101) / 101
        words = [*(f"w{number}" for number in range(58)), "7", "8"]
        space = dn.Space(words, vectors, hide=[dn.WordClass("one", frozenset(words[3:8])), "numbers"])
        assert space.fingerprint == "da5ae8330e99aee90cf6bd7935818195"

    def test_pickles(self, space, tmp_path):
        """A space with classes of one's own pickles whole, one from a file as a reference with what it hides."""
        assert pickle.loads(pickle.dumps(space)).fingerprint == space.fingerprint
        np.savez(tmp_path / "space.npz", words=np.array(WORDS), vectors=VECTORS)
        (tmp_path / "pets.txt").write_text("# beasts of the house\ndog\ncat\n")
        loaded = dn.Space.load(tmp_path / "space.npz", hide=["numbers", tmp_path / "pets.txt"])
        data = pickle.dumps(loaded)
        assert len(data) < 1000
        assert pickle.loads(data).hidden_classes[1].name == "pets"
        assert pickle.loads(data).fingerprint == loaded.fingerprint


class TestLists:
    """What may be hidden, and what is refused."""

    @pytest.mark.parametrize(
        ("hide", "value"),
        [
            ("names", "'names'"),
            ([7], "7"),
            (["cities"], "'cities'"),
            ([Path("none.txt")], "'none.txt'"),
            ([PETS, PETS], "'pets'"),
            ([PETS, dn.WordClass("more", frozenset({"dog"}))], "'dog'"),
            (["numbers", dn.WordClass("years", frozenset({"1990"}))], "'1990'"),
            ([dn.WordClass("sites", frozenset({"x.com"}))], "'x.com'"),
            ([dn.WordClass("addresses", frozenset({"x"}))], "'addresses'"),
            ([dn.WordClass("names", frozenset({"x"}))], "'names'"),
            (["a" * 5000], "a" * 20),
        ],
    )
    def test_what_cannot_be_hidden(self, hide, value):
        """One line says what is wrong with what is to be hidden."""
        with refuses(value):
            dn.Space(WORDS, VECTORS, hide=hide)

    def test_classes_that_are_none(self):
        """A class needs a name and words, each by itself."""
        for words in ((), (" ",), ("new york",), "dog"):
            with refuses("WordClass" if words == "dog" else "'pets'"):
                dn.WordClass("pets", words)
        with refuses("'name'"):
            dn.WordClass(" ", frozenset({"dog"}))

    def test_classes_of_the_package_share_no_word(self):
        """All of them can be hidden at once, and each word is in the first class that has it, in any order of names."""
        words = ["smith", "b", "a", "london", "czech", "united", "7", "cancer", "hiv", "back"]
        vectors = np.random.default_rng(8).normal(size=(len(words), 3))
        classes = ["health", "numbers", "places", "names"]
        space = dn.Space(words, vectors, hide=classes)
        assert space.metric_name == "euclidean, with names, places, numbers and health hidden"
        found = [space.find_class(space.index_of(word)) for word in words]
        names = [hidden.name if hidden else None for hidden in found]
        assert names == ["names", "names", None, "places", "places", None, "numbers", "health", "health", None]

    def test_the_default_space_hides(self):
        """Names, places and numbers are hidden in the space that comes with the package, and health is not."""
        space = dn.Space.glove(3_000)
        assert [hidden.name for hidden in space.hidden_classes] == ["names", "places", "numbers", "addresses"]
        assert space.distance("john", "mary") == space.distance("london", "paris") == space.distance("1990", "20") == 0
