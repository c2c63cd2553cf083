"""``deniable train private-text``: a classifier of texts in which every record, or every person, is hidden."""

from pathlib import Path
from typing import Annotated, Any

import typer

from deniable.cli.charging import LedgerChoice
from deniable.cli.model_runs import ModelFiles, ModelOutput, check_torch, commit_to_data
from deniable.cli.options import TrainingTableArgument
from deniable.cli.private_collections import (
    CollectionData,
    choose_classes,
    describe_accuracy,
    prepare_release,
    warn_of_signal,
)
from deniable.cli.progress import show_passes, show_steps
from deniable.cli.tables import TableOptions
from deniable.cli.terminal import say
from deniable.cli.value_lists import parse_distinct_names
from deniable.persons.options import ClassifierOptions, CollectionPrivacy


def run_train_private_text(
    source: TrainingTableArgument,
    privacy: CollectionPrivacy,
    ledger: LedgerChoice,
    data: CollectionData,
    table: TableOptions,
    output: ModelOutput,
    *,
    classes: Annotated[
        str | None,
        typer.Option(
            "--classes",
            help="Names of all classes; those of the data are private.",
            rich_help_panel="Model",
            metavar="A,B,...",
            show_default="public labels",
        ),
    ] = None,
) -> None:
    """Train a private text classifier, and write it with its model card.

    Every record is protected, or every person with --person. Nothing is released before the end: an interrupted run
    has spent nothing, and can be run again; but a ledger that it had charged stays charged. FILE.card.json and
    FILE.card.txt are for those who receive the model; FILE.owner.json is for its owner only. Requires the train extra
    of deniable.

    Examples:
        deniable train private-text reviews.csv --label stars --person customer --epsilon 1 --delta 1e-6 -o my.model
    """
    check_torch()
    from deniable.persons.certificate import build_linear_card

    ledger.require_persons(data.person)
    output.check(source, data.test, data.public, *map(Path, ledger.list_files()))
    ledger.open()
    public = data.read_public(str(source), table)
    declared = () if classes is None else parse_distinct_names("--classes", classes)
    names = choose_classes(declared, public, "--classes ")
    options = ClassifierOptions(**vars(privacy), classes=names)
    release, rows, test_rows = prepare_release(str(source), data, table, options, public, ledger)
    with show_steps("training") as steps:
        classifier = release.measure(lambda done, total: steps.update(done, total, "")).classifier
    with show_passes("testing the model"):
        figures, accuracy = describe_accuracy(classifier, test_rows)
    owner_record: dict[str, Any] = {**commit_to_data(rows.fingerprint), **accuracy}
    if accuracy:
        owner_record["training rows"] = len(release.collection.texts)
    card = build_linear_card(classifier, owner_record["commitment"])
    output.write(ModelFiles(classifier, card, owner_record, figures, are_figures_private=True))
    warn_of_signal(release.budget, classifier)
    say(card.to_text(), err=True)
    say(figures, err=True)
