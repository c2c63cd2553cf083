"""The steps of Opacus, seen by the hook that its optimizer calls."""

import warnings

import numpy as np
import pytest
import torch

import deniable as dn
from tests.refusals import refuses

opacus = pytest.importorskip("opacus")


@pytest.fixture
def training():
    """Return a private model, optimizer and loader of 40 records, and the engine."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(0)
        data = torch.utils.data.TensorDataset(torch.arange(40), torch.randn(40, 3), torch.randint(2, (40,)))
        model, engine = torch.nn.Linear(3, 2), opacus.PrivacyEngine()
        made = engine.make_private(
            module=model,
            optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
            data_loader=torch.utils.data.DataLoader(data, batch_size=10, shuffle=True),
            noise_multiplier=1.5,
            max_grad_norm=0.7,
        )
        yield *made, engine


def take_step(training, watch):
    """Take one step, and return what is seen of it with the sum of clipped gradients by hand."""
    model, optimizer, loader, _ = training
    numbers, x, y = next(batch for batch in loader if len(batch[0]))
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(x), y).backward()
    samples = torch.hstack([parameter.grad_sample.flatten(1) for parameter in model.parameters()])
    norms = samples.norm(dim=1, keepdim=True)
    by_hand = (samples * (0.7 / (norms + 1e-6)).clamp(max=1)).sum(dim=0)
    optimizer.step()
    return watch.take_step(numbers), by_hand.numpy(), numbers.numpy()


def test_a_step_of_opacus(training):
    """Its clipped sum, its noise, its batch and what is released; the accountant still counts."""
    watch = dn.OpacusWatch(training[1])
    for count in (1, 2):
        step, by_hand, numbers = take_step(training, watch)
        np.testing.assert_allclose(step.clipped_sum, by_hand, rtol=1e-5)
        np.testing.assert_array_equal(step.batch, numbers)
        assert step.noise == pytest.approx(1.5 * 0.7)
        noise = 10 * step.released - step.clipped_sum  # 10 is the expected size of a batch
        assert 0.2 < noise.std() / step.noise < 2.5
        assert sum(steps for _, _, steps in training[3].accountant.history) == count
    with refuses("No step"):
        watch.take_step()


def test_the_plan_is_that_of_the_accountant(training):
    """Poisson sampling at the reciprocal of the number of batches."""
    plan = dn.OpacusWatch(training[1]).state_plan(40, 4, epochs=3)
    assert plan == dn.TrainingPlan("poisson", 40, 10.0, 12, 1.5, 0.7)


def test_another_optimizer_is_refused():
    """One line says what to call first."""
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.1)
    with refuses("SGD"):
        dn.OpacusWatch(optimizer)


def test_a_full_batch_of_one_class_is_not_refuted_by_rounding():
    """Opacus adds 2,000 aligned gradients up in float32, where one moves the sum a little too far: undecided."""

    def train(records, run_seed):
        torch.manual_seed(run_seed)
        data = torch.utils.data.TensorDataset(torch.arange(len(records)), torch.tensor(records).float())
        model = torch.nn.Linear(3, 2)
        private_model, optimizer, loader = opacus.PrivacyEngine().make_private(
            module=model,
            optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
            data_loader=torch.utils.data.DataLoader(data, batch_size=len(records)),
            noise_multiplier=2.0,
            max_grad_norm=0.1,
            poisson_sampling=False,
        )
        watch = dn.OpacusWatch(optimizer)
        yield dn.TrainingPlan("all", len(records), len(records), 1, 2.0, 0.1)
        for numbers, x in loader:
            optimizer.zero_grad()
            classes = torch.zeros(len(x), dtype=torch.int64)
            torch.nn.functional.cross_entropy(private_model(x), classes).backward()
            optimizer.step()
            yield watch.take_step(numbers)

    record = np.random.default_rng(0).random(3).tolist()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        facts = dn.collect_training_facts(train, [record] * 1_999, record, claim=2.0, delta=1e-5, seed=0)
    assert facts.movement is None or facts.verdicts["the sum of a step"].status == "undecided"
    assert not facts.is_refuted
