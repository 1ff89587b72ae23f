"""Real servers on loopback for the tests: an ordinary site with a request log, and a seeded graph."""
