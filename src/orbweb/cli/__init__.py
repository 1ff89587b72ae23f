"""The command line: argv -> app call -> text, JSON, exit code. No decisions.

Heavy modules are imported inside the commands, so that `orbweb --help` is instant. What a program reads
goes to stdout; progress, notes and errors go to stderr.
"""

from __future__ import annotations

import sys

from orbweb.errors import OrbwebError


def main() -> None:
    """Run a command and exit with the code that tells the truth."""
    from orbweb.cli.commands import app

    try:
        app(prog_name="orbweb")
    except OrbwebError as error:
        notes = "".join(f"\n  {note}" for note in getattr(error, "__notes__", ()))
        sys.stderr.write(f"orbweb: {error}{notes}\n")
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    except KeyboardInterrupt:
        sys.stderr.write("orbweb: interrupted\n")
        sys.exit(4)
