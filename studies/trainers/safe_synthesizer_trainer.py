"""Adapter for `nemo-safe-synthesizer`: its `OpacusDPTrainer`, called as its `HuggingFaceBackend` calls it.

The package trains language models on texts made of records; here its trainer gets a linear model and the records
themselves, one example each. Schemes: default (its backend has no option for sampling); poisson
(`PrivacyArguments(poisson_sampling=True)`, which no configuration reaches). `copies` above 1 repeats the records in
shuffled copies, as its example assembler does when fewer records are given than it samples.
"""

from __future__ import annotations

import importlib
from functools import partial
from pathlib import Path
from typing import Any

from hugging_face import compare_with, make_arguments, train_with
from protocol import Outcome, Sums, Task, main
from torch_task import Classifier, Records, collate_records

PRIVACY = "nemo_safe_synthesizer.privacy.dp_transformers"


def open_trainer(task: Task, model: Classifier, records: Records, watcher: Any) -> Any:  # noqa: ANN401 - theirs
    """Return the package's trainer."""
    transformers: Any = importlib.import_module("transformers")
    dataset: Any = importlib.import_module("datasets").Dataset
    arguments = importlib.import_module(f"{PRIVACY}.privacy_args").PrivacyArguments
    return importlib.import_module(f"{PRIVACY}.dp_utils").OpacusDPTrainer(
        train_dataset=dataset.from_dict({"place": list(range(len(records))) * task.copies}),
        model=model,
        args=make_arguments(transformers.TrainingArguments, task, task.batch, Path(task.folder)),
        privacy_args=arguments(
            noise_multiplier=task.noise,
            per_sample_max_grad_norm=task.clip,
            target_delta=task.delta,
            **({"poisson_sampling": True} if task.scheme == "poisson" else {}),
        ),
        data_fraction=float(task.copies),
        true_dataset_size=len(records),
        callbacks=[watcher],
        data_collator=partial(collate_places, records),
    )


def collate_places(records: Records, rows: list[dict[str, int]]) -> Any:  # noqa: ANN401 - tensors by name
    """Return the records at the places of a batch."""
    return collate_records([records[row["place"]] for row in rows])


def train(task: Task) -> Outcome:
    """Train and add what the trainer reports."""
    outcome, trainer = train_with(open_trainer, task, Records(task.read_data()))
    outcome.facts |= {
        "sampler": type(trainer.get_train_dataloader().batch_sampler).__name__,
        "accountant": "prv" if trainer.accountant.use_prv else "rdp",
        "accounted": [[trainer.privacy_args.noise_multiplier, trainer.sampling_probability, trainer.state.global_step]],
        "calibrated_steps": trainer.num_steps,
        "epsilon": trainer.get_epsilon(),
        "delta": task.delta,
    }
    return outcome


def compare(task: Task) -> Sums:
    """Compare sums with and without a canary."""
    return compare_with(open_trainer, task)


if __name__ == "__main__":
    main(train, compare)
