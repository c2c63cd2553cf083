"""What every word mechanism must hold: a test class that each mechanism's own test file inherits."""

import inspect
import pickle
from typing import Any, ClassVar

import numpy as np
import pytest

import deniable as dn
from deniable.core.evidence import limit_status
from deniable.core.randomness import Streams, derive_key_from_seed, derive_stream_start
from deniable.text.batches import TextCell
from tests.contracts.statistics import DRAWS, THRESHOLD, agreement, fit, sample, streams

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

    @pytest.fixture
    def subject(self, small_space):
        """Return the mechanism on the small space."""
        return self.mechanism(small_space, epsilon=self.epsilon)

    def p_value(self, subject: dn.WordMechanism, word: str, counts: Any, *, off: bool = False) -> float:
        """Return the p-value of counts of one word's outputs under the law, or under a law 30 % off."""
        law = self.law_off(subject, word) if off else subject.probabilities(word)
        return fit(counts, law)

    def law_off(self, subject: dn.WordMechanism, word: str) -> Any:
        """Return a law 30 % off, which the test of fit must tell from the true one."""
        return self.mechanism(subject.space, epsilon=1.3 * subject.epsilon).probabilities(word)

    # The output and its law.

    def test_outputs_are_words_of_the_space(self, subject):
        """Every output is a word of the space, and there is one for each input."""
        words = list(subject.space.words)
        outputs = subject.sample(words * 3)
        assert len(outputs) == 3 * len(words)
        assert set(outputs) <= set(words)
        assert subject(words[0]) in subject.space

    def test_no_words_give_no_words(self, subject):
        """An empty list is a valid input."""
        assert subject.sample([]) == []

    def test_fresh_noise_differs_from_call_to_call(self, subject):
        """Without a key two calls share no noise."""
        words = list(subject.space.words) * 20
        assert subject.sample(words) != subject.sample(words)

    def test_law_is_a_distribution(self, subject):
        """Each word's law is nowhere negative and sums to 1; without a law the refusal says what to do."""
        if self.tolerance is None:
            with pytest.raises(dn.NotTractable, match=r"Draw samples instead"):
                subject.probabilities(PROBES[0])
            return
        space = subject.space
        laws = subject.law.rows(range(len(space)))
        assert laws.shape == (len(space), len(space))
        assert laws.dtype == np.float64
        assert (laws >= 0).all()
        assert np.abs(laws.sum(axis=1) - 1).max() <= self.tolerance
        for number in (0, 30, 59):
            np.testing.assert_array_equal(subject.probabilities(space.words[number]), laws[number])

    @pytest.mark.parametrize("word", PROBES)
    def test_sampler_fits_the_law(self, subject, word):
        """A hundred thousand draws fit the law, and the same test rejects a law 30 % off."""
        counts = sample(subject, word)
        assert counts.sum() == DRAWS
        assert self.p_value(subject, word, counts) > THRESHOLD
        assert self.p_value(subject, word, counts, off=True) < THRESHOLD

    def test_one_call_with_many_words_fits_every_law(self, subject):
        """Words drawn side by side in one call do not disturb each other's law."""
        space = subject.space
        numbers = np.array([space.index_of(word) for word in PROBES], dtype=np.int32)
        words = np.tile(numbers, DRAWS)
        drawn = subject.draw_words(words, streams(len(words), "side by side"))
        for word, number in zip(PROBES, numbers, strict=True):
            counts = np.bincount(drawn[words == number], minlength=len(space))
            assert self.p_value(subject, word, counts) > THRESHOLD

    def test_words_with_equal_vectors_share_one_point(self, twin_space):
        """Words at one point have one law, and their point's probability is shared out evenly."""
        subject = self.mechanism(twin_space, epsilon=self.twin_epsilon)
        twins = np.flatnonzero(twin_space.point_by_word == twin_space.point_by_word[0])
        assert twins.tolist() == [0, 3, 5, 11]
        counts = [sample(subject, twin_space.words[number], seed=int(number)) for number in twins]
        for row in counts:
            for point in range(len(twin_space.points)):
                shares = row[twin_space.point_by_word == point]
                assert len(shares) == 1 or fit(shares, np.ones(len(shares))) > THRESHOLD
        if self.tolerance is not None:
            laws = [subject.probabilities(twin_space.words[number]) for number in twins]
            for law, row in zip(laws, counts, strict=True):
                np.testing.assert_array_equal(law, laws[0])
                assert len(set(law[twins].tolist())) == 1
                assert abs(law.sum() - 1) <= self.tolerance
                assert fit(row, law) > THRESHOLD

    # Keyed noise.

    def keyed(self, subject, record="r1", more="", column="text", ordinal=0, draws=20_000, **options):
        """Return the outputs for one word many times over, in one text that may go on."""
        text = " ".join([PROBES[0]] * draws + [more])
        drawn = dn.Release(subject, **{"key": "seed:0", **options}).privatize_cells(
            [TextCell(record, column, ordinal, text)]
        )
        return drawn.outputs[:draws]

    def test_noise_is_a_function_of_release_and_cell(self, subject, small_space):
        """Equal key, mechanism, options, record id and text give equal output, in an equal mechanism too."""
        again = self.mechanism(small_space, epsilon=self.epsilon)
        np.testing.assert_array_equal(self.keyed(subject), self.keyed(again))

    @pytest.mark.parametrize(
        "change",
        [
            {"key": "seed:1"},
            {"record": "r2"},
            {"more": PROBES[1]},
            {"column": "title"},
            {"ordinal": 1},
            {"unknown": "drop"},
            {"unknown": "mask"},
            {"case": "copy"},
            {"keep": ["nothing"]},
        ],
        ids=lambda one: "-".join(map(str, next(iter(one.items())))),
    )
    def test_noise_of_another_release_or_cell_is_independent(self, subject, change):
        """With another key, option, record id, column, ordinal or text two outputs agree no more than by chance."""
        first, second = self.keyed(subject), self.keyed(subject, **change)
        chance = agreement(np.bincount(np.concatenate([first, second]), minlength=len(subject.space)))
        assert 0 < chance < 0.9
        error = np.sqrt(chance * (1 - chance) / len(first))
        assert abs(np.mean(first == second) - chance) < 6 * error

    def test_a_release_of_another_mechanism_has_another_name(self, subject, small_space):
        """Its fingerprint depends on epsilon, so that two releases at two levels share no noise."""
        other = self.mechanism(small_space, epsilon=1.01 * self.epsilon)
        names = {dn.Release(one).fingerprint for one in (subject, other)}
        assert len(names) == 2 if subject.has_fingerprint else names == {None}

    def test_a_mechanism_never_changes(self, subject):
        """No parameter can be set again, no method replaced: what is proved of it stays true."""
        for name in (*vars(subject), "law", "build_law", "draw_words", "guarantee"):
            with pytest.raises(AttributeError, match="cannot change"):
                setattr(subject, name, None)
        with pytest.raises(AttributeError, match="cannot be deleted"):
            del subject.epsilon

    def test_tokens_of_one_record_are_independent(self, subject):
        """Neighbouring tokens of one record agree no more often than by chance."""
        drawn = self.keyed(subject)
        chance = agreement(np.bincount(drawn, minlength=len(subject.space)))
        error = np.sqrt(chance * (1 - chance) / len(drawn))
        assert abs(np.mean(drawn[1:] == drawn[:-1]) - chance) < 6 * error

    # Batching.

    def test_outputs_do_not_depend_on_batches_or_workers(self, subject):
        """Records drawn alone, together, in another order, or by two workers give the same words."""
        self.check_batches(subject, [3, 0, 700, 1, 40_000, 65])

    def test_outputs_do_not_depend_on_batches_or_workers_on_glove(self, request):
        """The same holds on 50,000 words, or on 2,000 where the law of 50,000 takes minutes to find."""
        space = request.getfixturevalue("glove" if self.large else "glove_2000")
        self.check_batches(self.mechanism(space, epsilon=self.glove_epsilon), [3, 0, 40, 1, 90])

    def check_batches(self, subject, lengths):
        """Compare records drawn alone with the same records drawn together."""
        chooser = np.random.default_rng(5)
        records = [chooser.integers(len(subject.space), size=length).astype(np.int32) for length in lengths]
        key = derive_key_from_seed(3)
        starts = [derive_stream_start(key, subject.fingerprint, str(number)) for number in range(len(lengths))]
        alone = [
            subject.draw_words(words, Streams(key, [start], [len(words)])) if len(words) else words
            for words, start in zip(records, starts, strict=True)
        ]
        together = subject.draw_words(np.concatenate(records), Streams(key, starts, lengths), 1)
        np.testing.assert_array_equal(together, np.concatenate(alone))
        np.testing.assert_array_equal(
            subject.draw_words(np.concatenate(records), Streams(key, starts, lengths), 2), together
        )
        backwards = subject.draw_words(np.concatenate(records[::-1]), Streams(key, starts[::-1], lengths[::-1]), 2)
        np.testing.assert_array_equal(backwards, np.concatenate(alone[::-1]))

    def test_law_does_not_depend_on_batches(self, subject):
        """A row of the law is the same to the last bit alone, among others and in any order."""
        if self.tolerance is None:
            pytest.skip("no law is known")
        space = subject.space
        together = subject.law.rows(range(len(space.points)))
        for point in (0, 17, 59):
            np.testing.assert_array_equal(subject.law.rows([point])[0], together[point])
        order = np.random.default_rng(1).permutation(len(space.points))
        np.testing.assert_array_equal(subject.law.rows(order), together[order])

    # What goes in.

    @pytest.mark.parametrize("epsilon", [0, -1, -0.5, float("nan"), float("inf"), -float("inf"), True, "3", None, 1j])
    def test_bad_epsilon_is_refused(self, small_space, epsilon):
        """An epsilon outside (0, inf) is refused in the one form of message."""
        with pytest.raises(dn.InputError) as caught:
            self.mechanism(small_space, epsilon=epsilon)
        name = self.mechanism.__name__
        assert str(caught.value) == f"The 'epsilon' parameter of {name} must be a float in (0, inf). Got {epsilon!r}."

    @pytest.mark.parametrize("kind", [int, np.float32, np.int64])
    def test_epsilon_may_be_any_real_number(self, small_space, kind):
        """Integers and NumPy scalars serve as epsilon, and are kept as a float."""
        epsilon = kind(np.ceil(self.epsilon))
        subject = self.mechanism(small_space, epsilon=epsilon)
        assert type(subject.epsilon) is float
        assert subject.epsilon == epsilon

    def test_domain_must_be_a_space(self):
        """Anything but a `Space` is refused by name."""
        with pytest.raises(dn.InputError, match=r"The 'space' parameter of \w+ must be a Space. Got \['a', 'b'\]"):
            self.mechanism(["a", "b"], epsilon=self.epsilon)

    def test_unknown_word_is_refused(self, subject):
        """A word outside the space is refused by name, whether drawn or asked for its law."""
        for use in (lambda: subject.sample(["baran", "nonesuch"]), lambda: subject("nonesuch")):
            with pytest.raises(dn.InputError, match=r"'nonesuch' is not one of the 60 words of the space"):
                use()
        if self.tolerance is not None:
            with pytest.raises(dn.InputError, match="'nonesuch' is not one of"):
                subject.probabilities("nonesuch")

    @pytest.mark.parametrize("word", [None, 3, b"baran"])
    def test_word_must_be_a_string(self, subject, word):
        """A word that is no string is refused like an unknown one."""
        with pytest.raises(dn.InputError, match="is not one of the 60 words"):
            subject.sample([word])

    def test_one_string_is_refused(self, subject):
        """A string in place of a list would be read letter by letter, and is refused."""
        with pytest.raises(dn.InputError, match="takes a list of words"):
            subject.sample("baran")

    def test_words_are_folded(self, subject):
        """Capitals do not matter."""
        assert subject("BaRan") in subject.space

    # What it claims.

    def test_guarantee_is_what_the_paper_states(self, subject, small_space):
        """The guarantee names epsilon, the metric, the theorem and how far it is proved."""
        guarantee = subject.guarantee
        assert isinstance(guarantee, dn.MetricDP)
        assert guarantee.epsilon == self.epsilon
        assert guarantee.metric == small_space.metric.name
        assert guarantee.status == self.status
        for part in self.theorem:
            assert part in guarantee.source

    def test_law_keeps_the_guarantee(self, subject, small_space):
        """No pair of inputs and no output of the exact law breaks the claimed inequality."""
        if self.tolerance is None:
            pytest.skip("no law is known")
        distances = small_space.distances(range(len(small_space.points)))
        law = subject.law.rows(range(len(small_space.points)))
        worst = max(
            float((np.log(row) - np.log(law) - self.epsilon * distances[w][:, None]).max()) for w, row in enumerate(law)
        )
        assert worst <= 1e-9

    def test_verify_proves_the_guarantee(self, subject):
        """Exact verification proves the claim, and finds no more than it; without a law the theorem stands."""
        verdict = dn.verify(subject)
        assert verdict.status == self.verified
        assert verdict.claim == subject.guarantee.epsilon
        assert 0 <= verdict.lower_bound <= verdict.epsilon <= verdict.claim
        assert (verdict.witness is None) is (self.tolerance is None)
        assert verdict.method.startswith("by theorem" if self.tolerance is None else "exact over all 3,540 pairs")

    def test_what_is_drawn_in_floating_point_is_not_proved(self, subject):
        """Neither verdict nor guarantee nor the guarantee of a text is proved where draws are simulated."""
        shown = limit_status(subject.guarantee, dn.verify(subject))
        standings = {dn.verify(subject).status, shown.status, subject.document_guarantee(3, 1e-6).pure.status}
        assert subject.law.is_tabulated or "proved" not in standings
        assert shown.epsilon == subject.guarantee.epsilon

    def test_verify_refutes_a_claim_below_the_truth(self, subject, small_space):
        """The same law under a claim of 1 % less than it spends is refuted, with a witness."""
        if self.tolerance is None:
            pytest.skip("no law is known")
        claim = 0.99 * dn.verify(subject).lower_bound

        class Boaster(self.mechanism):
            """The mechanism with a guarantee that is false."""

            @property
            def guarantee(self):
                return dn.MetricDP(claim, small_space.metric.name, "wishful thinking")

        verdict = dn.verify(Boaster(small_space, epsilon=self.epsilon))
        assert verdict.status == "refuted"
        assert verdict.epsilon >= verdict.lower_bound > claim
        assert verdict.witness.loss > claim * verdict.witness.distance

    def test_document_guarantee_is_monotone(self, subject, small_space):
        """More words cost more, a larger delta less, and nothing more than words * epsilon * diameter."""
        lengths, deltas = (1, 3, 10, 100, 1000), (1e-12, 1e-6, 1e-3, 0.5)
        found = np.array(
            [[subject.document_guarantee(words, delta).approximate.epsilon for delta in deltas] for words in lengths]
        )
        assert (found >= 0).all()
        assert (np.diff(found, axis=0) >= 0).all()
        assert (np.diff(found, axis=1) <= 0).all()
        linear = np.array(lengths) * self.epsilon * small_space.diameter
        assert (found <= linear[:, None] * (1 + 1e-6)).all()
        for words, most in zip(lengths, linear, strict=True):
            promise = subject.document_guarantee(words, 1e-6)
            assert promise.word_count == words
            assert promise.approximate.epsilon <= promise.pure.epsilon <= most * (1 + 1e-6)
            assert promise.approximate.delta == 1e-6
            assert promise.pure.status == promise.approximate.status == self.status

    def test_fingerprint_tells_mechanisms_apart(self, subject, small_space, small_vectors):
        """Equal mechanisms have one fingerprint; another epsilon or another space has another."""
        moved = dn.Space(small_space.words, small_vectors + np.arange(4) * 1e-9, metric=small_space.metric)
        renamed = dn.Space(("other", *small_space.words[1:]), small_vectors, metric=small_space.metric)
        others = [
            self.mechanism(small_space, epsilon=1.001 * self.epsilon),
            self.mechanism(moved, epsilon=self.epsilon),
            self.mechanism(renamed, epsilon=self.epsilon),
        ]
        assert self.mechanism(small_space, epsilon=self.epsilon).fingerprint == subject.fingerprint
        assert len({subject.fingerprint, *(other.fingerprint for other in others)}) == 4

    def test_pickle_keeps_the_mechanism(self, subject):
        """A mechanism sent to another process draws the same words."""
        sent = pickle.loads(pickle.dumps(subject))
        assert sent.fingerprint == subject.fingerprint
        np.testing.assert_array_equal(self.keyed(sent, draws=500), self.keyed(subject, draws=500))

    # How it is called, and its parameters.

    def test_epsilon_is_given_by_name(self, small_space):
        """Epsilon without its name is refused in one line, which shows the call that was meant."""
        name = self.mechanism.__name__
        with pytest.raises(dn.InputError) as caught:
            self.mechanism(small_space, self.epsilon)
        fixed_call = f"{name}(space, epsilon={self.epsilon!r})"
        assert str(caught.value) == f"{name} takes epsilon by name: write {fixed_call}."
        with pytest.raises(dn.InputError, match=rf"^{name} needs epsilon: write {name}\(space, epsilon=...\)\.$"):
            self.mechanism(small_space)
        with pytest.raises(dn.InputError, match=rf"^{name} has no parameter 'eps'. Its parameters: space, epsilon"):
            self.mechanism(small_space, eps=self.epsilon)

    def test_parameters_are_the_constructors_arguments(self, subject, small_space):
        """get_params gives every argument of the constructor, and the constructor makes an equal mechanism of them."""
        parameters = subject.get_params()
        assert list(parameters) == list(inspect.signature(self.mechanism).parameters)
        assert parameters["space"] is small_space
        assert parameters["epsilon"] == self.epsilon
        again = self.mechanism(**parameters)
        assert (again.fingerprint, again.parameters) == (subject.fingerprint, subject.parameters)
        assert pickle.loads(pickle.dumps(subject)).get_params().keys() == parameters.keys()
        parameters.clear()
        assert subject.get_params()

    def test_replaced_parameters_make_another_mechanism(self, subject, small_space):
        """A mechanism with another epsilon is the one that the constructor makes, and the first stays as it was."""
        before, epsilon = subject.fingerprint, 1.5 * self.epsilon
        assert subject.replace(epsilon=epsilon).fingerprint == self.mechanism(small_space, epsilon=epsilon).fingerprint
        assert subject.fingerprint == before
        with pytest.raises(dn.InputError, match=f"{self.mechanism.__name__} has no parameter 'eps'"):
            subject.replace(eps=epsilon)
        with pytest.raises(dn.InputError, match="'epsilon' parameter"):
            subject.replace(epsilon=-1)

    def test_scikit_learn_reaches_the_parameters(self, subject):
        """A clone is the mechanism itself, which never changes; set_params of a transformer puts in another."""
        base = pytest.importorskip("sklearn.base", reason="scikit-learn is not installed")
        assert base.clone(subject) is subject
        privatizer = dn.TextPrivatizer(subject)
        assert privatizer.get_params()["mechanism__epsilon"] == self.epsilon
        changed = base.clone(privatizer).set_params(mechanism__epsilon=2 * self.epsilon)
        assert changed.mechanism.fingerprint == subject.replace(epsilon=2 * self.epsilon).fingerprint
        assert privatizer.mechanism is subject

    def test_expected_kept_is_what_the_sampler_keeps(self, subject):
        """The stated share of words released unchanged is that of a sample from the same prior."""
        share = subject.expected_kept_share()
        assert (share.draws == 0) is subject.law.is_tabulated
        ranks = 1 / np.arange(1, len(subject.space) + 1)
        words = np.random.default_rng(9).choice(len(ranks), size=DRAWS, p=ranks / ranks.sum()).astype(np.int32)
        kept = np.mean(subject.draw_words(words, streams(DRAWS, "kept")) == words)
        error = np.sqrt(kept * (1 - kept) * (1 / DRAWS + 1 / (share.draws or np.inf)))
        assert abs(share.value - kept) < 5 * error

    def test_name_is_in_the_registry_and_the_repr(self, subject, small_space):
        """The command line finds the mechanism by its name, and its repr shows class and epsilon."""
        from deniable.registry.words import WORD_MECHANISMS

        assert WORD_MECHANISMS[self.mechanism.name] is self.mechanism
        assert repr(subject).startswith(f"{self.mechanism.__name__}(Space(60 words x 4, {small_space.metric}")
        assert f"epsilon={self.epsilon:g}" in repr(subject)
