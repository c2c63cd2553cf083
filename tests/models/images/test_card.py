"""Model cards: complete, true, and as private as they say."""

import dataclasses
import json
import math

import pytest
import torch

from deniable.core.evidence import Verdict
from deniable.core.guarantees import EMPTY_RECORD, REPLACED_RECORD, ApproxDP, PureDP
from deniable.core.intervals import estimate_share
from deniable.models.images.card import PUBLIC_SEED_STATUS, build_image_card
from deniable.models.images.certification import CertifiedAccuracyCurve
from deniable.models.images.dataset import DataDeclaration
from deniable.models.images.model import ImageModel
from deniable.models.images.networks import ImageArchitecture, NetworkNoise
from deniable.models.images.robustness import CertifiedImage
from deniable.models.images.smoothing import GaussianSmoothing
from tests.models.images.random_images import data

IDEAL = "proved for ideal arithmetic"
PROVED = ApproxDP(1.5, 1e-5, "a theorem", IDEAL, adjacency=EMPTY_RECORD)
VERDICT = Verdict(PROVED, IDEAL, 1.5, 0.0, 1.0, 0, None, "by theorem", 0.0)
DATA = data()


def model(guarantee=PROVED, verdict=VERDICT, certificate=None, **facts):
    """Return a model that claims what it is told to claim."""
    about = ImageArchitecture("small", (1, 28, 28), 10, width=0.1)
    held = {"steps": 7, "epsilon, replace one record": 2.5, "options": {"clip": 0.1}, "seed": None, "records": 60}
    noises = (NetworkNoise("input", "gaussian", torch.tensor(0.25)),) if certificate else ()
    return ImageModel("toy", about, about.build(0), noises, guarantee, verdict, certificate, {**held, **facts})


def made(of, curve=None):
    return build_image_card(of, DATA, "c" * 32, estimate_share(15, 20), curve).to_dict()


def page_of(of, curve=None):
    return build_image_card(of, DATA, "c" * 32, estimate_share(15, 20), curve).to_text()


def curve():
    certified = tuple(CertifiedImage(1, 0.4) for _ in range(20))
    return CertifiedAccuracyCurve((0.0, 0.25), (estimate_share(14, 20), estimate_share(9, 20)), certified, 1_000, 0.001)


@pytest.mark.parametrize("verdict", [dataclasses.replace(VERDICT, status="refuted"), None])
def test_what_the_verdict_does_not_bear_out_is_not_protected(verdict):
    """A guarantee that calls itself proved is no proof beside a verdict that refutes it, or none."""
    assert made(model(verdict=verdict))["not protected"][0].startswith("the training images: no guarantee")


def test_a_private_model():
    """Guarantee, adjacency, source, verdict and accounting are there, and options are not mixed into the accounting."""
    about = made(model(classes=["0", "1"]))
    held = about["training records"]
    assert held["guarantee"] == "(1.5, 1e-05)-DP"
    assert (held["adjacency"], held["status"], held["source"]) == (EMPTY_RECORD, IDEAL, "a theorem")
    assert held["verdict"] == VERDICT.to_dict()
    assert about["accounting"] == {"steps": 7, "epsilon, replace one record": 2.5, "records": 60}
    assert about["options"] == {"clip": 0.1}
    assert about["certificate"] is None
    assert not [line for line in about["not protected"] if line.startswith("the training images")]
    assert about["not protected"][0].startswith(
        "what the least significant bits of the weights may show: the noise is drawn"
    )


def test_the_data():
    """The card tells what is public of the data, and of its fingerprint the commitment alone."""
    about = made(model())
    assert about["data"]["commitment"] == "c" * 32
    assert about["data"]["training images"] == 60
    assert about["data"]["test images"] == 20
    assert about["data"]["shape"] == [1, 28, 28]
    assert about["data"]["classes"] == list(DATA.classes)
    assert DATA.fingerprint not in json.dumps(about)


def test_declared_classes():
    """Classes that were found in the training images are named as not protected, and declared ones are not."""
    found, declared = (
        "the classes, which were taken from the training images and not declared",
        DataDeclaration(None, DATA.classes),
    )
    data_of = dataclasses.replace(DATA, declaration=declared)
    cards = [build_image_card(model(), of, "c" * 32, estimate_share(15, 20), None) for of in (DATA, data_of)]
    assert "\n  classes declared  no: taken from the training images\n" in cards[0].to_text()
    assert "\n  classes declared  yes\n" in cards[1].to_text()
    cards = [card.to_dict() for card in cards]
    assert [about["data"]["classes declared"] for about in cards] == [False, True]
    assert [found in about["not protected"] for about in cards] == [True, False]
    names = "the number of training images, their shape and the name of their file, which count as public"
    assert all(names in about["not protected"] for about in cards)


def test_a_public_seed():
    """With a public seed a proof protects nothing, and the card says so in place of the guarantee."""
    about = made(model(seed=3))
    assert about["training records"] == {"guarantee": "none", "status": PUBLIC_SEED_STATUS}
    assert about["not protected"][0].startswith("the training images:")
    assert f"\nTraining records\n  guarantee  none\n  status     {PUBLIC_SEED_STATUS}\n" in page_of(model(seed=3))


@pytest.mark.parametrize("status", ["claimed", "refuted"])
@pytest.mark.parametrize("seed", [None, 3])
def test_claims_without_a_proof(status, seed):
    """A claim that is not proved is shown no higher than its verdict, and the training images are not protected."""
    verdict = dataclasses.replace(VERDICT, status="refuted" if status == "refuted" else "undecided", epsilon=math.inf)
    subject = model(PureDP(2.0, "a paper", status, adjacency=REPLACED_RECORD), verdict, seed=seed)
    about = made(subject)
    assert about["training records"]["status"] == verdict.status
    assert about["training records"]["adjacency"] == "one record replaced by another"
    assert about["not protected"][0].startswith("the training images:")
    assert f"\n  verdict    {verdict.status}; by theorem\n" in page_of(subject)
    assert "inf" in json.dumps(about, allow_nan=False)


def test_no_claim():
    """A model that claims nothing says so."""
    about = made(model(None, None))
    assert about["training records"] == {"guarantee": "none", "status": "no privacy is claimed"}
    assert about["not protected"][0].startswith("the training images:")


def test_the_certificate():
    """The curve of certified accuracy is there with its norm, unit, level and theorem."""
    held = made(model(certificate=GaussianSmoothing(0.25)), curve())["certificate"]
    assert (held["kind"], held["norm"], held["status"]) == ("GaussianSmoothing", "l2", IDEAL)
    assert (held["unit"], held["images"], held["draws"]) == ("pixels in [0, 1]", 20, 1_000)
    assert held["alpha of each image"] == 0.001
    assert [(point["radius"], point["value"]) for point in held["certified accuracy"]] == [(0.0, 0.7), (0.25, 0.45)]


def test_the_text():
    """The page for people gives the figures of the JSON, each on its line."""
    page = page_of(model(certificate=GaussianSmoothing(0.25)), curve())
    assert page.startswith("Model card: toy, an image model, trained by deniable ")
    for line in (
        f"Training records\n  guarantee  (1.5, 1e-05)-DP\n  unit       record\n  adjacency  {EMPTY_RECORD}",
        f"  status     {IDEAL}",
        "  epsilon, replace one record  2.5",
        "  training images   60",
        "  test images       20",
        "clean accuracy  75.0 % (50.8 to 91.4)\n                on the test images",
        "Certificate\n  kind                 GaussianSmoothing",
        f"  status               {IDEAL}\n  source               Cohen et al. 2019, Theorem 1",
        "45.0 % (23.0 to 68.5) beyond 0.25",
    ):
        assert f"{line}\n" in page
