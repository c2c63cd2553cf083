"""Networks of text classifiers: the equations of the papers, sound bounds, and logits of the document alone."""

import dataclasses
import threading

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.models.text.networks import PRIVATE_TEXT_NETWORKS, TEXT_NETWORKS, base
from deniable.models.text.networks.base import Projection, make_text_batch, pad_texts, process_in_slices
from deniable.models.text.networks.jia import BagOfWords, ConvolutionalNetwork, DecomposableAttention, PairedBagOfWords
from deniable.models.text.networks.means import EmbeddingMean, FastText, FrozenMean, standardise_vectors
from tests.models.text.samples import documents as make_documents
from tests.models.text.samples import join, versions
from tests.models.text.samples import sets as make_sets

WORDS, CLASSES = 12, 3
KINDS = [kind for kinds in (TEXT_NETWORKS | PRIVATE_TEXT_NETWORKS).values() for kind in kinds]
deep = pytest.mark.deep
every = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)


def network(kind, seed=0, *, scale=3.0):
    """Return a network with random weights, larger than at the start of training, in evaluation mode."""
    coins = torch.Generator().manual_seed(seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        made = kind(torch.randn(WORDS, 5, generator=coins), CLASSES)
    with torch.no_grad():
        for parameter in made.parameters():
            spread = 1 / np.sqrt(parameter.shape[-1])
            parameter.copy_(scale * spread * (2 * torch.rand(parameter.shape, generator=coins) - 1))
    return made.eval()


def sets(seed=0, most=3):
    """Return for every word up to so many choices, itself first."""
    coins = np.random.default_rng(seed)
    others = coins.integers(WORDS, size=(WORDS, most - 1))
    kept = coins.random(others.shape) < 0.7
    return make_sets({word: np.where(kept[word], others[word], word) for word in range(WORDS)}, WORDS)


ALONE = dataclasses.replace(sets(), choices=np.arange(WORDS, dtype=np.int32)[:, None])


def documents(kind, lengths=(4, 1, 3), seed=0):
    """Return documents of such lengths, with a premise each where the network takes pairs."""
    coins = np.random.default_rng(seed)
    held = [coins.integers(WORDS, size=length) for length in lengths]
    premises = [coins.integers(WORDS, size=2 + length % 3) for length in lengths] if kind.takes_pairs else None
    return make_documents(held, coins.integers(CLASSES, size=len(lengths)), CLASSES, premises)


def of_texts(held, texts):
    """Return documents with other texts."""
    return dataclasses.replace(held, texts=join(texts))


def margins_of(made, many):
    """Return the true margins (n, K) of documents."""
    with torch.no_grad():
        batch = make_text_batch(many)
        logits = made(batch)
    return logits.gather(1, batch.labels[:, None]) - logits


def worst_margins(made, held, choices):
    """Return the least margins (n, K) over all texts that substitutions make, tried one by one."""
    return torch.stack([margins_of(made, versions(held, row, choices)).amin(0) for row in range(len(held))])


def violation(made, held, choices):
    """Return by how much the worst of all substitutions falls below the bounds; negative where none does."""
    with torch.no_grad():
        bounds = made.compute_margin_bounds(make_text_batch(held), choices)
    others = torch.arange(CLASSES) != torch.from_numpy(held.labels)[:, None]
    return float((bounds - worst_margins(made, held, choices))[others].max())


def assert_near(bounds, margins, logits):
    """Expect bounds below margins, by no more than the slack for rounding."""
    assert (bounds <= margins + 1e-4).all()
    torch.testing.assert_close(bounds, margins, rtol=1e-3, atol=0.01 * float(logits.detach().abs().max()))


LENGTHS = st.lists(st.integers(1, 4), min_size=1, max_size=3)


class TestBounds:
    """Margins by intervals lie below every true one."""

    @every
    @settings(max_examples=4)
    @given(seed=st.integers(0, 10_000), lengths=LENGTHS)
    def test_no_substitution_falls_below_them(self, kind, seed, lengths):
        """All texts that substitutions make, tried one by one, keep the margins that are promised."""
        assert violation(network(kind, seed), documents(kind, lengths, seed), sets(seed)) <= 0

    @deep
    @every
    @settings(max_examples=60)
    @given(seed=st.integers(0, 10_000), lengths=LENGTHS)
    def test_no_substitution_of_many_falls_below_them(self, kind, seed, lengths):
        """The same for many networks and texts."""
        assert violation(network(kind, seed), documents(kind, lengths, seed), sets(seed)) <= 0

    @every
    def test_bounds_between_a_point_and_a_box(self, kind):
        """Bounds fall as boxes and choices grow, from the true margins of a point on; gradients reach all weights."""
        made, held = network(kind), documents(kind)
        batch = make_text_batch(held)
        scales = (0.0, 0.25, 0.5, 0.75, 1.0)
        found = torch.stack([made.compute_margin_bounds(batch, sets(), scale) for scale in scales])
        assert (found.diff(dim=0) <= 1e-4).all()
        assert (found[-1] < found[0]).any()
        fewer = dataclasses.replace(sets(), choices=sets().choices[:, :2])
        assert (made.compute_margin_bounds(batch, fewer) >= found[-1] - 1e-4).all()
        assert not found.gather(2, batch.labels[:, None].expand(5, -1, 1)).any()
        logits, bounds = made.compute_logits_and_bounds(batch, sets(), 0.75)
        torch.testing.assert_close(logits, made(batch), rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(bounds, found[3])
        for part in (0, 1):
            learner = network(kind).train()
            learner.compute_logits_and_bounds(batch, sets(), 0.7)[part].square().sum().backward()
            assert all(weights.grad is not None and weights.grad.any() for weights in learner.parameters())
        calm = network(kind, scale=0.5)
        for point in (calm.compute_margin_bounds(batch, sets(), 0.0), calm.compute_margin_bounds(batch, ALONE)):
            assert_near(point, margins_of(calm, held), calm(batch))

    @every
    def test_wrong_bounds_are_caught(self, kind, monkeypatch):
        """The search through all substitutions finds bounds that are too good: as if each word had fewer choices."""
        both, boxes = EmbeddingMean.compute_logits_and_bounds, Projection.project_boxes

        def half(made, some, choices, scale=1.0):
            return both(made, some, choices, scale / 2)

        def box_of_two(made, numbers, choices, scale):
            return boxes(made, numbers, dataclasses.replace(choices, choices=choices.choices[:, :2]), scale)

        if issubclass(kind, EmbeddingMean):
            monkeypatch.setattr(kind, "compute_logits_and_bounds", half)
        else:
            monkeypatch.setattr(Projection, "project_boxes", box_of_two)
        found = (violation(network(kind, seed), documents(kind, (1, 1), seed), sets(seed)) for seed in range(20))
        assert any(value > 0 for value in found)

    @every
    def test_slack_is_far_above_rounding(self, kind):
        """Float32 and float64 give logits that differ by a small part of the slack of their margins."""
        made, held = network(kind), documents(kind, (40, 40, 40))
        slack = (margins_of(made, held) - made.compute_margin_bounds(make_text_batch(held), ALONE)).max()
        single = margins_of(made, held)
        assert 10 * (single - margins_of(made.double(), held)).abs().max() < slack


@settings(max_examples=20)
@given(seed=st.integers(0, 10_000), lengths=LENGTHS)
def test_bounds_of_a_linear_model_are_reached(seed, lengths):
    """For the mean of embeddings and one linear layer the bounds are the worst margins of all substitutions."""
    made, held = network(FastText, seed), documents(FastText, lengths, seed)
    bounds = made.compute_margin_bounds(make_text_batch(held), sets(seed))
    torch.testing.assert_close(bounds, worst_margins(made, held, sets(seed)), rtol=1e-3, atol=1e-3)


class TestLogits:
    """Logits depend on the document alone."""

    @every
    def test_other_documents_and_padding_change_nothing(self, kind):
        """Logits and margins are the same alone as beside longer texts; another word anywhere changes them."""
        made, held = network(kind), documents(kind, (3, 9, 1, 5))
        batch = make_text_batch(held)
        beside, bounds = made(batch), made.compute_margin_bounds(batch, sets())
        for row in range(len(held)):
            alone = make_text_batch(held.take(np.array([row])))
            torch.testing.assert_close(made(alone)[0], beside[row], rtol=1e-4, atol=1e-4)
            torch.testing.assert_close(made.compute_margin_bounds(alone, sets())[0], bounds[row], rtol=1e-4, atol=1e-4)
        assert torch.equal(made(dataclasses.replace(batch, words=torch.where(batch.present, batch.words, 7))), beside)
        single = documents(kind, (4,))
        for place in range(4):
            changed = single.texts[0].copy()
            changed[place] = (changed[place] + 1) % WORDS
            other = of_texts(single, [changed])
            assert not torch.allclose(made(make_text_batch(single)), made(make_text_batch(other)))

    @every
    def test_dropout_follows_from_its_coins(self, kind):
        """Equal coins drop alike, others otherwise, and torch's own generator is left alone."""
        made, batch = network(kind, scale=0.5).train(), make_text_batch(documents(kind))
        before = torch.get_rng_state()

        def drawn(seed):
            made.rng = torch.Generator().manual_seed(seed)
            return made.compute_logits_and_bounds(batch, ALONE, 0.0)

        logits, bounds = drawn(1)
        assert torch.equal(logits, drawn(1)[0])
        assert torch.equal(before, torch.get_rng_state())
        assert torch.equal(logits, drawn(2)[0]) is issubclass(kind, EmbeddingMean)
        true = logits.gather(1, batch.labels[:, None]) - logits
        assert_near(bounds, true, logits)  # the same units are dropped
        torch.testing.assert_close(made.eval()(batch), drawn(3)[0])

    @every
    def test_scores_are_logits(self, kind, monkeypatch):
        """Versions of documents in any order, batches and threads have the logits of the network, trained or not."""
        made, held = network(kind), documents(kind, (4, 1, 30, 3))
        rows = np.array([2, 0, 3, 3, 1, 0, 2])
        many = held.take(rows)
        many = of_texts(many, [np.random.default_rng(place).permutation(text) for place, text in enumerate(many.texts)])
        expected = made(make_text_batch(many)).detach().numpy()
        made.rng = torch.Generator().manual_seed(0)
        for limit in (10**6, 20):
            monkeypatch.setattr(base, "_WORDS_PER_BATCH", limit)
            monkeypatch.setattr(base, "_MIN_WORDS_FOR_THREADS", limit)
            found = made.train().make_scorer(held)(many.texts, rows)
            assert found.dtype == np.float32
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
        assert made.make_scorer(held)(join([]), np.zeros(0, dtype=np.int64)).shape == (0, CLASSES)


def by_the_paper(made, held, row):
    """Return the logits of one document by the equations of its network, taken literally."""
    words = torch.from_numpy(held.texts[row]).long()
    premise = torch.from_numpy(held.premises[row]).long() if held.premises is not None else None
    if isinstance(made, DecomposableAttention):  # equations 1 to 6 of Parikh et al. 2016, with F of one layer
        a, b = made.projection(premise), made.projection(words)
        scores = made.attend(a).relu() @ made.attend(b).relu().T  # (P, L)
        beta, alpha = scores.softmax(dim=1) @ b, scores.softmax(dim=0).T @ a
        sides = []
        for own, other in ((a, beta), (b, alpha)):
            hidden = torch.cat([own, other], dim=1)
            for layer in made.compare:
                hidden = layer(hidden).relu()
            sides.append(hidden.sum(dim=0))
        return made.output(made.aggregate(torch.cat(sides)).relu())
    if isinstance(made, (BagOfWords, PairedBagOfWords)):
        hidden = made.projection(words).relu()
        pooled = (
            hidden.mean(0) if premise is None else torch.cat([made.projection(premise).relu().sum(0), hidden.sum(0)])
        )
        for layer in made.layers:
            pooled = layer(pooled).relu()
        return made.output(pooled)
    if isinstance(made, ConvolutionalNetwork):  # torch's own convolution, padded, of width 3
        convolved = made.convolution(made.projection(words).relu().T[None])[0] + made.bias[:, None]
        return made.output(made.hidden(convolved.relu().mean(dim=1)).relu())
    return made.net.output(made.net.embeddings.weight[words].mean(0))


@every
def test_logits_are_those_of_the_equations(kind):
    """Documents of several lengths have the logits that each has by the paper's equations; pairs need a premise."""
    made, held = network(kind, scale=0.7), documents(kind, (4, 1, 6, 3))
    logits = made(make_text_batch(held))
    for row in range(len(held)):
        torch.testing.assert_close(logits[row], by_the_paper(made, held, row), rtol=1e-4, atol=1e-4)
    if kind.takes_pairs:
        with pytest.raises(TypeError):
            made(make_text_batch(dataclasses.replace(held, premises=None)))


def test_standardised_vectors_are_white():
    """Under Zipf's law the mean is 0 and the variance about the same everywhere; vectors turned are turned alike."""
    frequencies = 1 / np.arange(2, 5_002)
    frequencies /= frequencies.sum()
    coins = np.random.default_rng(0)
    vectors, turn = coins.normal(size=(5_000, 4)) * [5.0, 1.0, 2.0, 0.5] + 7, np.linalg.qr(coins.normal(size=(4, 4)))[0]
    found = standardise_vectors(vectors)
    assert np.abs(frequencies @ found).max() < 1e-9
    covariance = (found.T * frequencies) @ found
    assert np.diag(covariance) == pytest.approx([450.0] * 4, rel=0.1)  # 3^2 * 200 words / 4 directions
    assert np.abs(covariance - np.diag(np.diag(covariance))).max() < 5
    assert np.allclose(standardise_vectors(vectors @ turn), found @ turn)
    assert not standardise_vectors(np.ones((10, 3))).any()


def test_vectors_are_frozen_and_not_saved():
    """They come from the space; the private network learns one linear layer on means of them, FastText its own."""
    made, held = network(FrozenMean), documents(FrozenMean)
    assert {name for name, _ in made.named_parameters()} == {"net.output.weight", "net.output.bias"}
    assert {*made.state_dict()} == {"net.output.weight", "net.output.bias"}
    means = made.net.embeddings(
        torch.from_numpy(held.texts.words.astype(np.int64)), torch.from_numpy(held.texts.offsets[:-1])
    )
    torch.testing.assert_close(made.net.output(means), made(make_text_batch(held)))
    for kind in KINDS:
        assert not any("vectors" in key for key in network(kind).state_dict())


def test_a_box_is_the_smallest_around_the_choices():
    """Its ends are the extremes of the projected choices, by which weights learn; scaled by 0 it is the word itself."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        projection = Projection(torch.randn(WORDS, 5), 4)
    ids, choices = torch.arange(WORDS), sets()
    own, box = projection.project_boxes(ids, choices, 1.0)
    torch.testing.assert_close(own, projection(ids))
    _, point = projection.project_boxes(ids, choices, 0.0)
    assert torch.equal(point.low, own)
    assert torch.equal(point.high, own)
    _, half = projection.project_boxes(ids, choices, 0.5)
    torch.testing.assert_close(half.high - own, (box.high - own) / 2)
    (box.high.square().sum() - box.low.sum()).backward()
    learned = projection.linear.weight.grad.clone()
    projection.zero_grad()
    stacked = projection(torch.from_numpy(choices.choices).long().flatten()).view(WORDS, 3, -1)
    torch.testing.assert_close(box.low, stacked.amin(1))
    torch.testing.assert_close(box.high, stacked.amax(1))
    (stacked.amax(1).square().sum() - stacked.amin(1).sum()).backward()
    torch.testing.assert_close(learned, projection.linear.weight.grad, rtol=1e-4, atol=1e-5)


def test_padding_says_where_words_are():
    """Texts stand side by side in their order, 0 behind the end of each, an empty one too; premises by themselves."""
    texts = [[5, 3, 3], [], [7]]
    words, present = pad_texts(join(texts))
    assert words.tolist() == [[5, 3, 3], [0, 0, 0], [7, 0, 0]]
    assert present.tolist() == [[True] * 3, [False] * 3, [True, False, False]]
    assert [tensor.shape for tensor in pad_texts(join([]))] == [(0, 0), (0, 0)]
    batch = make_text_batch(make_documents(texts, [1, 0, 1], premises=[[1], [2, 4], [6]]))
    assert (batch.labels.tolist(), batch.premise.tolist()) == ([1, 0, 1], [[1, 0], [2, 4], [6, 0]])
    assert batch.premise_present.sum().item() == 4
    assert make_text_batch(make_documents(texts)).premise is None


@pytest.mark.parametrize("count", [0, 1, 5, 5000])
def test_slices_cover_every_text_once(count, monkeypatch):
    """Few words are processed at once, many in slices that overlap nowhere and leave nothing out."""
    monkeypatch.setattr(base, "_MIN_WORDS_FOR_THREADS", 100)
    seen, slices, lock = np.zeros(count, dtype=int), [], threading.Lock()

    def process(part):
        with lock:
            seen[part] += 1
            slices.append(part)

    process_in_slices(process, join([[1, 2]] * count))
    assert (seen == 1).all()
    assert (len(slices) > 1) == (2 * count >= 100)
