-- The server's own database: jobs, events and tokens. Times are integer UTC microseconds. A crawl is not written here:
-- `run_id` and `first_crawl` refer to the database of the workspace.

-- `request` is what the job does, as JSON. `attempt` counts the processes that were started for it. `crawl_before` is the
-- latest crawl of the workspace when the first of them began; later ones of the project belong to the job. `held`: its
-- crawl was on hold when the server ended, and stays so when it is resumed.
CREATE TABLE IF NOT EXISTS jobs (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    kind         TEXT NOT NULL CHECK (kind IN ('crawl', 'batch', 'export', 'extract')),
    project_id   INTEGER NOT NULL,
    request      TEXT NOT NULL,
    state        TEXT NOT NULL CHECK (state IN (
        'queued', 'running', 'interrupted', 'completed', 'failed', 'paused', 'cancelled')),
    attempt      INTEGER NOT NULL DEFAULT 0,
    held         INTEGER NOT NULL DEFAULT 0 CHECK (held IN (0, 1)),
    crawl_before INTEGER,
    run_id       INTEGER,
    first_crawl  INTEGER,
    done         INTEGER NOT NULL DEFAULT 0,
    total        INTEGER NOT NULL DEFAULT 0,
    result       TEXT,
    error        TEXT,
    created_at   INTEGER NOT NULL,
    started_at   INTEGER,
    ended_at     INTEGER
);

CREATE INDEX IF NOT EXISTS jobs_by_state ON jobs (state, id);

CREATE INDEX IF NOT EXISTS jobs_by_project ON jobs (project_id, id);

CREATE TABLE IF NOT EXISTS events (
    seq          INTEGER PRIMARY KEY AUTOINCREMENT,
    at           INTEGER NOT NULL,
    project_id   INTEGER NOT NULL,
    data         TEXT NOT NULL
);

CREATE TABLE IF NOT EXISTS tokens (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    name         TEXT NOT NULL,
    fingerprint  TEXT NOT NULL UNIQUE,
    scope        TEXT NOT NULL,
    created_at   INTEGER NOT NULL
);

-- Which changes between two runs someone has looked at.
CREATE TABLE IF NOT EXISTS seen (
    project_id   INTEGER NOT NULL,
    old          INTEGER NOT NULL,
    new          INTEGER NOT NULL,
    url          TEXT NOT NULL,
    PRIMARY KEY (project_id, old, new, url)
) WITHOUT ROWID;

-- name: add_job
-- A job is a row before anything is done for it.
INSERT INTO jobs (kind, project_id, request, state, created_at)
VALUES (:kind, :project_id, :request, 'queued', :now) RETURNING id;

-- name: job
-- One job by its id.
SELECT id, kind, project_id, request, state, attempt, held, crawl_before, run_id, first_crawl, done, total, result, error,
    created_at, started_at, ended_at FROM jobs WHERE id = :id;

-- name: jobs_in
-- The jobs in one state, the oldest first.
SELECT id, kind, project_id, request, state, attempt, held, crawl_before, run_id, first_crawl, done, total, result, error,
    created_at, started_at, ended_at FROM jobs WHERE state = :state ORDER BY id;

-- name: waiting_jobs
-- The queue: what the end of a server interrupted goes first. Without the requests, because it may be long.
SELECT id, kind, project_id FROM jobs WHERE state IN ('queued', 'interrupted') ORDER BY state = 'queued', id;

-- name: jobs_ahead
-- How many jobs of some kinds are at work or wait before another one.
SELECT COUNT(*) FROM jobs
WHERE (state IN ('running', 'interrupted') OR (state = 'queued' AND id < :id)) AND id <> :id
AND kind IN (SELECT value FROM json_each(:kinds));

-- name: active_jobs
-- What a project has in the queue and at work.
SELECT id, kind, project_id, request, state, attempt, held, crawl_before, run_id, first_crawl, done, total, result, error,
    created_at, started_at, ended_at FROM jobs
WHERE project_id = :project_id AND state IN ('queued', 'running', 'interrupted') ORDER BY id;

-- name: latest_jobs
-- The latest jobs, for lists.
SELECT id, kind, project_id, request, state, attempt, held, crawl_before, run_id, first_crawl, done, total, result, error,
    created_at, started_at, ended_at FROM jobs
WHERE id < :before ORDER BY id DESC LIMIT :count;

-- name: latest_jobs_of
-- The latest jobs of a project, for lists.
SELECT id, kind, project_id, request, state, attempt, held, crawl_before, run_id, first_crawl, done, total, result, error,
    created_at, started_at, ended_at FROM jobs
WHERE project_id = :project_id AND id < :before ORDER BY id DESC LIMIT :count;

-- name: start_job
-- Claim a job for a new process; no row means that another server has.
UPDATE jobs SET state = 'running', attempt = attempt + 1, started_at = COALESCE(started_at, :now), error = NULL
WHERE id = :id AND state = :before AND attempt = :attempt RETURNING attempt;

-- name: begin_job
-- The process of a job begins; no row means that it comes too late, and another was started in its place.
UPDATE jobs SET crawl_before = COALESCE(crawl_before, :crawl_before)
WHERE id = :id AND state = 'running' AND attempt = :attempt RETURNING id;

-- name: join_run
-- Which run and crawl a job has opened; of several crawls the first stays.
UPDATE jobs SET run_id = :run_id, first_crawl = COALESCE(first_crawl, :crawl_id) WHERE id = :id RETURNING id;

-- name: count_job
-- How far an export is.
UPDATE jobs SET done = :done, total = :total WHERE id = :id;

-- name: hold_job
-- Whether the crawl of a job is on hold, for the process that resumes it.
UPDATE jobs SET held = :held WHERE id = :id;

-- name: requeue_job
-- Another process owns the project: the job waits for it.
UPDATE jobs SET state = 'queued' WHERE id = :id AND state = 'running' AND attempt = :attempt RETURNING id;

-- name: end_job
-- A process has done its work. A job that was interrupted meanwhile stays so, to be resumed.
UPDATE jobs SET state = :state, result = :result, error = :error, ended_at = :now
WHERE id = :id AND state = 'running' AND attempt = :attempt RETURNING id;

-- name: interrupt_job
-- The server ends and takes the process with it, or a signal has ended the process alone.
UPDATE jobs SET state = 'interrupted' WHERE id = :id AND state = 'running' RETURNING id;

-- name: settle_job
-- A job that is not resumed, or has not begun and is cancelled.
UPDATE jobs SET state = :state, error = :error, ended_at = :now WHERE id = :id AND state = :before RETURNING id;

-- name: forget_jobs
-- Of a project that is deleted.
DELETE FROM jobs WHERE project_id = :project_id;

-- name: forget_events_of
-- Of a project that is deleted.
DELETE FROM events WHERE project_id = :project_id;

-- name: add_event
-- Its number orders all events of the workspace, and is never used again.
INSERT INTO events (at, project_id, data) VALUES (:now, :project_id, :data) RETURNING seq;

-- name: events_after
-- What a client has missed.
SELECT seq, project_id, data FROM events
WHERE seq > :seq AND (:project_id IS NULL OR project_id = :project_id) ORDER BY seq LIMIT :count;

-- name: last_event
-- Where a new client starts: the largest number ever used, also if that event was deleted.
SELECT COALESCE((SELECT seq FROM sqlite_sequence WHERE name = 'events'), 0);

-- name: first_event
-- The oldest event that a client can still get.
SELECT COALESCE(MIN(seq), 0) FROM events;

-- name: last_events
-- What was last said of each project: a server that was killed has not said how a crawl ended.
SELECT seq, project_id, data FROM events WHERE seq IN (SELECT MAX(seq) FROM events GROUP BY project_id) ORDER BY seq;

-- name: forget_events
-- Each event is a whole state, so old ones are of use only to clients that were away for a while.
DELETE FROM events WHERE seq <= :last - :kept;

-- name: add_token
-- Only the fingerprint of a token is stored.
INSERT INTO tokens (name, fingerprint, scope, created_at) VALUES (:name, :fingerprint, :scope, :now) RETURNING id;

-- name: tokens
-- All tokens, for their owner.
SELECT id, name, scope, created_at FROM tokens ORDER BY id;

-- name: scope_of_token
-- What the sender of a request may do.
SELECT scope FROM tokens WHERE fingerprint = :fingerprint;

-- name: delete_token
-- A revoked token is gone.
DELETE FROM tokens WHERE id = :id RETURNING id;

-- name: mark_seen
-- A change that someone has looked at.
INSERT INTO seen (project_id, old, new, url) VALUES (:project_id, :old, :new, :url)
ON CONFLICT (project_id, old, new, url) DO NOTHING;

-- name: unmark_seen
-- A change that is to be looked at again.
DELETE FROM seen WHERE project_id = :project_id AND old = :old AND new = :new AND url = :url;

-- name: seen_urls
-- The changes between two runs that someone has looked at.
SELECT url FROM seen WHERE project_id = :project_id AND old = :old AND new = :new;

-- name: forget_seen
-- Of a project that is deleted.
DELETE FROM seen WHERE project_id = :project_id;
