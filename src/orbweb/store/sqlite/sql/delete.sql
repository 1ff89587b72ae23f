-- The named queries of `delete`. They read whole tables, which no query of a crawl may do. The tables `doomed` and
-- `living` are temporary: the runs that are deleted, and the bodies that other runs refer to.

-- name: create_doomed
-- The runs that are deleted.
CREATE TEMP TABLE doomed (run_id INTEGER PRIMARY KEY);

-- name: add_doomed
-- Known before anything is deleted.
INSERT INTO doomed (run_id) VALUES (:run_id);

-- name: create_living
-- The bodies that are needed afterwards.
CREATE TEMP TABLE living (sha256 BLOB PRIMARY KEY) WITHOUT ROWID;

-- name: find_living
-- A body belongs to the workspace: any visit of any other run keeps it.
INSERT OR IGNORE INTO living (sha256)
SELECT body_sha256 FROM visits WHERE body_sha256 IS NOT NULL AND run_id NOT IN (SELECT run_id FROM doomed);

-- name: mixed_segments
-- Segments with a body to delete and one to keep: the latter is moved first.
SELECT segment FROM bodies WHERE segment IS NOT NULL GROUP BY segment
HAVING MAX(sha256 IN (SELECT sha256 FROM living)) = 1 AND MIN(sha256 IN (SELECT sha256 FROM living)) = 0
ORDER BY segment;

-- name: living_in_segment
-- The bodies to move, in the order in which they are read fastest.
SELECT sha256, segment, position, length, size FROM bodies
WHERE segment = :segment AND sha256 IN (SELECT sha256 FROM living) ORDER BY position;

-- name: move_body
-- The copy is durable, so the body is there from now on.
UPDATE bodies SET segment = :segment, position = :position WHERE sha256 = :sha256;

-- name: heir
-- The project that segments with bodies of several projects belong to from now on: one that has a run.
SELECT project_id FROM runs WHERE id NOT IN (SELECT run_id FROM doomed) ORDER BY project_id LIMIT 1;

-- name: delete_urls
-- Every table with rows of a run has one such statement.
DELETE FROM urls WHERE run_id IN (SELECT run_id FROM doomed);

-- name: delete_units
-- As `delete_urls`.
DELETE FROM units WHERE run_id IN (SELECT run_id FROM doomed);

-- name: delete_families
-- As `delete_urls`.
DELETE FROM families WHERE run_id IN (SELECT run_id FROM doomed);

-- name: delete_visits
-- As `delete_urls`.
DELETE FROM visits WHERE run_id IN (SELECT run_id FROM doomed);

-- name: delete_pages
-- As `delete_urls`.
DELETE FROM pages WHERE run_id IN (SELECT run_id FROM doomed);

-- name: delete_outlinks
-- As `delete_urls`.
DELETE FROM outlinks WHERE run_id IN (SELECT run_id FROM doomed);

-- name: delete_marks
-- As `delete_urls`.
DELETE FROM marks WHERE run_id IN (SELECT run_id FROM doomed);

-- name: delete_tallies
-- As `delete_urls`.
DELETE FROM tallies WHERE run_id IN (SELECT run_id FROM doomed);

-- name: delete_outputs
-- As `delete_urls`.
DELETE FROM outputs WHERE run_id IN (SELECT run_id FROM doomed);

-- name: delete_spool_lines
-- As `delete_urls`.
DELETE FROM spool_lines WHERE run_id IN (SELECT run_id FROM doomed);

-- name: delete_bookmarks
-- As `delete_urls`.
DELETE FROM bookmarks WHERE run_id IN (SELECT run_id FROM doomed);

-- name: delete_spools
-- As `delete_urls`.
DELETE FROM spools WHERE run_id IN (SELECT run_id FROM doomed);

-- name: delete_bases
-- As `delete_urls`.
DELETE FROM bases WHERE run_id IN (SELECT run_id FROM doomed);

-- name: delete_crawls
-- As `delete_urls`.
DELETE FROM crawls WHERE run_id IN (SELECT run_id FROM doomed);

-- name: delete_runs
-- As `delete_urls`.
DELETE FROM runs WHERE id IN (SELECT run_id FROM doomed);

-- name: delete_project
-- Its runs are deleted in the same transaction.
DELETE FROM projects WHERE id = :id;

-- name: forget_reused_run
-- A new run may get the id of a deleted one, so a visit that reused a capture names no run (0) from now on.
UPDATE visits SET reused_run = 0 WHERE reused_run IN (SELECT run_id FROM doomed);

-- name: forget_recalled_run
-- As `forget_reused_run`: the run stays a recrawl.
UPDATE runs SET recalls = 0 WHERE recalls IN (SELECT run_id FROM doomed);

-- name: lower_horizons
-- The next crawl to end gets the number of a deleted one, and a run that began before must not reuse its captures.
UPDATE runs SET horizon = MIN(horizon, (SELECT COALESCE(MAX(ended), 0) FROM crawls));

-- name: delete_bodies
-- Nothing refers to them any more.
DELETE FROM bodies WHERE sha256 NOT IN (SELECT sha256 FROM living);

-- name: delete_heads
-- A template that no visit refers to is not needed.
DELETE FROM heads WHERE id NOT IN (SELECT head FROM visits WHERE head IS NOT NULL);

-- name: inherit_segments
-- Segments that only hold bodies of other projects are read from, and never written again (0).
UPDATE segments SET project_id = :heir, committed = 0 WHERE project_id = :project_id;

-- name: delete_segments
-- Without a body there is nothing to read.
DELETE FROM segments WHERE id NOT IN (SELECT segment FROM bodies WHERE segment IS NOT NULL);

-- name: segment_ids
-- Every other file among the segments is left from a deletion.
SELECT id FROM segments;

-- name: run_ids
-- The search index of any other run is left from a deletion.
SELECT id FROM runs;
