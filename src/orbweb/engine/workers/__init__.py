"""Worker processes that turn bodies into pages: the pool, its wire format, and what is done to a body."""
