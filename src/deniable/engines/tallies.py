"""Counts of tasks that may run more than once, kept in a folder so that every record counts once.

The folder is made for one run and says which records the run has: how many, and the sum of the digests of their ids.
Each task leaves one file, which is named after the sum of the digests of its own records and holds their counts. A
task that runs again has the same records, finds its file there, and leaves it. To merge, all files are added up: the
sum of their digests is that of the run only if every record is in exactly one of them. So retries, copies of slow
tasks and a table that is read twice count once; what was only half read, or was cut into other parts when it was read
again, is refused.

A run under a key has a keyed hash in its file, so that one under another key, which draws other noise, is refused.

A sum is that of SHA-256 digests cut to 240 bits, as integers: no two sets of ids that anyone meets by chance have one.

Counts depend on the private text: the folder is for its owner alone.
"""

import contextlib
import dataclasses
import hashlib
import json
import os
import secrets
import stat
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from deniable.core.errors import InputError
from deniable.core.keys import derive_name
from deniable.text.batches import Tally
from deniable.text.certificate import Certificate
from deniable.text.escapes import MarkupCounts
from deniable.text.release import Release
from deniable.text.release_certificate import NOTHING_COPIED
from deniable.text.tables.layout import CopiedContent
from deniable.words.prior import Prior

_DIGEST_HEX_DIGITS = 60
"""Digits of a digest, the first ones of SHA-256: 240 bits."""
DecodedT = TypeVar("DecodedT")
KindT = TypeVar("KindT")
_RUN_FILE = "run.json"
_TASK_FILES = "task-*.json"
_OTHERS_ACCESS = stat.S_IRWXG | stat.S_IRWXO
_LAYOUT = "deniable tallies 1"


def digest_id(record_id: str) -> int:
    """Return the digest of a record's id, an integer of 240 bits."""
    digits = hashlib.sha256(record_id.encode("utf-8", "surrogatepass")).hexdigest()
    return int(digits[:_DIGEST_HEX_DIGITS], 16)


@dataclasses.dataclass(frozen=True)
class RecordSet:
    """Which records a task or a run has. Sets of different records add up.

    Attributes:
        count: their number.
        digest: sum of the digests of their ids, see `digest_id`.
    """

    count: int = 0
    digest: int = 0

    @classmethod
    def of_digests(cls, digests: Iterable[int]) -> "RecordSet":
        """Return the set of the records with these digests."""
        listed = list(digests)
        return cls(len(listed), sum(listed))

    def __add__(self, other: "RecordSet") -> "RecordSet":
        """Return the records of both."""
        return RecordSet(self.count + other.count, self.digest + other.digest)


@dataclasses.dataclass(frozen=True)
class TallyFolder:
    """The folder of one run, for its owner alone.

    Attributes:
        path: of the folder, which all workers can reach.
        is_fresh: whether every run of a task draws new noise, so that the number of changed words may differ.
    """

    path: Path
    is_fresh: bool = False

    def create(
        self,
        release: Release,
        columns: Iterable[str],
        records: RecordSet,
        copied: CopiedContent = NOTHING_COPIED,
    ) -> None:
        """Make the folder, or find the one of this very run.

        Args:
            release: how texts are released.
            columns: names of the columns of texts.
            records: all records of the run.
            copied: what goes with the texts unchanged, for the certificate.

        Raises:
            InputError: the folder is that of another run, is not the owner's alone, or cannot be made.
        """
        run = {
            "layout": _LAYOUT,
            **_describe_release(release),
            "key": _name_key(release),
            # A run with fresh noise is like no other.
            "run": secrets.token_hex(16) if self.is_fresh else "",
            "columns": list(columns),
            "copied": {"columns": list(copied.columns), "metadata": list(copied.metadata)},
            **_encode_records(records),
        }
        try:
            self.path.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"The folder of tallies {str(self.path)!r} cannot be made: {error.strerror}. Name another folder."
            ) from None
        _check_owner_only(self.path)
        is_new = _write_once(self.path / _RUN_FILE, json.dumps(run))
        if not is_new and not _is_same_run(_read_file(self.path / _RUN_FILE, dict), run):
            raise InputError(
                f"The folder of tallies {str(self.path)!r} belongs to another run: name a new folder for each."
            )

    def commit(self, records: RecordSet, tally: Tally) -> None:
        """Leave the counts of one task, once: a task that ran before with the same records has left them already.

        Args:
            records: of the task.
            tally: their counts.

        Raises:
            InputError: the folder is not there, or the task left other counts before.
        """
        if not records.count:
            return
        if not (self.path / _RUN_FILE).is_file():
            raise InputError(
                f"The folder of tallies {str(self.path)!r} cannot be seen by a worker: name one on a file system that "
                "all workers share."
            )
        path = self.path / f"task-{records.digest:x}.json"
        if _write_once(path, json.dumps({**_encode_records(records), "tally": encode_tally(tally)})):
            return
        earlier_records, earlier_tally = _read_file(path, _decode_task)
        if self.is_fresh:  # what is drawn differs, what is read does not
            tally = dataclasses.replace(tally, changed=earlier_tally.changed)
        if (earlier_records, earlier_tally) != (records, tally):
            raise InputError(
                f"A task ran again on the same {records.count:,} records, and counted something else in the folder of "
                f"tallies {str(self.path)!r}: the texts have changed since. Name a new folder, and run all tasks anew."
            )


def merge_tallies(folder: str | os.PathLike[str]) -> Tally:
    """Return the counts of a whole run, in which every record counts once.

    Args:
        folder: the folder of tallies of the run, when all its tasks are done.

    Raises:
        InputError: it is no such folder, records are missing, or some were counted in more than one task.
    """
    path = Path(folder)
    expected = _read_file(_find_run(path), _decode_records)
    tasks = [_read_file(file, _decode_task) for file in sorted(path.glob(_TASK_FILES))]
    records = sum((task_records for task_records, _ in tasks), RecordSet())
    if records == expected:
        return sum((tally for _, tally in tasks), Tally())
    if records.count < expected.count:
        raise InputError(
            f"The folder of tallies {str(path)!r} has {records.count:,} of {expected.count:,} records: write the whole "
            "private table first."
        )
    raise InputError(
        f"The folder of tallies {str(path)!r} does not count each of the {expected.count:,} records of the run once: "
        "the table was read again in other parts, or has changed. Run it with a new folder, and write the table once."
    )


def make_certificate(
    release: Release,
    folder: str | os.PathLike[str],
    *,
    chosen_from_data: bool = False,
    prior: Prior | None = None,
) -> Certificate:
    """Return the certificate of a whole run, with the columns that it copied.

    Args:
        release: of the run.
        folder: see `merge_tallies`.
        chosen_from_data: whether epsilon was chosen by looking at the private texts.
        prior: public word frequencies, see `Certificate.of`.

    Raises:
        InputError: see `merge_tallies`; or the run had another release.
    """
    description, copied = _read_file(_find_run(Path(folder)), _decode_run)
    if description != _describe_release(release):
        raise InputError(
            f"The folder of tallies {str(folder)!r} belongs to another release: give the one that the run was given."
        )
    tally = merge_tallies(folder)
    return Certificate.of(release, tally, chosen_from_data=chosen_from_data, prior=prior, copied=copied)


def _describe_release(release: Release) -> dict[str, str]:
    """Return what the certificate says of a release, by which a folder knows that of its run."""
    return {"release": release.fingerprint or repr(release.mechanism), "noise": release.noise}


def _name_key(release: Release) -> str | None:
    """Return what tells the key of a run from others; None without a key, or where workers alone can read it."""
    if release.key is None:
        return None
    try:
        return derive_name(release.read_key(), _LAYOUT)
    except InputError:
        return None


def _is_same_run(run: dict[str, Any], other: dict[str, Any]) -> bool:
    """Return whether two descriptions are of one run; a key that is not known may be any."""
    keys = {run.get("key"), other.get("key")} - {None}
    return len(keys) < 2 and {**run, "key": None} == {**other, "key": None}  # noqa: PLR2004 - two keys differ


def _encode_records(records: RecordSet) -> dict[str, Any]:
    return {"records": records.count, "digest": f"{records.digest:x}"}


def _decode_records(encoded: dict[str, Any]) -> RecordSet:
    return RecordSet(_check_kind(encoded["records"], int), int(encoded["digest"], 16))


def _decode_task(encoded: dict[str, Any]) -> tuple[RecordSet, Tally]:
    return _decode_records(encoded), decode_tally(encoded["tally"])


def _decode_run(run: dict[str, Any]) -> tuple[dict[str, str], CopiedContent]:
    """Return what `_describe_release` says of the release of a run, and what was copied in it."""
    columns, metadata = (
        tuple(_check_kind(one, str) for one in run["copied"][name]) for name in ("columns", "metadata")
    )
    return {"release": run["release"], "noise": run["noise"]}, CopiedContent(columns, metadata)


def _find_run(folder: Path) -> Path:
    """Return the file of a folder that describes its run."""
    if not (folder / _RUN_FILE).is_file():
        raise InputError(f"{str(folder)!r} is not a folder of tallies: give the one that the run was given.")
    _check_owner_only(folder)
    return folder / _RUN_FILE


def _read_file(path: Path, decode: Callable[[dict[str, Any]], DecodedT]) -> DecodedT:
    """Return what a file of counts holds."""
    try:
        return decode(json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, RecursionError, KeyError, TypeError, AttributeError):
        raise InputError(
            f"The file of counts {str(path)!r} is damaged: name a new folder, and run all tasks anew."
        ) from None


def _check_owner_only(path: Path) -> None:
    """Raise `InputError` where others can open a folder."""
    if os.name == "posix" and path.stat().st_mode & _OTHERS_ACCESS:
        raise InputError(
            f"Others can open the folder of tallies {str(path)!r}, which counts words of private texts: chmod 700 "
            f"{str(path)!r}."
        )


def _write_once(path: Path, content: str) -> bool:
    """Write a file that appears whole or not at all, unless it is there; return whether it was not."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "w", encoding="utf-8") as file:  # noqa: PTH123
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.link(temporary, path)  # which fails where the name is taken, unlike a replacement
    except FileExistsError:
        return False
    except OSError as error:  # no place, no right, or a file system without links
        raise InputError(
            f"The folder of tallies {str(path.parent)!r} cannot be written to: {error.strerror}. Name one on another "
            "file system, which all workers share."
        ) from None
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()
    return True


def encode_tally(tally: Tally) -> dict[str, Any]:
    """Counts as JSON holds them; `decode_tally` reads them."""
    encoded = dataclasses.asdict(tally)
    return {**encoded, "lengths": {str(length): count for length, count in sorted(tally.lengths.items())}}


def decode_tally(encoded: dict[str, Any]) -> Tally:
    """The counts that `encode_tally` encoded.

    Raises:
        KeyError, TypeError, ValueError, AttributeError: it did not.
    """
    lengths = Counter({int(length): _check_kind(count, int) for length, count in encoded["lengths"].items()})
    markup = MarkupCounts(**{name: _check_kind(count, int) for name, count in encoded["markup"].items()})
    counts = {name: _check_kind(count, int) for name, count in encoded.items() if name not in ("lengths", "markup")}
    return Tally(**counts, lengths=lengths, markup=markup)


def _check_kind(value: Any, kind: type[KindT]) -> KindT:  # noqa: ANN401 - any JSON value
    """A value that is of a kind, else raise `TypeError`."""
    if type(value) is not kind:
        raise TypeError(kind)
    return value
