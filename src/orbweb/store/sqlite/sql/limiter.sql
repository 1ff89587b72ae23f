-- The rate limiter's memory: when each host may be asked again, shared by all processes of a workspace.

CREATE TABLE IF NOT EXISTS hosts (
    site     TEXT PRIMARY KEY,
    due_at   INTEGER NOT NULL,
    pace     INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS boots (
    boot     TEXT PRIMARY KEY
) WITHOUT ROWID;

-- name: forget_hosts_of_other_boots
-- The monotonic clock starts anew at each boot.
DELETE FROM hosts WHERE NOT EXISTS (SELECT 1 FROM boots WHERE boot = :boot);

-- name: forget_other_boots
-- A workspace carried from one machine to another and back must not take the other's due times for its own.
DELETE FROM boots WHERE boot <> :boot;

-- name: remember_boot
-- Due times stored from now on belong to this boot.
INSERT INTO boots (boot) VALUES (:boot) ON CONFLICT (boot) DO NOTHING;

-- name: host_due
-- When the host may be asked again, so that a caller knows how long to wait.
SELECT due_at FROM hosts WHERE site = :site;

-- name: host_pace
-- How far apart requests must be since the host said that it is busy; another process may have been told.
SELECT pace FROM hosts WHERE site = :site;

-- name: reserve_host
-- Take the host's slot if it is due. No row means that another request was sent less than a slot ago.
INSERT INTO hosts (site, due_at) VALUES (:site, :next_at)
ON CONFLICT (site) DO UPDATE SET due_at = MAX(excluded.due_at, :now + hosts.pace)
WHERE hosts.due_at <= :now OR hosts.due_at > :longest
RETURNING due_at;

-- name: push_host
-- The request went out later than its slot was taken (a new connection), so the next slot moves too.
UPDATE hosts SET due_at = MAX(due_at, :next_at) WHERE site = :site;

-- name: hold_host
-- The host is busy: nobody asks it before then, and from then on it is asked at this pace.
INSERT INTO hosts (site, due_at, pace) VALUES (:site, :due_at, :pace)
ON CONFLICT (site) DO UPDATE SET due_at = MAX(hosts.due_at, excluded.due_at), pace = excluded.pace;

-- name: set_pace
-- The host answers well again, so it may be asked a little faster.
UPDATE hosts SET pace = :pace WHERE site = :site;
