"""Adapter for `dp-transformers`: its `OpacusDPTrainer`, with the arguments of its README.

Schemes: default; tokens, for a comparison of sums only: a small GPT-2 with weights drawn here and the package's own
collator of texts of unequal lengths.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import torch
from hugging_face import compare_with, make_arguments, make_watcher, train_with
from protocol import Outcome, Sums, Task, main
from torch_task import Classifier, Records, collate_records

SHORT, LONG, TEXTS, WORDS = 2, 1000, 20, 30


def open_trainer(task: Task, model: Classifier, records: Records, watcher: Any) -> Any:  # noqa: ANN401 - theirs
    """Return the package's trainer for one-line records."""
    package = importlib.import_module("dp_transformers")
    trainer = importlib.import_module("dp_transformers.dp_utils").OpacusDPTrainer(
        model=model,
        args=make_arguments(package.TrainingArguments, task, task.batch, Path(task.folder)),
        train_dataset=records,
        data_collator=collate_records,
        privacy_args=make_privacy(task),
    )
    trainer.add_callback(watcher)
    return trainer


def make_privacy(task: Task) -> Any:  # noqa: ANN401 - theirs
    """Return the package's arguments of privacy."""
    return importlib.import_module("dp_transformers").PrivacyArguments(
        noise_multiplier=task.noise, per_sample_max_grad_norm=task.clip, target_delta=task.delta
    )


def train(task: Task) -> Outcome:
    """Train and add what the trainer reports."""
    outcome, trainer = train_with(open_trainer, task, Records(task.read_data()))
    outcome.facts |= {
        "sampler": type(trainer.get_train_dataloader().batch_sampler).__name__,
        "accountant": "prv, rdp",
        "accounted": [[trainer.privacy_args.noise_multiplier, trainer.sampling_probability, trainer.state.global_step]],
        "calibrated_steps": trainer.num_steps,
        "epsilon": trainer.get_prv_epsilon(),
        "epsilon_rdp": trainer.get_rdp_epsilon(),
        "delta": task.delta,
    }
    return outcome


def compare(task: Task) -> Sums:
    """Compare sums of records, or of texts."""
    return compare_texts(task) if task.scheme == "tokens" else compare_with(open_trainer, task)


def compare_texts(task: Task) -> Sums:
    """Return the clipped sums of a first step on short texts, with and without a long one."""
    sums = [sum_texts(task, [SHORT] * TEXTS + extra) for extra in ([], [LONG])]
    return Sums(sums[0], sums[1], task.clip, f"{TEXTS} texts of {SHORT} words, and one more of {LONG}; GPT-2, drawn")


def sum_texts(task: Task, lengths: list[int]) -> Any:  # noqa: ANN401 - an array
    """Return the clipped sum of the first step on texts of these lengths."""
    transformers: Any = importlib.import_module("transformers")
    package = importlib.import_module("dp_transformers")
    importlib.import_module("dp_transformers.grad_sample.transformers.conv_1d")
    torch.manual_seed(task.seed)
    model = transformers.GPT2LMHeadModel(
        transformers.GPT2Config(vocab_size=WORDS, n_positions=LONG, n_embd=16, n_layer=1, n_head=2, resid_pdrop=0.0,
                                embd_pdrop=0.0, attn_pdrop=0.0, tie_word_embeddings=False)
    )  # fmt: skip
    model.train()
    sums: list[Any] = []
    seen = Classifier(Records(Task(task.package, [True]).read_data()))
    trainer = importlib.import_module("dp_transformers.dp_utils").OpacusDPTrainer(
        model=model,
        args=make_arguments(
            package.TrainingArguments, Task(task.package, [], epochs=1), len(lengths), Path(task.folder)
        ),
        train_dataset=[{"input_ids": [1 + i % (WORDS - 1) for i in range(length)]} for length in lengths],
        data_collator=package.DataCollatorForPrivateCausalLanguageModeling(make_tokenizer(transformers)),
        privacy_args=make_privacy(task),
    )
    trainer.add_callback(make_watcher(seen, Outcome([]), sums))
    trainer.train()
    return np.asarray(sums[0])


def make_tokenizer(transformers: Any) -> Any:  # noqa: ANN401 - theirs
    """Return a tokenizer of a few words; word 0 fills texts up."""
    tokenizers: Any = importlib.import_module("tokenizers")
    words = {f"w{i}": i for i in range(WORDS)}
    plain = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="w0"))  # noqa: S106 - a word
    return transformers.PreTrainedTokenizerFast(tokenizer_object=plain, pad_token="w0")  # noqa: S106 - a word


if __name__ == "__main__":
    main(train, compare)
