-- Marks of URLs that an imported crawl has seen.
CREATE TABLE marks (
    run_id      INTEGER NOT NULL REFERENCES runs (id),
    sha256      BLOB NOT NULL,
    PRIMARY KEY (run_id, sha256)
) WITHOUT ROWID;

-- What lines of a spool say, and the bookmark of each run that is scraped from one.
CREATE TABLE spool_lines (
    run_id      INTEGER NOT NULL REFERENCES runs (id),
    url_id      INTEGER NOT NULL,
    page_type   TEXT,
    referrer    TEXT,
    extra       TEXT,
    PRIMARY KEY (run_id, url_id)
) WITHOUT ROWID;

CREATE TABLE bookmarks (
    run_id      INTEGER PRIMARY KEY REFERENCES runs (id),
    file        TEXT NOT NULL,
    position    INTEGER NOT NULL
);
