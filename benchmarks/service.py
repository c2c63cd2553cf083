"""How many requests a second the HTTP service takes, how long they wait, and what memory it needs.

Requests arrive at random times (a Poisson process), whatever became of those before them, and a latency counts from the
time at which a request was due: waiting for a free connection or a slow server is part of it. The load comes from a
process of its own. No maintained load generator with open arrivals installs from PyPI or Debian, hence these 60 lines.

    python benchmarks/service.py --rate 1000 --seconds 300
    python benchmarks/service.py --floor               # a server that answers without work: what the machine can do
    python benchmarks/service.py --seconds 1800 --disturb   # memory over time, beside garbage and slow connections

All goes to a free port of 127.0.0.1.
"""

import argparse
import asyncio
import collections
import contextlib
import json
import os
import platform
import re
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import deniable as dn
from deniable.core.parallel import count_cores

CONNECTIONS = 64
BODIES = 500
SAMPLES = 10
START_SECONDS = 300
DRAIN_SECONDS = 30
FLOOR_ANSWER = b'{"texts":[""]}'


def make_bodies(words: int, texts: int) -> list[bytes]:
    """Return bodies of requests whose words follow Zipf's law of the default space's ranks, which is public."""
    space = dn.Space.glove()
    generator = np.random.default_rng(0)
    ranks = np.minimum(generator.zipf(1.1, size=(BODIES, texts, words)), len(space)) - 1
    return [
        json.dumps({"texts": [" ".join(space.words[rank] for rank in row) for row in rows]}).encode() for rows in ranks
    ]


class Client(asyncio.Protocol):
    """One connection that sends a request and waits for its response."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self._data = b""
        self._answer: asyncio.Future[int] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - for the type checker
        self.transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        """End the request in flight, if any."""
        self.transport = None
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(exc or ConnectionResetError())

    def data_received(self, data: bytes) -> None:
        """Take a part of a response; one that is whole ends the request."""
        self._data += data
        head, separator, body = self._data.partition(b"\r\n\r\n")
        if not separator:
            return
        length = re.search(rb"(?i)content-length: *(\d+)", head)
        if length and len(body) >= int(length[1]) and self._answer is not None and not self._answer.done():
            self._answer.set_result(int(head[9:12]))

    async def send(self, request: bytes) -> int:
        """Return the status of the response to a request."""
        if self.transport is None:
            raise ConnectionResetError
        self._data, self._answer = b"", asyncio.get_running_loop().create_future()
        self.transport.write(request)
        return await self._answer


async def generate_load(port: int, rate: float, seconds: float, bodies: list[bytes]) -> dict[str, Any]:
    """Send requests for some seconds, and return their latencies in seconds and statuses."""
    loop = asyncio.get_running_loop()
    head = "POST /v1/privatize HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: "
    requests = [f"{head}{len(body)}\r\n\r\n".encode() + body for body in bodies]
    free: asyncio.Queue[Client] = asyncio.Queue()

    async def connect() -> None:
        free.put_nowait((await loop.create_connection(Client, "127.0.0.1", port))[1])

    for _ in range(CONNECTIONS):
        await connect()
    latencies: list[float] = []
    outcomes: collections.Counter[str] = collections.Counter()

    async def send(request: bytes, due: float) -> None:
        client = await free.get()
        try:
            outcomes[str(await client.send(request))] += 1
            free.put_nowait(client)
        except OSError as error:
            outcomes[type(error).__name__] += 1
            await connect()
        latencies.append(loop.time() - due)

    arrivals = np.cumsum(np.random.default_rng(1).exponential(1 / rate, size=int(rate * seconds * 1.2) + 10))
    start = loop.time()
    tasks = set()
    for number, arrival in enumerate(arrivals[arrivals < seconds].tolist()):
        wait = start + arrival - loop.time()
        if wait > 0:
            await asyncio.sleep(wait)
        task = asyncio.create_task(send(requests[number % len(requests)], start + arrival))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
    if tasks:
        await asyncio.wait(tasks, timeout=DRAIN_SECONDS)
    outcomes["unanswered"] += len(tasks)
    return {"latencies": latencies, "outcomes": dict(outcomes), "seconds": loop.time() - start}


async def disturb(port: int, seconds: float) -> None:
    """Keep garbage, slow, half-closed and abandoned connections open beside the load."""

    async def misbehave(kind: int) -> None:
        with contextlib.suppress(OSError, asyncio.TimeoutError):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            if kind == 0:
                writer.write(os.urandom(1_000))
            elif kind == 1:
                writer.write(b"POST /v1/privatize HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 100000\r\n")
            elif kind == 2:  # noqa: PLR2004 - one kind after the other
                writer.write(b"GET /v1/options HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
                writer.write_eof()
            await asyncio.wait_for(reader.read(), 20)
            writer.close()

    end = time.monotonic() + seconds
    tasks = set()
    for number in range(1 << 30):
        if time.monotonic() > end:
            break
        task = asyncio.create_task(misbehave(number % 4))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        await asyncio.sleep(0.1)


async def run_load(port: int, options: argparse.Namespace) -> dict[str, Any]:
    """Return what `generate_load` returns, with disturbances beside it where they are asked for."""
    bodies = make_bodies(options.words, options.texts)
    await generate_load(port, min(options.rate, 100), 1, bodies)  # connections, spellings
    if not options.disturb:
        return await generate_load(port, options.rate, options.seconds, bodies)
    disturbance = asyncio.create_task(disturb(port, options.seconds))
    result = await generate_load(port, options.rate, options.seconds, bodies)
    await disturbance
    return result


async def answer_without_work(scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401 - ASGI's own types
    """Read a request and send a fixed response: the application of the floor."""
    if scope["type"] != "http":
        return
    while (await receive()).get("more_body"):
        pass
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(FLOOR_ANSWER)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": FLOOR_ANSWER})


def serve_floor(port: int) -> None:
    """Run the floor."""
    import uvicorn

    uvicorn.run(answer_without_work, port=port, log_level="error", lifespan="off", access_log=False)


@contextlib.contextmanager
def start_server(options: argparse.Namespace) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Run the service, or the floor, and yield its process and port."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "deniable", "serve", "--epsilon", str(options.epsilon), "--port", str(port)]
    if options.floor:
        command = [sys.executable, __file__, "--serve-floor", str(port)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, text=True)
    try:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and process.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.2)
        yield process, port
    finally:
        process.terminate()
        process.wait(60)


def read_memory(process_id: int) -> float:
    """Return the resident anonymous memory of a process in MiB; files that are mapped can be had again."""
    status = Path(f"/proc/{process_id}/status").read_text("ascii")
    return int(re.findall(r"RssAnon:\s+(\d+)", status)[0]) / 1024


def read_cpu_seconds(process_id: int) -> float:
    """Return the CPU time of a process."""
    fields = Path(f"/proc/{process_id}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def report(result: dict[str, Any], cpu: float, memory: list[float], options: argparse.Namespace) -> None:
    """Print the figures."""
    latencies = 1_000 * np.array(result["latencies"])
    p50, p90, p99, p999 = np.percentile(latencies, [50, 90, 99, 99.9])
    what = "floor" if options.floor else f"epsilon {options.epsilon:g}"
    print(f"{platform.machine()}, {count_cores()} cores, Python {platform.python_version()}; {what}")
    print(
        f"{options.texts} text(s) of {options.words} words a request, seeds 0 and 1; load and service share the cores"
    )
    print(f"{'due a second':<22}{options.rate:>10,.0f}")
    print(f"{'answered a second':<22}{len(latencies) / result['seconds']:>10,.1f}")
    print(f"{'outcomes':<22}{json.dumps(result['outcomes'])}")
    print(
        f"{'latency, ms':<22}p50 {p50:.1f}  p90 {p90:.1f}  p99 {p99:.1f}  p99.9 {p999:.1f}  max {latencies.max():.1f}"
    )
    print(f"{'server CPU':<22}{100 * cpu / result['seconds']:>9.0f} % of a core")
    print(f"{'memory, MiB':<22}{' '.join(f'{value:.0f}' for value in memory)}")


async def watch_memory(process_id: int, seconds: float) -> AsyncIterator[float]:
    """Yield the memory of a process at equal intervals."""
    for _ in range(SAMPLES):
        yield read_memory(process_id)
        await asyncio.sleep(seconds / SAMPLES)


async def measure(process_id: int, port: int, options: argparse.Namespace) -> None:
    """Run the load in a process of its own, and watch the server."""
    arguments = [f"--{name}={getattr(options, name)}" for name in ("rate", "seconds", "words", "texts")]
    load = await asyncio.create_subprocess_exec(
        sys.executable,
        __file__,
        f"--load={port}",
        *arguments,
        *(["--disturb"] if options.disturb else []),
        stdout=subprocess.PIPE,
        limit=1 << 30,
    )
    before = read_cpu_seconds(process_id)
    output = asyncio.create_task(load.communicate())
    memory = [value async for value in watch_memory(process_id, options.seconds)]
    data, _ = await output
    report(json.loads(data), read_cpu_seconds(process_id) - before, [*memory, read_memory(process_id)], options)


def main() -> None:
    """Run one measurement."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--rate", type=float, default=1_000, help="requests a second")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--words", type=int, default=20, help="of a text")
    parser.add_argument("--texts", type=int, default=1, help="of a request")
    parser.add_argument("--epsilon", type=float, default=3.0)
    parser.add_argument("--floor", action="store_true", help="measure a server that does no work")
    parser.add_argument("--disturb", action="store_true", help="add garbage, slow and half-closed connections")
    parser.add_argument("--load", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--serve-floor", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve_floor:
        serve_floor(options.serve_floor)
    elif options.load:
        print(json.dumps(asyncio.run(run_load(options.load, options))))
    else:
        with start_server(options) as (process, port):
            asyncio.run(measure(process.pid, port, options))


if __name__ == "__main__":
    main()
