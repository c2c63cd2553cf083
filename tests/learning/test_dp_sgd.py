"""DP-SGD: who is drawn, how much noise there is, what one record can change, and runs that go on where they stopped."""

import dataclasses
import io

import numpy as np
import pytest
import torch
from scipy import stats
from torch import nn

import deniable as dn
from deniable.learning import dp_sgd
from deniable.learning.dp_sgd import DPSGDRun, DPSGDSettings, sum_clipped_gradients, sum_clipped_losses
from tests.models.images.random_images import data, fit, images

KEY, OTHER = bytes(range(32)), bytes(32)
EMPTY_LABEL = -1
PLAN = dn.TrainingPlan("poisson", 40, 10, steps=40, noise_multiplier=2.0, clip=0.1)


def change_plan(**changes):
    """Return the recipe with another plan."""
    return dataclasses.replace(RECIPE, plan=dataclasses.replace(PLAN, **changes))


RECIPE = DPSGDSettings(PLAN, learning_rate=1.0)
QUIET = change_plan(noise_multiplier=1e-300)
EVERYONE = change_plan(noise_multiplier=1e-300, batch_size=40, steps=1)
RECORDS = images(40, (1, 8, 8))


def network():
    """Return a network of 4,000 parameters for images of 8 x 8 pixels."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return nn.Sequential(nn.Conv2d(1, 4, 3, stride=2), nn.Tanh(), nn.Flatten(), nn.Linear(36, 100))


def run(records=RECORDS, recipe=RECIPE, key=KEY, net=None, forward=None, settle=lambda: None):
    """Return a run on some records, each its own only view."""
    net = net or network()
    forward = forward or (lambda given, _: net(given))
    made = DPSGDRun(
        net, records.pixels, records.labels, recipe, key, forward, lambda inputs, *_: inputs[:, None], settle
    )
    made.net = net
    return made


def flat(held):
    """Return parameters or sums by name, copied, as one vector."""
    return torch.cat([part.detach().flatten() for part in held.values()]).clone()


def parameters(trained):
    """Return the present parameters, copied, as one vector."""
    return flat(dict(trained.net.named_parameters()))


def change(trained, number=0):
    """Return what one step adds to the parameters."""
    before = parameters(trained)
    trained.step(number)
    return parameters(trained) - before


@pytest.mark.parametrize("steps", [1_500, pytest.param(4_000, marks=pytest.mark.deep)])
def test_batches_are_drawn_record_by_record(monkeypatch, steps):
    """Batch sizes have the binomial law, and records are in a batch independently of each other, all equally often."""
    batches, trained = [], run()
    monkeypatch.setattr(trained, "_sum_gradients", lambda drawn, _: (batches.append(drawn.numpy()), ({}, 0.0))[1])
    for number in range(steps):
        trained.step(number)
    members = np.zeros((steps, 40))
    for row, chosen in zip(members, batches, strict=True):
        assert len({*chosen}) == len(chosen)
        row[chosen] = 1
    edges = np.array([-1, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 40])
    seen, expected = np.histogram(members.sum(1), edges + 0.5)[0], steps * np.diff(stats.binom(40, 0.25).cdf(edges))
    assert stats.chisquare(seen, expected).pvalue > 1e-6
    # A batch of a fixed size has the same mean, and another law; so has a rate 30 % off.
    assert stats.chisquare([steps if low == 9 else 0 for low in edges[:-1]], expected).pvalue < 1e-6
    assert stats.chisquare(seen, steps * np.diff(stats.binom(40, 0.7 * 0.25).cdf(edges))).pvalue < 1e-6
    assert np.abs(members.mean(0) - 0.25).max() < 5.5 * np.sqrt(0.25 * 0.75 / steps)
    off_diagonal = np.corrcoef(members.T)[~np.eye(40, dtype=bool)]
    assert np.abs(off_diagonal).max() < 5.5 / np.sqrt(steps)


def deviation_is(found, expected):
    """Say whether zero-mean normal numbers have a standard deviation: two-sided at 1e-6."""
    low, high = stats.chi2(len(found)).ppf([5e-7, 1 - 5e-7])
    return low < np.square(found / expected).sum() < high


@pytest.mark.parametrize(("multiplier", "clip", "rate", "learning_rate"), [(2, 0.1, 0.25, 1), (0.7, 3, 0.5, 4)])
def test_noise_has_its_deviation(multiplier, clip, rate, learning_rate):
    """A step without signal moves every parameter by normal noise of rate * multiplier / expected batch size.

    In the recipe's unit, a step is divided by the clipping norm. Weights and biases alike, fresh at each step.
    """
    trained = run(recipe=DPSGDSettings(dn.TrainingPlan("poisson", 40, 40 * rate, 10, multiplier, clip), learning_rate))
    trained._sum_gradients = lambda *_: ({}, 0.0)
    expected = learning_rate * multiplier / (rate * 40)
    first, second = (change(trained, number).double().numpy() for number in (0, 1))
    for found in (first, second):
        assert deviation_is(found, expected)
        assert not deviation_is(found, 0.7 * expected)
        assert not deviation_is(found, 1.3 * expected)
        assert stats.kstest(found / expected, "norm").pvalue > 1e-6
    assert abs(np.corrcoef(first, second)[0, 1]) < 5.5 / np.sqrt(len(first))


def test_noise_does_not_depend_on_the_records():
    """With the same key the noise is the same whatever is learnt from: the difference is the clipped sums'."""
    both = (RECORDS, images(40, (1, 8, 8), seed=1))
    noise = [change(run(some)) - change(run(some, QUIET)) for some in both]
    torch.testing.assert_close(noise[0], noise[1], atol=1e-6, rtol=0)
    assert noise[0].std() > 0.1


def test_the_step_is_divided_by_a_public_number(monkeypatch):
    """A step without noise is the clipped sum over the expected size of a batch, not the drawn one, in any chunks."""
    drawn = run(recipe=QUIET).measure(0).batch_rows
    assert len(drawn) not in {0, 10}
    fresh = network()
    sums, _ = sum_clipped_gradients(fresh, fresh, RECORDS.pixels[drawn][:, None], RECORDS.labels[drawn], 0.1)
    whole = flat({name: sums[name] for name, _ in fresh.named_parameters()})
    for _ in range(2):
        found = change(run(recipe=QUIET))
        torch.testing.assert_close(found, (-whole / 0.1 / 10).float(), atol=1e-6, rtol=1e-4)
        monkeypatch.setattr(dp_sgd, "_CHUNK_VIEWS", 3)


PRIVATE = [name for name, system in dn.images.IMAGE_TRAINERS.items() if "noise_multiplier" in system.option_names]


@pytest.mark.parametrize(
    ("name", "row"),
    [
        (name, 7) if name in {"dp-sgd", "dp-cert", "dp-ibp"} else pytest.param(name, 7, marks=pytest.mark.deep)
        for name in PRIVATE
    ]
    + [pytest.param(name, row, marks=pytest.mark.deep) for name in PRIVATE for row in (0, 29)],
)
def test_neighbours_differ_in_one_clipped_term(name, row, monkeypatch):
    """Making one record empty moves the clipped sum by at most C, and nothing else of the release changes.

    These are the neighbours that the guarantee names: coins, noise, divisor, budget and facts are the same, so that the
    noise on a sum of this sensitivity is all that the proof needs.
    """
    records, sums = data(30, (1, 18, 18)), []
    other = data(30, (1, 18, 18))
    other.train.labels[row] = EMPTY_LABEL

    def watch(summed):
        def watched(*given):
            sums.append(summed(*given))
            return sums[-1]

        return watched

    for summed in (sum_clipped_gradients, sum_clipped_losses):
        monkeypatch.setattr(dp_sgd, summed.__name__, watch(summed))
    given = {"steps": 1, "batch_size": 30, "width": 0.25, "clip": 0.5, "average": 0.0}
    one, two = (fit(name, some, seed=3, **given) for some in (records, other))
    first, second = (found[0] for found in sums)
    moved = flat({part: first[part] - second[part] for part in first}).norm()
    assert 0.1 < moved <= 0.5
    for fact in ("guarantee", "verdict", "facts", "architecture"):
        assert getattr(one, fact) == getattr(two, fact)
    assert "one record made empty" in one.guarantee.adjacency
    step = one.facts["options"]["learning_rate"] / (0.5 * one.facts["sampling rate"] * one.facts["records"])
    if not name.startswith("securesgd"):  # which scales the first layer after the step, by what the step released
        weights = dict(two.network.named_parameters())
        for part, held in one.network.named_parameters():
            expected = (second[part] - first[part]).float()
            torch.testing.assert_close((held - weights[part]) / step, expected, atol=2e-4, rtol=1e-3)


def test_a_removed_record_is_no_neighbour():
    """Removing a record changes sampling rate and divisor, which stand on the card: nothing is claimed of that."""
    models = [fit("dp-sgd", data(count, (1, 18, 18)), batch_size=6, steps=1) for count in (30, 29)]
    assert models[0].facts["sampling rate"] != models[1].facts["sampling rate"]
    assert all("add" not in model.guarantee.source for model in models)


@pytest.mark.parametrize("scale", [1, 1e4])
def test_one_record_changes_a_step_by_its_norm_at_most(scale):
    """Without noise, another record in one's place moves the sum by at most two norms, and none by at most one."""
    records, make = images(6, (1, 8, 8)), dn.images.LabelledImages
    other = make(records.pixels.clone(), records.labels.clone())
    other.pixels[3] = scale * (1 - other.pixels[3])
    other.labels[3] = 9
    fewer = make(records.pixels[:5], records.labels[:5])
    sums = [-change(run(some, EVERYONE)) * 0.1 * len(some) for some in (records, other, fewer)]
    assert 0 < (sums[0] - sums[1]).norm() <= 0.2 + 1e-5
    assert 0 < (sums[0] - sums[2]).norm() <= 0.1 + 1e-5


def test_a_step_depends_on_the_key_and_its_number_only():
    """The same step twice is the same, and another number or key another, whatever was drawn before."""
    torch.manual_seed(1)
    first = change(run(), 3)
    torch.randn(5)
    np.random.seed(3)  # noqa: NPY002 - the state that must not matter
    assert torch.equal(change(run(), 3), first)
    assert not torch.equal(change(run(), 4), first)
    assert not torch.equal(change(run(key=OTHER), 3), first)


def test_randomness_of_the_forward_pass_follows_the_key():
    """What views and the network draw comes from a generator of the step, so that a step can be taken again."""
    net = network()
    start = {name: held.clone() for name, held in net.state_dict().items()}
    found = []
    for number in (3, 3, 4):
        net.load_state_dict(start)
        noisy = run(recipe=QUIET, net=net, forward=lambda x, source: net(x + torch.randn(x.shape, generator=source)))
        found.append(change(noisy, number))
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])


def test_going_on_is_the_same_run():
    """A run that is resumed from its state, through a file, gives the same parameters bit for bit."""
    recipe = dataclasses.replace(RECIPE, averaging_decay=0.9)
    whole, part, again = (run(recipe=recipe) for _ in range(3))
    for number in range(6):
        whole.step(number)
    for number in range(3):
        part.step(number)
    stream, held = io.BytesIO(), part.state()
    part.step(3)  # the state that was taken does not move on with the run
    torch.save(held, stream)
    stream.seek(0)
    again.restore(torch.load(stream, weights_only=True))
    for number in range(3, 6):
        again.step(number)
    assert torch.equal(flat(whole.result), flat(again.result))


def test_the_running_mean():
    """The result is the mean of the parameters of all steps, with decays of 1/10, 2/11, ... up to the one asked for."""
    last, mean = run(), run(recipe=dataclasses.replace(RECIPE, averaging_decay=0.2))
    expected = parameters(last)
    for number in range(5):
        last.step(number)
        mean.step(number)
        decay = min(0.2, (1 + number) / (10 + number))
        expected = decay * expected + (1 - decay) * parameters(last)
    torch.testing.assert_close(flat(mean.result), expected)
    assert torch.equal(flat(last.result), parameters(last))


def test_an_empty_batch_is_a_step_of_noise():
    """Where nobody is drawn the step is taken all the same: leaving it out would tell."""
    trained = run(images(5, (1, 8, 8)), change_plan(batch_size=4e-8, steps=1))
    before = parameters(trained)
    assert trained.step(0) == 0
    assert deviation_is(((parameters(trained) - before) * 5e-9).double().numpy(), 2.0)


def test_settling_is_part_of_a_step():
    """What brings parameters back to where a theorem needs them is called after every step, before the mean."""
    net = network()
    recipe = dataclasses.replace(RECIPE, averaging_decay=0.5)
    trained = run(recipe=recipe, net=net, settle=lambda: net[0].weight.clamp_(-0.01, 0.01))
    trained.step(0)
    assert net[0].weight.abs().max() <= 0.01
    assert trained.result["0.weight"].abs().max() < 0.34  # 0.9 of what was settled, 0.1 of the start, below 1/3


@pytest.mark.parametrize("count", [20_000, pytest.param(200_000, marks=pytest.mark.deep)])
def test_one_of_very_many_aligned_records_moves_the_sum_by_the_norm_at_most(count):
    """Sums of chunks add up exactly enough: very many records of one gradient, one of them made empty."""
    with torch.random.fork_rng():
        torch.manual_seed(3)
        net, record = nn.Linear(3, 2), torch.rand(3)
    sums = []
    for label in (0, EMPTY_LABEL):
        labels = torch.zeros(count, dtype=torch.int64)
        labels[-1] = label
        records = dn.images.LabelledImages(record.repeat(count, 1), labels)
        sums.append(flat(run(records, EVERYONE, net=net).measure(0).clipped).double())
    assert 0.0998 < (sums[0] - sums[1]).norm() <= 0.1
