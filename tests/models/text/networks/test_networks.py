"""What every text classifier must hold: sound bounds, and logits that depend on the document alone."""

import dataclasses

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.core.errors import InputError
from deniable.models.text import interval_bounds
from deniable.models.text.documents import Documents, concatenate_texts
from deniable.models.text.networks import TEXT_NETWORKS, build_text_network, fasttext, projected
from deniable.models.text.networks.base import make_text_batch
from deniable.models.text.networks.fasttext import EmbeddingMean
from tests.models.text.networks.small import (
    CLASSES,
    KINDS,
    WORDS,
    documents,
    margins_of,
    network,
    sets,
    versions,
    violation,
)

every = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)


@pytest.fixture
def no_slack(monkeypatch):
    """Leave bounds where they are, not outward of there."""
    monkeypatch.setattr(interval_bounds, "INTERVAL_SLACK", 0.0)
    monkeypatch.setattr(fasttext, "INTERVAL_SLACK", 0.0)


class TestBounds:
    """Margins by intervals lie below every true one."""

    @every
    @settings(max_examples=15)
    @given(seed=st.integers(0, 10_000), lengths=st.lists(st.integers(1, 4), min_size=1, max_size=3))
    def test_no_substitution_falls_below_them(self, kind, seed, lengths):
        """All texts that substitutions make, tried one by one, keep the margins that are promised."""
        assert violation(network(kind, seed), documents(kind, lengths, seed), sets(seed)) <= 0

    @every
    @pytest.mark.usefixtures("no_slack")
    def test_a_single_point_has_its_own_margins(self, kind):
        """Boxes shrunk to nothing, or sets of one choice each, give the true margins."""
        made, held = network(kind), documents(kind)
        true = margins_of(made, held)
        alone = dataclasses.replace(sets(), choices=np.arange(WORDS, dtype=np.int32)[:, None])
        for bounds in (
            made.compute_margin_bounds(make_text_batch(held), sets(), 0.0),
            made.compute_margin_bounds(make_text_batch(held), alone),
        ):
            torch.testing.assert_close(bounds, true, rtol=1e-4, atol=1e-4)

    @every
    def test_larger_boxes_have_lower_bounds(self, kind):
        """Bounds fall as boxes grow, and as choices are added; those of the label itself are 0."""
        made, held = network(kind), documents(kind)
        found = torch.stack(
            [made.compute_margin_bounds(make_text_batch(held), sets(), scale) for scale in (0.0, 0.25, 0.5, 0.75, 1.0)]
        )
        assert (found.diff(dim=0) <= 1e-4).all()
        assert (found[-1] < found[0]).any()
        fewer = dataclasses.replace(sets(), choices=sets().choices[:, :2])
        assert (made.compute_margin_bounds(make_text_batch(held), fewer) >= found[-1] - 1e-4).all()
        assert not found.gather(2, make_text_batch(held).labels[:, None].expand(5, -1, 1)).any()

    @every
    @pytest.mark.parametrize("wrong", ["radius", "box"])
    def test_wrong_bounds_are_caught(self, kind, wrong, monkeypatch):
        """The search through all substitutions finds bounds that are too good."""
        if wrong == "radius":  # as if the last layer met the middle of the box
            monkeypatch.setattr(projected, "bound_margins", _margins_of_the_middle)
        else:  # as if each word had one substitute at most
            monkeypatch.setattr(projected.Projection, "project_boxes", _box_of_two)
        if issubclass(kind, EmbeddingMean):
            monkeypatch.setattr(kind, "compute_logits_and_bounds", _half)
        assert max(violation(network(kind, seed), documents(kind, (1, 1), seed), sets(seed)) for seed in range(20)) > 0

    @every
    def test_both_are_what_each_is_alone(self, kind):
        """Logits and margins that are computed together are those computed apart."""
        made, given = network(kind), make_text_batch(documents(kind))
        logits, bounds = made.compute_logits_and_bounds(given, sets(), 0.7)
        torch.testing.assert_close(logits, made(given), rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(bounds, made.compute_margin_bounds(given, sets(), 0.7))

    @every
    def test_both_teach_all_weights(self, kind):
        """Gradients of logits and of margins reach every parameter."""
        for part in (0, 1):
            made = network(kind).train()
            made.compute_logits_and_bounds(make_text_batch(documents(kind)), sets(), 0.7)[
                part
            ].square().sum().backward()
            assert all(parameter.grad is not None and parameter.grad.any() for parameter in made.parameters())

    @every
    def test_slack_is_far_above_rounding(self, kind):
        """Float32 and float64 give logits that differ by a small part of the slack of their margins."""
        made, held = network(kind), documents(kind, (40, 40, 40))
        alone = dataclasses.replace(sets(), choices=np.arange(WORDS, dtype=np.int32)[:, None])
        slack = (margins_of(made, held) - made.compute_margin_bounds(make_text_batch(held), alone)).max()
        single = margins_of(made, held)
        rounding = (single - margins_of(made.double(), held)).abs().max()
        assert 10 * rounding < slack


def _margins_of_the_middle(box, weight, bias, labels):
    middle = (box.high + box.low) / 2
    return interval_bounds.bound_margins(interval_bounds.TensorBox(middle, middle), weight, bias, labels)


def _half(self, given, choices, scale=1.0):
    return _BOTH(self, given, choices, scale / 2)


def _box_of_two(self, numbers, choices, scale):
    return _BOX(self, numbers, dataclasses.replace(choices, choices=choices.choices[:, :2]), scale)


_BOX = projected.Projection.project_boxes
_BOTH = EmbeddingMean.compute_logits_and_bounds


class TestLogits:
    """Logits depend on the document alone."""

    @every
    def test_other_documents_change_nothing(self, kind):
        """A document has the same logits and margins alone as beside longer ones, which pad it."""
        made, held = network(kind), documents(kind, (3, 9, 1, 5))
        beside, bounds = made(make_text_batch(held)), made.compute_margin_bounds(make_text_batch(held), sets())
        for row in range(len(held)):
            alone = make_text_batch(held.take(np.array([row])))
            torch.testing.assert_close(made(alone)[0], beside[row], rtol=1e-4, atol=1e-4)
            torch.testing.assert_close(made.compute_margin_bounds(alone, sets())[0], bounds[row], rtol=1e-4, atol=1e-4)

    @every
    def test_padding_s_words_are_not_read(self, kind):
        """Whatever number stands behind the end of a text, its logits are the same."""
        made, held = network(kind), make_text_batch(documents(kind, (3, 9)))
        other = dataclasses.replace(held, words=torch.where(held.present, held.words, 7))
        assert torch.equal(made(held), made(other))

    @every
    def test_all_words_count(self, kind):
        """Another word in any place gives other logits."""
        made, held = network(kind), documents(kind, (4,))
        for place in range(4):
            changed = held.texts[0].copy()
            changed[place] = (changed[place] + 1) % WORDS
            other = dataclasses.replace(held, texts=concatenate_texts([changed]))
            assert not torch.allclose(made(make_text_batch(held)), made(make_text_batch(other)))

    @every
    @pytest.mark.usefixtures("no_slack")
    def test_dropout_follows_from_its_coins(self, kind):
        """Equal coins drop alike, others otherwise, and torch's own generator is left alone."""
        made, given = network(kind).train(), make_text_batch(documents(kind))
        before = torch.get_rng_state()

        def drawn(seed):
            made.rng = torch.Generator().manual_seed(seed)
            return made.compute_logits_and_bounds(given, sets(), 0.0)

        logits, bounds = drawn(1)
        assert torch.equal(logits, drawn(1)[0])
        assert torch.equal(before, torch.get_rng_state())
        assert torch.equal(logits, drawn(2)[0]) is issubclass(kind, EmbeddingMean)
        true = logits.gather(1, given.labels[:, None]) - logits
        torch.testing.assert_close(bounds, true, rtol=1e-4, atol=1e-4)  # the same units are dropped
        torch.testing.assert_close(made.eval()(given), drawn(3)[0])


class TestScorers:
    """The fast way to logits is a way to the same logits."""

    @every
    def test_scores_are_logits(self, kind, monkeypatch):
        """Versions of documents in any order have the logits of the network, in training mode too."""
        monkeypatch.setattr(projected, "_WORDS_PER_BATCH", 20)
        made, held = network(kind), documents(kind, (4, 1, 30, 3))
        rows = np.array([2, 0, 3, 3, 1, 0, 2])
        many = held.take(rows)
        words = [np.random.default_rng(place).permutation(text) for place, text in enumerate(many.texts)]
        many = Documents(concatenate_texts(words), many.labels, many.classes, many.premises)
        made.rng = torch.Generator().manual_seed(0)
        found = made.train().make_scorer(held)(many.texts, rows)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, made.eval()(make_text_batch(many)).detach().numpy(), rtol=1e-4, atol=1e-4)

    @every
    def test_many_texts_are_scored_alike(self, kind):
        """What is scored in pieces by several threads is what is scored at once."""
        made, held = network(kind), documents(kind, (60,))
        rows = np.zeros(700, dtype=np.int64)
        coins = np.random.default_rng(3)
        many = concatenate_texts([coins.permutation(held.texts[0])[: 30 + row % 30] for row in range(len(rows))])
        score = made.make_scorer(held)
        found = score(many, rows)
        apart = np.concatenate([score(many.take(some), rows[some]) for some in np.array_split(np.arange(700), 9)])
        np.testing.assert_allclose(found, apart, rtol=1e-4, atol=1e-4)

    @every
    def test_scores_of_no_text(self, kind):
        """No versions have no scores."""
        found = network(kind).make_scorer(documents(kind))(concatenate_texts([]), np.zeros(0, dtype=np.int64))
        assert found.shape == (0, CLASSES)


class TestRegistry:
    """Networks by name."""

    @pytest.mark.parametrize("pairs", [False, True])
    @pytest.mark.parametrize("name", TEXT_NETWORKS)
    def test_every_name_is_built(self, name, pairs, small_space):
        """Each takes single texts or pairs, those asked for where it can, and keeps vectors out of its weights."""
        made = build_text_network(name, small_space, 2, pairs=pairs)
        assert made.takes_pairs is pairs or all(kind.takes_pairs is not pairs for kind in TEXT_NETWORKS[name])
        assert not any("vectors" in key for key in made.state_dict())

    def test_unknown_name_is_refused(self, small_space):
        """A name that is none is refused with those that are."""
        with pytest.raises(InputError, match=r"one of cnn, bow, fasttext, attention, dp-fasttext\. Got 'lstm'\.$"):
            build_text_network("lstm", small_space, 2)

    def test_pairs_need_premises(self):
        """A network for pairs refuses single texts."""
        held = documents(TEXT_NETWORKS["cnn"][0])
        for kind in (TEXT_NETWORKS["attention"][0], TEXT_NETWORKS["bow"][1]):
            with pytest.raises(TypeError, match="takes pairs"):
                network(kind)(make_text_batch(held))


def test_versions_are_all_there_are():
    """The search tries every combination of choices, the text itself among them."""
    held = documents(TEXT_NETWORKS["cnn"][0])
    many = versions(held, 0, sets())
    assert len(many) == np.prod([len(sets().choices_of(word)) for word in held.texts[0]])
    assert held.texts[0].tolist() in [text.tolist() for text in many.texts]


@given(seed=st.integers(0, 10_000), lengths=st.lists(st.integers(1, 4), min_size=1, max_size=3))
def test_bounds_of_a_linear_model_are_reached(seed, lengths):
    """For the mean of embeddings and one linear layer the bounds are the worst margins of all substitutions."""
    (kind,) = TEXT_NETWORKS["fasttext"]
    made, held = network(kind, seed), documents(kind, lengths, seed)
    worst = torch.stack([margins_of(made, versions(held, row, sets(seed))).amin(0) for row in range(len(held))])
    torch.testing.assert_close(
        made.compute_margin_bounds(make_text_batch(held), sets(seed)), worst, rtol=1e-3, atol=1e-3
    )
