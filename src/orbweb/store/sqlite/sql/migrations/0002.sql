-- Heads of requests and responses are kept; `truncated` says that a body ends too early, `links_cut` what it said before.
CREATE TABLE heads (
    id          INTEGER PRIMARY KEY,
    sha256      BLOB NOT NULL UNIQUE,
    size        INTEGER NOT NULL,
    frame       BLOB NOT NULL
);

ALTER TABLE visits RENAME TO old_visits;

CREATE TABLE visits (
    run_id        INTEGER NOT NULL REFERENCES runs (id),
    number        INTEGER NOT NULL,
    url_id        INTEGER NOT NULL,
    crawl_id      INTEGER NOT NULL REFERENCES crawls (id),
    depth         INTEGER NOT NULL,
    rank          INTEGER NOT NULL,
    status        INTEGER,
    kind          TEXT,
    error         TEXT,
    tries         INTEGER NOT NULL,
    final_url     TEXT,
    redirect_to   INTEGER,
    content_type  TEXT,
    encoding      TEXT,
    etag          TEXT,
    last_modified TEXT,
    title         TEXT,
    canonical     TEXT,
    noindex       INTEGER NOT NULL,
    nofollow      INTEGER NOT NULL,
    links_cut     INTEGER NOT NULL,
    truncated     INTEGER NOT NULL,
    body_sha256   BLOB,
    content_sha256 BLOB,
    role          TEXT NOT NULL,
    bytes         INTEGER NOT NULL,
    wire_bytes    INTEGER NOT NULL,
    latency_ms    INTEGER NOT NULL,
    fetched_at    INTEGER NOT NULL,
    proxy         TEXT,
    robots_tags   TEXT,
    reuse         TEXT CHECK (reuse IN ('cached', 'not_modified')),
    reused_run    INTEGER,
    head          INTEGER REFERENCES heads (id),
    head_values   BLOB,
    PRIMARY KEY (run_id, number)
) WITHOUT ROWID;

INSERT INTO visits (run_id, number, url_id, crawl_id, depth, rank, status, kind, error, tries, final_url,
        redirect_to, content_type, encoding, etag, last_modified, title, canonical, noindex, nofollow, links_cut,
        body_sha256, content_sha256, role, bytes, wire_bytes, latency_ms, fetched_at, proxy, robots_tags, reuse,
        reused_run, truncated)
SELECT run_id, number, url_id, crawl_id, depth, rank, status, kind, error, tries, final_url, redirect_to,
        content_type, encoding, etag, last_modified, title, canonical, noindex, nofollow, truncated, body_sha256,
        content_sha256, role, bytes, wire_bytes, latency_ms, fetched_at, proxy, robots_tags, reuse, reused_run, 0 FROM old_visits;

DROP TABLE old_visits;

CREATE UNIQUE INDEX visits_by_url ON visits (run_id, url_id);
