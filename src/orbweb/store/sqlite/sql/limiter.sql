-- The rate limiter: when the next request to each host may be sent, shared by all processes of a workspace.

CREATE TABLE IF NOT EXISTS hosts (
    site     TEXT PRIMARY KEY,
    due_at   INTEGER NOT NULL,
    pace     INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS boots (
    boot     TEXT PRIMARY KEY
) WITHOUT ROWID;

-- name: forget_hosts_of_other_boots
-- The monotonic clock restarts at each boot.
DELETE FROM hosts WHERE NOT EXISTS (SELECT 1 FROM boots WHERE boot = :boot);

-- name: forget_other_boots
-- A workspace moved to another machine and back must not use the other machine's due times.
DELETE FROM boots WHERE boot <> :boot;

-- name: remember_boot
-- Due times stored from now on belong to this boot.
INSERT INTO boots (boot) VALUES (:boot) ON CONFLICT (boot) DO NOTHING;

-- name: host_due
-- When the next request may be sent, so that a caller knows how long to wait.
SELECT due_at FROM hosts WHERE site = :site;

-- name: host_pace
-- The interval since the host was busy; another process may have set it.
SELECT pace FROM hosts WHERE site = :site;

-- name: reserve_host
-- Take the host's slot if it is due; no row means that another request was sent less than an interval ago.
INSERT INTO hosts (site, due_at) VALUES (:site, :next_at)
ON CONFLICT (site) DO UPDATE SET due_at = MAX(excluded.due_at, :now + hosts.pace)
WHERE hosts.due_at <= :now OR hosts.due_at > :longest
RETURNING due_at;

-- name: push_host
-- The request was sent later than its slot was taken (a new connection), so the next slot moves too.
UPDATE hosts SET due_at = MAX(due_at, :next_at) WHERE site = :site;

-- name: hold_host
-- The host is busy: no request before `due_at`, and from then on at this pace.
INSERT INTO hosts (site, due_at, pace) VALUES (:site, :due_at, :pace)
ON CONFLICT (site) DO UPDATE SET due_at = MAX(hosts.due_at, excluded.due_at), pace = excluded.pace;

-- name: set_pace
-- The host has recovered, so requests may be a little more frequent.
UPDATE hosts SET pace = :pace WHERE site = :site;
