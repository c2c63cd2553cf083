"""A process that runs commands in forks of itself, with faults: what is slow to import is imported once.

    LD_PRELOAD=faults.so python server.py faults.so

Each line of standard input is a request, as `tests.reliability.runs.FaultServer` writes it, each line of the output an
answer.
"""

import contextlib
import ctypes
import json
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from typing import Any

from tests.reliability.library import KINDS

POLL_SECONDS = 0.001
BUG_CODE = 70


def run_command(request: dict[str, Any], library: Any, announce: Callable[[], object]) -> int:
    """Run a command in this process, and return its exit code; say when it begins."""
    os.chdir(request["folder"])
    os.environ["DENIABLE_CACHE"] = request["cache"]
    tempfile.tempdir = request["temporary"]
    for descriptor, name in enumerate((os.devnull, request["to1"], request["to2"])):
        opened = os.open(name, os.O_WRONLY if descriptor else os.O_RDONLY)
        os.dup2(opened, descriptor)
        os.close(opened)
    sys.argv = ["deniable", *request["arguments"]]
    from deniable.cli.start import run  # once, by the first command

    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP):  # which a command that ended before ignores
        signal.signal(number, signal.SIG_DFL)
    library.faults_set(
        request["watched"].encode(), request["kind"].encode(), request["number"], request["action"], request["lasts"]
    )
    announce()
    try:
        run()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001 - a bug, whatever it is
        traceback.print_exc()
    return BUG_CODE


def serve_request(request: dict[str, Any], library: Any) -> dict[str, Any]:
    """Run a command in a fork, and return how it ended."""
    reader, writer = os.pipe()
    start_reader, start_writer = os.pipe()
    child = os.fork()
    if not child:
        code = run_command(request, library, lambda: os.close(start_writer))
        with contextlib.suppress(BaseException):
            sys.stdout.flush()
        os.write(writer, json.dumps([library.faults_count(kind) for kind in range(len(KINDS))]).encode())
        os._exit(code)
    os.close(writer)
    os.close(start_writer)
    os.read(start_reader, 1)  # ends when the command begins
    os.close(start_reader)
    start = time.monotonic()
    is_signalled, has_hung = False, False
    while not (ended := os.waitpid(child, os.WNOHANG))[0]:
        passed = time.monotonic() - start
        if request["signal"] and passed >= request["delay"] and not is_signalled:
            is_signalled = True
            os.kill(child, request["signal"])
        if passed > request["limit"]:
            has_hung = True
            os.kill(child, signal.SIGKILL)
        time.sleep(POLL_SECONDS)
    with open(reader, "rb") as stream:  # noqa: PTH123 - a descriptor
        counts = stream.read()
    return {
        "code": os.waitstatus_to_exitcode(ended[1]),
        "counts": dict(zip(KINDS, json.loads(counts or b"null") or (), strict=False)),
        "seconds": time.monotonic() - start,
        "has_hung": has_hung,
    }


def _forget_run() -> None:
    """Leave nothing of a command that ran in this process to those of its forks."""
    from deniable.cli.process import forget_outputs

    forget_outputs()


def main() -> None:
    """Serve requests until standard input ends."""
    library = ctypes.CDLL(sys.argv[1])
    library.faults_count.restype = ctypes.c_long
    library.faults_set.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_long, ctypes.c_int, ctypes.c_int]
    requests, answers = os.fdopen(os.dup(0), "r"), os.fdopen(os.dup(1), "w")
    for line in requests:
        request = json.loads(line)
        if request["is_warming"]:  # in this process: what is compiled and imported serves all forks
            answer: dict[str, Any] = {"code": run_command(request, library, list)}
            _forget_run()
        else:
            answer = serve_request(request, library)
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
