-- Marks of URLs that an imported crawl has seen.
CREATE TABLE marks (
    run_id      INTEGER NOT NULL REFERENCES runs (id),
    sha256      BLOB NOT NULL,
    PRIMARY KEY (run_id, sha256)
) WITHOUT ROWID;
