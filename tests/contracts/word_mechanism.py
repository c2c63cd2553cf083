"""What every word mechanism must hold: a test class that each mechanism's own test file inherits."""

import inspect
import pickle
from typing import Any, ClassVar

import numpy as np
import pytest

import deniable as dn
from tests.contracts.statistics import DRAWS, FEW_DRAWS, THRESHOLD, agreement, fit, sample, streams
from tests.refusals import refuses

PROBES = ("baran", "kutel", "supen")


class WordMechanismContract:
    """Inherit it, name the class ``Test...`` and set what is declared here.

    Attributes:
        mechanism: the class under test.
        epsilon: a value for `small_space` at which the law is neither a point mass nor uniform.
        twin_epsilon: the same for `twin_space`.
        glove_epsilon: the same for the words of GloVe, see ``large``.
        tolerance: how far from 1 a row of the law may sum; None where no law is known.
        theorem: words that the guarantee's source must hold.
        status: what the guarantee's status must be.
        verified: what verification must say.
        large: False where finding the law for 50,000 words takes minutes; then 2,000 stand for them.
    """

    mechanism: ClassVar[type[dn.WordMechanism]]
    epsilon: ClassVar[float]
    twin_epsilon: ClassVar[float]
    glove_epsilon: ClassVar[float]
    tolerance: ClassVar[float | None] = 1e-12
    theorem: ClassVar[tuple[str, ...]]
    status: ClassVar[str] = "proved"
    verified: ClassVar[str] = "proved"
    large: ClassVar[bool] = True

    @pytest.fixture(scope="class")
    @classmethod
    def subject(cls, small_space):
        """Return the mechanism on the small space."""
        return cls.mechanism(small_space, epsilon=cls.epsilon)

    @pytest.fixture(scope="class")
    @classmethod
    def large_space(cls, request):
        """Return the words of GloVe, as many of them as ``large`` says."""
        return request.getfixturevalue("euclidean_glove" if cls.large else "glove_2000")

    def p_value(self, subject: dn.WordMechanism, word: str, counts: Any, *, off: bool = False) -> float:
        """Return the p-value of counts of one word's outputs under the law, or under a law 30 % off."""
        law = self.law_off(subject, word) if off else subject.probabilities(word)
        return fit(counts, law)

    def law_off(self, subject: dn.WordMechanism, word: str) -> Any:
        """Return a law 30 % off, which the test of fit must tell from the true one."""
        return self.mechanism(subject.space, epsilon=1.3 * subject.epsilon).probabilities(word)

    # The output and its law.

    def test_outputs_are_words_of_the_space(self, subject):
        """Each input has an output, a word of the space; two calls share no noise; capitals are folded."""
        words = list(subject.space.words) * 20
        outputs = subject.sample(words)
        assert len(outputs) == len(words)
        assert set(outputs) <= set(words)
        assert subject.sample(words) != outputs
        assert subject("BaRan") in subject.space
        assert subject.sample([]) == []

    def test_law_is_a_distribution(self, subject):
        """Rows are nowhere negative, sum to 1, and are the same alone, among others and in any order."""
        if self.tolerance is None:
            with refuses("No exact output law", dn.NotTractable):
                subject.probabilities(PROBES[0])
            return
        space, law = subject.space, subject.law
        rows = law.rows(range(60))
        assert rows.shape == (60, 60)
        assert rows.dtype == np.float64
        assert (rows >= 0).all()
        assert np.abs(rows.sum(axis=1) - 1).max() <= self.tolerance
        for point in (0, 17, 59):
            np.testing.assert_array_equal(law.rows([point])[0], rows[point])
            np.testing.assert_array_equal(subject.probabilities(space.words[point]), rows[point])
        order = np.random.default_rng(1).permutation(60)
        np.testing.assert_array_equal(law.rows(order), rows[order])

    @pytest.mark.parametrize("draws", [FEW_DRAWS, pytest.param(DRAWS, marks=pytest.mark.deep)])
    def test_sampler_fits_the_law(self, subject, draws):
        """Words drawn side by side fit each its own law, and the same test rejects a law 30 % off."""
        numbers = np.array([subject.space.index_of(word) for word in PROBES], dtype=np.int32)
        words = np.tile(numbers, draws)
        drawn = subject.draw_words(words, streams(len(words), "side by side"))
        counts = {
            word: np.bincount(drawn[words == number], minlength=len(subject.space))
            for word, number in zip(PROBES, numbers, strict=True)
        }
        assert all(row.sum() == draws for row in counts.values())
        assert all(self.p_value(subject, *probe) > THRESHOLD for probe in counts.items())
        are_rejected = all if draws == DRAWS else any
        assert are_rejected(self.p_value(subject, *probe, off=True) < THRESHOLD for probe in counts.items())

    def test_words_with_equal_vectors_share_one_point(self, twin_space):
        """Words at one point have one law, and their point's probability is shared out evenly."""
        subject = self.mechanism(twin_space, epsilon=self.twin_epsilon)
        twins = np.flatnonzero(twin_space.point_by_word == twin_space.point_by_word[0])
        assert twins.tolist() == [0, 3, 5, 11]
        counts = [sample(subject, twin_space.words[number], FEW_DRAWS, seed=int(number)) for number in twins[:2]]
        for row in counts:
            for point in range(twin_space.point_count):
                shares = row[twin_space.point_by_word == point]
                assert len(shares) == 1 or fit(shares, np.ones(len(shares))) > THRESHOLD
        if self.tolerance is not None:
            laws = [subject.probabilities(twin_space.words[number]) for number in twins]
            for law in laws:
                np.testing.assert_array_equal(law, laws[0])
                assert len(set(law[twins].tolist())) == 1
                assert abs(law.sum() - 1) <= self.tolerance
            assert all(fit(row, laws[0]) > THRESHOLD for row in counts)

    # Keyed noise.

    def keyed(self, subject, record="r1", more="", draws=8_000, **options):
        """Return the outputs for one word many times over, in one text that may go on."""
        release = dn.Release(subject, **{"key": "seed:0", **options})
        (text,) = release.batch([" ".join([PROBES[0]] * draws + [more])], ids=[record]).texts
        return np.array(text.split()[:draws])

    def test_noise_is_a_function_of_release_and_text(self, subject, small_space):
        """Equal mechanism, key, options, id and text give equal output; where one differs, chance alone agrees."""
        first = self.keyed(subject)
        again = self.mechanism(small_space, epsilon=self.epsilon)
        np.testing.assert_array_equal(self.keyed(again), first)
        changes = (
            {"key": "seed:1"},
            {"record": "r2"},
            {"more": PROBES[1]},
            {"unknown": "drop"},
            {"case": "copy"},
            {"keep": ["nothing"]},
        )
        neighbours = (first[1:], first[:-1])
        for one, other in (neighbours, *((first, self.keyed(subject, **change)) for change in changes)):
            chance = agreement(np.unique(np.concatenate([one, other]), return_counts=True)[1])
            assert 0 < chance < 0.9
            assert abs(np.mean(one == other) - chance) < 6 * np.sqrt(chance * (1 - chance) / len(one))
        names = {dn.Release(one).fingerprint for one in (subject, subject.replace(epsilon=1.01 * self.epsilon))}
        assert len(names) == 2 if subject.has_fingerprint else names == {None}

    # Batching.

    @pytest.mark.parametrize("long", [65, pytest.param(40_000, marks=pytest.mark.deep)])
    def test_outputs_do_not_depend_on_batches_or_workers(self, subject, long):
        """Records drawn alone, together, in another order, or by two workers give the same words."""
        self.check_batches(subject, [3, 0, 700, 1, long, 65])

    @pytest.mark.deep
    def test_outputs_do_not_depend_on_batches_or_workers_on_glove(self, large_space):
        """The same holds on 50,000 words, or on 2,000 where the law of 50,000 takes minutes to find."""
        self.check_batches(self.mechanism(large_space, epsilon=self.glove_epsilon), [3, 0, 40, 1, 90])

    def check_batches(self, subject, lengths):
        """Compare texts released alone with the same texts released together."""
        chooser, words = np.random.default_rng(5), subject.space.words
        texts = [" ".join(words[number] for number in chooser.integers(len(words), size=size)) for size in lengths]
        ids = [str(number) for number in range(len(texts))]
        release = dn.Release(subject, key="seed:3")
        alone = [release.batch([text], ids=[name]).texts[0] for text, name in zip(texts, ids, strict=True)]
        for workers in (1, 2):
            assert release.batch(texts, ids=ids, workers=workers).texts == alone
        assert release.batch(texts[::-1], ids=ids[::-1], workers=2).texts == alone[::-1]

    # What goes in.

    def test_bad_epsilon_is_refused(self, small_space):
        """An epsilon outside (0, inf), or without its name, is refused; any other real number is kept as a float."""
        for epsilon in (0, -0.5, float("nan"), float("inf"), -float("inf"), True, "3", None, 1j):
            with refuses(repr(epsilon)):
                self.mechanism(small_space, epsilon=epsilon)
        for call in ((self.epsilon,), {}), ((), {}), ((), {"eps": self.epsilon}):
            with refuses(f"{self.mechanism.__name__}.__init__()", TypeError):
                self.mechanism(small_space, *call[0], **call[1])
        for kind in (int, np.float32, np.int64):
            epsilon = kind(np.ceil(self.epsilon))
            subject = self.mechanism(small_space, epsilon=epsilon)
            assert type(subject.epsilon) is float
            assert subject.epsilon == epsilon

    def test_what_is_no_word_of_the_space_is_refused(self, subject):
        """Another word, what is no string, one string in place of a list, and what is no space are refused."""
        for words in (["baran", "nonesuch"], [None], [3], [b"baran"]):
            with refuses(repr(words[-1])):
                subject.sample(words)
        with refuses("'nonesuch'"):
            subject("nonesuch")
        with refuses("str"):
            subject.sample("baran")
        with refuses("['a', 'b']"):
            self.mechanism(["a", "b"], epsilon=self.epsilon)
        if self.tolerance is not None:
            with refuses("'nonesuch'"):
                subject.probabilities("nonesuch")

    # What it claims.

    def test_guarantee_is_what_the_paper_states(self, subject, small_space):
        """The guarantee names epsilon, metric, theorem and status, and no output of the exact law breaks it."""
        guarantee = subject.guarantee
        assert guarantee.kind == "MetricDP"
        assert (guarantee.epsilon, guarantee.metric) == (self.epsilon, small_space.metric.name)
        assert guarantee.status == self.status
        assert all(part in guarantee.source for part in self.theorem)
        if self.tolerance is not None:
            distances, logs = small_space.distances(range(60)), np.log(subject.law.rows(range(60)))
            assert (
                max(float((row - logs - self.epsilon * distances[w][:, None]).max()) for w, row in enumerate(logs))
                <= 1e-9
            )

    def test_verify_proves_the_guarantee(self, subject):
        """Exact verification proves the claim; where draws are simulated nothing is called proved."""
        verdict = dn.verify(subject)
        assert verdict.status == self.verified
        assert verdict.claim == subject.guarantee.epsilon
        assert 0 <= verdict.lower_bound <= verdict.epsilon <= verdict.claim
        assert (verdict.witness is None) is (self.tolerance is None)
        standings = {verdict.status, subject.document_guarantee(3, 1e-6).pure.status}
        assert subject.law.is_tabulated or "proved" not in standings

    def test_verify_refutes_a_claim_below_the_truth(self, subject, small_space):
        """The same law under a claim of 1 % less than it spends is refuted, with a witness."""
        if self.tolerance is None:
            pytest.skip("no law is known")
        claim = 0.99 * dn.verify(subject).lower_bound

        class Boaster(self.mechanism):
            """The mechanism with a guarantee that is false."""

            @property
            def guarantee(self):
                return dn.Guarantee.of_words(claim, small_space.metric.name, "wishful thinking")

        verdict = dn.verify(Boaster(small_space, epsilon=self.epsilon))
        assert verdict.status == "refuted"
        assert verdict.epsilon >= verdict.lower_bound > claim
        assert verdict.witness.loss > claim * verdict.witness.distance

    def test_document_guarantee_is_monotone(self, subject, small_space):
        """More words cost more, a larger delta less, and nothing more than words * epsilon * diameter."""
        lengths, deltas = (1, 10, 1000), (1e-12, 1e-6, 0.5)
        promises = [[subject.document_guarantee(words, delta) for delta in deltas] for words in lengths]
        found = np.array([[promise.approximate.epsilon for promise in row] for row in promises])
        assert (found >= 0).all()
        assert (np.diff(found, axis=0) >= 0).all()
        assert (np.diff(found, axis=1) <= 0).all()
        for words, (_, promise, _), most in zip(lengths, promises, found.max(axis=1), strict=True):
            assert promise.word_count == words
            assert most <= promise.pure.epsilon <= words * self.epsilon * small_space.diameter * (1 + 1e-6)
            assert promise.approximate.delta == 1e-6
            assert promise.pure.status == promise.approximate.status == self.status

    # What names it, and its parameters.

    def test_fingerprint_tells_mechanisms_apart(self, subject, small_space, small_vectors):
        """Equal mechanisms have one fingerprint, sent ones too; another epsilon or another space has another."""
        moved = dn.Space(small_space.words, small_vectors + np.arange(4) * 1e-9, metric=small_space.metric)
        renamed = dn.Space(("other", *small_space.words[1:]), small_vectors, metric=small_space.metric)
        others = [
            self.mechanism(small_space, epsilon=1.001 * self.epsilon),
            self.mechanism(moved, epsilon=self.epsilon),
            self.mechanism(renamed, epsilon=self.epsilon),
        ]
        assert self.mechanism(small_space, epsilon=self.epsilon).fingerprint == subject.fingerprint
        assert len({subject.fingerprint, *(other.fingerprint for other in others)}) == 4
        sent = pickle.loads(pickle.dumps(subject))
        assert sent.fingerprint == subject.fingerprint
        np.testing.assert_array_equal(self.keyed(sent, draws=500), self.keyed(subject, draws=500))

    def test_parameters_are_the_constructors_arguments(self, subject, small_space):
        """Parameters make an equal mechanism, changed ones another; a mechanism itself never changes."""
        parameters = subject.get_params()
        assert list(parameters) == list(inspect.signature(self.mechanism).parameters)
        assert parameters["space"] is small_space
        assert parameters["epsilon"] == self.epsilon
        again = self.mechanism(**parameters)
        assert (again.fingerprint, again.parameters) == (subject.fingerprint, subject.parameters)
        assert pickle.loads(pickle.dumps(subject)).get_params().keys() == parameters.keys()
        parameters.clear()
        other = self.mechanism(small_space, epsilon=1.5 * self.epsilon)
        assert subject.replace(epsilon=1.5 * self.epsilon).fingerprint == other.fingerprint
        with refuses("'eps'", TypeError):
            subject.replace(eps=1.0)
        with refuses("-1"):
            subject.replace(epsilon=-1)
        for name in (*vars(subject), "law", "build_law", "draw_words", "guarantee"):
            with refuses(name, AttributeError):
                setattr(subject, name, None)
        with refuses("epsilon", AttributeError):
            del subject.epsilon
        assert subject.fingerprint == again.fingerprint

    def test_expected_kept_is_what_the_sampler_keeps(self, subject):
        """The stated share of words released unchanged is that of a sample from the same prior."""
        share = subject.expected_kept_share()
        assert (share.draws == 0) is subject.law.is_tabulated
        ranks = 1 / np.arange(1, len(subject.space) + 1)
        words = np.random.default_rng(9).choice(len(ranks), size=FEW_DRAWS, p=ranks / ranks.sum()).astype(np.int32)
        kept = np.mean(subject.draw_words(words, streams(FEW_DRAWS, "kept")) == words)
        error = np.sqrt(kept * (1 - kept) * (1 / FEW_DRAWS + 1 / (share.draws or np.inf)))
        assert abs(share.value - kept) < 5 * error

    def test_name_is_in_the_registry(self, subject, small_space):
        """The mechanism is found by its name, and its repr shows class and epsilon."""
        assert type(dn.mechanism(self.mechanism.name, small_space, epsilon=self.epsilon)) is self.mechanism
        assert repr(subject).startswith(f"{self.mechanism.__name__}(Space(60 words")
        assert f"epsilon={self.epsilon:g}" in repr(subject)
