"""Small labelled images for the trainers of the registry."""

import torch

import deniable as dn

TINY = {"steps": 2, "batch_size": 12, "width": 0.1}


def make_images(count, seed):
    """Return so many images of uniform pixels, of three classes in turn."""
    source = torch.Generator().manual_seed(seed)
    return dn.images.LabelledImages(torch.rand((count, 1, 16, 16), generator=source), torch.arange(count) % 3)


def make_data():
    """Return a data set of random images."""
    return dn.images.ImageDataset(make_images(24, 0), make_images(8, 1), ("0", "1", "2"), "toy", "random")


def train(name, *, seed=0, progress=None, **options):
    """Return a model of a system, trained for a moment."""
    system = dn.images.IMAGE_TRAINERS[name]
    chosen = system.choose_options(**{**TINY, **options})
    told = {} if progress is None else {"progress": progress}
    return dn.images.fit_image_model(system, make_data(), chosen, seed=seed, **told)
