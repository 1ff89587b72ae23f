"""The process of a job: see `process`."""

from __future__ import annotations

import gc
import sys

from orbweb.app.jobs.process import main

# Loaded modules are never garbage, and a crawl makes almost no cycles, so collect rarely.
gc.freeze()
gc.set_threshold(50_000, 20, 20)
sys.exit(main(sys.argv[1:]))
