"""Training by Adam without privacy: batches of the records, and adversarial images of the next batch."""

import torch

from deniable.core.randomness import derive_key_from_seed
from deniable.models.images.training import plain
from deniable.models.images.training.fitting import fit_image_model
from deniable.models.images.training.trainer import ImageTrainingOptions, ImageTrainingTask
from tests.models.images.random_images import data, images


def test_batches_are_rows_of_the_records():
    """The images and labels of a batch belong together, and the next batch has others."""
    records = images(20, (1, 8, 8), classes=5)
    options = ImageTrainingOptions(batch_size=4)
    task = ImageTrainingTask("plain", records, 5, options, derive_key_from_seed(1), torch.device("cpu"))
    rows = []
    for number in (0, 1):
        pixels, labels = plain.draw_training_batch(task, number)
        rows.append([int((records.pixels == image).flatten(1).all(1).nonzero()) for image in pixels])
        assert torch.equal(labels, records.labels[rows[-1]])
    assert len({*rows[0], *rows[1]}) == 8


def test_a_plain_model_learns():
    """Two classes that differ in brightness are learned, and nothing is claimed of the model."""
    bright = data(40, (1, 16, 16), 2)
    for split in (bright.train, bright.test):
        split.pixels.mul_(0.3).add_(0.6 * split.labels[:, None, None, None])
    options = plain.PLAIN_TRAINER.choose_options(steps=30, batch_size=20, width=0.25, learning_rate=0.01)
    model = fit_image_model(plain.PLAIN_TRAINER, bright, options, seed=1)
    predicted = model.predict(bright.test.pixels, torch.Generator())
    assert (predicted == bright.test.labels).float().mean() > 0.9
    assert (model.guarantee, model.verdict, model.certificate, model.noises) == (None, None, None, ())


def test_adversarial_images_are_made_of_the_next_batch(monkeypatch):
    """I-FGSM attacks the next batch's images at the given size and steps, once in each step."""
    attacked = []
    attack = plain.i_fgsm

    def watch(scores, pixels, labels, size, **options):
        attacked.append((pixels, size, options["steps"]))
        return attack(scores, pixels, labels, size, **options)

    monkeypatch.setattr(plain, "i_fgsm", watch)
    trainer = plain.ADVERSARIAL_TRAINER
    options = trainer.choose_options(steps=2, batch_size=12, width=0.25, attack_size=0.05, attack_steps=3)
    records = data(30, (1, 16, 16), 3)
    fit_image_model(trainer, records, options, seed=1)
    assert [(size, steps) for _, size, steps in attacked] == [(0.05, 3)] * 2
    assert not torch.equal(attacked[0][0], attacked[1][0])
