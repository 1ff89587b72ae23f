"""`python -m orbweb`."""

from orbweb.cli import main

main()
