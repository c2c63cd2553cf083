"""A tape of DP-SGD: the run that a trainer makes is replaced by one that notes its sums."""

import contextlib
import dataclasses
from collections.abc import Iterator
from types import ModuleType
from unittest import mock

import torch

from deniable.auditing.training.observation import TrainingPlan
from deniable.core.arrays import FloatArray
from deniable.learning.dp_sgd import DPSGDRun, NoisySums
from tests.slow_audits.cases import MeasuredSum, Tape


@contextlib.contextmanager
def record_gradient_sums(module: ModuleType, noise_share: float, played: Tape | None) -> Iterator[Tape]:
    """Yield the tape of the run that is made inside by a module that holds the name ``DPSGDRun``."""
    tape = Tape()

    class RecordedRun(DPSGDRun):
        """DP-SGD that notes what it measures."""

        def measure(self, number: int) -> NoisySums:
            """Measure as usual, then multiply the noise, or take the noisy sums of another run."""
            measured, settings = super().measure(number), self._settings
            deviation = settings.noise_multiplier * settings.clip
            noisy = {
                name: (clipped + noise_share * (measured.noisy[name] - clipped)).float()  # as a step releases it
                for name, clipped in measured.clipped.items()
            }
            if played is not None:
                values = torch.from_numpy(played.measured[number].noisy).float()
                sizes = [clipped.numel() for clipped in measured.clipped.values()]
                parts = zip(measured.clipped.items(), torch.split(values, sizes), strict=True)
                noisy = {name: part.view_as(clipped) for (name, clipped), part in parts}
            tape.measured.append(
                MeasuredSum(
                    "gradients",
                    flatten_sums(measured.clipped),
                    flatten_sums(noisy),
                    settings.clip,
                    deviation,
                    batch=measured.batch_rows,
                )
            )
            rate, count = settings.schedule.rate, len(self._labels)
            tape.plan = TrainingPlan(
                "all" if rate == 1 else "poisson",
                count,
                rate * count,
                self.steps,
                settings.noise_multiplier,
                settings.clip,
            )
            return dataclasses.replace(measured, noisy=noisy)

    with mock.patch.object(module, "DPSGDRun", RecordedRun):
        yield tape


def flatten_sums(sums: dict[str, torch.Tensor]) -> FloatArray:
    """Return sums by parameter as one array (d,)."""
    flat: FloatArray = torch.cat([value.flatten() for value in sums.values()]).double().numpy()
    return flat


def encode_weights(network: torch.nn.Module) -> bytes:
    """Return all weights of a network as bytes."""
    return b"".join(value.numpy().tobytes() for value in network.state_dict().values())
