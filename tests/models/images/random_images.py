"""Small labelled images."""

import torch

from deniable.models.images.dataset import ImageDataset, LabelledImages


def images(count, shape=(1, 28, 28), classes=10, seed=0):
    """Return so many images of uniform pixels; each class has one at least, where there are enough."""
    source = torch.Generator().manual_seed(seed)
    return LabelledImages(torch.rand((count, *shape), generator=source), torch.arange(count) % classes)


def data(count=60, shape=(1, 28, 28), classes=10):
    """Return a data set of random images."""
    names = tuple(map(str, range(classes)))
    return ImageDataset(images(count, shape, classes), images(20, shape, classes, 1), names, "toy", "random")
