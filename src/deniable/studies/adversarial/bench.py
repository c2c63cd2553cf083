"""What all systems of a study share: the images, how much of everything, and streams of randomness. Needs torch."""

import dataclasses

import numpy as np
import torch
from torch.nn import functional

from deniable.learning.loop import choose_device
from deniable.models.images.dataset import ImageDataset, LabelledImages
from deniable.models.images.reading import read_images
from deniable.studies.adversarial.plan import Plan, Sizes
from deniable.studies.study import Setting, derived

_SIDE = 28
"""Pixels of a side: the paper's sensitivities count the 14 x 14 neurons of a feature map."""


@dataclasses.dataclass(frozen=True)
class Bench:
    """What all systems share.

    Attributes:
        plan: of the study.
        sizes: how much of everything.
        data: to train on.
        tested: images to attack, on the device that computes.
        seed: public.
    """

    plan: Plan
    sizes: Sizes
    data: ImageDataset
    tested: LabelledImages
    seed: int

    def source(self, *parts: object) -> torch.Generator:
        """Return a generator for one part of the measurements."""
        made = torch.Generator(self.tested.pixels.device)
        made.manual_seed(derived(self.seed, *parts))
        return made


def prepared(plan: Plan, sizes: Sizes, setting: Setting) -> Bench:
    """Read the images, bring them to 28 x 28 pixels, and draw those to attack."""
    data = read_images(setting.file(plan.file))
    train = _framed(_some(data.train, sizes.train, derived(setting.seed, "training images")))
    test = _framed(data.test)
    tested, device = _some(test, sizes.images, derived(setting.seed, "images")), choose_device()
    tested = LabelledImages(tested.pixels.to(device), tested.labels.to(device))
    return Bench(plan, sizes, dataclasses.replace(data, train=train, test=test), tested, setting.seed)


def _some(images: LabelledImages, most: int | None, seed: int) -> LabelledImages:
    """Return some of the images, drawn at random: those of a folder lie there class by class."""
    chosen = torch.from_numpy(np.sort(np.random.default_rng(seed).permutation(len(images))[:most]))
    return LabelledImages(images.pixels[chosen], images.labels[chosen])


def _framed(images: LabelledImages) -> LabelledImages:
    """Return images cropped around their centre, or in a black frame."""
    height, width = images.pixels.shape[2:]
    left, top = (_SIDE - width) // 2, (_SIDE - height) // 2
    frame = (left, _SIDE - width - left, top, _SIDE - height - top)  # below 0 where pixels are cut off
    return LabelledImages(functional.pad(images.pixels, frame), images.labels)
