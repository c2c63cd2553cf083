"""Every target by its name: a function of bytes that raises for a bug, and for nothing else."""

from collections.abc import Callable
from pathlib import Path

from tests.fuzzing import files, tables

CORPUS = Path(__file__).with_name("corpus")
TARGETS: dict[str, Callable[[bytes], None]] = {
    "csv": tables.fuzz_csv,
    "jsonl": tables.fuzz_jsonl,
    "parquet": tables.fuzz_parquet,
    "txt": tables.fuzz_txt,
    "npz": files.fuzz_npz,
    "glove": files.fuzz_glove,
    "word2vec": files.fuzz_word2vec,
    "model": files.fuzz_model,
    "artifact": files.fuzz_artifact,
    "certificate": files.fuzz_certificate,
    "body": files.fuzz_body,
    "tallies": files.fuzz_tallies,
    "key": files.fuzz_key,
    "entities": files.fuzz_entities,
}


def read_seeds(name: str) -> list[bytes]:
    """Return the seeds of a target that are kept in the repository."""
    return [path.read_bytes() for path in sorted((CORPUS / name).iterdir())]
