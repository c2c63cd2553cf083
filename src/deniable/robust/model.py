"""A trained model: its network, its noise, and what is claimed of it and proved."""

import dataclasses
import io
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from deniable.guarantees import ApproxDP, PureDP
from deniable.learning.stored import damage_told, read_model
from deniable.measure.estimate import Estimate, share
from deniable.robust.certificates import Certificate, Decides, certificate_from, certificate_to
from deniable.robust.images.dataset import Images
from deniable.robust.images.declared import Declared
from deniable.robust.networks import Architecture, Network
from deniable.robust.noise import Noise, noisy
from deniable.robust.types import Scores
from deniable.text.tables.files import writing
from deniable.verdict import Verdict, Witness

FORMAT = "deniable-model/1"
_BATCH = 1_000


@dataclasses.dataclass(frozen=True)
class Model:
    """A classifier of images.

    Attributes:
        system: how it was trained, one of `deniable.robust.systems.SYSTEMS`.
        architecture: of the network.
        network: with its weights, in evaluation mode.
        noises: what it adds at every call; none for a deterministic model.
        guarantee: of the training records; None where nothing is claimed.
        verdict: on that claim.
        certificate: of its predictions; None where nothing is claimed.
        facts: about the run, as JSON holds them; they go into the model card.
    """

    system: str
    architecture: Architecture
    network: Network
    noises: tuple[Noise, ...]
    guarantee: PureDP | ApproxDP | None
    verdict: Verdict | None
    certificate: Certificate | None
    facts: dict[str, Any]

    @property
    def declared(self) -> Declared:
        """What was declared of its training images, which holds for all images that it is given."""
        limits, classes = self.facts.get("pixel range"), self.facts.get("classes")
        return Declared(
            None if limits is None else (float(limits[0]), float(limits[1])),
            tuple(classes) if classes is not None and self.facts.get("classes declared") else None,
        )

    def scores(self, source: torch.Generator) -> Scores:
        """Return the model as attacks and certificates see it, with noise from a generator."""
        return lambda images: noisy(self.network, images, self.noises, source)

    def predict(self, images: Tensor, source: torch.Generator, draws: int = 32) -> Tensor:
        """Return the classes (n,) that win over draws of the noise: by votes or by mean score, as is certified.

        Args:
            images: (n, channels, height, width), pixels in [0, 1].
            source: generator of the noise.
            draws: of the noise for each image; one is enough for a deterministic model.
        """
        decides = "softmax" if self.certificate is None else self.certificate.decides
        return predict(self.scores(source), images, draws if self.noises else 1, decides)


def predict(scores: Scores, images: Tensor, draws: int, decides: Decides = "softmax") -> Tensor:
    """Return the classes (n,) with the largest mean softmax score, or with most votes, over calls of a model."""
    found = []
    with torch.inference_mode():
        for batch in torch.split(images, _BATCH):
            total: Tensor | float = 0.0
            for _ in range(draws):
                logits = scores(batch)
                total = total + (logits.softmax(1) if decides == "softmax" else _votes(logits))
            found.append(torch.as_tensor(total).argmax(1))
    return torch.cat(found)


def _votes(logits: Tensor) -> Tensor:
    """Return (b, K), 1 for the highest score of each image and 0 for the others."""
    return torch.zeros_like(logits).scatter_(1, logits.argmax(1, keepdim=True), 1.0)


def accuracy(model: Model, images: Images, draws: int = 32) -> Estimate:
    """Return the share of images that get their label, by `Model.predict`."""
    predicted = model.predict(images.pixels, torch.Generator().manual_seed(0), draws)
    return share(int((predicted == images.labels).sum()), len(images))


def packed(model: Model) -> bytes:
    """Return a model as a file holds it: tensors, numbers and texts only."""
    content = {
        "format": FORMAT,
        "system": model.system,
        "architecture": dataclasses.asdict(model.architecture),
        "weights": {name: held.cpu() for name, held in model.network.state_dict().items()},
        "noises": [noise.to_dict() for noise in model.noises],
        "guarantee": _guarantee_to(model.guarantee),
        "verdict": None if model.verdict is None else dataclasses.asdict(model.verdict),
        "certificate": None if model.certificate is None else certificate_to(model.certificate),
        "facts": model.facts,
    }
    held = io.BytesIO()
    torch.save(content, held)
    return held.getvalue()


def save(model: Model, path: Path, *, force: bool = False) -> None:
    """Write a model, whole or not at all.

    Raises:
        InputError: the file exists, or cannot be written.
    """
    with writing(str(path), force=force) as (stream,):
        stream.write(packed(model))


def load(path: Path) -> Model:
    """Read a model that `save` wrote.

    Raises:
        InputError: no such file, or it is no model.
    """
    held = read_model(path, FORMAT)
    with damage_told(path):
        model = _model(held)
        _ = model.declared  # readable, or the model is damaged
    return model


def _model(held: dict[str, Any]) -> Model:
    about = held["architecture"]
    architecture = Architecture(**{**about, "shape": tuple(about["shape"])})
    network = architecture.build(0)
    network.load_state_dict(held["weights"])
    verdict = held["verdict"]
    if verdict is not None:
        witness = verdict["witness"]
        verdict = Verdict(**{**verdict, "witness": None if witness is None else Witness(**witness)})
    return Model(
        system=held["system"],
        architecture=architecture,
        network=network.eval(),
        noises=tuple(Noise.from_dict(noise) for noise in held["noises"]),
        guarantee=_guarantee_from(held["guarantee"]),
        verdict=verdict,
        certificate=None if held["certificate"] is None else certificate_from(held["certificate"]),
        facts=dict(held["facts"]),
    )


def _guarantee_to(guarantee: PureDP | ApproxDP | None) -> dict[str, Any] | None:
    if guarantee is None:
        return None
    return {"kind": type(guarantee).__name__, **dataclasses.asdict(guarantee)}


def _guarantee_from(held: dict[str, Any] | None) -> PureDP | ApproxDP | None:
    if held is None:
        return None
    kinds: dict[str, type[PureDP | ApproxDP]] = {"PureDP": PureDP, "ApproxDP": ApproxDP}
    fields = {name: value for name, value in held.items() if name != "kind"}
    return kinds[held["kind"]](**fields)
