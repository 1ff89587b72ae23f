-- The search index: derived from the documents of orbweb.db, never read by a crawl. `<run>` is the id of a run.

CREATE TABLE entries (
    run_id    INTEGER NOT NULL,
    id        INTEGER NOT NULL,
    document  BLOB NOT NULL,
    PRIMARY KEY (run_id, document)
) WITHOUT ROWID;

CREATE UNIQUE INDEX entries_by_id ON entries (run_id, id);

-- The page of each indexed document, by the id of its entry.
CREATE TABLE places (
    run_id    INTEGER NOT NULL,
    id        INTEGER NOT NULL,
    url_id    INTEGER NOT NULL,
    PRIMARY KEY (run_id, id)
) WITHOUT ROWID;

-- As of when the index of a run is complete: `mark` differs if anything of the run does, `origin` if anything else
-- than new pages does; all pages up to `visit` are in it.
CREATE TABLE marks (
    run_id    INTEGER PRIMARY KEY,
    origin    TEXT NOT NULL,
    mark      TEXT NOT NULL,
    visit     INTEGER NOT NULL
);

-- name: create_words
-- One index per run, so that other runs do not change the scores; it does not store the text again.
CREATE VIRTUAL TABLE words_<run> USING fts5 (
    title, text, content = '', tokenize = 'unicode61 remove_diacritics 2'
);

-- name: drop_words
-- Rows cannot be deleted from an index that does not store the text, so an index with stale rows is dropped.
DROP TABLE IF EXISTS words_<run>;

-- name: forget_entries
-- Deleted together with the index they belong to.
DELETE FROM entries WHERE run_id = <run>;

-- name: forget_places
-- As `forget_entries`.
DELETE FROM places WHERE run_id = <run>;

-- name: forget_mark
-- As `forget_entries`.
DELETE FROM marks WHERE run_id = <run>;

-- name: mark_of
-- Whether the index is complete.
SELECT origin, mark, visit FROM marks WHERE run_id = <run>;

-- name: save_mark
-- The index is complete.
INSERT INTO marks (run_id, origin, mark, visit) VALUES (<run>, :origin, :mark, :visit)
ON CONFLICT (run_id) DO UPDATE SET origin = excluded.origin, mark = excluded.mark, visit = excluded.visit;

-- name: place
-- The first page of a document stays, until the index is compared with all pages.
INSERT INTO places (run_id, id, url_id)
SELECT <run>, entries.id, :url_id FROM entries WHERE run_id = <run> AND document = :document
ON CONFLICT (run_id, id) DO UPDATE SET url_id = excluded.url_id WHERE :again;

-- name: entries_of
-- Which documents are indexed.
SELECT document FROM entries WHERE run_id = <run>;

-- name: indexed_runs
-- Runs may have been deleted.
SELECT DISTINCT run_id FROM entries;

-- name: last_entry
-- Rows are numbered in the order in which they are indexed.
SELECT COALESCE(MAX(id), 0) FROM entries WHERE run_id = <run>;

-- name: add_entry
-- Another process may have indexed the document meanwhile; then nothing is added.
INSERT INTO entries (run_id, id, document) VALUES (<run>, :id, :document)
ON CONFLICT (run_id, document) DO NOTHING;

-- name: add_words
-- The searchable text of a document.
INSERT INTO words_<run> (rowid, title, text) VALUES (:id, :title, :text);

-- name: find
-- The best matches first; a word in the title counts as much as eight in the text. Of very many matches, the first ones
-- are compared: to read a word of a million pages takes as long as to read the pages.
SELECT entries.document, matched.score, places.url_id
FROM (
    SELECT id, score FROM (
        SELECT rowid AS id, bm25(words_<run>, 8.0, 1.0) AS score
        FROM words_<run> WHERE words_<run> MATCH :query LIMIT :compared
    ) ORDER BY score, id LIMIT :most
) AS matched
JOIN entries ON entries.run_id = <run> AND entries.id = matched.id
JOIN places ON places.run_id = <run> AND places.id = matched.id
ORDER BY matched.score, matched.id;

-- name: create_hits
-- The texts of the shown matches, for their snippets; in memory.
CREATE VIRTUAL TABLE hits USING fts5 (title, text, tokenize = 'unicode61 remove_diacritics 2');

-- name: add_hit
-- Rows are in the order of the matches.
INSERT INTO hits (rowid, title, text) VALUES (:id, :title, :text);

-- name: snippets
-- The part of each text that has most of the query, its words between the marks.
SELECT rowid, snippet(hits, 1, :begin, :end, '…', 32) FROM hits WHERE hits MATCH :query ORDER BY rowid;
