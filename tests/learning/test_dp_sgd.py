"""DP-SGD: who is drawn, how much noise there is, what one record can change, and runs that go on where they stopped."""

import dataclasses
import io

import numpy as np
import pytest
import torch
from scipy import stats
from torch import nn

from deniable.core.guarantees import EMPTY_RECORD
from deniable.core.randomness import derive_key_from_seed
from deniable.learning import dp_sgd
from deniable.learning.accounting import SamplingSchedule
from deniable.learning.clipping import EMPTY_LABEL, sum_clipped_gradients
from deniable.learning.dp_sgd import DPSGDRun, DPSGDSettings
from deniable.models.images.dataset import LabelledImages
from deniable.models.images.networks import ImageNetwork
from deniable.models.images.training.fitting import fit_image_model
from deniable.registry.trainers import IMAGE_TRAINERS
from tests.models.images.random_images import data, images

KEY = derive_key_from_seed(7)
RECIPE = DPSGDSettings(SamplingSchedule(0.25, 40), noise_multiplier=2.0, clip=0.1, learning_rate=1.0)


def network():
    """Return a network of 4,000 parameters for images of 8 x 8 pixels."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return ImageNetwork(nn.Conv2d(1, 4, 3, stride=2), nn.Sequential(nn.Tanh(), nn.Flatten(), nn.Linear(36, 100)))


def run(records, recipe=RECIPE, key=KEY, net=None, forward=None, settle=lambda: None):
    """Return a run on some records."""
    net = net or network()
    forward = forward or (lambda given, _: net(given))
    views = lambda inputs, *_: inputs[:, None]  # noqa: E731 - the example is its only view
    return DPSGDRun(net, records.pixels, records.labels, recipe, key, forward, views, settle)


def parameters(trained):
    """Return the present parameters, copied, as one vector."""
    return torch.cat([held.detach().flatten() for held in trained._network.parameters()]).clone()


def change(trained, number=0):
    """Return what one step adds to the parameters."""
    before = parameters(trained)
    trained.step(number)
    return parameters(trained) - before


def replaced(recipe=RECIPE, **given):
    """Return a recipe with some of it changed."""
    return dataclasses.replace(recipe, **given)


QUIET = replaced(noise_multiplier=0.0)


def test_batches_are_drawn_record_by_record(monkeypatch):
    """Batch sizes have the binomial law, and records are in a batch independently of each other, all equally often."""
    records, batches = images(40, (1, 8, 8)), []
    trained = run(records)
    monkeypatch.setattr(trained, "_sum_gradients", lambda drawn, _: (batches.append(drawn.numpy()), ({}, 0.0))[1])
    for number in range(4_000):
        trained.step(number)
    members = np.zeros((4_000, 40))
    for row, chosen in zip(members, batches, strict=True):
        assert len({*chosen}) == len(chosen)
        row[chosen] = 1
    law = stats.binom(40, 0.25)
    edges = np.array([-1, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 40])
    seen = np.histogram(members.sum(1), edges + 0.5)[0]
    assert stats.chisquare(seen, 4_000 * np.diff(law.cdf(edges))).pvalue > 1e-6
    # A batch of a fixed size has the same mean, and another law.
    assert (
        stats.chisquare([4_000 if low == 9 else 0 for low in edges[:-1]], 4_000 * np.diff(law.cdf(edges))).pvalue < 1e-6
    )
    assert np.abs(members.mean(0) - 0.25).max() < 5.5 * np.sqrt(0.25 * 0.75 / 4_000)
    off_diagonal = np.corrcoef(members.T)[~np.eye(40, dtype=bool)]
    assert np.abs(off_diagonal).max() < 5.5 / np.sqrt(4_000)


def _deviation_is(found, expected):
    """Say whether zero-mean normal numbers have a standard deviation: two-sided at 1e-6."""
    low, high = stats.chi2(len(found)).ppf([5e-7, 1 - 5e-7])
    return low < np.square(found / expected).sum() < high


@pytest.mark.parametrize(("multiplier", "clip", "rate", "learning_rate"), [(2, 0.1, 0.25, 1), (0.7, 3, 0.5, 4)])
def test_noise_has_its_deviation(multiplier, clip, rate, learning_rate):
    """A step without signal moves every parameter by normal noise of rate * multiplier / expected batch size.

    In the recipe's unit, a step is divided by the clipping norm. Weights and biases alike, fresh at each step.
    """
    records = images(40, (1, 8, 8))
    recipe = DPSGDSettings(SamplingSchedule(rate, 10), multiplier, clip, learning_rate)
    trained = run(records, recipe)
    trained._sum_gradients = lambda *_: ({}, 0.0)
    expected = learning_rate * multiplier / (rate * 40)
    first, second = (change(trained, number).double().numpy() for number in (0, 1))
    for found in (first, second):
        assert _deviation_is(found, expected)
        assert not _deviation_is(found, 0.7 * expected)
        assert not _deviation_is(found, 1.3 * expected)
        assert stats.kstest(found / expected, "norm").pvalue > 1e-6
    assert abs(np.corrcoef(first, second)[0, 1]) < 5.5 / np.sqrt(len(first))


def test_noise_does_not_depend_on_the_records():
    """With the same key the noise is the same whatever is learnt from: the difference is the clipped sums'."""
    one, other = images(40, (1, 8, 8)), images(40, (1, 8, 8), seed=1)
    noise = [change(run(some)) - change(run(some, QUIET)) for some in (one, other)]
    torch.testing.assert_close(noise[0], noise[1], atol=1e-6, rtol=0)
    assert noise[0].std() > 0.1


def test_the_step_is_divided_by_a_public_number():
    """A step without noise is the clipped sum, divided by the expected size of a batch and not by the drawn one."""
    records, net = images(40, (1, 8, 8)), network()
    trained, drawn = run(records, QUIET, net=net), []
    inner = trained._sum_gradients
    trained._sum_gradients = lambda chosen, number: (drawn.append(chosen), inner(chosen, number))[1]
    found = change(trained)
    assert len(drawn[0]) not in {0, 10}
    fresh = network()
    sums, _ = sum_clipped_gradients(fresh, fresh, records.pixels[drawn[0]][:, None], records.labels[drawn[0]], 0.1)
    whole = torch.cat([sums[name].flatten() for name, _ in fresh.named_parameters()])
    torch.testing.assert_close(found, (-whole / 0.1 / 10).float(), atol=1e-6, rtol=1e-4)


PRIVATE = [name for name, system in IMAGE_TRAINERS.items() if "noise_multiplier" in system.option_names]


@pytest.mark.parametrize("name", PRIVATE)
@pytest.mark.parametrize("row", [0, 7, 59])
def test_neighbours_differ_in_one_clipped_term(name, row, monkeypatch):
    """Making one record empty moves the clipped sum by at most C, and nothing else of the release changes.

    These are the neighbours that the guarantee names: coins, noise, divisor, budget and facts are the same, so that the
    noise on a sum of this sensitivity is all that the proof needs.
    """
    options = IMAGE_TRAINERS[name].choose_options(
        epsilon=90.0, delta=1e-5, noise_multiplier=2.0, steps=1, batch_size=60, width=0.25, clip=0.5, average=0.0
    )
    whole, other = data(), data()
    other.train.labels[row] = EMPTY_LABEL
    sums = []

    def watched(*given):
        found = sum_clipped_gradients(*given)
        sums.append(found[0])
        return found

    monkeypatch.setattr(dp_sgd, "sum_clipped_gradients", watched)
    one, two = (fit_image_model(IMAGE_TRAINERS[name], given, options, seed=3) for given in (whole, other))
    assert len(sums) == 2
    moved = torch.cat([(sums[0][part] - sums[1][part]).flatten() for part in sums[0]]).norm()
    assert 0.1 < moved <= 0.5
    assert (one.guarantee, one.verdict, one.facts, one.architecture) == (
        two.guarantee,
        two.verdict,
        two.facts,
        two.architecture,
    )
    assert one.guarantee.adjacency == EMPTY_RECORD
    step = options.learning_rate / (options.clip * one.facts["sampling rate"] * one.facts["records"])
    if not name.startswith("securesgd"):  # which scales the first layer after the step, by what the step released
        for part, held in one.network.named_parameters():
            released = (held - dict(two.network.named_parameters())[part]) / step
            expected = (sums[1][part] - sums[0][part]).float()
            torch.testing.assert_close(released, expected, atol=2e-4, rtol=1e-3)


def test_a_removed_record_is_no_neighbour():
    """Removing a record changes sampling rate and divisor, which stand on the card: nothing is claimed of that."""
    options = IMAGE_TRAINERS["dp-sgd"].choose_options(
        epsilon=90.0, delta=1e-5, noise_multiplier=2.0, steps=1, batch_size=6
    )
    models = [fit_image_model(IMAGE_TRAINERS["dp-sgd"], data(count), options, seed=3) for count in (60, 59)]
    assert models[0].facts["sampling rate"] != models[1].facts["sampling rate"]
    assert all("add" not in model.guarantee.source for model in models)


@pytest.mark.parametrize("scale", [1, 1e4])
def test_one_record_changes_a_step_by_its_norm_at_most(scale):
    """Without noise, another record in one's place moves the sum by at most two norms, and none by at most one."""
    everyone = replaced(QUIET, schedule=SamplingSchedule(1.0, 1))
    records = images(6, (1, 8, 8))
    other = LabelledImages(records.pixels.clone(), records.labels.clone())
    other.pixels[3] = scale * (1 - other.pixels[3])
    other.labels[3] = 9
    fewer = LabelledImages(records.pixels[:5], records.labels[:5])
    sums = [-change(run(some, everyone)) * 0.1 * len(some) for some in (records, other, fewer)]
    assert 0 < (sums[0] - sums[1]).norm() <= 0.2 + 1e-5
    assert 0 < (sums[0] - sums[2]).norm() <= 0.1 + 1e-5


def test_chunks_change_nothing(monkeypatch):
    """The sum does not depend on how many views are worked on at a time."""
    records = images(40, (1, 8, 8))
    whole = change(run(records, QUIET))
    monkeypatch.setattr(dp_sgd, "_CHUNK_VIEWS", 3)
    torch.testing.assert_close(change(run(records, QUIET)), whole, atol=1e-6, rtol=1e-4)


def test_a_step_depends_on_the_key_and_its_number_only():
    """The same step twice is the same, and another number or key another, whatever was drawn before."""
    records = images(40, (1, 8, 8))
    torch.manual_seed(1)
    first = change(run(records), 3)
    torch.randn(5)
    np.random.seed(3)  # noqa: NPY002 - the state that must not matter
    assert torch.equal(change(run(records), 3), first)
    assert not torch.equal(change(run(records), 4), first)
    assert not torch.equal(change(run(records, key=derive_key_from_seed(8)), 3), first)


def test_randomness_of_the_forward_pass_follows_the_key():
    """What views and the network draw comes from a generator of the step, so that a step can be taken again."""
    records, net = images(40, (1, 8, 8)), network()

    def noisy(given, source):
        return net(given + torch.randn(given.shape, generator=source))

    start = {name: held.clone() for name, held in net.state_dict().items()}
    found = []
    for number in (3, 3, 4):
        net.load_state_dict(start)
        found.append(change(run(records, QUIET, net=net, forward=noisy), number))
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])


def test_going_on_is_the_same_run():
    """A run that is resumed from its state, through a file, gives the same parameters bit for bit."""
    records, recipe = images(40, (1, 8, 8)), replaced(averaging_decay=0.9)
    whole = run(records, recipe)
    for number in range(6):
        whole.step(number)
    part = run(records, recipe)
    for number in range(3):
        part.step(number)
    stream, held = io.BytesIO(), part.state()
    part.step(3)  # the state that was taken does not move on with the run
    torch.save(held, stream)
    stream.seek(0)
    again = run(records, recipe)
    again.restore(torch.load(stream, weights_only=True))
    for number in range(3, 6):
        again.step(number)
    assert whole.result.keys() == again.result.keys()
    assert all(torch.equal(value, again.result[name]) for name, value in whole.result.items())


def test_the_running_mean():
    """The result is the mean of the parameters of all steps, with decays of 1/10, 2/11, ... up to the one asked for."""
    records = images(40, (1, 8, 8))
    last, mean = run(records), run(records, replaced(averaging_decay=0.2))
    expected = parameters(last)
    for number in range(5):
        last.step(number)
        mean.step(number)
        decay = min(0.2, (1 + number) / (10 + number))
        expected = decay * expected + (1 - decay) * parameters(last)
    vector = torch.cat([value.flatten() for value in mean.result.values()])
    torch.testing.assert_close(vector, expected)
    assert torch.equal(torch.cat([value.flatten() for value in last.result.values()]), parameters(last))


def test_an_empty_batch_is_a_step_of_noise():
    """Where nobody is drawn the step is taken all the same: leaving it out would tell."""
    recipe = replaced(schedule=SamplingSchedule(1e-9, 1))
    trained = run(images(5, (1, 8, 8)), recipe)
    before = parameters(trained)
    assert trained.step(0) == 0
    moved = ((parameters(trained) - before) * 5e-9).double().numpy()
    assert _deviation_is(moved, 2.0)


def test_settling_is_part_of_a_step():
    """What brings parameters back to where a theorem needs them is called after every step, before the mean."""
    net = network()

    def settle():
        net.first.weight.clamp_(-0.01, 0.01)

    trained = run(images(40, (1, 8, 8)), replaced(averaging_decay=0.5), net=net, settle=settle)
    trained.step(0)
    assert net.first.weight.abs().max() <= 0.01
    assert trained.result["first.weight"].abs().max() < 0.34  # 0.9 of what was settled, 0.1 of the start, below 1/3


def test_one_of_very_many_aligned_records_moves_the_sum_by_the_norm_at_most():
    """Sums of chunks add up exactly enough: 200,000 records of one gradient, one of them made empty."""
    with torch.random.fork_rng():
        torch.manual_seed(3)
        net, record = nn.Linear(3, 2), torch.rand(3)
    everyone, count = replaced(QUIET, schedule=SamplingSchedule(1.0, 1)), 200_000
    sums = []
    for row in (None, count - 1):
        labels = torch.zeros(count, dtype=torch.int64)
        if row is not None:
            labels[row] = EMPTY_LABEL
        records = LabelledImages(record.repeat(count, 1), labels)
        clipped = run(records, everyone, net=net).measure(0).clipped
        sums.append(torch.cat([part.flatten().double() for part in clipped.values()]))
    assert 0.0998 < (sums[0] - sums[1]).norm() <= 0.1
