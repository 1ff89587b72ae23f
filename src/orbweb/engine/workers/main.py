"""A worker process: digests pages until the main process is gone.

A page that takes more than its share of processor time ends the process by SIGPROF, whatever it is doing.
Imports as little as it can, because every worker starts with it.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import sys
from typing import BinaryIO, cast

from orbweb.engine.workers import codec
from orbweb.engine.workers.page import PageProcessor, cpu_limit_s

READ_BUFFER = 1 << 18
COLLECT_AFTER = 50_000
RETIRED_BYTES = 32_000_000
"""A worker whose memory has grown by more makes room for a new one: what a large page leaves behind goes too."""


def work(connection: socket.socket, processor: PageProcessor) -> None:
    """Jobs in, digests out."""
    stream = cast("BinaryIO", connection.makefile("rb", buffering=READ_BUFFER))
    limit = processor.memory_taken() + RETIRED_BYTES
    connection.sendall(codec.READY)
    while (job := codec.read_job(stream)) is not None:
        signal.setitimer(signal.ITIMER_PROF, cpu_limit_s(len(job.body)))
        answer = codec.encode_page(job.ticket, processor.process(job))
        signal.setitimer(signal.ITIMER_PROF, 0)
        connection.sendall(b"".join(answer))
        if processor.memory_taken() > limit:
            os._exit(0)


def main() -> None:
    """The socket's number and the settings are the arguments. Signals to the group are for the main process.

    The socket is open until the process ends: the main process takes its closing for that, and asks for the cause.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER, 20, 20)
    connection = socket.socket(fileno=int(sys.argv[1]))
    try:
        work(connection, PageProcessor(codec.decode_settings(sys.argv[2])))
    except (BrokenPipeError, ConnectionResetError):
        return
    except BaseException:  # noqa: BLE001
        sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
        os._exit(1)


if __name__ == "__main__":
    main()
