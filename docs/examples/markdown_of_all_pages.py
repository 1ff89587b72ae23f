"""Write the Markdown of every page of a site to the folder `pages`."""

import sys
from pathlib import Path

import orbweb

Path("pages").mkdir(exist_ok=True)
for number, page in enumerate(orbweb.crawl_iter(sys.argv[1]), 1):
    Path("pages", f"{number:04}.md").write_text(page.markdown, encoding="utf-8")
