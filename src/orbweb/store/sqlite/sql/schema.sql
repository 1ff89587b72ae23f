-- Version 4 of the workspace database. Times are integer UTC microseconds. A sha256 is 32 raw bytes.
-- The words in angle brackets are replaced by the states of orbweb.lifecycle when the schema is created.

CREATE TABLE projects (
    id          INTEGER PRIMARY KEY,
    name        TEXT NOT NULL UNIQUE,
    settings    TEXT NOT NULL,
    bases       TEXT NOT NULL,
    created_at  INTEGER NOT NULL
);

-- `recalls`: the run whose URLs a recrawl started with; with `due_only` it requests only pages that are due. `horizon`:
-- captures of the first `horizon` crawls that ended in the workspace may be reused; it is fixed at the start of the run,
-- so that a run resumes after a crash as if there had been none. `rules`: those by which all of its URLs are judged, as
-- JSON (see frontier.reevaluate).
CREATE TABLE runs (
    id          INTEGER PRIMARY KEY,
    project_id  INTEGER NOT NULL REFERENCES projects (id),
    number      INTEGER NOT NULL,
    state       TEXT NOT NULL CHECK (state IN (<run_states>)),
    started_at  INTEGER NOT NULL,
    ended_at    INTEGER,
    next_url    INTEGER NOT NULL,
    next_rank   INTEGER NOT NULL,
    next_visit  INTEGER NOT NULL,
    scope_fixed INTEGER NOT NULL CHECK (scope_fixed IN (0, 1)),
    surveyed    INTEGER NOT NULL CHECK (surveyed IN (0, 1)),
    horizon     INTEGER NOT NULL,
    recalls     INTEGER REFERENCES runs (id),
    due_only    INTEGER NOT NULL CHECK (due_only IN (0, 1)),
    rules       TEXT,
    UNIQUE (project_id, number)
);

CREATE TABLE bases (
    run_id      INTEGER NOT NULL REFERENCES runs (id),
    number      INTEGER NOT NULL,
    url         TEXT NOT NULL,
    scope_key   TEXT NOT NULL,
    pages       INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (run_id, number)
) WITHOUT ROWID;

-- `ended` numbers the crawls of the workspace in the order in which they ended. `asked_as` is a hash of everything by
-- which a server may recognize the crawl, NULL if that includes secrets; `read_with` of everything that decides how a
-- body is processed.
CREATE TABLE crawls (
    id          INTEGER PRIMARY KEY,
    run_id      INTEGER NOT NULL REFERENCES runs (id),
    number      INTEGER NOT NULL,
    state       TEXT NOT NULL CHECK (state IN (<crawl_states>)),
    ended_by    TEXT CHECK (ended_by IN (<endings>)),
    error       TEXT,
    budget      INTEGER,
    started_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    visited     INTEGER NOT NULL DEFAULT 0,
    failed      INTEGER NOT NULL DEFAULT 0,
    pages       INTEGER NOT NULL DEFAULT 0,
    bytes       INTEGER NOT NULL DEFAULT 0,
    ended       INTEGER,
    asked_as    TEXT,
    read_with   TEXT,
    UNIQUE (run_id, number)
);

-- Every URL found in a run. `url` is NULL if it equals the key. `lane` is empty in strict order and the site in relaxed
-- order; within its lane, URLs are visited by (depth, rank). A deferred URL is not leased before `due_at`. `lastmod` is
-- from a sitemap. `carried` is set if a recrawl took the URL over before it found it. `found_hops` and `found_base` are
-- those of the page that led to it. `parked` is the pattern of its endless family (see policy.traps), '' if it was
-- checked and has none, NULL if it was not checked. `listed`: a sitemap lists it. `changed_in` is the unit of work that
-- last changed its state, NULL if that was the one that added the URL or its visit (see store.unit_times).
CREATE TABLE urls (
    run_id      INTEGER NOT NULL REFERENCES runs (id),
    id          INTEGER NOT NULL,
    key         TEXT NOT NULL,
    url         TEXT,
    state       TEXT NOT NULL CHECK (state IN (<stored_item_states>)),
    reason      TEXT,
    rule        TEXT,
    source      TEXT NOT NULL,
    depth       INTEGER NOT NULL,
    rank        INTEGER,
    lane        TEXT NOT NULL,
    hops        INTEGER NOT NULL,
    redirects   INTEGER NOT NULL,
    base        INTEGER NOT NULL,
    referrer    INTEGER,
    lastmod     TEXT,
    due_at      INTEGER,
    family_member         INTEGER NOT NULL DEFAULT 0 CHECK (family_member IN (0, 1)),
    carried     TEXT CHECK (carried IN (<carried>)),
    found_hops  INTEGER NOT NULL DEFAULT 0,
    found_base  INTEGER NOT NULL DEFAULT 0,
    parked      TEXT,
    listed      INTEGER NOT NULL DEFAULT 0 CHECK (listed IN (0, 1)), changed_in INTEGER,
    PRIMARY KEY (run_id, id)
) WITHOUT ROWID;

CREATE UNIQUE INDEX urls_by_key ON urls (run_id, key);
CREATE INDEX urls_in_order ON urls (run_id, lane, depth, rank) WHERE state = 'queued';

-- Families of URLs that may be endless (see policy.traps): `barren` pages in a row had nothing new, `sketch` summarizes
-- the words of the last one, `released`: the user wants them followed. `tried` counts filters (-1: decided).
CREATE TABLE families (
    run_id      INTEGER NOT NULL REFERENCES runs (id),
    pattern     TEXT NOT NULL,
    kind        TEXT NOT NULL,
    barren      INTEGER NOT NULL,
    tried       INTEGER NOT NULL,
    released    INTEGER NOT NULL CHECK (released IN (0, 1)),
    sketch      BLOB NOT NULL,
    PRIMARY KEY (run_id, pattern)
) WITHOUT ROWID;

-- One row per visit, in the order of commits. The row of a retried URL is deleted when it is queued again. If `reuse` is
-- set, body, text and links are those that run `reused_run` captured of the same key. `links_cut`: the page had more
-- links than are read. `truncated`: the compressed body ends too early. `head` and `head_values` are the heads of the
-- request and of the response (see store.heads), NULL if there are none.
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
    reuse         TEXT CHECK (reuse IN (<reuses>)),
    reused_run    INTEGER,
    head          INTEGER REFERENCES heads (id),
    head_values   BLOB,
    PRIMARY KEY (run_id, number)
) WITHOUT ROWID;

CREATE UNIQUE INDEX visits_by_url ON visits (run_id, url_id);

-- Templates of heads of requests and responses, shared by the whole workspace, by their SHA-256 (see store.heads).
-- `frame` is zstd.
CREATE TABLE heads (
    id          INTEGER PRIMARY KEY,
    sha256      BLOB NOT NULL UNIQUE,
    size        INTEGER NOT NULL,
    frame       BLOB NOT NULL
);

-- Unique content of a run and the first URL that had it. `document` is the result of the latest extraction.
CREATE TABLE pages (
    run_id         INTEGER NOT NULL REFERENCES runs (id),
    content_sha256 BLOB NOT NULL,
    url_id         INTEGER NOT NULL,
    base           INTEGER NOT NULL,
    document       BLOB NOT NULL REFERENCES documents (sha256),
    PRIMARY KEY (run_id, content_sha256)
) WITHOUT ROWID;

-- Documents of the whole workspace, by the SHA-256 of the packed record (see store.documents): an unchanged page of a
-- later run has the same document. `frame` is zstd, `extractor` the version that created it.
CREATE TABLE documents (
    sha256      BLOB PRIMARY KEY,
    extractor   INTEGER NOT NULL,
    title       TEXT NOT NULL,
    language    TEXT NOT NULL,
    words       INTEGER NOT NULL,
    tokens      INTEGER NOT NULL,
    tokenizer   TEXT NOT NULL,
    confidence  REAL NOT NULL,
    simhash     INTEGER NOT NULL,
    sketch      BLOB NOT NULL,
    size        INTEGER NOT NULL,
    frame       BLOB NOT NULL
);

CREATE INDEX documents_tokens ON documents (sha256, tokenizer, tokens);

-- The links of a page as one packed record (see store.links), not one row per link.
CREATE TABLE outlinks (
    run_id      INTEGER NOT NULL REFERENCES runs (id),
    url_id      INTEGER NOT NULL,
    packed      BLOB NOT NULL,
    PRIMARY KEY (run_id, url_id)
) WITHOUT ROWID;

-- URLs that an imported crawl has seen and of which only the SHA-256 of their text is known (see store.marks).
CREATE TABLE marks (
    run_id      INTEGER NOT NULL REFERENCES runs (id),
    sha256      BLOB NOT NULL,
    PRIMARY KEY (run_id, sha256)
) WITHOUT ROWID;

-- The latest response of each origin to a request for its robots.txt.
CREATE TABLE robots (
    origin      TEXT PRIMARY KEY,
    fetched_at  INTEGER NOT NULL,
    status      INTEGER NOT NULL,
    body        BLOB NOT NULL
) WITHOUT ROWID;

CREATE TABLE segments (
    id          INTEGER PRIMARY KEY,
    project_id  INTEGER NOT NULL REFERENCES projects (id),
    committed   INTEGER NOT NULL
);

-- Bodies of the whole workspace. `segment` is NULL for a body in the `files` layout.
CREATE TABLE bodies (
    sha256      BLOB PRIMARY KEY,
    segment     INTEGER REFERENCES segments (id),
    position      INTEGER,
    length      INTEGER NOT NULL,
    size        INTEGER NOT NULL
) WITHOUT ROWID;

-- How many URLs of a run are in each state, written in the same transaction as the states themselves.
CREATE TABLE tallies (
    run_id      INTEGER NOT NULL REFERENCES runs (id),
    state       TEXT NOT NULL,
    reason      TEXT NOT NULL,
    count       INTEGER NOT NULL,
    PRIMARY KEY (run_id, state, reason)
) WITHOUT ROWID;

-- How far a file that follows a run has been written (see export.live): `visit` is the last one in it, `size` its length.
-- `checksum` is the CRC-32 of the bytes from `since` on, which were written last; the row NAME.whole has that of all.
CREATE TABLE outputs (
    run_id      INTEGER NOT NULL REFERENCES runs (id),
    name        TEXT NOT NULL,
    visit       INTEGER NOT NULL,
    size      INTEGER NOT NULL,
    since       INTEGER NOT NULL,
    checksum    INTEGER NOT NULL,
    PRIMARY KEY (run_id, name)
) WITHOUT ROWID;

-- The files of the spool by name, and the discovery run that wrote each: `visit` is the last visit in it, `size` how
-- many of its bytes are durable (see store.spool_rows).
CREATE TABLE spools (
    name        TEXT PRIMARY KEY,
    run_id      INTEGER NOT NULL REFERENCES runs (id),
    visit       INTEGER NOT NULL,
    size        INTEGER NOT NULL
) WITHOUT ROWID;

-- What the line of a spool says of a URL and the database does not: a page type that is not that of the rules, a
-- referrer that the run does not know, and further members, as a JSON object; NULL if there are none.
CREATE TABLE spool_lines (
    run_id      INTEGER NOT NULL REFERENCES runs (id),
    url_id      INTEGER NOT NULL,
    page_type   TEXT,
    referrer    TEXT,
    extra       TEXT,
    PRIMARY KEY (run_id, url_id)
) WITHOUT ROWID;

-- The bookmark of the spool as the scraper of a run wrote it last: `position` bytes of `file` are scraped, '' before the
-- first. Each run that is scraped from a spool has one.
CREATE TABLE bookmarks (
    run_id      INTEGER PRIMARY KEY REFERENCES runs (id),
    file        TEXT NOT NULL,
    position    INTEGER NOT NULL
);

-- When the units of work of a run were written, from `number` to `last`, and the ids of URLs and the numbers of visits
-- that they gave out, from `first_` to before `next_` (see store.unit_times). `at` is the time of the last one.
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
