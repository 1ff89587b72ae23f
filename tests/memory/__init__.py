"""A second implementation of the seams: the store, the frontier and what else an engine needs, in plain Python.

For tests. The contract suites run on it as they run on SQLite, and `engine` builds an engine that touches no
database and no body file.
"""
