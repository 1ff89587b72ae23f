"""Files that are derived from the database: tables and lines for other tools, never a second truth.

Always: a file is made of the visits of its run in the order of commits; deleted or damaged, it is made again.
Never: asks a server, or holds a fact that the database has not. `forms` says which files there are, `tail` and
`follow` how they grow with a crawl, `chronicle` puts them together with the counters, `replay` makes them again.
"""
