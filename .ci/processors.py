"""Run the numerical tests as other processors would: plain x86-64, AVX2 and AVX-512.

numpy, OpenBLAS (also scipy's), torch with MKL and oneDNN, and numba choose their instructions when they are loaded, and
can be told to choose older ones. Results then differ in their last bits, as they do on a machine that has no others. A
setting that this processor lacks is skipped, with the reason; one that a library does not obey is an error. Skipped
too, unless it is named, is what the libraries choose here by themselves: the suite without a setting runs in it.

    python .ci/processors.py [SETTING ...] [-- PYTEST OPTIONS]
"""

import dataclasses
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

TESTS = tuple(
    f"tests/{room}"
    for room in (
        "space",
        "words",
        "vectors",
        "auditing",
        "measure",
        "learning",
        "models",
        "persons",
        "rewriting",
        "published",
    )
)
"""Where floats decide. The rest of the suite is about files, options and texts."""


@dataclasses.dataclass(frozen=True)
class Setting:
    """A processor that is emulated.

    Attributes:
        needs: features, as numpy calls them, without which it cannot be.
        drops: how the names of the features begin that numpy shall not use.
        openblas: its kernels; those of a Prescott are also called Katmai's.
        mkl: its instructions.
        onednn: its instructions.
        torch: its instructions.
        numba: processor that it compiles for.
    """

    needs: tuple[str, ...]
    drops: tuple[str, ...]
    openblas: tuple[str, ...]
    mkl: str
    onednn: str
    torch: str
    numba: str


SETTINGS = {
    "x86-64": Setting(("SSE2",), ("",), ("Prescott", "Katmai"), "SSE4_2", "SSE41", "default", "x86-64"),
    "avx2": Setting(("AVX2", "FMA3"), ("AVX512", "X86_V4"), ("Haswell",), "AVX2", "AVX2", "avx2", "haswell"),
    "avx-512": Setting(
        ("AVX512F", "AVX512_SKX"), (), ("SkylakeX",), "AVX512", "AVX512_CORE", "avx512", "skylake-avx512"
    ),
}

_PROBE = """
import json, numpy, scipy.linalg, torch
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__
from numba.core import config
from threadpoolctl import threadpool_info
print(json.dumps({
    "dispatched": [name for name in __cpu_dispatch__ if __cpu_features__[name]],
    "features": [name for name, held in __cpu_features__.items() if held],
    "blas": sorted({info["architecture"] for info in threadpool_info() if info["internal_api"] == "openblas"}),
    "torch": torch.backends.cpu.get_cpu_capability().lower(),
    "numba": config.CPU_NAME,
}))
"""


def probe(environment):
    """Return what the libraries choose in an environment."""
    done = subprocess.run([sys.executable, "-c", _PROBE], env=environment, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def variables_of(setting, dispatched, folder):
    """Return the environment of a setting, with caches of machine code and of computed facts of its own."""
    disabled = [feature for feature in dispatched if feature.startswith(setting.drops)]
    return {
        **os.environ,
        **({"NPY_DISABLE_CPU_FEATURES": " ".join(disabled)} if disabled else {}),
        "OPENBLAS_CORETYPE": setting.openblas[0],
        "MKL_ENABLE_INSTRUCTIONS": setting.mkl,
        "ONEDNN_MAX_CPU_ISA": setting.onednn,
        "ATEN_CPU_CAPABILITY": setting.torch,
        "NUMBA_CPU_NAME": setting.numba,
        "NUMBA_CPU_FEATURES": "",  # those of the processor that is named, not of this one
        "NUMBA_CACHE_DIR": str(Path(folder) / "numba"),
        "DENIABLE_CACHE": str(Path(folder) / "deniable"),
    }


def is_in_effect(setting, seen):
    """Say whether the libraries have obeyed."""
    return (
        not any(feature.startswith(setting.drops) for feature in seen["dispatched"])
        and {*seen["blas"]} <= {*setting.openblas}
        and (seen["torch"], seen["numba"]) == (setting.torch, setting.numba)
    )


def is_own(seen, own):
    """Say whether the libraries choose the same without a setting; numba has another name for each processor."""
    return all(seen[library] == own[library] for library in ("dispatched", "blas", "torch"))


def main(arguments):
    """Run the settings that are named, all by default; return the first exit status that is not 0."""
    split = arguments.index("--") if "--" in arguments else len(arguments)
    names, options = arguments[:split] or list(SETTINGS), arguments[split + 1 :]
    own = probe(dict(os.environ))
    status = 0
    for name in names:
        setting = SETTINGS[name]
        missing = [feature for feature in setting.needs if feature not in own["features"]]
        if missing:
            print(f"{name}: skipped, this processor has no {' and no '.join(missing)}", flush=True)
            continue
        with tempfile.TemporaryDirectory() as folder:
            environment = variables_of(setting, own["dispatched"], folder)
            seen = probe(environment)
            if not is_in_effect(setting, seen):
                sys.exit(f"{name}: the setting is not in effect: {seen}")
            if is_own(seen, own) and name not in arguments[:split]:
                print(f"{name}: skipped, what this processor runs without a setting", flush=True)
                continue
            chosen = seen["dispatched"] or "its baseline"
            print(f"{name}: numpy {chosen}, OpenBLAS {seen['blas']}, torch {seen['torch']}", flush=True)
            command = [sys.executable, "-m", "pytest", *TESTS, *options]
            returned = subprocess.run(command, env=environment, check=False).returncode
            status = status or returned
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
