"""Training of auto-encoders: new texts out of a corpus, noise, loss, and runs that end early or go on."""

import math

import numpy as np
import pytest
import torch
from scipy import stats
from torch.nn import functional

import deniable as dn
from deniable.rewriting import training
from deniable.rewriting.training import (
    AugmentedBatches,
    RewriterTraining,
    add_training_noise,
    compute_held_out_loss,
    compute_reconstruction_loss,
    exchange_tokens,
    pad_token_rows,
    splice_texts,
)
from tests.rewriting.small import SMALL, corpus
from tests.rewriting.untrained import get_network_type

KEY, OTHER = bytes(range(32)), bytes(32)
END = 2
ROWS = [[4, 5, 6, 7], [8, 6, 9], [10], [11, 5, 12, 6]]


def options(**given):
    return dn.rewriting.RewriterOptions(**{**SMALL, **given})


@pytest.fixture(scope="module")
def numbers():
    """Return the numbers of a small corpus."""
    vocabulary = dn.rewriting.Vocabulary.build(corpus())
    return [vocabulary.to_ids(text) for text in corpus()]


def network(numbers):
    words = 1 + max(max(text) for text in numbers)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return get_network_type()(words, SMALL["latent"], SMALL["hidden"], SMALL["embedding"], 1.0)


def coins(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize(
    ("law", "reference"), [("laplace", stats.laplace(scale=0.3)), ("gaussian", stats.norm(scale=0.3))]
)
def test_the_law_of_the_noise(law, reference):
    """Every coordinate has noise of the law and scale asked for, drawn from the coins alone; without any it stays."""
    given = torch.ones(200, 50)
    found = add_training_noise(given, (law, 0.3), coins(1))
    noise = (found - given).flatten().double().numpy()
    assert stats.kstest(noise, reference.cdf).pvalue > 1e-6
    assert stats.kstest(noise / 1.3, reference.cdf).pvalue < 1e-6
    assert torch.equal(found, add_training_noise(given, (law, 0.3), coins(1)))
    assert not torch.equal(found, add_training_noise(given, (law, 0.3), coins(2)))
    assert add_training_noise(given, None, coins()) is given


@pytest.mark.parametrize(("law", "order"), [("l2-norm", 2), ("max-norm", math.inf)])
def test_the_law_of_noise_in_a_norm(law, order):
    """The norm of a row's noise is Gamma(n) times the scale, and none 30 % off; signs are even."""
    given = torch.ones(4_000, 6)
    noise = (add_training_noise(given, (law, 0.3), coins(1)) - given).double().numpy()
    norms = np.linalg.norm(noise, ord=order, axis=1) / 0.3
    assert stats.kstest(norms, stats.gamma(6).cdf).pvalue > 1e-6
    for factor in (0.7, 1.3):
        assert stats.kstest(norms / factor, stats.gamma(6).cdf).pvalue < 1e-20
    assert stats.binomtest(int((noise > 0).sum()), noise.size).pvalue > 1e-6
    assert stats.kstest(np.abs(noise[:, 0]), np.abs(noise[:, 5])).pvalue > 1e-6


def test_noise_is_added_behind_the_clip(numbers, monkeypatch):
    """Noise is added to clipped vectors, of the options' radius."""
    seen = []
    monkeypatch.setattr(training, "add_training_noise", lambda *given: seen.append(given[:2]) or given[0])
    made = network(numbers)
    with torch.no_grad():
        made.stretch.fill_(1e4)
    compute_reconstruction_loss(made, numbers[:4], options(noise=("laplace", 0.5)), coins())
    [(vectors, noise)] = seen
    torch.testing.assert_close(vectors.norm(dim=1), torch.ones(4))
    assert noise == ("laplace", 0.5)


def test_the_loss_by_the_logits(numbers):
    """It is the sum over tokens and ends of the texts, of teacher-forced logits, whatever the padding."""
    made = network(numbers).eval()
    some = [numbers[0], numbers[41], []]
    total, count = compute_reconstruction_loss(made, some, options(), coins())
    expected = 0.0
    for one in some:
        tokens, lengths = pad_token_rows([one])
        vectors = made.encode(tokens, lengths)
        vectors = vectors / vectors.norm(dim=1, keepdim=True).clamp_min(1.0)
        scores = made.compute_logits(vectors, tokens)[0]
        expected += functional.cross_entropy(scores, torch.tensor([*one, END]), reduction="sum").item()
    assert total.item() == pytest.approx(expected, rel=1e-5)
    assert count == sum(map(len, some)) + 3
    tokens, lengths = pad_token_rows([[5, 6], [], [7]])
    assert tokens.tolist() == [[5, 6], [0, 0], [7, 0]]
    assert lengths.tolist() == [2, 0, 1]


def test_dropout_in_training_alone(numbers):
    """Words are dropped in training alone, by the coins."""
    made = network(numbers)

    def lose(seed):
        return compute_reconstruction_loss(made, numbers, options(word_dropout=0.5), coins(seed))[0].item()

    assert lose(1) == lose(1) != lose(2)
    made.eval()
    assert lose(1) == lose(2)


def test_the_loss_on_texts_held_out(numbers):
    """It is the mean over tokens, and the same at every call, noise and all."""
    made = network(numbers)
    total, count = compute_reconstruction_loss(made.eval(), numbers, options(), coins())
    assert compute_held_out_loss(made, numbers, options()) == pytest.approx(total.item() / count, rel=1e-5)
    noisy = options(noise=("gaussian", 1.0))
    assert compute_held_out_loss(made, numbers, noisy) == compute_held_out_loss(made, numbers, noisy)


def test_a_run_learns(numbers):
    """The loss falls, on texts held out too, as the rate does to nearly nothing; the best epoch's weights are kept."""
    made = network(numbers)
    before = compute_held_out_loss(made, numbers[:5], options())
    run = RewriterTraining(made, numbers[5:], numbers[:5], options(epochs=5, learning_rate=0.01), KEY)
    rates = []
    for number in range(run.steps):
        run.step(number)
        rates.append(run.state()["optimizer"]["param_groups"][0]["lr"])
    assert run.best_loss < 0.8 * before
    made.load_state_dict(run.result)
    assert compute_held_out_loss(made, numbers[:5], options()) == pytest.approx(run.best_loss)
    assert rates[0] == 0.01
    assert all(np.diff(rates) < 0)
    assert rates[-1] < 0.05 * rates[0]


def test_splices_and_keys(numbers):
    """Texts made of two are learned from besides, as many times as asked for; another key takes other steps."""
    for count in (0, 3):
        run = RewriterTraining(network(numbers), numbers, numbers[:5], options(spliced=count, epochs=2), KEY)
        assert run.steps == 2 * math.ceil(len(numbers) * (1 + count) / 8)
    losses = [RewriterTraining(network(numbers), numbers, numbers[:5], options(), key).step(0) for key in (KEY, OTHER)]
    assert losses[0] != losses[1]


def test_an_early_end(numbers, monkeypatch):
    """After so many epochs without a better loss a run does nothing more, and keeps the best."""
    losses = iter([3.0, 2.0, 2.5, 2.0, 9.0])
    monkeypatch.setattr(training, "compute_held_out_loss", lambda *_: next(losses))
    made = network(numbers)
    run = RewriterTraining(made, numbers[:8], numbers[:5], options(epochs=9, patience=2), KEY)
    kept = []
    for number in range(run.steps):
        run.step(number)
        kept.append({name: value.clone() for name, value in made.state_dict().items()})
    assert (run.best_loss, run.best_epoch, run.stopped) == (2.0, 2, 4)
    second, fourth = run.steps // 9 * 2 - 1, run.steps // 9 * 4 - 1
    assert all(torch.equal(run.result[name], kept[second][name]) for name in kept[0])
    assert all(torch.equal(kept[-1][name], kept[fourth][name]) for name in kept[0])


def test_a_run_goes_on(numbers):
    """A run restored from a state takes the same steps as one that was never interrupted."""

    def fresh():
        given = options(epochs=3, noise=("laplace", 0.1))
        return RewriterTraining(network(numbers), numbers[:20], numbers[:5], given, KEY)

    whole, first, second = fresh(), fresh(), fresh()
    half = whole.steps // 2
    expected = [whole.step(number) for number in range(whole.steps)]
    for number in range(half):
        first.step(number)
    second.restore(first.state())
    assert [second.step(number) for number in range(half, whole.steps)] == expected[half:]
    assert second.best_loss == whole.best_loss
    assert all(torch.equal(second.result[name], whole.result[name]) for name in whole.result)


def test_the_seam():
    """What comes out begins as one text of the corpus and ends as another, behind a token that both have."""

    def joined(text):
        return any(
            text[: cut + 1] == one[: cut + 1] and text[cut:] == other[len(other) - len(text) + cut :]
            for cut in range(len(text))
            for one in ROWS
            for other in ROWS
            if len(text) - cut <= len(other)
        )

    found = splice_texts(ROWS, 300, KEY, 10)
    assert len(found) == 300
    assert all(map(joined, found))
    assert not joined([4, 9])
    assert {tuple(text) for text in found} == {
        (4, 5, 6, 7), (4, 5, 6, 9), (4, 5, 6), (4, 5, 12, 6), (8, 6, 9), (8, 6, 7), (8, 6), (10,),
        (11, 5, 12, 6), (11, 5, 12, 6, 7), (11, 5, 12, 6, 9), (11, 5, 6, 7),
    }  # fmt: skip


def test_texts_that_take_no_part():
    """No text is longer than asked for; a corpus without tokens gives nothing; another key gives others."""
    found = splice_texts([[4] * 50, [4, 5], [5, 4, 4]], 200, KEY, 4)
    assert {len(text) for text in found} <= {1, 2, 3, 4}
    assert len(found) == 200
    for rows in ([], [[], []], [[4] * 11]):
        assert splice_texts(rows, 5, KEY, 10) == []
    assert splice_texts(ROWS, 50, KEY, 10) == splice_texts(ROWS, 50, KEY, 10) != splice_texts(ROWS, 50, OTHER, 10)


def test_exchanged_tokens():
    """So many tokens are drawn anew, by the roots of their counts in the corpus, and no text changes its length."""
    rows = [[4] * 81, [5] * 9, [6] * 9, [7]]
    found = exchange_tokens([[8] * 50, [], [8]] * 2_000, rows, 0.3, KEY)
    assert [len(text) for text in found[:6]] == [50, 0, 1] * 2
    tokens = np.concatenate(found).astype(int)
    expected = len(tokens) * np.array([0.3 * 9 / 16, 0.3 * 3 / 16, 0.3 * 3 / 16, 0.3 / 16, 0.7])
    counted = np.bincount(tokens, minlength=9)[4:]
    assert stats.chisquare(counted, expected).pvalue > 1e-6
    wrong = len(tokens) * np.array([0.3 * 0.81, 0.3 * 0.09, 0.3 * 0.09, 0.3 * 0.01, 0.7])
    assert stats.chisquare(counted, wrong).pvalue < 1e-6


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_none_or_all_exchanged(share):
    """With a share of 0 texts stay as they are, and with 1 nothing of them is left."""
    found = exchange_tokens([[1, 2], [3]], ROWS, share, KEY)
    assert (found == [[1, 2], [3]]) == (share == 0)
    assert ({*found[0], *found[1]} <= {4, 5, 6, 7, 8, 9, 10, 11, 12}) == (share == 1)
    assert exchange_tokens([], ROWS, share, KEY) == []
    assert exchange_tokens([[], []], [[]], share, KEY) == [[], []]


def test_every_epoch_has_new_texts():
    """An epoch deals every text of the corpus once, and as many new ones as asked for; others in the next epoch."""
    varied = AugmentedBatches(ROWS, 2, 0.5, 5, KEY)
    assert varied.batches == 3
    epochs = [[tuple(text) for number in numbers for text in varied(number)] for numbers in ((0, 1, 2), (3, 4, 5))]
    for texts in epochs:
        assert len(texts) == 3 * len(ROWS)
        assert {tuple(text) for text in ROWS} <= set(texts)
        assert max(map(len, texts)) <= 4
    assert sorted(epochs[0]) != sorted(epochs[1])


def test_steps_in_any_order():
    """The texts of a step follow from the key and its number alone."""
    one, other, another = (AugmentedBatches(ROWS, 2, 0.5, 5, key) for key in (KEY, KEY, OTHER))
    steps = [one(number) for number in range(5)]
    assert [other(number) for number in (4, 0, 4)] == [steps[number] for number in (4, 0, 4)]
    assert [another(number) for number in range(5)] != steps
