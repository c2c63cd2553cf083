"""The space: folding, points, distances, extent, the cache and the default of GloVe."""

import copy
import json
import os
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deniable as dn
from tests.cached import authentic, content, entries
from tests.contracts import reference
from tests.refusals import refuses

METRICS = ("euclidean", "manhattan", "chebyshev", "angular", "steps")


class TestWords:
    """Words are folded, and each folded form stands once."""

    def test_words_are_folded_and_repeats_noted(self):
        """Of words that fold to one form the first stands, and a note counts the others."""
        space = dn.Space(["The", "the", "CAT", "Cat", "cat", "dog"], np.arange(12.0).reshape(6, 2))
        assert space.words == ("the", "cat", "dog")
        np.testing.assert_array_equal(space.vectors, [[0, 1], [4, 5], [10, 11]])
        assert space.notes == ("3 entries repeat a word in other capitals; the first of each was kept",)
        assert len(space) == 3

    def test_vectors_of_many_dimensions(self):
        """Memory grows with the vectors, and not with the square of their dimensions: here that were 18 TB."""
        vectors = np.ones((3, 1_500_000)) * np.arange(1, 4)[:, None]
        assert len(dn.Space(["a", "b", "c"], vectors)) >= 3

    def test_blank_and_broken_words_are_left_out(self):
        """Words that are blank or hold a line break are left out with a note."""
        space = dn.Space(["a", "", " ", "b\nc", "\u2028", "d\r", "b"], np.arange(7.0)[:, None])
        assert space.words == ("a", "b")
        assert space.notes == ("5 entries are blank or hold a line break and were left out",)

    def test_words_are_found_folded(self, small_space):
        """A word is found whatever its capitals and invisible characters, at its place; other objects are not."""
        assert [small_space.index_of(word.upper()) for word in small_space.words] == list(range(60))
        assert all(word in small_space for word in ("baran", "BaRan", "ba\u00adran"))
        assert not any(word in small_space for word in ("nonesuch", 3, None))
        for use in (small_space.index_of, small_space.neighbours, lambda word: small_space.distance("baran", word)):
            with refuses("'nonesuch'"):
                use("nonesuch")

    def test_a_space_keeps_its_vectors(self):
        """Any numbers become float64, copied and read-only, after a pickle too; a note of the reader comes first."""
        given_vectors = np.eye(3)
        space = dn.Space(["a", "A", "b"], given_vectors, notes=["read in a hurry"])
        given_vectors[:] = 7.0
        np.testing.assert_array_equal(space.vectors, np.eye(3)[::2])
        assert space.notes[0] == "read in a hurry"
        assert repr(space) == "Space(2 words x 3, euclidean, given in memory)"
        for one in (space, pickle.loads(pickle.dumps(space))):
            assert not any(array.flags.writeable for array in (one.vectors, one.points, one.point_by_word))
        for vectors in ([[1, 2], [3, 4]], np.array([[1, 2], [3, 4]], dtype=np.float16)):
            space = dn.Space(["a", "b"], vectors)
            assert space.vectors.dtype == np.float64
            assert space.distance("a", "b") == pytest.approx(np.sqrt(8))


class TestRefusals:
    """What cannot be a space is refused with one line."""

    @pytest.mark.filterwarnings("error")
    @pytest.mark.parametrize(
        ("words", "vectors", "value"),
        [
            (["a", "b"], np.eye(3), "(3, 3)"),
            (["a", "b"], [1.0, 2.0], "(2,)"),
            (["a", "b"], np.empty((2, 0)), "(2, 0)"),
            (["a", "b"], [[1.0, 2.0], [3.0]], "array"),
            (["a", "b"], [["x"], ["y"]], "array"),
            *((["a", "b"], [[0.0, 1.0], [2.0, value]], "'b'") for value in (np.nan, np.inf, -np.inf, 1e101)),
            (["a", "b"], [[1e-101], [1.0]], "'a'"),
            *((["a", word], np.eye(2), "position 1") for word in (None, 3, b"a")),
            # nothing to choose from
            (["a"], [[1.0]], "two words"),
            ([], np.empty((0, 3)), "two words"),
            (["a", "A"], [[1.0], [2.0]], "two words"),
            (["a", "b"], [[1.0], [1.0]], "two words"),
            (["a", "b"], [[0.0], [-0.0]], "two words"),
            (["", " "], [[1.0], [2.0]], "two words"),
        ],
    )
    def test_what_is_no_space(self, words, vectors, value):
        """Words and vectors of other numbers, what is no finite number of usual size, one point alone."""
        with refuses(value):
            dn.Space(words, vectors)

    def test_a_space_has_no_subclass(self):
        """Distances of one's own come as a metric, which has no fingerprint, and not under the name of the space."""
        with refuses("metric", TypeError):

            class Wider(dn.Space):
                pass

    @pytest.mark.parametrize("factor", [1e160, 1e300, 1e-160, 1e-300])
    @pytest.mark.filterwarnings("ignore:overflow")
    def test_vectors_of_unusual_size(self, small_space, small_vectors, factor):
        """Vectors whose squares overflow or vanish are refused, or have finite distances above 0: never NaN."""
        try:
            space = dn.Space(small_space.words, small_vectors * factor)
        except dn.InputError:
            return
        distances = space.distances(range(60))
        assert np.isfinite(distances).all()
        assert (distances[~np.eye(60, dtype=bool)] > 0).all()


@pytest.fixture(scope="module", params=METRICS)
def measured(request, small_space, small_vectors):
    """Return a space with each metric, and its distances by the textbook."""
    space = dn.Space(small_space.words, small_vectors, metric=request.param)
    return space, reference.distances(small_vectors, request.param)


class TestDistances:
    """Distances, neighbours and extent agree with the textbook under every metric."""

    def test_distance(self, measured):
        """The distance of two words is the metric's, in either order, and 0 from a word to itself."""
        space, expected = measured
        for first, second in ((0, 1), (7, 59), (30, 31)):
            one, other = space.words[first], space.words[second]
            assert space.distance(one, other) == pytest.approx(expected[first, second], rel=1e-12, abs=1e-11)
            assert space.distance(one, other) == pytest.approx(space.distance(other, one), rel=1e-14)
            assert space.distance(one, one) == 0.0

    def test_distances(self, measured):
        """Rows of distances agree, with an exact zero on the diagonal."""
        space, expected = measured
        rows = space.distances(range(60))
        np.testing.assert_allclose(rows, expected, rtol=1e-12, atol=1e-11)
        assert (np.diagonal(rows) == 0).all()
        assert space.distances([]).shape == (0, 60)

    def test_neighbours(self, measured):
        """Neighbours come nearest first, without the word itself."""
        space, expected = measured
        for number in (0, 13, 59):
            order = [other for other in np.argsort(expected[number], kind="stable") if other != number]
            found = space.neighbours(space.words[number], 7)
            assert [word for word, _ in found] == [space.words[other] for other in order[:7]]
            np.testing.assert_allclose([d for _, d in found], expected[number][order[:7]], rtol=1e-12, atol=1e-11)
        assert len(space.neighbours("baran")) == 10
        assert len(space.neighbours("baran", 1000)) == 59
        assert space.neighbours("baran", 0) == []

    def test_extent(self, measured):
        """Diameter and separation are the largest and smallest distance over all pairs."""
        space, expected = measured
        pairs = expected[np.triu_indices(60, 1)]
        assert space.diameter == pytest.approx(pairs.max(), rel=1e-11)
        assert space.separation == pytest.approx(pairs.min(), rel=1e-11)

    def test_extent_over_several_blocks(self):
        """The pair that attains an extreme is found wherever it stands among the blocks."""
        spots = 10.0 * np.arange(200)
        for first, second in ((0, 199), (63, 64), (198, 199), (64, 130)):
            moved = spots.copy()
            moved[second] = moved[first] + 0.25
            space = dn.Space([f"w{number}" for number in range(200)], moved[:, None])
            assert space.separation == pytest.approx(0.25, rel=1e-9)
            assert space.diameter == pytest.approx(moved.max() - moved.min())

    def test_rows_do_not_depend_on_batches_or_workers(self, measured):
        """A row is the same to the last bit alone, among others, in any order and by any number of workers."""
        space, _ = measured
        alone = np.concatenate([space.distances([point]) for point in range(60)])
        for workers in (1, 2, 3):
            order = np.random.default_rng(workers).integers(60, size=200)
            blocks = space.map_row_blocks(lambda start, rows: (start, rows.copy()), order, workers)
            assert [(start, len(rows)) for start, rows in blocks] == [(0, 64), (64, 64), (128, 64), (192, 8)]
            np.testing.assert_array_equal(np.concatenate([rows for _, rows in blocks]), alone[order])

    @pytest.mark.deep
    def test_rows_of_glove_do_not_depend_on_batches_or_workers(self, glove):
        """The same holds for 50,000 words."""
        points = np.array([0, 1, 777, 25_000, 49_999])
        alone = np.concatenate([glove.distances([point]) for point in points])
        crowd = np.concatenate([np.arange(100, 100 + 62), points, np.arange(3)])
        for workers in (1, 2):
            blocks = glove.map_row_blocks(lambda _, rows: rows.copy(), crowd, workers)
            np.testing.assert_array_equal(np.concatenate(blocks)[62:67], alone)
        np.testing.assert_array_equal(glove.distances(points[::-1]), alone[::-1])

    @settings(max_examples=30)
    @given(
        st.lists(st.tuples(*[st.integers(-1000, 1000)] * 3), min_size=2, max_size=20, unique=True),
        st.sampled_from([1e-3, 1.0, 1e3]),
        st.sampled_from([0.0, 1e3]),
    )
    def test_euclidean_distances_are_exact_for_close_pairs(self, vectors, unit, offset):
        """Distances keep their leading digits where the vectors are long and their difference is short."""
        matrix = np.array(vectors) * unit + offset * unit
        space = dn.Space([f"w{number}" for number in range(len(matrix))], matrix)
        np.testing.assert_allclose(
            space.distances(range(len(matrix))), reference.distances(matrix), rtol=1e-8, atol=1e-30
        )


class TestTwins:
    """Words with equal vectors are one point."""

    def test_points_are_the_distinct_vectors(self, twin_space):
        """Points stand in order of first appearance, and every word knows its own."""
        assert twin_space.points.shape == (5, 2)
        np.testing.assert_array_equal(twin_space.points[twin_space.point_by_word], twin_space.vectors)
        order, ends = twin_space.words_by_point
        groups = np.split(order, ends[:-1])
        assert [sorted(group.tolist()) for group in groups] == [
            np.flatnonzero(twin_space.point_by_word == point).tolist() for point in range(5)
        ]

    def test_extent_leaves_twins_out(self, twin_space):
        """Separation is over words at different points, and so never 0."""
        assert twin_space.separation == pytest.approx(1.0)
        assert twin_space.diameter == pytest.approx(np.hypot(3.0, 1.5))
        assert twin_space.distance(twin_space.words[0], twin_space.words[3]) == 0.0

    def test_neighbours_include_twins(self, twin_space):
        """Twins of a word are its neighbours at distance 0, the word itself is not."""
        found = twin_space.neighbours(twin_space.words[11], 4)
        assert [word for word, distance in found if distance == 0] == [twin_space.words[n] for n in (0, 3, 5)]

    def test_zero_and_minus_zero_are_one_point(self):
        """Two bit patterns of the number zero do not make two points."""
        space = dn.Space(["a", "b", "c"], [[0.0, 1.0], [-0.0, 1.0], [2.0, 1.0]])
        assert space.point_by_word.tolist() == [0, 0, 1]

    def test_parallel_vectors_are_one_point_under_the_angular_metric(self):
        """Positive multiples of a vector, and only those, lie at one point under the angle."""
        base = np.random.default_rng(4).normal(size=(20, 6))
        vectors = np.concatenate([base, 7.3 * base, -base, 1e-5 * base])
        space = dn.Space([f"w{number}" for number in range(80)], vectors, metric="angular")
        expected = np.concatenate([np.arange(20), np.arange(20), np.arange(20, 40), np.arange(20)])
        assert space.point_by_word.tolist() == expected.tolist()
        assert space.distance("w0", "w40") == pytest.approx(np.pi)


def test_unknown_word_is_the_nearest_to_the_mean(small_space, small_vectors):
    """One public word stands for every unknown one: that nearest to the mean vector; under steps the first."""
    offsets = np.linalg.norm(small_vectors - small_vectors.mean(axis=0), axis=1)
    words = {dn.Space(small_space.words, small_vectors, metric=metric).unknown_word for metric in METRICS[:-1]}
    assert words == {small_space.words[offsets.argmin()]}
    assert dn.Space(small_space.words, small_vectors, metric="steps").unknown_word == small_space.words[0]


class TestFingerprint:
    """The fingerprint tells spaces apart, whatever they are used for."""

    def test_equal_spaces_have_equal_fingerprints(self, small_space, small_vectors):
        """It depends on words, vectors and metric, and not on source or notes."""
        again = dn.Space(small_space.words, small_vectors.tolist(), source="elsewhere", notes=["n"])
        assert again.fingerprint == small_space.fingerprint

    def test_different_spaces_have_different_fingerprints(self, small_space, small_vectors):
        """One word, one bit of one number, the order or the metric changes it."""
        nudged = small_vectors.copy()
        nudged[3, 2] = np.nextafter(nudged[3, 2], 9)
        spaces = [
            small_space,
            dn.Space(("other", *small_space.words[1:]), small_vectors),
            dn.Space(small_space.words, nudged),
            dn.Space(small_space.words[::-1], small_vectors[::-1]),
            dn.Space(small_space.words, small_vectors[:, ::-1]),
            dn.Space(small_space.words, small_vectors.reshape(60, 2, 2).transpose(0, 2, 1).reshape(60, 4)),
            *(dn.Space(small_space.words, small_vectors, metric=metric) for metric in METRICS[1:]),
        ]
        assert len({space.fingerprint for space in spaces}) == len(spaces)

    def test_function_of_the_users_own_is_not_taken_for_a_built_in_metric(self, small_space, small_vectors):
        """A function called like a built-in metric makes another space than the metric itself."""

        def euclidean(left, right):
            return np.abs(left[:, None] - right[None]).sum(axis=2)

        space = dn.Space(small_space.words, small_vectors, metric=euclidean)
        assert space.fingerprint != small_space.fingerprint


class TestCache:
    """The extent is remembered between processes, and the cache can always fail."""

    @staticmethod
    def make():
        """Return a small space whose extent is 1 and 3."""
        return dn.Space(["a", "b", "c"], [[0.0], [1.0], [3.0]])

    def test_second_computation_reads_the_file(self, own_cache_folder):
        """The file that the first computation wrote is what the second one returns, unless it cannot be used."""
        assert (self.make().separation, self.make().diameter) == (1.0, 3.0)
        (file,) = entries(own_cache_folder)
        assert json.loads(content(file)) == {"diameter": 3.0, "separation": 1.0}
        file.write_bytes(authentic(file, b'{"diameter": 30.0, "separation": 10.0}'))
        assert (self.make().separation, self.make().diameter) == (10.0, 30.0)
        for wrong in (
            *(b"", b"{", b"null", b"[]", b"3.0", b"\xff\xfe\x00garbage", b'{"diameter": 3.0}', b"{}"),
            b'{"diameter": "3", "separation": 1.0}',
            b'{"diameter": null, "separation": 1.0}',
        ):
            for damaged in (wrong, authentic(file, wrong)):
                file.write_bytes(damaged)
                assert (self.make().separation, self.make().diameter) == (1.0, 3.0)
                assert json.loads(content(file)) == {"diameter": 3.0, "separation": 1.0}

    def test_folder_that_cannot_be_written_is_no_matter(self, tmp_path, monkeypatch):
        """Where the folder cannot be made there is no cache, and nothing else changes."""
        (tmp_path / "file").write_text("in the way")
        monkeypatch.setenv("DENIABLE_CACHE", str(tmp_path / "file" / "cache"))
        assert (self.make().separation, self.make().diameter) == (1.0, 3.0)
        assert (tmp_path / "file").read_text() == "in the way"

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
    def test_read_only_folder_is_no_matter(self, own_cache_folder):
        """Where the folder may not be written there is no cache either."""
        own_cache_folder.chmod(0o500)
        assert self.make().diameter == 3.0
        assert list(own_cache_folder.iterdir()) == []

    def test_metrics_do_not_share_a_file(self, own_cache_folder, small_space, small_vectors):
        """Each space and metric of vectors has a file of its own; a function, which has no name, has none."""
        extents = {dn.Space(small_space.words, small_vectors, metric=metric).diameter for metric in METRICS}
        assert len(extents) == len(METRICS)
        assert sum(entry.name.startswith("extent-") for entry in entries(own_cache_folder)) == len(METRICS) - 1
        before = set(own_cache_folder.iterdir())
        space = dn.Space(["a", "b", "c"], [[0.0], [1.0], [3.0]], metric=lambda x, y: 2 * np.abs(x - y.T))
        assert (space.separation, space.diameter) == (2.0, 6.0)
        assert set(own_cache_folder.iterdir()) == before


class TestCopies:
    """A space can be copied and sent."""

    @pytest.mark.parametrize("metric", METRICS)
    def test_pickle_keeps_everything(self, small_space, small_vectors, metric):
        """A space sent to another process is the same; a copy is the space itself, which never changes."""
        space = dn.Space(small_space.words, small_vectors, metric=metric, source="here", notes=["n"])
        sent = pickle.loads(pickle.dumps(space))
        assert (sent.words, sent.source, sent.notes) == (space.words, space.source, space.notes)
        assert sent.fingerprint == space.fingerprint
        assert sent.diameter == space.diameter
        np.testing.assert_array_equal(sent.distances([3]), space.distances([3]))
        assert copy.deepcopy({"space": space})["space"] is space

    def test_a_file_is_read_once_and_must_be_the_same(self, tmp_path):
        """A space from a file is read again by another process, once; another file in its place is refused."""
        path = tmp_path / "space.npz"
        np.savez(path, words=np.array(["red", "blue", "green"]), vectors=np.eye(3))
        data = pickle.dumps(dn.Space.load(path, hide=()))
        assert pickle.loads(data) is pickle.loads(data)
        data = pickle.dumps(dn.Space.load(path, limit=2, hide=()))
        np.savez(path, words=np.array(["red", "black", "green"]), vectors=np.eye(3))
        with refuses("'space.npz'"):
            pickle.loads(data)


class TestGlove:
    """The default space."""

    def test_the_default_space(self, glove):
        """It holds 50,000 words, the most frequent first; two days are near, at the published Euclidean distance."""
        assert len(glove) == 50_000
        assert glove.vectors.shape == (50_000, 50)
        assert glove.words[0] == "the"
        assert glove.notes == ()
        assert (glove.distance("tuesday", "monday"), glove.diameter, glove.separation) == (1.0, 5.0, 1.0)
        days = dn.Space(["tuesday", "monday"], glove.vectors[[glove.index_of("tuesday"), glove.index_of("monday")]])
        assert f"{days.diameter:.4f}" == "0.3514"
        space = dn.Space.glove(1000, metric="angular", hide=())
        assert space.words == glove.words[:1000]
        np.testing.assert_array_equal(space.vectors, glove.vectors[:1000])
        assert space.metric.name == "angular"
        for size in (1, 0, -5, 2.5, True, "100", None, 1_000_000):
            with refuses(size):
                dn.Space.glove(size)

    @pytest.mark.deep
    def test_extent_and_words(self, glove):
        """The separation is that of two days; the grammar finds each word in a text as one word, as it is looked up."""
        flat = dn.Space.glove(metric="euclidean", hide=())
        assert flat.words == glove.words
        assert flat.distance("tuesday", "monday") == pytest.approx(flat.separation, rel=1e-12)
        assert f"{flat.diameter:.3f}" == "18.916"
        for word in glove.words:
            assert glove.index_of(word.upper()) == glove.index_of(word)
            clitic = word.startswith("'") or word == "n't"
            text = f"do{word}" if clitic else f"- {word}, "
            assert word in glove.split_words(text)[1::2]
