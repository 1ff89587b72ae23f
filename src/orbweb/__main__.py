"""`python -m orbweb`."""

from orbweb.cli import run

run()
