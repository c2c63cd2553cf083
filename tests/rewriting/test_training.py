"""Training of auto-encoders: options, noise, loss, and runs that end early or go on."""

import dataclasses
import math

import numpy as np
import pytest
import torch
from scipy import stats
from torch.nn import functional

from deniable.core.errors import InputError
from deniable.learning.loop import build_with_seed
from deniable.rewriting import training
from deniable.rewriting.autoencoder import Autoencoder, clip_to_l2_ball
from deniable.rewriting.tokens import END, Vocabulary, look_up_tokens
from deniable.rewriting.training import (
    RewriterOptions,
    RewriterTraining,
    add_training_noise,
    compute_held_out_loss,
    compute_reconstruction_loss,
    pad_token_rows,
)
from tests.rewriting.small import SMALL, corpus

KEY, OTHER = bytes(range(32)), bytes(32)


@pytest.fixture(scope="module")
def numbers():
    """Return the numbers of a small corpus."""
    return look_up_tokens(Vocabulary.build(corpus()), corpus(), 64)


def network(numbers, **given):
    sizes = {**SMALL, **given}
    words = 1 + max(max(text) for text in numbers)
    return build_with_seed(0, lambda: Autoencoder(words, sizes["latent"], sizes["hidden"], sizes["embedding"], 1.0))


def coins(seed=0):
    return torch.Generator().manual_seed(seed)


class TestOptions:
    """What can be chosen."""

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({"latent": 0}, "'latent' parameter of training must be an int from 1"),
            ({"epochs": 1.5}, "'epochs'"),
            ({"batch_size": True}, "'batch_size'"),
            ({"spliced": -1}, "'spliced' parameter of training must be an int from 0"),
            ({"learning_rate": 0.0}, "'learning_rate'"),
            ({"radius": math.inf}, "'radius'"),
            ({"radius": 1e-9}, "'radius'"),
            ({"clip": 1e31}, "'clip'"),
            ({"word_dropout": 1.0}, r"must be a float in \[0, 1\)"),
            ({"noise": ("cauchy", 1.0)}, "laplace or gaussian"),
            ({"noise": ("laplace", 0.0)}, "'noise'"),
            ({"noise": ("gaussian", 1e31)}, "of a scale up to 1e"),
        ],
    )
    def test_bad_ones(self, given, message):
        """A value outside its domain is refused by name."""
        with pytest.raises(InputError, match=message):
            RewriterOptions(**given)

    def test_quick(self):
        """Quick options are small, and give way to what is chosen."""
        assert RewriterOptions.quick().latent < RewriterOptions().latent
        assert RewriterOptions.quick(latent=100) == dataclasses.replace(RewriterOptions.quick(), latent=100)


class TestNoise:
    """The noise of the second stage."""

    @pytest.mark.parametrize(
        ("law", "reference"), [("laplace", stats.laplace(scale=0.3)), ("gaussian", stats.norm(scale=0.3))]
    )
    def test_the_law(self, law, reference):
        """Every coordinate has noise of the law and scale asked for, drawn from the coins alone."""
        given = torch.ones(200, 50)
        found = add_training_noise(given, (law, 0.3), coins(1))
        assert stats.kstest((found - given).flatten().double().numpy(), reference.cdf).pvalue > 1e-6
        assert torch.equal(found, add_training_noise(given, (law, 0.3), coins(1)))
        assert not torch.equal(found, add_training_noise(given, (law, 0.3), coins(2)))

    def test_none(self):
        """Without noise the vectors stay."""
        given = torch.ones(2, 3)
        assert add_training_noise(given, None, coins()) is given

    def test_it_is_added_behind_the_clip(self, numbers, monkeypatch):
        """Noise is added to clipped vectors, of the options' radius."""
        seen = []
        monkeypatch.setattr(
            training, "add_training_noise", lambda vectors, noise, _: seen.append((vectors, noise)) or vectors
        )
        made = network(numbers)
        with torch.no_grad():
            made.stretch.fill_(1e4)
        compute_reconstruction_loss(made, numbers[:4], RewriterOptions(**SMALL, noise=("laplace", 0.5)), coins())
        [(vectors, noise)] = seen
        torch.testing.assert_close(vectors.norm(dim=1), torch.ones(4))
        assert noise == ("laplace", 0.5)


class TestLoss:
    """The likelihood of a text and its end."""

    def test_by_the_logits(self, numbers):
        """It is the sum over tokens and ends of the texts, of teacher-forced logits, whatever the padding."""
        made = network(numbers).eval()
        some = [numbers[0], numbers[41], []]
        total, count = compute_reconstruction_loss(made, some, RewriterOptions(**SMALL), coins())
        expected = 0.0
        for one in some:
            tokens, lengths = pad_token_rows([one])
            scores = made.compute_logits(clip_to_l2_ball(made.encode(tokens, lengths), 1.0), tokens)[0]
            expected += functional.cross_entropy(scores, torch.tensor([*one, END]), reduction="sum").item()
        assert total.item() == pytest.approx(expected, rel=1e-5)
        assert count == sum(map(len, some)) + 3

    def test_dropout_in_training_alone(self, numbers):
        """Words are dropped in training alone, by the coins."""
        made, options = network(numbers), RewriterOptions(**SMALL, word_dropout=0.5)
        first, again, other = (
            compute_reconstruction_loss(made.train(), numbers, options, coins(at))[0].item() for at in (1, 1, 2)
        )
        assert first == again != other
        assert (
            len({compute_reconstruction_loss(made.eval(), numbers, options, coins(at))[0].item() for at in (1, 2)}) == 1
        )

    def test_held_out(self, numbers):
        """The loss on texts held out is the mean over tokens, and the same at every call, noise and all."""
        made, options = network(numbers), RewriterOptions(**SMALL)
        total, count = compute_reconstruction_loss(made.eval(), numbers, options, coins())
        assert compute_held_out_loss(made, numbers, options) == pytest.approx(total.item() / count, rel=1e-5)
        options = RewriterOptions(**SMALL, noise=("gaussian", 1.0))
        assert compute_held_out_loss(made, numbers, options) == compute_held_out_loss(made, numbers, options)


class TestTraining:
    """A run of steps."""

    def test_it_learns(self, numbers):
        """The loss falls, on texts held out too, and the parameters of the best epoch are kept."""
        made = network(numbers)
        before = compute_held_out_loss(made, numbers[:5], RewriterOptions(**SMALL))
        run = RewriterTraining(
            made, numbers[5:], numbers[:5], RewriterOptions(**SMALL, epochs=6, learning_rate=0.01), KEY
        )
        for number in range(run.steps):
            run.step(number)
        assert run.best_loss < 0.7 * before
        made.load_state_dict(run.result)
        assert compute_held_out_loss(made, numbers[:5], RewriterOptions(**SMALL)) == pytest.approx(run.best_loss)

    def test_splices(self, numbers):
        """Texts made of two are learned from besides, as many times as asked for."""
        for count in (0, 3):
            options = dataclasses.replace(RewriterOptions(**SMALL), spliced=count, epochs=2)
            run = RewriterTraining(network(numbers), numbers, numbers[:5], options, KEY)
            assert run.steps == 2 * math.ceil(len(numbers) * (1 + count) / 8)

    def test_the_rate_falls(self, numbers):
        """The learning rate falls from the first step to the last, to nearly nothing."""
        run = RewriterTraining(network(numbers), numbers[:16], numbers[:5], RewriterOptions(**SMALL, epochs=5), KEY)
        rates = []
        for number in range(run.steps):
            run.step(number)
            rates.append(run._optimizer.param_groups[0]["lr"])
        assert rates[0] == RewriterOptions().learning_rate
        assert all(np.diff(rates) < 0)
        assert rates[-1] < 0.05 * rates[0]

    def test_early_end(self, numbers, monkeypatch):
        """After so many epochs without a better loss a run does nothing more, and keeps the best."""
        losses = iter([3.0, 2.0, 2.5, 2.0, 9.0])
        monkeypatch.setattr(training, "compute_held_out_loss", lambda *_: next(losses))
        options = RewriterOptions(**SMALL, epochs=9, patience=2)
        run = RewriterTraining(network(numbers), numbers[:8], numbers[:5], options, KEY)
        kept = []
        for number in range(run.steps):
            run.step(number)
            kept.append({name: value.clone() for name, value in run._autoencoder.state_dict().items()})
        assert (run.best_loss, run.best_epoch, run.stopped) == (2.0, 2, 4)
        second = run.steps // 9 * 2 - 1
        assert all(torch.equal(run.result[name], kept[second][name]) for name in kept[0])
        assert all(torch.equal(kept[-1][name], kept[run.steps // 9 * 4 - 1][name]) for name in kept[0])

    def test_it_goes_on(self, numbers):
        """A run restored from a state takes the same steps as one that was never interrupted."""
        options = RewriterOptions(**SMALL, epochs=3, noise=("laplace", 0.1))

        def fresh():
            return RewriterTraining(network(numbers), numbers[:20], numbers[:5], options, KEY)

        whole, first = fresh(), fresh()
        half = whole.steps // 2
        expected = [whole.step(number) for number in range(whole.steps)]
        for number in range(half):
            first.step(number)
        second = fresh()
        second.restore(first.state())
        assert [second.step(number) for number in range(half, whole.steps)] == expected[half:]
        assert second.best_loss == whole.best_loss
        assert all(torch.equal(second.result[name], whole.result[name]) for name in whole.result)

    def test_the_key(self, numbers):
        """Another key takes other steps."""
        runs = [
            RewriterTraining(network(numbers), numbers, numbers[:5], RewriterOptions(**SMALL), key)
            for key in (KEY, OTHER)
        ]
        assert runs[0].step(0) != runs[1].step(0)


def test_side_by_side():
    """Texts stand side by side with padding behind them, an empty one too."""
    tokens, lengths = pad_token_rows([[5, 6], [], [7]])
    assert tokens.tolist() == [[5, 6], [0, 0], [7, 0]]
    assert lengths.tolist() == [2, 0, 1]
    assert pad_token_rows([[]])[0].shape == (1, 0)
