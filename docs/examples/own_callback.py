"""Call a function for each page while the crawl continues."""

import sys

import orbweb


def index(page: orbweb.Page) -> None:
    print(page.url, page.document.words)


result = orbweb.crawl(sys.argv[1], on_page=index)
print(result.pages, "pages,", result.failed, "failed")
