"""Small labelled images, and models that hardly learned anything from them."""

import functools

import torch

import deniable as dn

NOISY = {"epsilon": 90.0, "delta": 1e-5, "noise_multiplier": 2.0}
CALIBRATED = {"epsilon": 2.0, "delta": 1e-2}
SMALL = (1, 16, 16)


def images(count, shape=(1, 28, 28), classes=10, seed=0):
    """Return so many images of uniform pixels; each class has one at least, where there are enough."""
    source = torch.Generator().manual_seed(seed)
    return dn.images.LabelledImages(torch.rand((count, *shape), generator=source), torch.arange(count) % classes)


def data(count=60, shape=(1, 28, 28), classes=10):
    """Return a data set of random images."""
    names = tuple(map(str, range(classes)))
    halves = images(count, shape, classes), images(20, shape, classes, 1)
    return dn.images.ImageDataset(*halves, names, "toy", "random")


def options(name, **given):
    """Return the options of a very short run of a very small network, with a budget where the trainer needs one."""
    trainer = dn.images.IMAGE_TRAINERS[name]
    small = {"steps": 2, "width": 0.1, "batch_size": 12}
    budget = NOISY if "noise_multiplier" in trainer.option_names else CALIBRATED
    held = {key: value for key, value in budget.items() if key in trainer.option_names}
    return trainer.choose_options(**{**small, **held, **given})


def fit(name, held=None, *, seed=1, keywords=None, **given):
    """Return a model of a trainer after a very short run on 30 images of 16 x 16 pixels."""
    held = held or data(30, SMALL, 3)
    return dn.images.fit_image_model(
        dn.images.IMAGE_TRAINERS[name], held, options(name, **given), seed=seed, **(keywords or {})
    )


@functools.cache
def fitted(name, **given):
    """Return the model of `fit`, made once: not to be changed."""
    return fit(name, **given)
