"""Adam: torch's own steps, batches that deal every record once, and runs that resume."""

import copy

import numpy as np
import torch
from torch import nn

from deniable.core.randomness import derive_key_from_seed
from deniable.learning.adam import AdamRun, select_batch

KEY = derive_key_from_seed(1)


def network():
    """Return a layer with the same weights each time."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return nn.Linear(3, 1)


def run(layer, **options):
    """Return a run towards outputs of 0 for inputs that the step draws."""

    def loss(_, generator):
        return layer(torch.randn(4, 3, generator=generator)).square().mean()

    return AdamRun(layer, loss, 5, 0.1, KEY, **options)


def test_steps_are_those_of_torch():
    """With a constant loss the parameters are those of torch's optimizer."""
    ours, theirs, inputs = network(), network(), torch.ones(2, 3)
    trained = AdamRun(ours, lambda *_: ours(inputs).square().mean(), 3, 0.1, KEY)
    optimizer = torch.optim.Adam(theirs.parameters(), lr=0.1)
    for number in range(3):
        trained.step(number)
        optimizer.zero_grad()
        theirs(inputs).square().mean().backward()
        optimizer.step()
    torch.testing.assert_close(ours.weight, theirs.weight)


def test_a_run_resumes_bit_for_bit():
    """A restored run ends with the parameters of the run in one piece; another key gives others."""
    whole, part = run(network()), run(network())
    for number in range(5):
        whole.step(number)
    for number in range(2):
        part.step(number)
    again = run(network())
    again.restore(copy.deepcopy(part.state()))
    for number in range(2, 5):
        again.step(number)
    assert torch.equal(whole.result["weight"], again.result["weight"])
    assert not torch.equal(whole.result["weight"], part.result["weight"])


def test_gradients_are_clipped_and_parameters_projected():
    """A clipped gradient of Adam's first step is divided by its own size, so that clipping shows in the state only."""
    layer = network()
    trained = run(layer, clip_norm=1e-3, project_parameters=lambda: layer.weight.data.clamp_(-0.01, 0.01))
    trained.step(0)
    moments = trained.state()["optimizer"]["state"].values()
    norm = sum((moment["exp_avg"] / 0.1).square().sum() for moment in moments) ** 0.5
    torch.testing.assert_close(norm, torch.tensor(1e-3), rtol=1e-3, atol=0)
    assert layer.weight.abs().max() <= 0.01


def test_every_epoch_deals_every_record_once():
    """The batches of an epoch are disjoint and of one size; the next epoch and another key have another order."""
    first, second = (
        [select_batch(23, 5, step, KEY).tolist() for step in range(4 * epoch, 4 * epoch + 4)] for epoch in (0, 1)
    )
    for epoch in (first, second):
        assert [len(batch) for batch in epoch] == [5] * 4
        assert len(np.unique(epoch)) == 20
    assert first != second
    assert first[0] == select_batch(23, 5, 0, KEY).tolist() != select_batch(23, 5, 0, derive_key_from_seed(2)).tolist()
    assert sorted(select_batch(3, 5, 7, KEY).tolist()) == [0, 1, 2]
