"""Shared by the adapters of torch packages: the linear model, and data that remember what is taken from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn import functional

if TYPE_CHECKING:
    from protocol import Data, Floats, Task

torch.set_num_threads(1)  # the model is small; threads only wait for each other
Batch = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


class Records(torch.utils.data.Dataset[Batch]):
    """Records as a user's own data set: features, label, place."""

    def __init__(self, data: Data) -> None:
        """Keep the data."""
        self.x = torch.from_numpy(data.x)
        self.labels = torch.from_numpy(data.labels).float()

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.labels)

    def __getitem__(self, place: int) -> Batch:
        """Return one record."""
        return self.x[place], self.labels[place], torch.tensor(place)


def make_linear(width: int) -> nn.Linear:
    """Return a linear model with one output, no bias and weights 0."""
    model = nn.Linear(width, 1, bias=False)
    nn.init.zeros_(model.weight)
    return model


def compute_loss(logits: torch.Tensor, labels: torch.Tensor, reduction: str = "mean") -> torch.Tensor:
    """Return the logistic loss."""
    return functional.binary_cross_entropy_with_logits(logits.squeeze(-1), labels, reduction=reduction)


def read_weights(model: nn.Module) -> Floats:
    """Return a copy of the weights of a model that has one parameter."""
    (parameter,) = [value for value in model.parameters() if value.requires_grad]
    return parameter.detach().reshape(-1).numpy().copy()


class Classifier(nn.Module):
    """The same model for a trainer that wants a loss from it; it notes the places of the records that it sees."""

    def __init__(self, records: Records) -> None:
        """Start at weights 0."""
        super().__init__()
        self.linear = make_linear(records.x.shape[1])
        self.seen: list[int] = []

    def forward(self, x: torch.Tensor, labels: torch.Tensor, places: torch.Tensor) -> dict[str, torch.Tensor]:
        """Return the mean loss."""
        self.seen += places.tolist()
        logits = self.linear(x)
        return {"loss": compute_loss(logits, labels), "logits": logits}


def collate_records(rows: list[Batch]) -> dict[str, torch.Tensor]:
    """Return a batch by the names of the model's arguments."""
    x, labels, places = (torch.stack(column) for column in zip(*rows, strict=True))
    return {"x": x, "labels": labels, "places": places}


def add_record(task: Task) -> tuple[Data, Data]:
    """Return the data without canaries, and with one."""
    from dataclasses import replace

    none, one = ([False] * len(task.included) for _ in range(2))
    one[0] = True
    return replace(task, included=none).read_data(), replace(task, included=one).read_data()


def watch_sums(optimizer: Any, sums: list[Floats]) -> None:  # noqa: ANN401 - an optimizer of Opacus
    """Keep the clipped sums that an optimizer of Opacus has when it steps."""

    def keep(inner: torch.optim.Optimizer, *_: object) -> None:
        parameters = [value for group in inner.param_groups for value in group["params"]]
        sums.append(torch.cat([value.summed_grad.detach().reshape(-1) for value in parameters]).numpy().copy())

    optimizer.original_optimizer.register_step_pre_hook(keep)
