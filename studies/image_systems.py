"""DPAL, its baselines and what replaces them: trained, attacked and certified as the paper does it. Needs torch."""

import dataclasses
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from deniable.learning.loop import choose_device
from deniable.measure.intervals import Estimate, estimate_clustered_share, estimate_share
from deniable.models.images.attacks import IMAGE_ATTACKS
from deniable.models.images.certificates import (
    DrawnCertificate,
    GaussianSmoothing,
    LaplaceSmoothing,
    Norm,
)
from deniable.models.images.dataset import ImageDataset, LabelledImages
from deniable.models.images.model import ImageModel
from deniable.models.images.pixeldp import PixelFirstLayer, compute_equivalent_gaussian_scale
from deniable.models.images.reading import read_images
from deniable.models.intervals import measure_certified_accuracy
from deniable.models.tally import tally_images
from deniable.published.dpal.certificate import DPALCertificate
from studies.runner import Context

PAPER_UNIT = 2.0
"""The paper's pixels lie in [-1, 1], the package's in [0, 1]: a size there is so many times the size here."""
MEANS: dict[str, tuple[str, ...]] = {
    "mean of four": ("i-fgsm", "fgsm", "mim", "pgd"),
    "mean but FGSM": ("i-fgsm", "mim", "pgd"),
}
"""Means over attacks: each image's share of them, averaged over the images."""
ALPHA = 0.05
"""Chance that a published certificate is wrong for one image, as in Lecuyer et al. 2019."""
PROVED_ALPHA = 0.001
"""The same for what is proved, as in Cohen et al. 2019."""
FINE_SIZES = (0.0, 0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03)
"""Sizes below the paper's at which what is proved is shown besides."""
_INVERSE_ORDERS = {"l1": 1.0, "l2": 0.5, "linf": 0.0}
"""1 / p of an l_p norm."""
_SIDE = 28
"""Pixels of a side: the paper's sensitivities count the 14 x 14 neurons of a feature map."""


@dataclasses.dataclass(frozen=True)
class Images:
    """What all systems share.

    Attributes:
        name: of the data set, part of every seed.
        dataset: to train on.
        tested: images to attack, on the device that computes.
        context: of the run.
    """

    name: str
    dataset: ImageDataset
    tested: LabelledImages
    context: Context

    def make_generator(self, *parts: object) -> torch.Generator:
        """Return the source of randomness of one part of the measurements."""
        generator = torch.Generator(self.tested.pixels.device)
        generator.manual_seed(self.context.derive_seed(self.name, *parts))
        return generator


def load_images(context: Context, name: str, file: str, train: int | None, tested: int) -> Images:
    """Read images, bring them to 28 x 28 pixels, and draw those to train on and those to attack."""
    dataset = _read_dataset(context.find_file(file))
    learned = _resize(_draw(dataset.train, train, context.derive_seed(name, "training images")))
    test = _resize(dataset.test)
    drawn, device = _draw(test, tested, context.derive_seed(name, "images")), choose_device()
    attacked = LabelledImages(drawn.pixels.to(device), drawn.labels.to(device))
    return Images(name, dataclasses.replace(dataset, train=learned, test=test), attacked, context)


def _read_dataset(path: Path) -> ImageDataset:
    """Return the images of a .npz archive, or of a folder that an archive of files is unpacked to for the time."""
    if path.suffix == ".npz":
        return read_images(path)
    with tempfile.TemporaryDirectory() as folder, tarfile.open(path) as archive:
        archive.extractall(folder, filter="data")
        return dataclasses.replace(read_images(folder), name=path.name)


def _draw(images: LabelledImages, count: int | None, seed: int) -> LabelledImages:
    """Return some of the images, drawn at random: those of a folder lie there class by class."""
    chosen = torch.from_numpy(np.sort(np.random.default_rng(seed).permutation(len(images))[:count]))
    return LabelledImages(images.pixels[chosen], images.labels[chosen])


def _resize(images: LabelledImages) -> LabelledImages:
    """Return images cropped around their centre, or in a black frame."""
    height, width = images.pixels.shape[2:]
    left, top = (_SIDE - width) // 2, (_SIDE - height) // 2
    frame = (left, _SIDE - width - left, top, _SIDE - height - top)  # below 0 where pixels are cut off
    return LabelledImages(functional.pad(images.pixels, frame), images.labels)


def silence_noise(model: ImageModel) -> ImageModel:
    """Return a model without the noise of inference; the fixed offsets of its training stay."""
    noises = tuple(dataclasses.replace(noise, scale=torch.zeros(())) for noise in model.noises)
    return dataclasses.replace(model, noises=noises)


def measure_clean(images: Images, model: ImageModel, votes: int, *parts: object) -> Estimate:
    """Return the accuracy without attack."""
    tested = images.tested
    is_right = tested.labels == model.predict(tested.pixels, images.make_generator("clean", *parts), votes)
    return estimate_share(int(is_right.sum()), len(is_right))


def measure_attacks(
    images: Images, model: ImageModel, size: float, votes: int, settings: Mapping[str, Any], *parts: object
) -> dict[str, Estimate]:
    """Return the accuracy under each attack of one size, and its means.

    Args:
        images: to attack.
        model: that is attacked.
        size: mu_a, for pixels in [-1, 1].
        votes: draws of the noise for a prediction.
        settings: of `attack_images`.
        parts: of the seed.
    """
    hits = {}
    for attack in MEANS["mean of four"]:
        generator = images.make_generator("attack", *parts, size, attack)
        attacked = attack_images(model, attack, images.tested, size, generator, **settings)
        hits[attack] = model.predict(attacked, generator, votes) == images.tested.labels
    return estimate_attacks(hits)


def estimate_attacks(hits: Mapping[str, Tensor]) -> dict[str, Estimate]:
    """Return the share of hits (n,) of each attack, and their means; the attacks share their images."""
    columns = {attack: column.cpu().numpy() for attack, column in hits.items()}
    shares = {attack: estimate_share(int(column.sum()), len(column)) for attack, column in columns.items()}
    for name, attacks in MEANS.items():
        table = np.stack([columns[attack] for attack in attacks], axis=1)
        shares[name] = estimate_clustered_share(table.sum(axis=1), np.full(len(table), len(attacks)))
    return shares


def attack_images(
    model: ImageModel,
    attack: str,
    images: LabelledImages,
    size: float,
    generator: torch.Generator,
    *,
    draws: int,
    pgd_steps: int,
) -> Tensor:
    """Return attacked images (n, channels, height, width), led away from their true classes.

    Args:
        model: to attack.
        attack: by name.
        images: (n,) to attack.
        size: mu_a, for pixels in [-1, 1].
        generator: of noise and starts.
        draws: of the model's noise, averaged in each gradient.
        pgd_steps: of the MadryEtAl attack.
    """
    scores, reach = model.scores(generator), size / PAPER_UNIT
    chosen = dataclasses.replace(IMAGE_ATTACKS[attack], draws=draws if model.noises else 1)
    if attack == "pgd":
        chosen = dataclasses.replace(chosen, steps=pgd_steps)
    return chosen(scores, images.pixels, images.labels, reach, generator)


def measure_published_certificate(
    images: Images, model: ImageModel, size: float, draws: tuple[int, int], settings: Mapping[str, Any], name: str
) -> dict[str, Estimate]:
    """Return the share of attacked images that are right and "robust": certified beyond the size of the attack.

    As the paper counts (section 4): sizes of pixels in [-1, 1], the certificate taken at the attacked image, and an l2
    size compared with an l_inf attack as if they were the same. DPAL's Delta_r^x = mu d has the attack's mu.

    Args:
        images: of which the first ones are certified.
        model: that is certified.
        size: of the attacks.
        draws: that choose a class, and that bound its scores.
        settings: of `attack_images`.
        name: of the curve, part of the seed.
    """
    certificate, unit = model.certificate, PAPER_UNIT
    if not isinstance(certificate, DrawnCertificate):
        return {}
    if isinstance(certificate, DPALCertificate):
        certificate, unit = dataclasses.replace(certificate, mu=size), 1.0
    hits = {}
    for attack in MEANS["mean of four"]:
        generator = images.make_generator("certified", name, size, attack)
        attacked = attack_images(model, attack, images.tested, size, generator, **settings)
        certified = _certify(model, attacked, certificate, draws, ALPHA, generator)
        hits[attack] = torch.tensor(
            [
                label == int(true) and unit * radius > size
                for (label, radius), true in zip(certified, images.tested.labels, strict=True)
            ]
        )
    return estimate_attacks(hits)


def measure_proved(
    images: Images, model: ImageModel, sizes: Sequence[float], draws: tuple[int, int], name: str
) -> list[tuple[float, Estimate]]:
    """Return the share of images that no attack up to each l_inf size can change, at a confidence for each image."""
    tested, certificate = images.tested, choose_certificate(model)
    certified = _certify(model, tested.pixels, certificate, draws, PROVED_ALPHA, images.make_generator("proved", name))
    dimension = tested.pixels[0].numel()
    radii = [PAPER_UNIT * convert_radius(radius, certificate.norm, "linf", dimension) for _, radius in certified]
    labels = [label for label, _ in certified]
    places = (*FINE_SIZES, *sizes)
    return list(zip(places, measure_certified_accuracy(tested.labels.tolist(), labels, radii, places), strict=True))


def convert_radius(radius: float, norm_from: Norm, norm_to: Norm, dimension: int) -> float:
    """Return the radius of the largest ball of one norm inside a ball of another.

    With 1/p > 1/q, ||v||_q <= ||v||_p <= d^(1/p - 1/q) ||v||_q. So a certificate in a norm of smaller p is divided,
    for instance l_inf by l1 / d or l2 / sqrt(d), and one of larger p is kept.

    Args:
        radius: >= 0, in ``norm_from``.
        norm_from: of the radius.
        norm_to: of the result.
        dimension: d, numbers of an image.
    """
    return float(radius / dimension ** max(_INVERSE_ORDERS[norm_from] - _INVERSE_ORDERS[norm_to], 0.0))


def choose_certificate(model: ImageModel) -> DrawnCertificate:
    """Return the certificate that a model's first noise proves; whatever follows that noise does not matter."""
    noise = model.noises[0]
    if noise.place == "first layer":
        channels, height, width = model.architecture.shape
        layer = PixelFirstLayer(model.network)
        return GaussianSmoothing(compute_equivalent_gaussian_scale(layer, (channels, height, width), noise.scale))
    return GaussianSmoothing(float(noise.scale)) if noise.law == "gaussian" else LaplaceSmoothing(float(noise.scale))


def _certify(
    model: ImageModel,
    pixels: Tensor,
    certificate: DrawnCertificate,
    draws: tuple[int, int],
    alpha: float,
    generator: torch.Generator,
) -> list[tuple[int | None, float]]:
    """Return the certified class and radius of each image."""
    scores = model.scores(generator)
    chosen, bounded = (tally_images(scores, pixels, count) for count in draws)
    certificates = (certificate.certify(*pair, alpha) for pair in zip(chosen, bounded, strict=True))
    return [(each.label, each.radius) for each in certificates]
