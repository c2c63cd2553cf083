"""The files that ``deniable synthesize`` writes: their names, their contents, and all of them or none."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deniable.cli.model_runs import encode_json
from deniable.cli.tables import encode_rows, parse_output_format, resolve_certificate_path
from deniable.core.errors import InputError
from deniable.core.files import PIPE

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from deniable.measure.intervals import Estimate
    from deniable.persons.certificate import SynthesisCertificate
    from deniable.persons.synthesis import MeasuredCollection, SyntheticTable


@dataclasses.dataclass(frozen=True)
class SynthesisFiles:
    """Paths of files that are written together, whole or not at all.

    Attributes:
        table: the synthetic records.
        certificate: of table, classifier and counts.
        classifier: the private classifier, which needs no student.
        baseline: the same pipeline without private records; None where there are no public labels.
        counts: noisy counts; None where they were not asked for.
        owner: figures about private records.
        signing_key: signs all files but the owner's, in one beside the certificate; None for none.
    """

    table: str
    certificate: str
    classifier: str
    baseline: str | None
    counts: str | None
    owner: str
    signing_key: "Ed25519PrivateKey | None" = None

    @property
    def paths(self) -> list[str]:
        """Every file, the owner's last."""
        from deniable.core.signatures import SIGNATURE_ENDING

        signatures = [] if self.signing_key is None else [self.certificate + SIGNATURE_ENDING]
        return [self.table, self.certificate, *self._accompanying.values(), *signatures, self.owner]

    @property
    def _accompanying(self) -> dict[str, str]:
        """What is released beside table and certificate: paths by what they are."""
        named = {"classifier": self.classifier, "baseline": self.baseline, "counts": self.counts}
        return {role: path for role, path in named.items() if path is not None}

    def check(self, inputs: Sequence[Path | None], *, force: bool) -> None:
        """Raise `InputError` where a file cannot be written, or would overwrite what is read."""
        from deniable.core.files import check_outputs
        from deniable.core.signatures import list_signature_paths

        parse_output_format(self.table)
        signatures = list_signature_paths(self.signing_key, self.certificate)
        others = [path for path in signatures if path not in self.paths]  # a new one is among them
        check_outputs([*self.paths, *others], inputs, force=force)

    def write(self, contents: dict[str, bytes], *, force: bool) -> list[str]:
        """Write the contents of files by path, whole or not at all; nobody else can open the owner's.

        Returns:
            The paths of all files that were written, the signature among them.
        """
        from deniable.core.signatures import open_release

        # A generator may have no baseline.
        accompanying = {role: path for role, path in self._accompanying.items() if path in contents}
        released = {"table": self.table, **accompanying}
        paths = [self.certificate, *released.values(), self.owner]
        with open_release(self.signing_key, self.certificate, released, [self.owner], force=force) as streams:
            for stream, path in zip(streams, paths, strict=True):
                stream.write(contents[path])
        missing_paths = {*self._accompanying.values()} - contents.keys()
        return [path for path in self.paths if path not in missing_paths]


@dataclasses.dataclass(frozen=True)
class SynthesisTables:
    """The synthetic table, and that of the same pipeline without private records, where there can be one."""

    synthetic: "SyntheticTable"
    baseline: "SyntheticTable | None"


def name_synthesis_files(
    output: str,
    certificate: str | None,
    counts: str | None,
    *,
    has_baseline: bool,
    signing_key: "Ed25519PrivateKey | None" = None,
) -> SynthesisFiles:
    """Return the paths of all files, most of them beside the table.

    Raises:
        InputError: the table goes to a pipe, which has nothing beside it.
    """
    if output == PIPE:
        raise InputError("A synthetic table has files beside it: name it with --output FILE.")
    baseline = f"{output}.baseline.{output.rpartition('/')[2].partition('.')[2]}" if has_baseline else None
    return SynthesisFiles(
        output, resolve_certificate_path(output, certificate), f"{output}.classifier.model", baseline, counts,
        f"{output}.owner.json", signing_key,
    )  # fmt: skip


def encode_synthesis(
    files: SynthesisFiles,
    measured: "MeasuredCollection",
    certificate: "SynthesisCertificate",
    tables: SynthesisTables,
    figures: "dict[str, Estimate]",
    names: tuple[str, str],
) -> dict[str, bytes]:
    """Return the content of every file, by path.

    Args:
        files: their paths.
        measured: of the private rows.
        certificate: of the release.
        tables: that were written from it.
        figures: for the owner.
        names: of the columns of texts and labels.
    """
    from deniable.learning.artifact import serialize_model
    from deniable.persons.ngram_counts import format_ngram_counts

    table_format = parse_output_format(files.table)
    contents = {
        files.table: encode_rows(_build_columns(tables.synthetic, names), table_format),
        files.certificate: certificate.to_json().encode("utf-8", "backslashreplace"),
        files.classifier: serialize_model(measured.classifier),
        files.owner: encode_json({name: dataclasses.asdict(figure) for name, figure in figures.items()}),
    }
    if files.baseline is not None and tables.baseline is not None:
        contents[files.baseline] = encode_rows(_build_columns(tables.baseline, names), table_format)
    if files.counts is not None and measured.counts is not None:
        counts = format_ngram_counts(measured.counts, measured.classifier.classes)
        contents[files.counts] = counts.encode("utf-8", "backslashreplace")  # jsonl may hold lone surrogates
    return contents


def _build_columns(table: "SyntheticTable", names: tuple[str, str]) -> dict[str, Sequence[Any]]:
    """Return the columns of the synthetic table."""
    return {names[0]: table.texts, names[1]: table.labels, **table.columns}
