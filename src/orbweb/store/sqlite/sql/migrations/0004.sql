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

-- The times at which URLs are found and change their state are kept, from now on.
ALTER TABLE urls ADD COLUMN changed_in INTEGER;

-- Every record gets as many values as the table has columns: a damaged file is searched for such records.
UPDATE urls SET changed_in = NULL;

CREATE TABLE units (
    run_id      INTEGER NOT NULL REFERENCES runs (id),
    number      INTEGER NOT NULL,
    last        INTEGER NOT NULL,
    first_url   INTEGER NOT NULL,
    next_url    INTEGER NOT NULL,
    first_visit INTEGER NOT NULL,
    next_visit  INTEGER NOT NULL,
    at          INTEGER NOT NULL,
    packed      BLOB NOT NULL,
    PRIMARY KEY (run_id, number)
) WITHOUT ROWID;
