"""Looks for bytes that a reader of this package does not take well, guided by what they reach in it.

    python tools/fuzz.py csv --minutes 10 --corpus /tmp/csv

The targets are those of `tests/fuzzing/targets.py`; the suite runs them for some seconds, this program for as long as
it is told, on new bytes that it makes of the seeds in ``tests/fuzzing/corpus`` and of its own corpus. It needs atheris
(``pip install atheris``, Linux). It stops at the first bug: an error that is none of the package's own, 5 seconds for
one input, or 2 GB of memory. The input is then in the corpus, as ``crash-*``, ``timeout-*`` or ``oom-*``, and
``--input FILE`` runs it again.
"""

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TIMEOUT_SECONDS = 5
MAXIMUM_MEGABYTES = 2_000


def list_compiled_modules() -> list[str]:
    """Return the modules with compiled loops, in which there can be no instruments."""
    source = ROOT / "src"
    return [
        ".".join(path.relative_to(source).with_suffix("").parts)
        for path in sorted(source.rglob("*.py"))
        if "compile_loop" in path.read_text("utf-8")
    ]


def parse_options() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", help="name of the target, such as csv")
    parser.add_argument("--minutes", type=float, default=10.0, help="how long (default: %(default)g)")
    parser.add_argument("--corpus", type=Path, help="folder for what is found; made where it is missing")
    parser.add_argument("--seed", type=int, default=1, help="of the search (default: %(default)s)")
    parser.add_argument("--input", type=Path, help="run one input instead")
    return parser.parse_args()


def main() -> None:
    """Fuzz a target."""
    options = parse_options()
    sys.path.insert(0, str(ROOT))
    if options.input is not None:
        from tests.fuzzing.targets import TARGETS

        TARGETS[options.target](options.input.read_bytes())
        return
    import atheris

    with atheris.instrument_imports(include=["deniable"], exclude=list_compiled_modules()):
        from tests.fuzzing.targets import CORPUS, TARGETS, read_seeds

        for seed in read_seeds(options.target):  # what a target imports when it runs is instrumented too
            TARGETS[options.target](seed)
    folders = [str(CORPUS / options.target)]
    limits = [
        f"-max_total_time={int(60 * options.minutes)}",
        f"-timeout={TIMEOUT_SECONDS}",
        f"-rss_limit_mb={MAXIMUM_MEGABYTES}",
        f"-seed={options.seed}",
        "-max_len=8192",
    ]
    if options.corpus is not None:
        options.corpus.mkdir(parents=True, exist_ok=True)
        folders.insert(0, str(options.corpus))
        limits.append(f"-artifact_prefix={options.corpus}/")
    atheris.Setup([sys.argv[0], *limits, *folders], TARGETS[options.target])
    atheris.Fuzz()


if __name__ == "__main__":
    main()
