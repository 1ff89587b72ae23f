-- Named queries, each with one sentence on why it exists. Parameters are :names.

-- name: project_by_name
-- Commands name projects, not ids.
SELECT id, name, settings, bases, created_at FROM projects WHERE name = :name;

-- name: projects
-- `status` without a project lists them all.
SELECT id, name, settings, bases, created_at FROM projects ORDER BY name;

-- name: add_project
-- A project is created by its first crawl.
INSERT INTO projects (name, settings, bases, created_at) VALUES (:name, :settings, :bases, :created_at)
RETURNING id;

-- name: save_project
-- New options replace the stored ones.
UPDATE projects SET settings = :settings, bases = :bases WHERE id = :id;

-- name: data_version
-- Changes when another connection has written.
PRAGMA data_version;

-- name: projects_at_work
-- The projects with a crawl that has not ended; whether its process lives, its lock tells.
SELECT projects.id FROM runs JOIN projects ON projects.id = runs.project_id WHERE runs.state = 'in_progress'
ORDER BY projects.id;

-- name: standings
-- How the latest run of each project stands, and its latest crawl.
SELECT projects.id, runs.id, runs.state, (SELECT MAX(crawls.id) FROM crawls WHERE crawls.run_id = runs.id)
FROM projects LEFT JOIN runs ON runs.project_id = projects.id
AND runs.number = (SELECT MAX(latest.number) FROM runs AS latest WHERE latest.project_id = projects.id)
ORDER BY projects.id;

-- name: rename_project
-- Everything else refers to projects by their ids.
UPDATE projects SET name = :new WHERE name = :old;

-- name: latest_run
-- Reports without --run show the latest run.
SELECT id, project_id, number, state, started_at, ended_at, next_url, next_rank, next_visit, scope_fixed, surveyed,
       horizon, recalls, due_only, rules
FROM runs WHERE project_id = :project_id ORDER BY number DESC LIMIT 1;

-- name: run_by_number
-- Reports with --run N.
SELECT id, project_id, number, state, started_at, ended_at, next_url, next_rank, next_visit, scope_fixed, surveyed,
       horizon, recalls, due_only, rules
FROM runs WHERE project_id = :project_id AND number = :number;

-- name: run_before
-- `diff` compares a run with the one before it, and runs may have been deleted.
SELECT id, project_id, number, state, started_at, ended_at, next_url, next_rank, next_visit, scope_fixed, surveyed,
       horizon, recalls, due_only, rules
FROM runs WHERE project_id = :project_id AND number < :number ORDER BY number DESC LIMIT 1;

-- name: runs_of
-- `runs` shows the history of a project.
SELECT id, project_id, number, state, started_at, ended_at, next_url, next_rank, next_visit, scope_fixed, surveyed,
       horizon, recalls, due_only, rules
FROM runs WHERE project_id = :project_id ORDER BY number;

-- name: add_run
-- A run starts with an empty queue or with the URLs of another run, and may reuse captures of crawls that have ended.
INSERT INTO runs (project_id, number, state, started_at, next_url, next_rank, next_visit, scope_fixed,
                  surveyed, horizon, recalls, due_only, rules)
VALUES (:project_id, :number, 'in_progress', :started_at, 1, 0, 1, 0, 0,
        (SELECT COALESCE(MAX(ended), 0) FROM crawls WHERE :refresh = 0), :recalls, :due_only, :rules)
RETURNING id;

-- name: forget_captures
-- `--refresh` on a resumed run: from now on nothing is reused.
UPDATE runs SET horizon = 0 WHERE id = :run_id;

-- name: move_run
-- The one guarded state change of a run.
UPDATE runs SET state = :to_state, ended_at = :ended_at WHERE id = :run_id AND state = :from_state;

-- name: advance_run
-- Ids, ranks and visit numbers given out in a unit of work become durable with it.
UPDATE runs SET next_url = :next_url, next_rank = :next_rank, next_visit = :next_visit, scope_fixed = :scope_fixed,
                surveyed = :surveyed
WHERE id = :run_id;

-- name: rule_run
-- All URLs of the run are judged by these rules now.
UPDATE runs SET rules = :rules WHERE id = :run_id;

-- name: add_base
-- The base URLs of a run are fixed at its start; only their scope may move.
INSERT INTO bases (run_id, number, url, scope_key) VALUES (:run_id, :number, :url, :scope_key);

-- name: bases_of
-- The scope and the page limits of a run.
SELECT number, url, scope_key, pages FROM bases WHERE run_id = :run_id ORDER BY number;

-- name: save_base
-- A redirecting base URL moves its scope; each new page counts towards its limit.
UPDATE bases SET scope_key = :scope_key, pages = :pages WHERE run_id = :run_id AND number = :number;

-- name: add_crawl
-- One session of work on a run.
INSERT INTO crawls (run_id, number, state, budget, started_at, updated_at, asked_as, read_with)
VALUES (:run_id, (SELECT COUNT(*) + 1 FROM crawls WHERE run_id = :run_id), 'in_progress', :budget, :now, :now, :asked_as,
        :read_with)
RETURNING id;

-- name: crawls_of
-- `runs` shows the crawls under each run.
SELECT id, run_id, number, state, ended_by, error, budget, started_at, updated_at, visited, failed, pages, bytes
FROM crawls WHERE run_id = :run_id ORDER BY number;

-- name: open_crawls
-- After a crash the next owner closes the crawls that were left in progress.
SELECT crawls.id, crawls.run_id, runs.state FROM crawls JOIN runs ON runs.id = crawls.run_id
WHERE runs.project_id = :project_id AND crawls.state = 'in_progress';

-- name: count_crawl
-- The counters of a crawl are written with each unit of work, so that a crash leaves them correct.
UPDATE crawls SET visited = :visited, failed = :failed, pages = :pages, bytes = :bytes, updated_at = :now
WHERE id = :crawl_id;

-- name: end_crawl
-- The one guarded state change of a crawl.
UPDATE crawls SET state = :to_state, ended_by = :ended_by, error = :error, updated_at = :now,
                  ended = (SELECT COALESCE(MAX(ended), 0) + 1 FROM crawls)
WHERE id = :crawl_id AND state = 'in_progress';

-- name: crash_crawl
-- A crawl that the next owner finds in progress was killed; it ended with its last unit of work.
UPDATE crawls SET state = 'failed', ended_by = 'crashed', ended = (SELECT COALESCE(MAX(ended), 0) + 1 FROM crawls)
WHERE id = :crawl_id AND state = 'in_progress';

-- name: latest_units
-- Where the next unit of work continues: the counters of the run, and the latest units.
SELECT runs.next_url, runs.next_visit, units.number, units.last, units.first_url, units.next_url, units.first_visit,
       units.next_visit, units.at, units.packed
FROM runs LEFT JOIN units ON units.run_id = runs.id WHERE runs.id = :run_id ORDER BY units.number DESC LIMIT 1;

-- name: save_units
-- Each unit of work adds its time to the latest row, or begins a new one.
INSERT INTO units (run_id, number, last, first_url, next_url, first_visit, next_visit, at, packed)
VALUES (:run_id, :number, :last, :first_url, :next_url, :first_visit, :next_visit, :at, :packed)
ON CONFLICT (run_id, number) DO UPDATE SET last = excluded.last, next_url = excluded.next_url,
                                           next_visit = excluded.next_visit, at = excluded.at, packed = excluded.packed;

-- name: units_of
-- The times of a run's URLs.
SELECT number, last, first_url, next_url, first_visit, next_visit, at, packed FROM units WHERE run_id = :run_id
ORDER BY number;

-- name: set_change
-- The last change of an imported URL is older than the import.
UPDATE urls SET changed_in = :changed_in WHERE run_id = :run_id AND id = :id;

-- name: add_url
-- A URL is inserted once, with its verdict, at the commit that found it first.
INSERT INTO urls (run_id, id, key, url, state, reason, rule, source, depth, rank, lane, hops, redirects, base, referrer,
                  lastmod, family_member, carried, found_hops, found_base, parked, listed)
VALUES (:run_id, :id, :key, :url, :state, :reason, :rule, :source, :depth, :rank, :lane, :hops, :redirects, :base,
        :referrer, :lastmod, :family_member, :carried, :found_hops, :found_base, :parked, :listed);

-- name: settle_url
-- Guarded: only the owner settles URLs, and only queued ones.
UPDATE urls SET state = :state, reason = :reason, rule = :rule,
                changed_in = (SELECT last FROM units WHERE run_id = :run_id ORDER BY number DESC LIMIT 1)
WHERE run_id = :run_id AND id = :id AND state = 'queued';

-- name: settle_stretch
-- As `settle_url`, for visited URLs with consecutive ids, as most units of work have them: one statement for all.
UPDATE urls SET state = 'visited', reason = NULL, rule = NULL
WHERE run_id = :run_id AND id BETWEEN :first AND :last AND state = 'queued';

-- name: readmit_url
-- A skipped URL found on a better path is queued with a new rank, or refused for another reason.
UPDATE urls SET url = :url, state = :state, reason = :reason, rule = :rule, source = :source, depth = :depth,
                rank = :rank, lane = :lane, hops = :hops, redirects = :redirects, base = :base, referrer = :referrer,
                family_member = :family_member, found_hops = :found_hops, found_base = :found_base, parked = :parked,
                changed_in = CASE WHEN state = :state AND reason IS :reason THEN changed_in
                                  ELSE (SELECT last FROM units WHERE run_id = :run_id ORDER BY number DESC LIMIT 1) END
WHERE run_id = :run_id AND id = :id AND state = 'skipped';

-- name: rejudge_url
-- The scope moved with a redirecting base URL, or the user changed the rules, so URLs found before are judged again.
UPDATE urls SET state = :state, reason = :reason, rule = :rule, rank = :rank, lane = :lane, hops = :hops, base = :base,
                family_member = :family_member, parked = :parked,
                changed_in = CASE WHEN state = :state AND reason IS :reason THEN changed_in
                                  ELSE (SELECT last FROM units WHERE run_id = :run_id ORDER BY number DESC LIMIT 1) END
WHERE run_id = :run_id AND id = :id AND state IN ('queued', 'skipped');

-- name: refuse_url
-- A leased URL may not be requested: robots.txt is checked at the lease.
UPDATE urls SET state = 'skipped', reason = :reason, rule = :rule,
                changed_in = (SELECT last FROM units WHERE run_id = :run_id ORDER BY number DESC LIMIT 1)
WHERE run_id = :run_id AND id = :id AND state = 'queued';

-- name: defer_url
-- A place that blocked the order for too long returns to the queue, and is not leased before `due_at`.
UPDATE urls SET rank = :rank, due_at = :due_at,
                changed_in = (SELECT last FROM units WHERE run_id = :run_id ORDER BY number DESC LIMIT 1)
WHERE run_id = :run_id AND id = :id AND state = 'queued';

-- name: families_of
-- What a run has learned about families of URLs that may be endless.
SELECT pattern, kind, barren, tried, released, sketch FROM families WHERE run_id = :run_id;

-- name: save_family
-- Each page of a family may change its row.
INSERT INTO families (run_id, pattern, kind, barren, tried, released, sketch)
VALUES (:run_id, :pattern, :kind, :barren, :tried, :released, :sketch)
ON CONFLICT (run_id, pattern) DO UPDATE SET barren = excluded.barren, tried = excluded.tried, released = excluded.released,
                                            sketch = excluded.sketch;

-- name: add_mark
-- A URL that an imported crawl has seen; only its hash is known.
INSERT OR IGNORE INTO marks (run_id, sha256) VALUES (:run_id, :sha256);

-- name: any_mark
-- Most runs have none, and then no URL is looked up.
SELECT 1 FROM marks WHERE run_id = :run_id LIMIT 1;

-- name: mark_exists
-- A URL that is found for the first time may have been seen by the imported crawl.
SELECT 1 FROM marks WHERE run_id = :run_id AND sha256 = :sha256;

-- name: marks_of
-- The export of a state.
SELECT sha256 FROM marks WHERE run_id = :run_id ORDER BY sha256;

-- name: unpark_family
-- URLs that waited for the results of others of their family, when there are none.
UPDATE urls SET parked = '' WHERE run_id = :run_id AND state = 'skipped' AND parked = :pattern;

-- name: robots_of
-- robots.txt is cached for a day, for all projects.
SELECT origin, fetched_at, status, body FROM robots WHERE origin = :origin AND fetched_at > :since;

-- name: robots_known_to
-- The export of a state: the files of its origins alone, though the workspace may have others.
SELECT origin, fetched_at, status, body FROM robots WHERE EXISTS (
    SELECT 1 FROM urls WHERE run_id = :run_id AND key >= robots.origin || '/' AND key < robots.origin || '0')
ORDER BY origin;

-- name: save_robots
-- The newest response counts.
INSERT INTO robots (origin, fetched_at, status, body) VALUES (:origin, :fetched_at, :status, :body)
ON CONFLICT (origin) DO UPDATE SET fetched_at = excluded.fetched_at, status = excluded.status, body = excluded.body;

-- name: shorten_path
-- A queued URL found with fewer hops passes them on to its links.
UPDATE urls SET hops = :hops, found_hops = :hops - 1 WHERE run_id = :run_id AND id = :id;

-- name: date_url
-- A sitemap gives the modification date of a known URL.
UPDATE urls SET lastmod = :lastmod WHERE run_id = :run_id AND id = :id;

-- name: list_url
-- A sitemap lists a known URL.
UPDATE urls SET listed = 1 WHERE run_id = :run_id AND id = :id AND listed = 0;

-- name: skip_base
-- The page limit of a base URL is reached: its queued URLs are skipped at once.
UPDATE urls SET state = 'skipped', reason = 'page_limit', rule = :rule,
                changed_in = (SELECT last FROM units WHERE run_id = :run_id ORDER BY number DESC LIMIT 1)
WHERE run_id = :run_id AND base = :base AND state = 'queued';

-- name: skip_queued
-- A run that is finished by hand skips its queued URLs.
UPDATE urls SET state = 'skipped', reason = 'finished', rule = :rule,
                changed_in = (SELECT last FROM units WHERE run_id = :run_id ORDER BY number DESC LIMIT 1)
WHERE run_id = :run_id AND state = 'queued';

-- name: set_lanes_strict
-- The order of a resumed run may have changed to strict.
UPDATE urls SET lane = '' WHERE run_id = :run_id AND state = 'queued' AND lane <> '';

-- name: set_lane
-- The order of a resumed run may have changed to relaxed.
UPDATE urls SET lane = :lane WHERE run_id = :run_id AND id = :id;

-- name: queued_keys_in_lane
-- The URLs to move when the order changes to relaxed.
SELECT id, key FROM urls WHERE run_id = :run_id AND lane = :lane AND state = 'queued' ORDER BY id;

-- name: queued_in_order
-- The next places of a lane; the partial index serves it without a sort.
SELECT id, key, url, source, depth, rank, lane, hops, redirects, base, family_member, due_at FROM urls
WHERE run_id = :run_id AND lane = :lane AND state = 'queued' AND (depth, rank) >= (:depth, :rank)
ORDER BY depth, rank LIMIT :count;

-- name: admitted_urls
-- What the caps of page types count: every URL that was given a place, except those that a rule took it from.
SELECT id, key, state, reason FROM urls WHERE run_id = :run_id AND rank IS NOT NULL
AND (state <> 'skipped' OR reason IN ('robots', 'robots_unavailable', 'noindex', 'page_limit', 'finished'));

-- name: queued_lanes
-- The lanes that have work, at the start of a crawl.
SELECT DISTINCT lane FROM urls WHERE run_id = :run_id AND state = 'queued';

-- name: known_url
-- Exact deduplication: the cache may drop a URL, this never does.
SELECT id, depth, hops, reason FROM urls WHERE run_id = :run_id AND key = :key;

-- name: known_urls
-- A resumed run of moderate size is loaded completely at the start.
SELECT key, id, depth, hops, reason FROM urls WHERE run_id = :run_id;

-- name: queued_by_base
-- The queue of each base URL, for page limits.
SELECT base, COUNT(*) FROM urls WHERE run_id = :run_id AND state = 'queued' GROUP BY base;

-- name: open_base_places
-- While base URLs or their redirect targets are queued, the scope is not fixed.
SELECT base, COUNT(*) FROM urls WHERE run_id = :run_id AND state = 'queued' AND depth = 0 GROUP BY base;

-- name: moved_base
-- If no base URL has moved, no verdict changes when the scope is fixed.
SELECT bases.number FROM bases JOIN urls ON urls.run_id = bases.run_id AND urls.id = bases.number + 1
WHERE bases.run_id = :run_id AND bases.scope_key <> urls.key LIMIT 1;

-- name: moved_since
-- A recrawl judged the known URLs by the scope of the previous run, which is valid unless a base URL has moved.
SELECT bases.number FROM bases JOIN runs ON runs.id = bases.run_id
LEFT JOIN bases AS before ON before.run_id = runs.recalls AND before.url = bases.url
JOIN urls ON urls.run_id = bases.run_id AND urls.id = bases.number + 1
WHERE bases.run_id = :run_id AND bases.scope_key <> COALESCE(before.scope_key, urls.key) LIMIT 1;

-- name: urls_to_judge
-- URLs that other rules or another scope may change, in the order of finding, a portion at a time: those never requested.
-- The last column: whether it is on a later level than the page that led to it, or was taken over by a recrawl.
SELECT id, key, source, reason, rule, depth, rank, hops, base, found_hops, found_base, referrer, family_member, parked, listed,
       carried IS NOT NULL,
       depth > 0 AND (carried IS NOT NULL
                      OR depth > (SELECT depth FROM urls AS pages WHERE pages.run_id = :run_id AND pages.id = urls.referrer))
FROM urls WHERE run_id = :run_id AND id > :after AND state IN ('queued', 'skipped') ORDER BY id LIMIT :count;

-- name: link_records
-- Which pages link to what, and which pages are marked nofollow.
SELECT outlinks.packed, COALESCE(visits.nofollow,
       urls.reason = 'noindex' AND (urls.rule LIKE '%nofollow%' OR urls.rule LIKE '%none%'), 0)
FROM outlinks JOIN urls ON urls.run_id = outlinks.run_id AND urls.id = outlinks.url_id
LEFT JOIN visits ON visits.run_id = outlinks.run_id AND visits.url_id = outlinks.url_id
WHERE outlinks.run_id = :run_id;

-- name: said_nofollow
-- Whether a page is marked nofollow, and its URL, for the rule that refuses its links.
SELECT COALESCE(urls.url, urls.key), COALESCE(visits.nofollow,
       urls.reason = 'noindex' AND (urls.rule LIKE '%nofollow%' OR urls.rule LIKE '%none%'), 0)
FROM urls LEFT JOIN visits ON visits.run_id = urls.run_id AND visits.url_id = urls.id
WHERE urls.run_id = :run_id AND urls.id = :id;

-- name: recalled_urls
-- What a recrawl visits first, after base URLs and redirects: requested URLs in order, the queue, imported ones last.
SELECT urls.id, COALESCE(urls.url, urls.key), urls.source,
       CASE WHEN urls.depth > 0 THEN urls.depth ELSE 1 END, urls.redirects, urls.referrer, urls.family_member,
       urls.found_hops, urls.found_base
FROM urls LEFT JOIN visits ON visits.run_id = urls.run_id AND visits.url_id = urls.id
WHERE urls.run_id = :run_id AND (urls.depth > 0 OR urls.reason = 'imported')
AND (urls.state IN ('visited', 'failed', 'queued') OR urls.reason IN ('finished', 'imported'))
AND urls.carried IS NOT 'unlinked' AND COALESCE(visits.status, 0) NOT IN (404, 410)
ORDER BY visits.number IS NULL, visits.number, urls.rank IS NULL, urls.depth, urls.rank, urls.id;

-- name: looks_at
-- When earlier runs fetched a page, and its content; a capture reused without a request counts as the same fetch.
SELECT DISTINCT visits.fetched_at, COALESCE(visits.content_sha256, visits.body_sha256)
FROM runs JOIN urls ON urls.run_id = runs.id AND urls.key = :key
JOIN visits ON visits.run_id = urls.run_id AND visits.url_id = urls.id
WHERE runs.project_id = :project_id AND runs.number < :number AND visits.kind IS NULL AND visits.body_sha256 IS NOT NULL
ORDER BY visits.fetched_at DESC LIMIT :most;

-- name: lastmod_of
-- The modification date that a sitemap of this run gives for a page.
SELECT lastmod FROM urls WHERE run_id = :run_id AND key = :key;

-- name: keep_released
-- The user released these families, and has not changed that since.
INSERT INTO families (run_id, pattern, kind, barren, tried, released, sketch)
SELECT :run_id, pattern, 'released', 0, 0, 1, x'' FROM families WHERE run_id = :recalls AND released = 1;

-- name: carry_url
-- The new state of a URL that a recrawl took over: a sitemap lists it, or nothing links to it any more.
UPDATE urls SET carried = :carried WHERE run_id = :run_id AND id = :id AND carried IS NOT NULL;

-- name: most_urls
-- The highest id that a run has given out.
SELECT COALESCE(MAX(id), 0) FROM urls WHERE run_id = :run_id;

-- name: graph_roots
-- Where a walk over the links of a recrawl starts: base URLs, their redirect targets, and URLs that sitemaps list.
SELECT id FROM urls WHERE run_id = :run_id
AND (depth = 0 OR carried = 'listed' OR (source = 'sitemap' AND carried IS NULL));

-- name: graph_records
-- The links of each page, in the order in which the URLs were found, so that one pass is nearly always enough.
SELECT url_id, packed FROM outlinks WHERE run_id = :run_id ORDER BY url_id;

-- name: unread_urls
-- URLs whose current links are unknown, for a reason that may pass.
SELECT urls.id, urls.key FROM urls LEFT JOIN visits ON visits.run_id = urls.run_id AND visits.url_id = urls.id
WHERE urls.run_id = :run_id AND (urls.state = 'queued' OR (urls.state = 'failed' AND COALESCE(visits.status, 0) NOT IN (404, 410))
OR urls.reason IN ('page_limit', 'finished', 'robots_unavailable')) ORDER BY urls.id;

-- name: latest_links
-- The links of a URL when an earlier run of the project last read it.
SELECT runs.id, outlinks.packed FROM runs JOIN urls ON urls.run_id = runs.id AND urls.key = :key
JOIN outlinks ON outlinks.run_id = urls.run_id AND outlinks.url_id = urls.id
WHERE runs.project_id = :project_id AND runs.number < :number ORDER BY runs.number DESC LIMIT 1;

-- name: carried_urls
-- URLs that a recrawl took over and requested, and that no sitemap lists.
SELECT id, carried FROM urls WHERE run_id = :run_id AND carried IN ('known', 'unlinked') AND state IN ('visited', 'failed')
ORDER BY id;

-- name: gone_keys
-- URLs of a project that had vanished in some run.
SELECT urls.key FROM runs JOIN urls ON urls.run_id = runs.id AND urls.carried = 'unlinked'
WHERE runs.project_id = :project_id AND runs.number <= :number
UNION
SELECT urls.key FROM runs JOIN visits ON visits.run_id = runs.id AND visits.status IN (404, 410)
JOIN urls ON urls.run_id = visits.run_id AND urls.id = visits.url_id
WHERE runs.project_id = :project_id AND runs.number <= :number ORDER BY 1;

-- name: past_of
-- The state of a URL in each run of a project that knew it, the latest first.
SELECT runs.number, COALESCE(urls.url, urls.key), urls.carried, visits.status, visits.role
FROM runs JOIN urls ON urls.run_id = runs.id AND urls.key = :key
LEFT JOIN visits ON visits.run_id = urls.run_id AND visits.url_id = urls.id
WHERE runs.project_id = :project_id AND runs.number <= :number ORDER BY runs.number DESC;

-- name: add_visit
-- One row per visit.
INSERT INTO visits (run_id, number, url_id, crawl_id, depth, rank, status, kind, error, tries, final_url, redirect_to,
                    content_type, encoding, etag, last_modified, title, canonical, noindex, nofollow, links_cut, truncated,
                    body_sha256, content_sha256, role, bytes, wire_bytes, latency_ms, fetched_at, proxy, robots_tags,
                    reuse, reused_run, head_values, head)
VALUES (:run_id, :number, :url_id, :crawl_id, :depth, :rank, :status, :kind, :error, :tries, :final_url, :redirect_to,
        :content_type, :encoding, :etag, :last_modified, :title, :canonical, :noindex, :nofollow, :links_cut, :truncated,
        :body_sha256, :content_sha256, :role, :bytes, :wire_bytes, :latency_ms, :fetched_at, :proxy, :robots_tags,
        :reuse, :reused_run, :head_values, :head);

-- name: head_id
-- Whether a template is already stored.
SELECT id FROM heads WHERE sha256 = :sha256;

-- name: add_head
-- The common parts of heads are stored once per workspace.
INSERT INTO heads (sha256, size, frame) VALUES (:sha256, :size, :frame);

-- name: head_of
-- The heads of one visit, and the values that they share with its row.
SELECT heads.sha256, heads.size, heads.frame, visits.head_values, COALESCE(visits.final_url, urls.url, urls.key),
       visits.etag, visits.last_modified
FROM visits JOIN urls ON urls.run_id = visits.run_id AND urls.id = visits.url_id
JOIN heads ON heads.id = visits.head
WHERE visits.run_id = :run_id AND visits.url_id = :url_id;

-- name: reusable_crawls
-- Crawls whose captures may be reused: they had ended when the run began, and sent requests the same way.
SELECT id, read_with FROM crawls WHERE ended <= :horizon AND asked_as = :asked_as;

-- name: crawls_read_with
-- How the bodies of a run were processed, by crawl.
SELECT id, read_with FROM crawls WHERE run_id = :run_id;

-- name: runs_that_know
-- Runs with a reusable crawl that know any URL of an origin, the latest first; read once per origin.
SELECT id FROM runs WHERE id IN (SELECT run_id FROM crawls WHERE ended <= :horizon AND asked_as = :asked_as)
AND EXISTS (SELECT 1 FROM urls WHERE urls.run_id = runs.id AND urls.key >= :first AND urls.key < :beyond)
ORDER BY id DESC;

-- name: captures_from
-- The visit of a key by a run and those after it, which are likely to be needed next, and whether each can be reused.
-- It cannot if it failed or its body is lost. A long record of links is left out, and read when it is needed.
SELECT urls.key, visits.kind IS NULL AND (visits.status BETWEEN 200 AND 299 OR visits.reuse IS NOT NULL)
           AND visits.body_sha256 IS bodies.sha256,
       visits.run_id, visits.url_id, visits.crawl_id, COALESCE(visits.final_url, urls.url, urls.key), visits.status,
       visits.content_type, visits.encoding, visits.etag, visits.last_modified, visits.robots_tags, visits.title,
       visits.canonical, visits.noindex, visits.nofollow, visits.links_cut, visits.truncated, visits.body_sha256,
       visits.content_sha256, visits.role, visits.fetched_at, bodies.segment, bodies.position, bodies.length, bodies.size,
       CASE WHEN outlinks.packed IS NULL THEN x'' WHEN LENGTH(outlinks.packed) <= :long THEN outlinks.packed END,
       documents.sha256, documents.extractor, documents.sketch
FROM visits JOIN urls ON urls.run_id = visits.run_id AND urls.id = visits.url_id
LEFT JOIN bodies ON bodies.sha256 = visits.body_sha256
LEFT JOIN outlinks ON outlinks.run_id = visits.run_id AND outlinks.url_id = visits.url_id
LEFT JOIN pages ON pages.run_id = visits.run_id AND pages.content_sha256 = visits.content_sha256
LEFT JOIN documents ON documents.sha256 = pages.document
WHERE visits.run_id = :run_id AND visits.number >= (
    SELECT first.number FROM urls AS asked JOIN visits AS first ON first.run_id = asked.run_id AND first.url_id = asked.id
    WHERE asked.run_id = :run_id AND asked.key = :key)
ORDER BY visits.number LIMIT :count;

-- name: answered_by
-- The crawl in which a run got a response for a key, so that an older capture is not used without a request.
-- A noindex page has none, and counts only in the runs of the project, where no other process can add it meanwhile.
SELECT visits.crawl_id FROM urls LEFT JOIN visits ON visits.run_id = urls.run_id AND visits.url_id = urls.id
WHERE urls.run_id = :run_id AND urls.key = :key AND (visits.number IS NOT NULL OR urls.reason = 'noindex'
    AND (SELECT project_id FROM runs WHERE id = :run_id) = :project_id);

-- name: answer_of
-- The response that a run got for a URL; no status and no kind if it was not requested.
SELECT urls.id, urls.reason, urls.rule, visits.final_url, visits.status, visits.kind, visits.error,
       COALESCE(targets.url, targets.key), visits.content_type
FROM urls LEFT JOIN visits ON visits.run_id = urls.run_id AND visits.url_id = urls.id
LEFT JOIN urls AS targets ON targets.run_id = visits.run_id AND targets.id = visits.redirect_to
WHERE urls.run_id = :run_id AND urls.key = :key;

-- name: unavailable_of
-- Whether URLs of an origin were skipped for this reason.
SELECT id FROM urls WHERE run_id = :run_id AND key >= :first AND key < :beyond AND reason = :reason LIMIT 1;

-- name: listed_bases
-- Where sitemaps are preferred, links are followed to the URLs of the other base URLs.
SELECT DISTINCT base FROM urls WHERE run_id = :run_id AND listed = 1 AND depth > 0 AND hops = 0
AND COALESCE(reason, '') NOT IN ('out_of_scope', 'excluded', 'not_included');

-- name: listed_urls
-- The URLs that sitemaps list, in the order of finding.
SELECT COALESCE(url, key) FROM urls WHERE run_id = :run_id AND listed = 1 ORDER BY id;

-- name: planned_visits
-- The URLs that a planned run requests, in order, and their results in the previous run.
SELECT COALESCE(urls.url, urls.key), before.state, before.reason
FROM visits JOIN urls ON urls.run_id = visits.run_id AND urls.id = visits.url_id
LEFT JOIN urls AS before ON before.run_id = :before AND before.key = urls.key
WHERE visits.run_id = :run_id ORDER BY visits.number;

-- name: no_longer_visited
-- URLs that a run requested and a planned one does not: refused, or not found.
SELECT COALESCE(before.url, before.key), urls.reason, urls.rule
FROM urls AS before LEFT JOIN urls ON urls.run_id = :run_id AND urls.key = before.key
WHERE before.run_id = :before AND before.state IN ('visited', 'failed')
AND (urls.id IS NULL OR urls.state = 'skipped') ORDER BY before.id;

-- name: urls_between
-- The URLs of link targets, many at once.
SELECT id, key, url FROM urls WHERE run_id = :run_id AND id BETWEEN :first AND :last;

-- name: redirect_of
-- Redirect loops are detected by following the targets of earlier visits.
SELECT redirect_to FROM visits WHERE run_id = :run_id AND url_id = :url_id;

-- name: add_page
-- The first URL in order with this content is its page.
INSERT INTO pages (run_id, content_sha256, url_id, base, document)
VALUES (:run_id, :content_sha256, :url_id, :base, :document);

-- name: add_document
-- An earlier run or another process may have stored the same document; the first row stays.
INSERT INTO documents (sha256, extractor, title, language, words, tokens, tokenizer, confidence, simhash, sketch, size,
                       frame)
VALUES (:sha256, :extractor, :title, :language, :words, :tokens, :tokenizer, :confidence, :simhash, :sketch, :size,
        :frame)
ON CONFLICT (sha256) DO NOTHING;

-- name: document_of
-- What `show` and the library read of a page, or of the page that a URL is an alternate of.
SELECT COALESCE(urls.url, urls.key), documents.sha256, documents.extractor, documents.size, documents.frame
FROM visits JOIN pages ON pages.run_id = visits.run_id AND pages.content_sha256 = visits.content_sha256
JOIN documents ON documents.sha256 = pages.document
JOIN urls ON urls.run_id = pages.run_id AND urls.id = pages.url_id
WHERE visits.run_id = :run_id AND visits.url_id = :url_id;

-- name: document_by_hash
-- For the search index, its snippets and `diff`.
SELECT size, frame FROM documents WHERE sha256 = :sha256;

-- name: run_documents
-- The documents that a search may find, with their URLs, in the order of finding.
SELECT document, url_id FROM pages WHERE run_id = :run_id ORDER BY url_id;

-- name: documents_after
-- As `run_documents`, of the pages after a visit.
SELECT pages.document, pages.url_id
FROM visits JOIN pages ON pages.run_id = visits.run_id AND pages.content_sha256 = visits.content_sha256
WHERE visits.run_id = :run_id AND visits.number > :after AND visits.role = 'primary' ORDER BY visits.number;

-- name: page_exists
-- Later URLs with the same content become alternates.
SELECT 1 FROM pages WHERE run_id = :run_id AND content_sha256 = :content_sha256;

-- name: page_hashes
-- The pages of a resumed run of moderate size are loaded at the start.
SELECT content_sha256 FROM pages WHERE run_id = :run_id LIMIT :most;

-- name: body_hashes
-- The bodies of a workspace of moderate size are loaded at the start.
SELECT sha256 FROM bodies LIMIT :most;

-- name: add_outlinks
-- One packed record per page; a noindex page may be read again by other rules.
INSERT INTO outlinks (run_id, url_id, packed) VALUES (:run_id, :url_id, :packed)
ON CONFLICT (run_id, url_id) DO UPDATE SET packed = excluded.packed;

-- name: body_exists
-- A body is stored once in a workspace.
SELECT 1 FROM bodies WHERE sha256 = :sha256;

-- name: add_body
-- The latest row stays: a body that was lost is stored again, and what two processes stored is at both places.
INSERT INTO bodies (sha256, segment, position, length, size) VALUES (:sha256, :segment, :position, :length, :size)
ON CONFLICT (sha256) DO UPDATE SET segment = excluded.segment, position = excluded.position,
    length = excluded.length, size = excluded.size;

-- name: body_location
-- Where a body is stored.
SELECT segment, position, length, size FROM bodies WHERE sha256 = :sha256;

-- name: add_segment
-- A segment belongs to the project that writes it.
INSERT INTO segments (project_id, committed) VALUES (:project_id, 0) RETURNING id;

-- name: latest_segment
-- Where a project continues to write; bytes beyond `committed` are left from a crash.
SELECT id, committed FROM segments WHERE project_id = :project_id AND committed > 0 ORDER BY id DESC LIMIT 1;

-- name: extend_segment
-- The length that committed rows rely on.
UPDATE segments SET committed = :committed WHERE id = :segment;

-- name: add_tally
-- Counters change in the transaction of the states they count.
INSERT INTO tallies (run_id, state, reason, count) VALUES (:run_id, :state, :reason, :change)
ON CONFLICT (run_id, state, reason) DO UPDATE SET count = tallies.count + excluded.count;

-- name: tallies_of
-- Status without counting a million rows.
SELECT state, reason, count FROM tallies WHERE run_id = :run_id AND count <> 0 ORDER BY state, reason;

-- name: count_roles
-- Pages and alternates of a run.
SELECT role, COUNT(*) FROM visits WHERE run_id = :run_id GROUP BY role;

-- name: count_alternates
-- Alternates alone are in no tally.
SELECT COUNT(*) FROM visits WHERE run_id = :run_id AND role = 'alternate';

-- name: count_reuses
-- Visits of a run by how they reused a capture, if they did, and the bytes transferred.
SELECT reuse, COUNT(*), SUM(wire_bytes) FROM visits WHERE run_id = :run_id GROUP BY reuse;

-- name: run_links
-- A packed record has five bytes a link after a head of five, so that none has to be read.
SELECT COALESCE(SUM((LENGTH(packed) - 5) / 5), 0) FROM outlinks WHERE run_id = :run_id;

-- name: linked_urls
-- The URLs of a run that a link, a redirect or a resource made known.
SELECT COUNT(*) FROM urls
WHERE run_id = :run_id AND source IN ('spider', 'redirect', 'resource') AND carried IS NULL;

-- name: run_retries
-- A crawl reports at its end how often it asked again.
SELECT COALESCE(SUM(tries - 1), 0) FROM visits WHERE run_id = :run_id;

-- name: stored_bodies
-- `status` shows how many bodies the workspace has, and their bytes on the disk. Reads all rows: 0.1 s per million.
SELECT COUNT(*), COALESCE(SUM(length), 0) FROM bodies;

-- name: alternates_by_base
-- A crawl reports at its end the alternates of each base URL.
SELECT urls.base, COUNT(*) FROM visits JOIN urls ON urls.run_id = visits.run_id AND urls.id = visits.url_id
WHERE visits.run_id = :run_id AND visits.role = 'alternate' GROUP BY urls.base;

-- name: main_skip_rules
-- Per reason, the rule that skipped most URLs.
SELECT reason, rule, MAX(count) FROM (
    SELECT reason, rule, COUNT(*) AS count FROM urls WHERE run_id = :run_id AND state = 'skipped' GROUP BY reason, rule
) GROUP BY reason ORDER BY reason;

-- name: run_bytes
-- Decoded bytes captured in a run.
SELECT COALESCE(SUM(bytes), 0) FROM crawls WHERE run_id = :run_id;

-- name: run_tokens
-- The tokens of the pages of a run, by tokenizer; read from the index alone.
SELECT documents.tokenizer, SUM(documents.tokens)
FROM pages JOIN documents INDEXED BY documents_tokens ON documents.sha256 = pages.document
WHERE pages.run_id = :run_id GROUP BY documents.tokenizer ORDER BY documents.tokenizer;

-- name: queued_by_source
-- `queue` shows where the queued URLs came from.
SELECT source, COUNT(*) FROM urls WHERE run_id = :run_id AND state = 'queued' GROUP BY source ORDER BY source;

-- name: settled_by_source
-- `queue` shows where the visited and failed URLs came from.
SELECT source, COUNT(*) FROM urls WHERE run_id = :run_id AND state IN ('visited', 'failed') GROUP BY source ORDER BY source;

-- name: queue_head
-- The next URLs, in any lane.
SELECT id, changed_in, COALESCE(url, key), source, depth, rank, hops FROM urls
WHERE run_id = :run_id AND state = 'queued' ORDER BY depth, rank LIMIT :count;

-- name: manifest
-- One line per visit, in the order of commits: all after a visit, or so many.
SELECT visits.number, visits.depth, visits.rank, COALESCE(urls.url, urls.key), visits.status, visits.kind, visits.reuse,
       visits.body_sha256, visits.content_sha256, visits.role, visits.truncated
FROM visits JOIN urls ON urls.run_id = visits.run_id AND urls.id = visits.url_id
WHERE visits.run_id = :run_id AND visits.number > :after ORDER BY visits.number LIMIT :count;

-- name: page_visits
-- Primaries and alternates, grouped by the caller.
SELECT COALESCE(urls.url, urls.key), visits.status, visits.depth, COALESCE(NULLIF(documents.title, ''), visits.title),
       visits.content_sha256, visits.body_sha256, visits.bytes, visits.content_type, visits.final_url, visits.fetched_at,
       visits.role, visits.truncated, documents.language, documents.words, documents.tokens, documents.confidence, documents.simhash,
       documents.extractor
FROM visits JOIN urls ON urls.run_id = visits.run_id AND urls.id = visits.url_id
LEFT JOIN pages ON pages.run_id = visits.run_id AND pages.content_sha256 = visits.content_sha256
LEFT JOIN documents ON documents.sha256 = pages.document
WHERE visits.run_id = :run_id AND visits.role <> '-' ORDER BY visits.number;

-- name: short_pages
-- Pages with little text may be JavaScript shells. Tokens are read from the index alone.
SELECT COALESCE(urls.url, urls.key), visits.body_sha256, documents.words
FROM pages JOIN documents INDEXED BY documents_tokens ON documents.sha256 = pages.document
JOIN urls ON urls.run_id = pages.run_id AND urls.id = pages.url_id
JOIN visits ON visits.run_id = pages.run_id AND visits.url_id = pages.url_id
WHERE pages.run_id = :run_id AND documents.tokens <= :tokens AND visits.body_sha256 IS NOT NULL
ORDER BY visits.number LIMIT :count;

-- name: page_documents
-- Primaries with their documents, in the order of commits, one at a time.
SELECT urls.key, COALESCE(urls.url, urls.key), visits.status, visits.depth, visits.content_sha256, visits.body_sha256,
       visits.bytes, visits.content_type, visits.final_url, visits.fetched_at, visits.truncated, documents.sha256,
       documents.size, documents.frame
FROM visits JOIN urls ON urls.run_id = visits.run_id AND urls.id = visits.url_id
JOIN pages ON pages.run_id = visits.run_id AND pages.content_sha256 = visits.content_sha256
JOIN documents ON documents.sha256 = pages.document
WHERE visits.run_id = :run_id AND visits.role = 'primary' ORDER BY visits.number;

-- name: next_page
-- What a stream of pages gives next, with the document.
SELECT visits.number, visits.url_id, COALESCE(urls.url, urls.key), visits.status, visits.depth, visits.final_url,
       visits.content_type, visits.encoding, visits.bytes, visits.truncated, visits.reuse, visits.fetched_at,
       visits.body_sha256, documents.sha256, documents.size, documents.frame
FROM visits JOIN urls ON urls.run_id = visits.run_id AND urls.id = visits.url_id
JOIN pages ON pages.run_id = visits.run_id AND pages.content_sha256 = visits.content_sha256
JOIN documents ON documents.sha256 = pages.document
WHERE visits.run_id = :run_id AND visits.number > :after AND visits.role = 'primary' ORDER BY visits.number LIMIT 1;

-- name: pages_to_read
-- What `extract` processes again: pages with a document of another extractor, or all, in the order of commits.
SELECT visits.number, pages.content_sha256, pages.document, COALESCE(urls.url, urls.key), visits.final_url,
       visits.content_type, visits.body_sha256
FROM visits JOIN urls ON urls.run_id = visits.run_id AND urls.id = visits.url_id
JOIN pages ON pages.run_id = visits.run_id AND pages.url_id = visits.url_id
JOIN documents ON documents.sha256 = pages.document
WHERE visits.run_id = :run_id AND visits.number > :after AND visits.role = 'primary'
AND (:everything OR documents.extractor <> :extractor)
ORDER BY visits.number LIMIT :count;

-- name: count_pages_to_read
-- For the progress of `extract`.
SELECT COUNT(*) FROM pages JOIN documents ON documents.sha256 = pages.document
WHERE pages.run_id = :run_id AND (:everything OR documents.extractor <> :extractor);

-- name: change_document
-- Everything else about the page stays: its content hash is that of its capture.
UPDATE pages SET document = :document
WHERE run_id = :run_id AND content_sha256 = :content_sha256 AND document = :replaced;

-- name: forget_documents
-- A document that no page of the workspace refers to is not needed.
DELETE FROM documents WHERE sha256 NOT IN (SELECT document FROM pages);

-- name: alternates_of
-- The URLs with the same content as a page, in the order of commits.
SELECT visits.content_sha256, urls.key, COALESCE(urls.url, urls.key)
FROM visits JOIN urls ON urls.run_id = visits.run_id AND urls.id = visits.url_id
WHERE visits.run_id = :run_id AND visits.role = 'alternate' ORDER BY visits.number;

-- name: alternates_of_page
-- The URLs with the same content as one page, in the order of commits.
SELECT urls.key, COALESCE(urls.url, urls.key)
FROM visits JOIN urls ON urls.run_id = visits.run_id AND urls.id = visits.url_id
WHERE visits.run_id = :run_id AND visits.role = 'alternate' AND visits.content_sha256 = :content_sha256
ORDER BY visits.number;

-- name: urls_of_page
-- The primary and the alternates of a page, to which others may redirect.
SELECT url_id FROM visits WHERE run_id = :run_id AND role <> '-' AND content_sha256 = :content_sha256;

-- name: page_content_of
-- Whether a URL, to which another one redirects, is a page.
SELECT content_sha256 FROM visits WHERE run_id = :run_id AND url_id = :url_id AND role <> '-';

-- name: page_document
-- As `page_documents`, for another order.
SELECT urls.key, COALESCE(urls.url, urls.key), visits.status, visits.depth, visits.content_sha256, visits.body_sha256,
       visits.bytes, visits.content_type, visits.final_url, visits.fetched_at, visits.truncated, documents.sha256,
       documents.size, documents.frame
FROM visits JOIN urls ON urls.run_id = visits.run_id AND urls.id = visits.url_id
JOIN pages ON pages.run_id = visits.run_id AND pages.content_sha256 = visits.content_sha256
JOIN documents ON documents.sha256 = pages.document
WHERE visits.run_id = :run_id AND visits.url_id = :url_id AND visits.role = 'primary';

-- name: outline_pages
-- What an export must know about all pages before it writes the first: which there are, and their final URLs.
SELECT urls.id, urls.key, COALESCE(visits.final_url, urls.url, urls.key)
FROM visits JOIN urls ON urls.run_id = visits.run_id AND urls.id = visits.url_id
WHERE visits.run_id = :run_id AND visits.role = 'primary' ORDER BY visits.number;

-- name: outline_alternates
-- The page that a link to an alternate leads to.
SELECT urls.id, urls.key, pages.url_id
FROM visits JOIN urls ON urls.run_id = visits.run_id AND urls.id = visits.url_id
JOIN pages ON pages.run_id = visits.run_id AND pages.content_sha256 = visits.content_sha256
WHERE visits.run_id = :run_id AND visits.role = 'alternate' ORDER BY visits.number;

-- name: redirects_of
-- The URLs that redirect, and their targets: a link to one leads to a page, and it is an alternate of that page.
SELECT urls.id, urls.key, COALESCE(urls.url, urls.key), visits.redirect_to
FROM visits JOIN urls ON urls.run_id = visits.run_id AND urls.id = visits.url_id
WHERE visits.run_id = :run_id AND visits.redirect_to IS NOT NULL ORDER BY visits.number;

-- name: outline_bodies
-- The bodies of a run with the data of their visits.
SELECT COALESCE(urls.url, urls.key), COALESCE(visits.final_url, urls.url, urls.key), visits.role, visits.status,
       visits.depth, visits.content_type, visits.encoding, visits.bytes, visits.fetched_at, visits.body_sha256,
       visits.content_sha256
FROM visits JOIN urls ON urls.run_id = visits.run_id AND urls.id = visits.url_id
WHERE visits.run_id = :run_id AND visits.body_sha256 IS NOT NULL ORDER BY visits.number;

-- name: count_bodies_of_run
-- For the progress of an export.
SELECT COUNT(*) FROM visits WHERE run_id = :run_id AND body_sha256 IS NOT NULL;

-- name: compared_urls
-- `diff` reads two runs side by side; the index on keys serves the order.
SELECT urls.key, COALESCE(urls.url, urls.key), urls.state, urls.reason, visits.status, visits.kind, visits.role,
       visits.body_sha256, visits.content_sha256, pages.document, targets.key, urls.carried
FROM urls LEFT JOIN visits ON visits.run_id = urls.run_id AND visits.url_id = urls.id
LEFT JOIN pages ON pages.run_id = urls.run_id AND pages.content_sha256 = visits.content_sha256
LEFT JOIN urls AS targets ON targets.run_id = urls.run_id AND targets.id = visits.redirect_to
WHERE urls.run_id = :run_id ORDER BY urls.key;

-- name: base_visits
-- The visits of base URLs and their redirect targets.
SELECT COALESCE(urls.url, urls.key), visits.status, visits.kind, visits.error, visits.content_type, visits.role
FROM visits JOIN urls ON urls.run_id = visits.run_id AND urls.id = visits.url_id
WHERE visits.run_id = :run_id AND visits.depth = 0 ORDER BY visits.number;

-- name: refused_bases
-- Base URLs that may not be requested or stored.
SELECT id, COALESCE(url, key), reason, rule FROM urls WHERE run_id = :run_id AND depth = 0 AND state = 'skipped' ORDER BY id;

-- name: unfollowed_of_bases
-- Links that only a base URL has, and that it marks nofollow.
SELECT bases.id, MIN(urls.rule), COUNT(*)
FROM urls JOIN urls AS bases ON bases.run_id = urls.run_id AND bases.id = urls.referrer
WHERE urls.run_id = :run_id AND urls.reason = 'nofollow' AND urls.rule NOT LIKE 'rel=nofollow%' AND bases.depth = 0
GROUP BY bases.id;

-- name: skipped_examples
-- `plan` shows what each rule refuses.
SELECT COALESCE(url, key), rule FROM urls WHERE run_id = :run_id AND state = 'skipped' AND reason = :reason
ORDER BY id LIMIT :count;

-- name: robots_files
-- `plan` shows the robots.txt of each origin.
SELECT origin, body, fetched_at FROM robots ORDER BY origin;

-- name: base_outcomes
-- Each base URL and its redirect targets, in order; one that was spooled or imported may have another id, and none here.
WITH RECURSIVE chain (base, url_id, hop) AS (
    SELECT bases.number, urls.id, 0 FROM bases JOIN urls ON urls.run_id = bases.run_id AND urls.id = bases.number + 1
    WHERE bases.run_id = :run_id AND COALESCE(urls.url, urls.key) = bases.url
    UNION ALL
    SELECT chain.base, visits.redirect_to, chain.hop + 1
    FROM chain JOIN visits ON visits.run_id = :run_id AND visits.url_id = chain.url_id
    WHERE visits.redirect_to IS NOT NULL AND chain.hop < 20
)
SELECT chain.base, COALESCE(urls.url, urls.key), urls.state, urls.reason, urls.rule, visits.status, visits.kind,
       visits.error, visits.content_type, visits.role, visits.body_sha256
FROM chain JOIN urls ON urls.run_id = :run_id AND urls.id = chain.url_id
LEFT JOIN visits ON visits.run_id = urls.run_id AND visits.url_id = urls.id
ORDER BY chain.base, chain.hop;

-- name: queued_urls
-- `plan` checks the queue against robots.txt, as a crawl does at each lease.
SELECT COALESCE(url, key), source FROM urls WHERE run_id = :run_id AND state = 'queued' ORDER BY id;

-- name: failures
-- Failed URLs and their causes, in the order of commits.
SELECT urls.id, urls.key, COALESCE(urls.url, urls.key), visits.kind, visits.status, visits.error, visits.tries,
       visits.fetched_at, urls.source
FROM visits JOIN urls ON urls.run_id = visits.run_id AND urls.id = visits.url_id
WHERE visits.run_id = :run_id AND visits.kind IS NOT NULL ORDER BY visits.number;

-- name: linking_page
-- A page with a broken link, and its body, in which the text of the link is.
SELECT COALESCE(urls.url, urls.key), visits.final_url, visits.content_type, visits.body_sha256
FROM urls LEFT JOIN visits ON visits.run_id = urls.run_id AND visits.url_id = urls.id
WHERE urls.run_id = :run_id AND urls.id = :id;

-- name: failed_ids
-- The URLs that `retry` queues again, in the order in which they failed.
SELECT visits.url_id FROM visits WHERE visits.run_id = :run_id AND visits.kind IS NOT NULL
AND (:kind IS NULL OR visits.kind = :kind) ORDER BY visits.number;

-- name: requeue_url
-- A failed or released URL gets a new rank at the end of its depth.
UPDATE urls SET state = 'queued', reason = NULL, rule = NULL, rank = :rank,
                parked = CASE WHEN reason = 'trap' THEN '' ELSE parked END,
                changed_in = (SELECT last FROM units WHERE run_id = :run_id ORDER BY number DESC LIMIT 1)
WHERE run_id = :run_id AND id = :id AND state = :from_state;

-- name: trapped
-- `queue --release` chooses from these, in the order of finding.
SELECT id, COALESCE(url, key), rule FROM urls WHERE run_id = :run_id AND state = 'skipped' AND reason = 'trap' ORDER BY id;

-- name: traps_of
-- `queue` shows parked URLs by family.
SELECT rule, COUNT(*) FROM urls WHERE run_id = :run_id AND state = 'skipped' AND reason = 'trap' GROUP BY rule ORDER BY rule;

-- name: release_family
-- The user wants this family followed, whatever its pages show.
INSERT INTO families (run_id, pattern, kind, barren, tried, released, sketch)
VALUES (:run_id, :pattern, 'released', 0, 0, 1, x'')
ON CONFLICT (run_id, pattern) DO UPDATE SET released = 1;

-- name: forget_visit
-- A retried URL will be visited again, so its old row is deleted.
DELETE FROM visits WHERE run_id = :run_id AND url_id = :url_id;

-- name: url_by_key
-- `show` and `queue` report on one URL.
SELECT urls.id, COALESCE(urls.url, urls.key), urls.state, urls.reason, urls.rule, urls.source, urls.depth, urls.rank,
       urls.hops, referrers.key
FROM urls LEFT JOIN urls AS referrers ON referrers.run_id = urls.run_id AND referrers.id = urls.referrer
WHERE urls.run_id = :run_id AND urls.key = :key;

-- name: visit_of
-- Everything recorded about one visit.
SELECT status, kind, error, tries, final_url, content_type, encoding, etag, last_modified, title, canonical, noindex,
       nofollow, links_cut, truncated, body_sha256, content_sha256, role, bytes, wire_bytes, latency_ms, fetched_at, proxy,
       robots_tags, reuse, reused_run, crawl_id, depth, rank
FROM visits WHERE run_id = :run_id AND url_id = :url_id;

-- name: outlinks_of
-- The links of one page.
SELECT packed FROM outlinks WHERE run_id = :run_id AND url_id = :url_id;

-- name: key_of
-- The key of a target in a packed record.
SELECT key FROM urls WHERE run_id = :run_id AND id = :id;

-- name: explained_url
-- `explain` reports on one URL and its base URL.
SELECT urls.id, COALESCE(urls.url, urls.key), urls.state, urls.reason, urls.rule, urls.source, urls.depth, urls.rank,
       urls.lane, urls.hops, urls.due_at, urls.changed_in, bases.url, bases.scope_key, visits.number
FROM urls JOIN bases ON bases.run_id = urls.run_id AND bases.number = urls.base
LEFT JOIN visits ON visits.run_id = urls.run_id AND visits.url_id = urls.id
WHERE urls.run_id = :run_id AND urls.key = :key;

-- name: chain_to
-- How a URL was found, starting from a base URL.
WITH RECURSIVE chain (id, step) AS (
    SELECT :id, 0
    UNION ALL
    SELECT urls.referrer, chain.step + 1 FROM chain JOIN urls ON urls.run_id = :run_id AND urls.id = chain.id
    WHERE urls.referrer IS NOT NULL
)
SELECT COALESCE(urls.url, urls.key), urls.source FROM chain JOIN urls ON urls.run_id = :run_id AND urls.id = chain.id
ORDER BY chain.step DESC;

-- name: outlinks_with
-- Pages that may link to a URL: all records are searched for its four bytes, wherever they are.
SELECT COALESCE(urls.url, urls.key), outlinks.packed
FROM outlinks JOIN urls ON urls.run_id = outlinks.run_id AND urls.id = outlinks.url_id
WHERE outlinks.run_id = :run_id AND instr(outlinks.packed, :pattern) > 0 ORDER BY outlinks.url_id;

-- name: queued_before
-- How many URLs come before a queued one; the partial index serves it.
SELECT COUNT(*) FROM urls
WHERE run_id = :run_id AND lane = :lane AND state = 'queued' AND (depth, rank) < (:depth, :rank);

-- name: outcome_of
-- The result of a visit.
SELECT status, kind, error, tries, role, redirect_to, content_sha256, proxy, reuse, reused_run FROM visits
WHERE run_id = :run_id AND url_id = :url_id;

-- name: primary_of
-- The URL that is the page of this content.
SELECT COALESCE(urls.url, urls.key)
FROM pages JOIN urls ON urls.run_id = pages.run_id AND urls.id = pages.url_id
WHERE pages.run_id = :run_id AND pages.content_sha256 = :content_sha256;

-- name: project_by_id
-- A client of the server may name a project by its id.
SELECT id, name, settings, bases, created_at FROM projects WHERE id = :id;

-- name: run_by_id
-- A client of the server names a run by its id.
SELECT runs.id, runs.number, projects.id, projects.name FROM runs JOIN projects ON projects.id = runs.project_id
WHERE runs.id = :id;

-- name: crawl_by_id
-- A client of the server names a crawl by its id.
SELECT crawls.id, crawls.number, runs.id, runs.number, projects.id, projects.name
FROM crawls JOIN runs ON runs.id = crawls.run_id JOIN projects ON projects.id = runs.project_id
WHERE crawls.id = :id;

-- name: last_crawl
-- Crawls that begin later have larger ids.
SELECT COALESCE(MAX(id), 0) FROM crawls;

-- name: crawls_after
-- The crawls of a project that began later than another.
SELECT crawls.id, crawls.run_id FROM crawls JOIN runs ON runs.id = crawls.run_id
WHERE runs.project_id = :project_id AND crawls.id > :id ORDER BY crawls.id;

-- name: visits_after
-- The next visits of a run in the order of commits, for figures that follow a crawl.
SELECT visits.number, COALESCE(urls.url, urls.key), visits.status, visits.kind, visits.error, visits.latency_ms,
       visits.fetched_at, visits.reuse
FROM visits JOIN urls ON urls.run_id = visits.run_id AND urls.id = visits.url_id
WHERE visits.run_id = :run_id AND visits.number > :after ORDER BY visits.number LIMIT :count;

-- name: head_of_lane
-- The next URLs of a lane; the partial index serves it.
SELECT COALESCE(url, key), source, depth, rank FROM urls
WHERE run_id = :run_id AND state = 'queued' AND lane = :lane ORDER BY depth, rank LIMIT :count;

-- name: queued_by_host
-- How many URLs of each host are queued, the most first.
SELECT SUBSTR(key, INSTR(key, '://') + 3, INSTR(SUBSTR(key, INSTR(key, '://') + 3) || '/', '/') - 1) AS host, COUNT(*)
FROM urls WHERE run_id = :run_id AND state = 'queued' GROUP BY host ORDER BY COUNT(*) DESC, host LIMIT :count;

-- name: sections_of
-- Pages and failures of a run by the first two segments of their path and by depth.
-- `SUBSTR` of a key after its host begins with a slash; a query does not belong to a segment.
-- A map counts pages and failures by the first two segments of their path, without a query, and by depth.
WITH
    settled AS (
        SELECT SUBSTR(urls.key, INSTR(urls.key, '://') + 3) AS rest, visits.depth, visits.role,
               urls.state = 'failed' AS failed
        FROM visits JOIN urls ON urls.run_id = visits.run_id AND urls.id = visits.url_id
        WHERE visits.run_id = :run_id AND (visits.role = 'primary' OR urls.state = 'failed')
    ),
    paths AS (
        SELECT SUBSTR(rest, 1, INSTR(rest || '/', '/') - 1) AS host,
               SUBSTR(rest, INSTR(rest || '/', '/') + 1, INSTR(rest || '?', '?') - INSTR(rest || '/', '/') - 1) AS path,
               depth, role, failed
        FROM settled
    ),
    heads AS (
        SELECT host, SUBSTR(path, 1, INSTR(path || '/', '/') - 1) AS first, INSTR(path, '/') > 0 AS below,
               SUBSTR(path, INSTR(path || '/', '/') + 1) AS rest, depth, role, failed
        FROM paths
    )
SELECT host, first, CASE WHEN below THEN SUBSTR(rest, 1, INSTR(rest || '/', '/') - 1) ELSE '' END AS second,
       below, below AND INSTR(rest, '/') > 0 AS deeper, depth, SUM(role = 'primary'), SUM(failed)
FROM heads GROUP BY host, first, second, below, deeper, depth;

-- name: pages_below
-- The links of the pages of a run whose keys are in a range.
SELECT outlinks.packed FROM urls JOIN outlinks ON outlinks.run_id = urls.run_id AND outlinks.url_id = urls.id
WHERE urls.run_id = :run_id AND urls.key >= :first AND urls.key < :beyond AND urls.state = 'visited' LIMIT :count;

-- name: skipped_columns
-- The next skipped URLs of a run among those with these ids: no index has them.
SELECT id, reason, rule FROM urls
WHERE run_id = :run_id AND id > :after AND id <= :beyond AND state = 'skipped' ORDER BY id;

-- name: skipped_at
-- A row of a list of skipped URLs.
SELECT COALESCE(urls.url, urls.key), urls.reason, urls.rule, urls.source, urls.depth,
       COALESCE(found.url, found.key)
FROM urls LEFT JOIN urls AS found ON found.run_id = urls.run_id AND found.id = urls.referrer
WHERE urls.run_id = :run_id AND urls.id = :id AND urls.state = 'skipped';

-- name: queued_keys
-- What a new rule would be applied to.
SELECT key, depth FROM urls WHERE run_id = :run_id AND state = 'queued' ORDER BY lane, depth, rank;

-- name: captures_of
-- One URL in all runs of its project, the latest first.
SELECT runs.id, runs.number, urls.state, visits.status, visits.kind, visits.fetched_at, visits.body_sha256,
       visits.content_sha256, visits.role, visits.bytes, visits.reuse, visits.title
FROM runs JOIN urls ON urls.run_id = runs.id AND urls.key = :key
LEFT JOIN visits ON visits.run_id = urls.run_id AND visits.url_id = urls.id
WHERE runs.project_id = :project_id ORDER BY runs.number DESC;

-- name: run_named
-- The run that a visit reused a capture of.
SELECT projects.name, runs.number FROM runs JOIN projects ON projects.id = runs.project_id WHERE runs.id = :run_id;

-- name: url_of
-- The target of a redirect.
SELECT COALESCE(url, key) FROM urls WHERE run_id = :run_id AND id = :id;

-- name: cursor_of
-- Where a file that follows a run continues.
SELECT visit, size, since, checksum FROM outputs WHERE run_id = :run_id AND name = :name;

-- name: least_cursor
-- Whether a file of an ended run is unfinished; the second cursor of a file does not count.
SELECT MIN(visit) FROM outputs WHERE run_id = :run_id AND name NOT LIKE '%.whole';

-- name: move_cursor
-- Everything before the cursor is durable in its file.
INSERT INTO outputs (run_id, name, visit, size, since, checksum)
VALUES (:run_id, :name, :visit, :size, :since, :checksum)
ON CONFLICT (run_id, name) DO UPDATE SET visit = excluded.visit, size = excluded.size, since = excluded.since,
                                         checksum = excluded.checksum;

-- name: latest_visit
-- How far files that follow a run can be written.
SELECT COALESCE(MAX(number), 0) FROM visits WHERE run_id = :run_id;

-- name: followed_visits
-- The next visits of a run with all fields of an output line, in the order of commits.
SELECT visits.number, urls.key, COALESCE(urls.url, urls.key), urls.source, visits.depth,
       COALESCE(referrers.url, referrers.key, spool_lines.referrer), visits.status, visits.kind, visits.error, visits.tries, visits.final_url,
       COALESCE(targets.url, targets.key), visits.content_type, visits.encoding, visits.etag, visits.last_modified,
       visits.title, visits.canonical, visits.links_cut, visits.truncated, visits.body_sha256, visits.content_sha256,
       visits.role, visits.bytes, visits.latency_ms, visits.fetched_at, visits.proxy, visits.robots_tags, visits.reuse,
       bodies.segment, bodies.position, bodies.length, bodies.size, spool_lines.page_type, spool_lines.extra
FROM visits JOIN urls ON urls.run_id = visits.run_id AND urls.id = visits.url_id
LEFT JOIN urls AS referrers ON referrers.run_id = urls.run_id AND referrers.id = urls.referrer
LEFT JOIN urls AS targets ON targets.run_id = visits.run_id AND targets.id = visits.redirect_to
LEFT JOIN bodies ON bodies.sha256 = visits.body_sha256
LEFT JOIN spool_lines ON spool_lines.run_id = visits.run_id AND spool_lines.url_id = visits.url_id
WHERE visits.run_id = :run_id AND visits.number > :after ORDER BY visits.number LIMIT :count;

-- name: followed_links
-- The next visits of a run with their links.
SELECT visits.number, visits.url_id, outlinks.packed
FROM visits LEFT JOIN outlinks ON outlinks.run_id = visits.run_id AND outlinks.url_id = visits.url_id
WHERE visits.run_id = :run_id AND visits.number > :after ORDER BY visits.number LIMIT :count;

-- name: counted_visits
-- The initial values of the metrics of a run.
SELECT status, kind, role, reuse, body_sha256 IS NOT NULL AS kept, COUNT(*), SUM(bytes), SUM(tries - 1)
FROM visits WHERE run_id = :run_id GROUP BY status, kind, role, reuse, kept;

-- name: state_of_run
-- The header of `export --to state`.
SELECT projects.settings, runs.next_rank, runs.scope_fixed, runs.surveyed
FROM runs JOIN projects ON projects.id = runs.project_id WHERE runs.id = :run_id;

-- name: state_frontier
-- The queue of a run in its order.
SELECT urls.id, COALESCE(urls.url, urls.key), urls.key, urls.depth, urls.rank, COALESCE(referrers.url, referrers.key),
       urls.source, urls.hops, urls.redirects, urls.base, urls.family_member, urls.lastmod, urls.due_at, urls.changed_in,
       urls.reason, urls.rule
FROM urls LEFT JOIN urls AS referrers ON referrers.run_id = urls.run_id AND referrers.id = urls.referrer
WHERE urls.run_id = :run_id AND urls.state = 'queued' ORDER BY urls.depth, urls.rank;

-- name: state_skipped
-- The URLs that a run has refused, so that they are not requested after a move either.
SELECT urls.id, COALESCE(urls.url, urls.key), urls.key, urls.depth, urls.rank, COALESCE(referrers.url, referrers.key),
       urls.source, urls.hops, urls.redirects, urls.base, urls.family_member, urls.lastmod, urls.due_at, urls.changed_in,
       urls.reason, urls.rule
FROM urls LEFT JOIN urls AS referrers ON referrers.run_id = urls.run_id AND referrers.id = urls.referrer
WHERE urls.run_id = :run_id AND urls.state = 'skipped' ORDER BY urls.id;

-- name: page_index
-- The data by which a later run requests each URL conditionally, in the order of commits.
SELECT visits.number, urls.id, COALESCE(urls.url, urls.key), urls.key, visits.etag, visits.last_modified, visits.body_sha256, visits.fetched_at,
       visits.status, visits.kind, visits.error, visits.tries, visits.final_url, COALESCE(targets.url, targets.key),
       visits.content_type, visits.encoding, visits.title, visits.canonical, visits.noindex, visits.nofollow,
       visits.links_cut, visits.truncated, visits.content_sha256, visits.role, visits.bytes, visits.wire_bytes,
       visits.latency_ms, visits.proxy, visits.robots_tags, visits.reuse, urls.id, visits.depth, visits.rank,
       COALESCE(referrers.url, referrers.key), urls.source, urls.hops, urls.redirects, urls.base, urls.family_member, urls.lastmod,
       bodies.segment, bodies.position, bodies.length, bodies.size
FROM visits JOIN urls ON urls.run_id = visits.run_id AND urls.id = visits.url_id
LEFT JOIN urls AS referrers ON referrers.run_id = urls.run_id AND referrers.id = urls.referrer
LEFT JOIN urls AS targets ON targets.run_id = visits.run_id AND targets.id = visits.redirect_to
LEFT JOIN bodies ON bodies.sha256 = visits.body_sha256
WHERE visits.run_id = :run_id ORDER BY visits.number;

-- name: adopt_run
-- An imported run continues here with its own counters.
INSERT INTO runs (project_id, number, state, started_at, next_url, next_rank, next_visit, scope_fixed, surveyed, horizon,
                  due_only)
VALUES (:project_id, 1, 'in_progress', :started_at, :next_url, :next_rank, :next_visit, :scope_fixed, :surveyed, 0, 0)
RETURNING id;

-- name: spool_files
-- Few rows: one file per run, and one whenever a file is full.
SELECT name, run_id, visit, size FROM spools ORDER BY LENGTH(name), name;

-- name: latest_spool_file
-- Where discovery continues to write.
SELECT name, run_id, visit, size FROM spools WHERE run_id = :run_id ORDER BY LENGTH(name) DESC, name DESC LIMIT 1;

-- name: add_spool_file
-- A file has a row before it has a line, so that its run is known.
INSERT INTO spools (name, run_id, visit, size) VALUES (:name, :run_id, :visit, :size);

-- name: advance_spool_file
-- The cursor moves when the lines are durable.
UPDATE spools SET visit = :visit, size = :size WHERE name = :name;

-- name: pipelines
-- A project that is scraped has a bookmark or a discovery.
SELECT name FROM projects WHERE name LIKE :discoveries OR EXISTS
(SELECT 1 FROM runs JOIN bookmarks ON bookmarks.run_id = runs.id WHERE runs.project_id = projects.id) ORDER BY id;

-- name: bookmark_of
-- A bookmark that differs was set by hand.
SELECT file, position FROM bookmarks WHERE run_id = :run_id;

-- name: save_bookmark
-- After the file is written.
INSERT OR REPLACE INTO bookmarks (run_id, file, position) VALUES (:run_id, :file, :position);

-- name: add_spool_line
-- The first line of a URL counts.
INSERT OR IGNORE INTO spool_lines (run_id, url_id, page_type, referrer, extra)
VALUES (:run_id, :url_id, :page_type, :referrer, :extra);

-- name: state_of
-- Whether a line of the spool is scraped.
SELECT state FROM urls WHERE run_id = :run_id AND id = :id;

-- name: spool_visits
-- The visits of discovery since the cursor, in the order of commits.
SELECT visits.number, urls.url, urls.key, visits.depth, urls.referrer, visits.status, visits.bytes, visits.latency_ms,
       visits.role
FROM visits JOIN urls ON urls.run_id = visits.run_id AND urls.id = visits.url_id
WHERE visits.run_id = :run_id AND visits.number > :after ORDER BY visits.number LIMIT :most;

-- name: page_after
-- Whether a line is missing.
SELECT number FROM visits WHERE run_id = :run_id AND number > :after AND role <> '-' LIMIT 1;

-- name: spool_referrer
-- A URL on which others were found: a page, or a redirect and its own referrer.
SELECT COALESCE(urls.url, urls.key), visits.redirect_to IS NOT NULL, urls.referrer
FROM urls LEFT JOIN visits ON visits.run_id = urls.run_id AND visits.url_id = urls.id
WHERE urls.run_id = :run_id AND urls.id = :id;

-- name: reopen_feed
-- Discovery found more for a run that had finished scraping.
UPDATE runs SET surveyed = 0 WHERE id = :run_id;

-- name: unfed_pages
-- Pages of discovery that the scraping run never got, because their lines are lost or damaged.
SELECT visits.number, urls.url, urls.key, visits.depth, urls.referrer, visits.status, visits.bytes, visits.latency_ms,
       visits.role
FROM visits JOIN urls ON urls.run_id = visits.run_id AND urls.id = visits.url_id
WHERE visits.run_id = :run_id AND visits.role <> '-' AND NOT EXISTS
(SELECT 1 FROM urls AS fed WHERE fed.run_id = :fed_run AND fed.key = urls.key AND fed.reason IS NOT 'left_to_discovery')
ORDER BY visits.number;

-- name: run_mark
-- What differs if anything of a run does: its latest unit of work, and the last change that a crawl of it has made.
SELECT runs.started_at, runs.state, units.last, units.at, units.next_visit,
       (SELECT COUNT(*) FROM crawls WHERE crawls.run_id = runs.id),
       (SELECT MAX(updated_at) FROM crawls WHERE crawls.run_id = runs.id)
FROM runs LEFT JOIN units ON units.run_id = runs.id WHERE runs.id = :run_id ORDER BY units.number DESC LIMIT 1;

-- name: page_columns
-- The next pages and alternates of a run, by what lists of them are filtered, counted and sorted by.
SELECT visits.number, visits.role, pages.url_id, COALESCE(urls.url, urls.key), urls.key,
       COALESCE(NULLIF(documents.title, ''), visits.title, ''), visits.status, visits.depth, visits.bytes,
       documents.language, documents.words, documents.tokens, documents.confidence,
       CASE WHEN :before IS NULL THEN '' WHEN earlier.content_sha256 IS NULL THEN 'added'
            WHEN earlier.content_sha256 = visits.content_sha256 THEN 'unchanged' ELSE 'changed' END
FROM visits JOIN urls ON urls.run_id = visits.run_id AND urls.id = visits.url_id
LEFT JOIN pages ON pages.run_id = visits.run_id AND pages.content_sha256 = visits.content_sha256
LEFT JOIN documents ON documents.sha256 = pages.document
LEFT JOIN urls AS known ON known.run_id = :before AND known.key = urls.key
LEFT JOIN visits AS earlier ON earlier.run_id = known.run_id AND earlier.url_id = known.id
WHERE visits.run_id = :run_id AND visits.number > :after AND visits.role <> '-'
ORDER BY visits.number LIMIT :count;

-- name: visit_number_of
-- The visit of a page, of which an alternate is found.
SELECT number FROM visits WHERE run_id = :run_id AND url_id = :url_id;

-- name: page_at
-- One row of a list of pages.
SELECT visits.number, visits.depth, visits.rank, COALESCE(urls.url, urls.key),
       COALESCE(NULLIF(documents.title, ''), visits.title), visits.status, visits.bytes, visits.content_type,
       visits.fetched_at, documents.language, documents.words, documents.tokens, documents.confidence
FROM visits JOIN urls ON urls.run_id = visits.run_id AND urls.id = visits.url_id
LEFT JOIN pages ON pages.run_id = visits.run_id AND pages.content_sha256 = visits.content_sha256
LEFT JOIN documents ON documents.sha256 = pages.document
WHERE visits.run_id = :run_id AND visits.number = :number AND visits.role = 'primary';

-- name: page_row_at
-- One page by the number of its visit, as programs read it.
SELECT COALESCE(urls.url, urls.key), visits.status, visits.depth,
       COALESCE(NULLIF(documents.title, ''), visits.title), visits.content_sha256, visits.body_sha256, visits.bytes,
       visits.content_type, visits.fetched_at, visits.truncated, documents.language, documents.words, documents.tokens
FROM visits JOIN urls ON urls.run_id = visits.run_id AND urls.id = visits.url_id
LEFT JOIN pages ON pages.run_id = visits.run_id AND pages.content_sha256 = visits.content_sha256
LEFT JOIN documents ON documents.sha256 = pages.document
WHERE visits.run_id = :run_id AND visits.number = :number AND visits.role = 'primary';

-- name: pages_from
-- The pages after one, in the order of their visits.
SELECT number FROM visits WHERE run_id = :run_id AND number > :after AND role = 'primary' ORDER BY number LIMIT :count;

-- name: failure_columns
-- The next failures of a run, by what lists of them are filtered, counted and sorted by.
SELECT visits.number, visits.url_id, urls.key, visits.kind, visits.status, visits.error, visits.fetched_at
FROM visits JOIN urls ON urls.run_id = visits.run_id AND urls.id = visits.url_id
WHERE visits.run_id = :run_id AND visits.number > :after AND visits.kind IS NOT NULL
ORDER BY visits.number LIMIT :count;

-- name: failure_at
-- A failed URL with the page that it was found on first.
SELECT urls.id, COALESCE(urls.url, urls.key), visits.kind, visits.status, visits.error, visits.tries,
       visits.fetched_at, urls.source, COALESCE(referrers.url, referrers.key)
FROM visits JOIN urls ON urls.run_id = visits.run_id AND urls.id = visits.url_id
LEFT JOIN urls AS referrers ON referrers.run_id = urls.run_id AND referrers.id = urls.referrer
WHERE visits.run_id = :run_id AND visits.number = :number AND visits.kind IS NOT NULL;

-- name: failed_in
-- Whether a URL failed in each run that knew it, the latest first.
SELECT runs.number, visits.kind IS NOT NULL
FROM runs JOIN urls ON urls.run_id = runs.id AND urls.key = :key
LEFT JOIN visits ON visits.run_id = urls.run_id AND visits.url_id = urls.id
WHERE runs.project_id = :project_id AND runs.number < :number ORDER BY runs.number DESC;

-- name: alternates_with
-- The URLs with the content of a page, in the order of commits.
SELECT COALESCE(urls.url, urls.key) FROM visits JOIN urls ON urls.run_id = visits.run_id AND urls.id = visits.url_id
WHERE visits.run_id = :run_id AND visits.role = 'alternate' AND visits.content_sha256 = :content_sha256
ORDER BY visits.number;

-- name: queue_columns
-- The whole queue in its order, by what lists of it are filtered by.
SELECT id, source, depth, rank FROM urls WHERE run_id = :run_id AND state = 'queued' ORDER BY depth, rank;

-- name: last_lane
-- Not empty if the queue has lanes; the partial index is read at its end.
SELECT MAX(lane) FROM urls WHERE run_id = :run_id AND state = 'queued';

-- name: queue_from
-- The queue in strict order, from a place on; the partial index serves it.
SELECT id, depth, rank FROM urls
WHERE run_id = :run_id AND lane = '' AND state = 'queued' AND (depth, rank) > (:depth, :rank)
ORDER BY depth, rank LIMIT :count;

-- name: queued_at
-- A row of a list of the queue; none if it is not queued any more.
SELECT COALESCE(url, key), source, depth, rank, hops, rule FROM urls
WHERE run_id = :run_id AND id = :id AND state = 'queued';

-- name: visits_by_status
-- A report counts the visits of a run by the status of the response; NULL if there was none.
SELECT status, COUNT(*) FROM visits WHERE run_id = :run_id GROUP BY status ORDER BY COUNT(*) DESC, status;

-- name: visits_by_content_type
-- A report counts the visits of a run by what servers called them, the most frequent first.
SELECT content_type, COUNT(*) FROM visits WHERE run_id = :run_id AND kind IS NULL AND content_type IS NOT NULL
GROUP BY content_type ORDER BY COUNT(*) DESC, content_type LIMIT :count;

-- name: visits_by_depth
-- A report counts pages and failures by the number of links that lead to them.
SELECT depth, SUM(role = 'primary'), SUM(kind IS NOT NULL) FROM visits WHERE run_id = :run_id GROUP BY depth ORDER BY depth;

-- name: pages_by_language
-- A report counts pages by language, the most frequent first.
SELECT documents.language, COUNT(*)
FROM pages JOIN documents ON documents.sha256 = pages.document
WHERE pages.run_id = :run_id GROUP BY documents.language ORDER BY COUNT(*) DESC, documents.language;

-- name: pages_by_tokens
-- A report counts pages by their length; read from the index alone.
SELECT CASE WHEN documents.tokens < 100 THEN 0 WHEN documents.tokens < 300 THEN 100 WHEN documents.tokens < 1000 THEN 300
            WHEN documents.tokens < 3000 THEN 1000 WHEN documents.tokens < 10000 THEN 3000
            WHEN documents.tokens < 30000 THEN 10000 ELSE 30000 END AS least, COUNT(*)
FROM pages JOIN documents INDEXED BY documents_tokens ON documents.sha256 = pages.document
WHERE pages.run_id = :run_id GROUP BY least ORDER BY least;

-- name: page_keys
-- A report counts pages by their type, which rules give by the key.
SELECT urls.key FROM visits JOIN urls ON urls.run_id = visits.run_id AND urls.id = visits.url_id
WHERE visits.run_id = :run_id AND visits.role = 'primary' ORDER BY visits.number;

-- name: largest_pages
-- A report names the pages with the most bytes.
WITH largest AS (SELECT number, bytes FROM visits WHERE run_id = :run_id AND role = 'primary'
                 ORDER BY bytes DESC, number LIMIT :count)
SELECT COALESCE(urls.url, urls.key), visits.title, largest.bytes
FROM largest JOIN visits ON visits.run_id = :run_id AND visits.number = largest.number
JOIN urls ON urls.run_id = visits.run_id AND urls.id = visits.url_id ORDER BY largest.bytes DESC, largest.number;

-- name: slowest_pages
-- A report names the pages that took the longest, of those that were requested.
WITH slowest AS (SELECT number, latency_ms FROM visits WHERE run_id = :run_id AND role = 'primary' AND reuse IS NULL
                 ORDER BY latency_ms DESC, number LIMIT :count)
SELECT COALESCE(urls.url, urls.key), visits.title, slowest.latency_ms
FROM slowest JOIN visits ON visits.run_id = :run_id AND visits.number = slowest.number
JOIN urls ON urls.run_id = visits.run_id AND urls.id = visits.url_id ORDER BY slowest.latency_ms DESC, slowest.number;

-- name: thinnest_pages
-- A report names the pages with the least text.
WITH thinnest AS (SELECT pages.url_id, documents.tokens, documents.words
                  FROM pages JOIN documents ON documents.sha256 = pages.document
                  WHERE pages.run_id = :run_id ORDER BY documents.words, documents.tokens, pages.url_id LIMIT :count)
SELECT COALESCE(urls.url, urls.key), visits.title, thinnest.words
FROM thinnest JOIN urls ON urls.run_id = :run_id AND urls.id = thinnest.url_id
JOIN visits ON visits.run_id = urls.run_id AND visits.url_id = urls.id ORDER BY thinnest.words, thinnest.tokens, thinnest.url_id;

-- name: skip_rules
-- A report names the rules that skipped most URLs, for each reason.
SELECT reason, rule, count FROM (
    SELECT reason, rule, COUNT(*) AS count, ROW_NUMBER() OVER (PARTITION BY reason ORDER BY COUNT(*) DESC, rule) AS place
    FROM urls WHERE run_id = :run_id AND state = 'skipped' GROUP BY reason, rule
) WHERE place <= :count ORDER BY reason, place;

-- name: truncated_visits
-- A report names the pages whose compressed body ends too early.
SELECT COALESCE(urls.url, urls.key) FROM visits JOIN urls ON urls.run_id = visits.run_id AND urls.id = visits.url_id
WHERE visits.run_id = :run_id AND visits.truncated = 1 ORDER BY visits.number;

-- name: cut_visits
-- A report names the pages with more links than are read.
SELECT COALESCE(urls.url, urls.key) FROM visits JOIN urls ON urls.run_id = visits.run_id AND urls.id = visits.url_id
WHERE visits.run_id = :run_id AND visits.links_cut = 1 ORDER BY visits.number;

-- name: visits_larger_than
-- A report names the bodies that nearly reached the limit.
SELECT COALESCE(urls.url, urls.key) FROM visits JOIN urls ON urls.run_id = visits.run_id AND urls.id = visits.url_id
WHERE visits.run_id = :run_id AND visits.bytes >= :bytes ORDER BY visits.number;

-- name: unsure_pages
-- A report counts the pages of which the main content was hard to tell.
SELECT COUNT(*) FROM pages JOIN documents ON documents.sha256 = pages.document
WHERE pages.run_id = :run_id AND documents.confidence < :confidence;
