"""Training by the front door: options and budgets that are kept, runs that go on, and views that keep records apart."""

import dataclasses
import math
import pickle

import numpy as np
import pytest
import torch

import deniable as dn
from deniable.core.randomness import SecretBytes
from deniable.models.images import training
from deniable.models.images.private_training import shift_images
from deniable.models.images.training import Checkpoint, ImageTrainingTask
from tests.models.images.random_images import SMALL, data, fit, fitted, images, options
from tests.refusals import refuses

TRAINERS = dn.images.IMAGE_TRAINERS
KEY = bytes(range(7, 39))
deep = pytest.mark.deep


@pytest.fixture
def source():
    return torch.Generator().manual_seed(0)


def same_image_models(one, other):
    """Say whether everything of two models that depends on chance is the same, bit for bit."""
    both = [
        [
            *model.network.state_dict().values(),
            *(part for noise in model.noises for part in (noise.scale, noise.offset)),
        ]
        for model in (one, other)
    ]
    return all(first is second or torch.equal(first, second) for first, second in zip(*both, strict=True))


PLAIN = {"dp-sgd", "plain"}
EVERY = [name if name in PLAIN else pytest.param(name, marks=deep) for name in TRAINERS]


@pytest.mark.parametrize("name", EVERY)
def test_image_models_go_on(tmp_path, name):
    """A run of any trainer that is interrupted and resumed gives what it gives in one piece, noise of its model too.

    Looking at the accuracy on the way moves nothing.
    """
    held, kept, given = data(30, SMALL, 3), Checkpoint(tmp_path / "c", interval=1), {"steps": 3}
    done, shares = [], []

    def stop(status):
        shares.append(status.accuracy(held.test.pixels, held.test.labels))
        if status.done == 2:
            raise KeyboardInterrupt

    whole = fit(name, held, seed=5, **given)
    with pytest.raises(KeyboardInterrupt):
        fit(name, held, seed=5, keywords={"checkpoint": kept, "progress": stop}, **given)
    note = {"checkpoint": kept, "progress": lambda status: done.append(status.done)}
    model = fit(name, held, seed=5, keywords=note, **given)
    assert done[0] > 1
    assert same_image_models(model, whole)
    assert (model.guarantee, model.certificate, model.facts) == (whole.guarantee, whole.certificate, whole.facts)
    assert all(0 <= share <= 1 for share in shares)


def test_one_key_never_serves_two_runs(tmp_path):
    """Without a seed a run goes on with the key of its checkpoint, which no other data, options or trainer may use.

    Two models of different data under one key would share their noise, and their difference would be free of it.
    """
    held, fitted = data(30, SMALL, 3), []
    for name in ("first", "second"):
        keywords = {"checkpoint": Checkpoint(tmp_path / name, interval=1)}
        fitted.append(fit("dp-sgd", held, seed=None, keywords=keywords))
        assert len(keywords["checkpoint"].load_key(b"fresh")) == 32
        assert same_image_models(fitted[-1], fit("dp-sgd", held, seed=None, keywords=keywords))
    assert not same_image_models(*fitted)
    other = data(30, SMALL, 3)
    other.train.pixels[0] = 0.5
    for name, some, seed, given in (
        ("dp-sgd", other, None, {}),
        ("dp-sgd", held, None, {"clip": 0.2}),
        ("dp-sgd", held, 1, {}),
        ("dp-cert", held, None, {}),
    ):
        with refuses("second"):
            fit(name, some, seed=seed, keywords=keywords, **given)


def test_a_task_keeps_its_key(tmp_path, monkeypatch):
    """The key of a run is in no repr of its task and in no pickle, and neither in the model."""
    task = ImageTrainingTask("dp-sgd", images(4, SMALL), 10, options("dp-sgd"), SecretBytes(KEY), torch.device("cpu"))
    shown = f"{task!r} {task}"
    assert not any(form in shown for form in (repr(KEY), repr(KEY)[2:-1], KEY.hex()))
    with refuses("cannot be pickled"):
        pickle.dumps(task)
    monkeypatch.setattr(training, "generate_key", lambda: KEY)
    dn.images.save_model(fit("dp-sgd", seed=None), tmp_path / "m.pt")
    content = (tmp_path / "m.pt").read_bytes()
    assert KEY not in content
    assert KEY.hex().encode() not in content


@pytest.mark.parametrize(
    ("name", "given", "least"),
    [
        ("dp-sgd", {"noise_multiplier": 3.0}, 0.0),
        ("dpal", {"epsilon": 2.0}, 1.99),
        pytest.param("dp-sgd", {"epsilon": 2.0, "delta": 1e-2, "noise_multiplier": None}, 1.99, marks=deep),
    ],
)
def test_what_is_spent(name, given, least):
    """Epsilon grows from step to step, and ends at what the model guarantees, next to all of a budget to be used up."""
    spent = []
    note = {"progress": lambda status: spent.append(status.compute_epsilon_spent())}
    model = fit(name, steps=3, keywords=note, **given)
    assert spent == sorted(spent)
    assert least < spent[-1] == model.guarantee.epsilon <= options(name, **given).epsilon


def test_a_budget_stops_training_early():
    """With noise that is given, training takes all steps that the budget allows, and not one more."""
    done = []
    given = {"epsilon": 0.4, "delta": 1e-2, "noise_multiplier": 3.0}
    short = fit("dp-sgd", steps=8, keywords={"progress": lambda status: done.append(status.done)}, **given)
    assert done == [*range(1, short.facts["steps"] + 1)]
    assert 1 < len(done) < 8
    more = fit("dp-sgd", steps=len(done) + 1, **{**given, "epsilon": 90.0})
    assert short.guarantee.epsilon <= 0.4 < more.guarantee.epsilon


def test_facts():
    """A model remembers its options, its seed, and the number and classes of its records; plain ones claim nothing."""
    seen = []
    note = {"progress": lambda status: seen.append(status.compute_epsilon_spent)}
    trainer = dataclasses.replace(TRAINERS["plain"], name="mine")  # one's own needs no registry
    model = dn.images.fit_image_model(trainer, data(30, SMALL, 3), options("plain"), seed=1, **note)
    assert seen == [None] * 2
    assert (model.guarantee, model.verdict, model.certificate, model.noises) == (None, None, None, ())
    assert model.facts == {
        "steps": 2,
        "options": dataclasses.asdict(options("plain")),
        "seed": 1,
        "records": 30,
        "classes": ["0", "1", "2"],
        "classes declared": False,
        "pixel range": None,
    }
    assert model.trainer == "mine"
    assert not model.network.training
    assert same_image_models(model, fitted("plain"))


def test_a_plain_model_learns():
    """Two classes that differ in brightness are learned."""
    bright = data(40, SMALL, 2)
    for split in (bright.train, bright.test):
        split.pixels.mul_(0.3).add_(0.6 * split.labels[:, None, None, None])
    model = fit("plain", bright, steps=30, batch_size=20, width=0.25, learning_rate=0.01)
    assert dn.images.measure_image_accuracy(model, bright.test).value > 0.9


CHOICES = [
    *(("dp-cert", {"epsilon": value}, "'epsilon'") for value in (0, math.nan)),
    *(("dp-cert", {"delta": value}, "'delta'") for value in (1.0, 0)),
    *(("dp-cert", {"steps": value}, "'steps'") for value in (0, 1.5)),
    *(("dp-cert", {"clip": value}, "'clip'") for value in (0, math.nan)),
    *(("dp-cert", {"average": value}, "'average'") for value in (1.0, -0.1)),
    *(("dp-cert", {name: 0}, f"'{name}'") for name in ("width", "noise_multiplier", "noise", "views")),
    ("dp-cert", {"batch_size": -1}, "'batch_size'"),
    ("dp-cert", {"learning_rate": math.inf}, "'learning_rate'"),
    ("plain", {"epsilon": 1}, "'epsilon'"),
    ("plain", {"noise": 1}, "'noise'"),
    ("adversarial", {"delta": 1}, "'delta'"),
    ("securesgd", {"views": 1}, "'views'"),
    ("dp-sgd", {"attack_steps": 1}, "'attack_steps'"),
    ("dpal", {"delta": 1}, "'delta'"),
    ("adlm", {"noise_multiplier": 1}, "'noise_multiplier'"),
    *((name, {"epsilon": None}, "--epsilon") for name in TRAINERS if "epsilon" in TRAINERS[name].option_names),
    *((name, {"delta": None}, "--delta") for name in TRAINERS if "delta" in TRAINERS[name].option_names),
]


@pytest.mark.parametrize(("name", "given", "value"), CHOICES)
def test_options_that_cannot_be_used(name, given, value):
    """A value outside its domain, an option that a trainer does not use, and a missing budget are refused by name."""
    with refuses(value):
        options(name, **given)


@pytest.mark.parametrize(
    ("name", "given", "value"),
    [
        ("dpal", {"batch_size": 5}, "batches of 5"),
        ("dpal", {"epsilon": 0.1}, "0.1"),
        ("adlm", {"batch_size": 1}, "batches of 1"),
    ],
)
def test_what_a_system_needs(name, given, value):
    """What a system cannot be made with is refused with the value."""
    with refuses(value):
        fit(name, **given)


def test_every_epoch_deals_every_record_once():
    """The images and labels of a batch belong together; an epoch has each once, and the next in another order."""
    records = images(20, (1, 8, 8), classes=5)
    task = ImageTrainingTask("plain", records, 5, options("plain", batch_size=4), KEY, torch.device("cpu"))
    rows = []
    for number in range(10):
        pixels, labels = task.draw_batch(number)
        rows.append([int((records.pixels == image).flatten(1).all(1).nonzero()) for image in pixels])
        assert torch.equal(labels, records.labels[rows[-1]])
    first, second = (np.concatenate(rows[start : start + 5]).tolist() for start in (0, 5))
    assert sorted(first) == sorted(second) == [*range(20)]
    assert first != second


def test_steps_are_those_of_adam():
    """With all records in every batch a plain model gets the parameters of torch's own optimizer."""
    held = data(30, SMALL, 3)
    model = fit("plain", held, steps=3, batch_size=30, learning_rate=0.01)
    theirs = model.architecture.build(0)
    optimizer = torch.optim.Adam(theirs.parameters(), lr=0.01)
    for _ in range(3):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(theirs(held.train.pixels), held.train.labels).backward()
        optimizer.step()
    for name, weights in theirs.state_dict().items():
        torch.testing.assert_close(model.network.state_dict()[name], weights, rtol=1e-3, atol=1e-4)


def test_adversarial_images_are_made_of_the_next_batch(monkeypatch):
    """I-FGSM attacks the next batch's images at the given size and steps, once in each step."""
    attacked, attack = [], dn.images.SignAttack.__call__

    def watch(self, scores, pixels, labels, size):
        attacked.append((pixels, size, self.steps))
        return attack(self, scores, pixels, labels, size)

    monkeypatch.setattr(dn.images.SignAttack, "__call__", watch)
    fit("adversarial", attack_size=0.05, attack_steps=3)
    assert [(size, steps) for _, size, steps in attacked] == [(0.05, 3)] * 2
    assert not torch.equal(attacked[0][0], attacked[1][0])


def test_views_are_all_nine_shifts(source):
    """The first view is the image; others move it a pixel at most each way, black where nothing was, each as often."""
    image = torch.arange(1.0, 13.0).view(1, 1, 3, 4)
    wide = torch.nn.functional.pad(image, (1, 1, 1, 1))
    expected = [wide[0, :, down : down + 3, right : right + 4] for down in range(3) for right in range(3)]
    views = shift_images(image.expand(900, -1, -1, -1), 2, source)
    assert (views[:, 0] == image).all()
    counts = [int((views[:, 1] == wanted).flatten(1).all(1).sum()) for wanted in expected]
    assert sum(counts) == 900
    # Binomial(900, 1/9) lies within 50 of 100 but once in 10^7.
    assert all(50 < count < 150 for count in counts)


def test_views_are_made_of_their_image_alone(source):
    """Changing one image changes no view of another, which the accounting rests on."""
    given = torch.rand(4, 1, 5, 5, generator=source)
    other = given.clone()
    other[2] = 0.5
    first, second = (shift_images(some, 3, torch.Generator().manual_seed(1)) for some in (given, other))
    kept = [0, 1, 3]
    assert torch.equal(first[kept], second[kept])
    assert not torch.equal(first[2], second[2])


def test_noise_has_its_deviation(source):
    """Noise of DP-CERT is fresh in every view, with the deviation asked for, within 1 %."""
    records = images(50, (1, 40, 40))
    task = ImageTrainingTask("dp-cert", records, 10, options("dp-cert", views=2), KEY, torch.device("cpu"))
    views = TRAINERS["dp-cert"].prepare(task).run.views
    drawn = views(torch.zeros_like(records.pixels), records.labels, source)
    assert abs(float(drawn.std()) / 0.25 - 1) < 0.01
    assert not torch.equal(drawn[:, 0], drawn[:, 1])


def test_adversarial_views_are_made_of_their_example_alone(monkeypatch):
    """Replacing one record changes no other record's views, which the accounting of DP-SGD rests on."""
    attack, found = dn.images.SignAttack.__call__, []

    def watched(*given, **options):
        found.append(attack(*given, **options))
        return found[-1]

    monkeypatch.setattr(dn.images.SignAttack, "__call__", watched)
    first, second = (data(30, SMALL, 3) for _ in range(2))
    second.train.pixels[7] = 0.5
    for given in (first, second):
        fit("dp-adversarial", given, steps=1, batch_size=30, views=2, attack_steps=2, attack_size=0.2)
    kept = [index for index in range(30) if index != 7]
    assert torch.equal(found[0][kept], found[1][kept])
    assert float((found[0] - first.train.pixels).abs().max()) > 0.1


def operator_norm(network):
    """Return the norm of the first layer, as a matrix, on its own input."""
    columns = network.first(torch.eye(256).view(256, *SMALL)) - network.first(torch.zeros(1, *SMALL))
    return float(np.linalg.svd(columns.detach().flatten(1).double().numpy())[1][0])


@pytest.mark.parametrize("name", ["pixeldp", pytest.param("securesgd-agm", marks=deep)])
def test_models_are_certified_by_even_noise(name):
    """The noise is that of the formula for the attack size; the certificate knows the norm of the layer, at most 1."""
    model = fitted(name, width=0.25, attack_size=0.2)
    (noise,) = model.noises
    classical = math.sqrt(2 * math.log(1.25 / 0.05))
    sigma = 2 * 0.2 * (classical if name == "pixeldp" else float(model.certificate.sigma) / 0.4)
    assert (noise.place, noise.law, float(noise.scale)) == ("first layer", "gaussian", pytest.approx(sigma))
    assert model.certificate.sigma == pytest.approx(sigma)
    assert sigma / 0.4 < classical + 1e-6
    assert model.certificate.sensitivity == pytest.approx(2 * operator_norm(model.network), rel=1e-5)
    assert 1.6 < model.certificate.sensitivity < 2.4
    assert math.isfinite(model.certificate.radius(0.9, 0.05))
