"""A worker process: processes pages until the main process ends.

A page that exceeds its processor time ends the process by SIGPROF, whatever it is doing. Imports are few, because
every worker pays for them at its start.
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
"""A worker whose memory has grown by more exits and is replaced, which frees what large pages leave behind."""


def work(connection: socket.socket, processor: PageProcessor) -> None:
    """Process jobs until the connection closes, or memory has grown too much."""
    stream = cast("BinaryIO", connection.makefile("rb", buffering=READ_BUFFER))
    limit = processor.memory_taken() + RETIRED_BYTES
    connection.sendall(codec.READY)
    while (job := codec.read_job(stream)) is not None:
        signal.setitimer(signal.ITIMER_PROF, cpu_limit_s(len(job.body)))
        result = codec.encode_page(job.ticket, processor.process(job))
        signal.setitimer(signal.ITIMER_PROF, 0)
        connection.sendall(b"".join(result))
        if processor.memory_taken() > limit:
            os._exit(0)


def main() -> None:
    """The arguments are the file descriptor of the socket and the settings. Signals to the process group are for
    the main process.

    The socket stays open until the process ends: the main process takes its closing for that, and reads the exit
    code.
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
