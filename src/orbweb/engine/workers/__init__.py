"""Worker processes that turn bodies into pages: the pool, what travels between, and what is done to a body."""
