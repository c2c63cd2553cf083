"""Training of auto-encoders: noise, loss, and runs that end early or go on."""

import math

import numpy as np
import pytest
import torch
from scipy import stats
from torch.nn import functional

import deniable as dn
from deniable.rewriting import training
from deniable.rewriting.training import (
    RewriterTraining,
    add_training_noise,
    compute_held_out_loss,
    compute_reconstruction_loss,
    pad_token_rows,
)
from tests.rewriting.small import SMALL, corpus
from tests.rewriting.untrained import get_network_type

KEY, OTHER = bytes(range(32)), bytes(32)
END = 2


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
