"""Certified accuracy as the paper counts it, and what is proved in its place. Needs torch."""

import dataclasses

import torch

from deniable.models.images.dataset import LabelledImages
from deniable.models.images.layer_noise import PixelFirstLayer, compute_equivalent_gaussian_scale
from deniable.models.images.model import ImageModel
from deniable.models.images.robustness import RobustnessCertificate, convert_radius
from deniable.models.images.smoothing import GaussianSmoothing, LaplaceSmoothing
from deniable.models.shared.accuracy import measure_certified_accuracy
from deniable.models.shared.tally import tally_images
from deniable.published.dpal.certificate import DPALCertificate
from deniable.studies.adversarial.attacking import attacked, by_attack, shown
from deniable.studies.adversarial.bench import Bench
from deniable.studies.adversarial.plan import ATTACKS, CLEAN, PAPER_UNIT
from deniable.studies.study import Data

ALPHA = 0.05
"""Chance that a published certificate is wrong for one image, as in Lecuyer et al. 2019."""
PROVED_ALPHA = 0.001
"""The same for what is proved, as in Cohen et al. 2019."""
FINE = (0.0, 0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03)
"""Sizes below the paper's at which what is proved is shown besides."""


def certified(bench: Bench, model: ImageModel, name: str, budget: float | None) -> list[Data]:
    """Return certified accuracy under every attack as the paper counts, and what is proved of any attack."""
    count = bench.sizes.certified_images
    some = LabelledImages(bench.tested.pixels[:count], bench.tested.labels[:count])
    at = {"curve": name, "budget": budget}
    points = [
        {**at, "counted": "published", "size": size, **point}
        for size in bench.sizes.attack_sizes
        for point in _published(bench, model, some, size, name)
    ]
    return points + [{**at, "counted": "proved", **point} for point in _proved(bench, model, some, name)]


def _published(bench: Bench, model: ImageModel, images: LabelledImages, size: float, name: str) -> list[Data]:
    """Return the share of attacked images that are right and "robust": certified beyond the size of the attack.

    As the paper counts (section 4): sizes of pixels in [-1, 1], the certificate taken at the attacked image, and an
    l2 size compared with an l_inf attack as if they were the same. DPAL's Delta_r^x = mu d has the attack's mu.
    """
    certificate, unit = model.certificate, PAPER_UNIT
    if certificate is None:
        return []
    if isinstance(certificate, DPALCertificate):
        certificate, unit = dataclasses.replace(certificate, mu=size), 1.0
    hits = []
    for attack in ATTACKS:
        source = bench.source("certified", name, size, attack)
        given = LabelledImages(attacked(bench, model, attack, images, size, source), images.labels)
        found = _certificates(bench, model, given, certificate, bench.sizes.certified_draws, ALPHA, source)
        right = [
            label == int(true) and unit * radius > size
            for (label, radius), true in zip(found, images.labels, strict=True)
        ]
        hits.append(torch.tensor(right))
    return by_attack(hits)


def _proved(bench: Bench, model: ImageModel, images: LabelledImages, name: str) -> list[Data]:
    """Return the share of images that no attack up to each l_inf size can change, at a confidence for each image."""
    certificate = sound(model)
    source = bench.source("proved", name)
    found = _certificates(bench, model, images, certificate, bench.sizes.proved_draws, PROVED_ALPHA, source)
    dimension = images.pixels[0].numel()
    radii = [PAPER_UNIT * convert_radius(radius, certificate.norm, "linf", dimension) for _, radius in found]
    sizes = (*FINE, *bench.sizes.attack_sizes)
    shares = measure_certified_accuracy(images.labels.tolist(), [label for label, _ in found], radii, sizes)
    return [{"attack": CLEAN, "size": size, **shown(estimate)} for size, estimate in zip(sizes, shares, strict=True)]


def sound(model: ImageModel) -> RobustnessCertificate:
    """Return the certificate that a model's first noise proves; whatever follows that noise does not matter."""
    noise = model.noises[0]
    if noise.place == "first layer":
        channels, height, width = model.architecture.shape
        scale = compute_equivalent_gaussian_scale(
            PixelFirstLayer(model.network), (channels, height, width), noise.scale
        )
        return GaussianSmoothing(scale)
    return GaussianSmoothing(float(noise.scale)) if noise.law == "gaussian" else LaplaceSmoothing(float(noise.scale))


def _certificates(
    bench: Bench,
    model: ImageModel,
    images: LabelledImages,
    certificate: RobustnessCertificate,
    draws: int,
    alpha: float,
    source: torch.Generator,
) -> list[tuple[int | None, float]]:
    """Return the certified class and radius of each image."""
    scores = model.scores(source)
    chosen, bounded = (tally_images(scores, images.pixels, count) for count in (bench.sizes.choosing, draws))
    found = (certificate.certify(*pair, alpha) for pair in zip(chosen, bounded, strict=True))
    return [(one.label, one.radius) for one in found]
