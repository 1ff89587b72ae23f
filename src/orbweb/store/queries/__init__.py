"""The read side of the store: reports, explain, diff, search."""
