-- The named queries of `doctor` and its repair. They read whole tables, which no query of a crawl may do.

-- name: urls_unlike_index
-- The index repeats the key, so a damaged key shows as a difference; it lacks the source, so the table itself is read.
SELECT run_id, id, key FROM urls WHERE source <> ''
EXCEPT SELECT run_id, id, key FROM urls INDEXED BY urls_by_key;

-- name: visits_unlike_index
-- The index repeats the URL of a visit and lacks the role, so the table itself is read and compared with it.
SELECT run_id, number, url_id FROM visits WHERE role <> ''
EXCEPT SELECT run_id, number, url_id FROM visits INDEXED BY visits_by_url;

-- name: damaged_visits
-- What a settled URL, its visit, its page and its body store twice must agree; discovery stores no bodies.
SELECT urls.run_id, urls.id, COALESCE(urls.url, urls.key), CASE
    WHEN visits.number IS NULL THEN 'it is settled, and its visit is missing'
    WHEN (visits.depth, visits.rank) IS NOT (urls.depth, urls.rank) THEN 'its visit has another place'
    WHEN (urls.state = 'failed') <> (visits.kind IS NOT NULL) THEN 'its visit ended otherwise'
    WHEN visits.kind = 'http_4xx' AND visits.status NOT BETWEEN 400 AND 499 THEN 'its status is no 4xx'
    WHEN visits.kind = 'http_5xx' AND visits.status < 500 THEN 'its status is no 5xx'
    WHEN visits.kind IS NULL AND COALESCE(visits.status, 0) NOT BETWEEN 200 AND 399 THEN 'its status is no success'
    WHEN visits.redirect_to IS NOT NULL AND visits.status < 300 THEN 'its status is no redirect'
    WHEN visits.redirect_to IS NOT NULL AND targets.id IS NULL THEN 'the URL it redirects to is missing'
    WHEN (visits.reuse IS NULL) <> (visits.reused_run IS NULL) THEN 'it was reused, and the run or the way is missing'
    WHEN visits.kind IS NULL AND (visits.reuse IS 'not_modified') > (visits.status = 304) THEN 'its status is not 304'
    WHEN visits.role <> '-' AND visits.status = 304 AND visits.reuse IS NULL THEN 'it was not modified since no capture'
    WHEN visits.role <> '-' AND (visits.body_sha256 IS NULL) <> (projects.name LIKE '%.discovery')
        THEN 'its role needs a body, or none'
    WHEN (visits.role = '-') <> (visits.content_sha256 IS NULL) THEN 'its role needs another content'
    WHEN visits.body_sha256 IS NOT NULL AND bodies.sha256 IS NULL THEN 'its body is not in the store'
    WHEN visits.bytes <> COALESCE(bodies.size, 0) AND projects.name NOT LIKE '%.discovery' THEN 'its body has another size'
    WHEN visits.role <> '-' AND pages.url_id IS NULL THEN 'its page is missing'
    WHEN visits.role <> '-' AND (visits.role = 'primary') <> (pages.url_id = urls.id) THEN 'its page has another primary'
    WHEN visits.role = 'primary' AND pages.base <> urls.base THEN 'its page counts for another base URL'
    WHEN visits.reuse IS NOT 'cached'
        AND abs(visits.fetched_at - crawls.started_at) > :slack AND abs(visits.fetched_at - crawls.updated_at) > :slack
        AND visits.fetched_at NOT BETWEEN crawls.started_at AND crawls.updated_at THEN 'it was not visited in its crawl'
    END AS problem
FROM urls
LEFT JOIN visits ON visits.run_id = urls.run_id AND visits.url_id = urls.id
LEFT JOIN urls AS targets ON targets.run_id = visits.run_id AND targets.id = visits.redirect_to
LEFT JOIN bodies ON bodies.sha256 = visits.body_sha256
LEFT JOIN pages ON pages.run_id = visits.run_id AND pages.content_sha256 = visits.content_sha256
LEFT JOIN crawls ON crawls.id = visits.crawl_id AND crawls.run_id = visits.run_id
JOIN runs ON runs.id = urls.run_id JOIN projects ON projects.id = runs.project_id
WHERE urls.state IN ('visited', 'failed') AND problem IS NOT NULL ORDER BY urls.run_id, visits.number;

-- name: all_outlinks
-- `doctor` unpacks every record and checks its targets.
SELECT outlinks.run_id, outlinks.url_id, COALESCE(urls.url, urls.key), outlinks.packed, visits.redirect_to
FROM outlinks JOIN urls ON urls.run_id = outlinks.run_id AND urls.id = outlinks.url_id
LEFT JOIN visits ON visits.run_id = outlinks.run_id AND visits.url_id = outlinks.url_id
WHERE visits.number IS NOT NULL OR urls.reason = 'noindex' ORDER BY outlinks.run_id, outlinks.url_id;

-- name: url_ids
-- The valid targets of a run's records.
SELECT id FROM urls WHERE run_id = :run_id;

-- name: pages_without_outlinks
-- Where records are known to be lost, a page without one may have had one, whether it was stored or not.
SELECT urls.run_id, urls.id FROM urls
LEFT JOIN visits ON visits.run_id = urls.run_id AND visits.url_id = urls.id
WHERE (visits.role <> '-' OR urls.reason = 'noindex') AND NOT EXISTS
(SELECT 1 FROM outlinks WHERE outlinks.run_id = urls.run_id AND outlinks.url_id = urls.id)
ORDER BY urls.run_id, urls.depth, urls.rank;

-- name: number_examined
-- The end of the progress of `doctor`: what it reads in full.
SELECT (SELECT COUNT(*) FROM bodies) + (SELECT COUNT(*) FROM documents);

-- name: all_bodies
-- `doctor` reads every body at its location.
SELECT sha256, segment, position, length, size FROM bodies ORDER BY segment, position;

-- name: body_visits
-- The URLs that a damaged body belongs to, in one pass for all of them.
SELECT visits.run_id, visits.url_id, COALESCE(urls.url, urls.key), visits.body_sha256
FROM visits JOIN urls ON urls.run_id = visits.run_id AND urls.id = visits.url_id
WHERE visits.body_sha256 IS NOT NULL ORDER BY visits.run_id, visits.number;

-- name: all_documents
-- `doctor` unpacks every document.
SELECT sha256, extractor, title, language, words, tokens, tokenizer, confidence, simhash, sketch, size, frame FROM documents;

-- name: all_heads
-- `doctor` unpacks every template.
SELECT id, sha256, size, frame FROM heads ORDER BY id;

-- name: visit_heads
-- `doctor` decodes the heads of every visit.
SELECT visits.run_id, visits.url_id, visits.head, visits.head_values, COALESCE(visits.final_url, urls.url, urls.key),
       visits.etag, visits.last_modified
FROM visits JOIN urls ON urls.run_id = visits.run_id AND urls.id = visits.url_id
WHERE visits.head IS NOT NULL OR visits.head_values IS NOT NULL ORDER BY visits.run_id, visits.number;

-- name: forget_visit_head
-- Heads that cannot be decoded are lost; the rest of the visit stands.
UPDATE visits SET head = NULL, head_values = NULL WHERE run_id = :run_id AND url_id = :url_id;

-- name: forget_head
-- A damaged template is as good as missing.
DELETE FROM heads WHERE id = :id;

-- name: forget_heads
-- A template that no visit refers to is not needed.
DELETE FROM heads WHERE id NOT IN (SELECT head FROM visits WHERE head IS NOT NULL);

-- name: document_pages
-- The page of each document, and how it was captured, so that its body can be processed again.
SELECT pages.document, pages.run_id, pages.content_sha256, pages.url_id, COALESCE(urls.url, urls.key), visits.final_url,
       visits.content_type, visits.body_sha256
FROM pages JOIN urls ON urls.run_id = pages.run_id AND urls.id = pages.url_id
JOIN visits ON visits.run_id = pages.run_id AND visits.url_id = pages.url_id
WHERE visits.body_sha256 IS NOT NULL ORDER BY pages.run_id, visits.number;

-- name: frame_of
-- The frame of a document, for the quarantine.
SELECT frame FROM documents WHERE sha256 = :sha256;

-- name: forget_document
-- A damaged document is as good as missing.
DELETE FROM documents WHERE sha256 = :sha256;

-- name: put_document
-- A page whose document was lost gets the one that was extracted again.
UPDATE pages SET document = :document WHERE run_id = :run_id AND content_sha256 = :content_sha256;

-- name: open_segments
-- A segment that may be written again must be complete up to `committed`; 0 means closed.
SELECT segments.id, segments.committed, COALESCE(MAX(bodies.position + bodies.length), 0)
FROM segments LEFT JOIN bodies ON bodies.segment = segments.id
WHERE segments.committed <> 0 GROUP BY segments.id ORDER BY segments.id;

-- name: lost_runs
-- Of no use: a run that is missing, or has lost its project or its base URLs, which a foreign spool does not have.
SELECT run_id, 'runs', 'the run, its project or its base URLs are missing' FROM (
    SELECT id AS run_id FROM runs WHERE project_id NOT IN (SELECT id FROM projects)
    UNION SELECT id FROM runs WHERE id NOT IN (SELECT run_id FROM bases)
          AND project_id NOT IN (SELECT id FROM projects WHERE bases = '[]')
    UNION SELECT run_id FROM urls WHERE run_id NOT IN (SELECT id FROM runs)
    UNION SELECT run_id FROM visits WHERE run_id NOT IN (SELECT id FROM runs)
    UNION SELECT run_id FROM bases WHERE run_id NOT IN (SELECT id FROM runs)
    UNION SELECT run_id FROM crawls WHERE run_id NOT IN (SELECT id FROM runs)
    UNION SELECT run_id FROM tallies WHERE run_id NOT IN (SELECT id FROM runs)
    UNION SELECT run_id FROM bookmarks WHERE run_id NOT IN (SELECT id FROM runs)
    UNION SELECT run_id FROM units WHERE run_id NOT IN (SELECT id FROM runs)
) ORDER BY run_id;

-- name: lost_bases
-- Without the row of a base URL a run would never visit it.
SELECT bases.run_id, 'bases', 'base URL ' || bases.url || ' is not among the URLs' FROM bases WHERE NOT EXISTS
(SELECT 1 FROM urls WHERE urls.run_id = bases.run_id AND urls.base = bases.number AND urls.depth = 0
 AND urls.source = 'initial') ORDER BY bases.run_id, bases.number;

-- name: lost_base_urls
-- The rows that `lost_bases` reports, as they must be added again.
SELECT bases.run_id, bases.number, bases.url, runs.next_url, runs.next_rank
FROM bases JOIN runs ON runs.id = bases.run_id WHERE NOT EXISTS
(SELECT 1 FROM urls WHERE urls.run_id = bases.run_id AND urls.base = bases.number AND urls.depth = 0
 AND urls.source = 'initial') ORDER BY bases.run_id, bases.number;

-- name: lost_crawls
-- A visit belongs to a crawl, and a run has at least one.
SELECT runs.id, 'crawls', 'a crawl of the run is missing' FROM runs
WHERE runs.id NOT IN (SELECT run_id FROM crawls) OR EXISTS
(SELECT 1 FROM visits WHERE visits.run_id = runs.id AND visits.crawl_id NOT IN
 (SELECT crawls.id FROM crawls WHERE crawls.run_id = runs.id)) ORDER BY runs.id;

-- name: crawl_totals
-- What the visits show about the crawls of a run.
SELECT crawl_id, SUM(kind IS NULL), SUM(kind IS NOT NULL), SUM(role = 'primary'), SUM(bytes), MIN(fetched_at), MAX(fetched_at)
FROM visits WHERE run_id = :run_id GROUP BY crawl_id ORDER BY crawl_id;

-- name: crawl_of_another_run
-- Ids of crawls are unique in the workspace; a damaged visit may name the crawl of another run.
SELECT EXISTS (SELECT 1 FROM crawls WHERE id = :crawl_id AND run_id != :run_id) OR EXISTS
(SELECT 1 FROM visits WHERE crawl_id = :crawl_id AND run_id < :run_id);

-- name: renumber_crawl
-- The visits of a run that name the crawl of another one get a crawl of their own.
UPDATE visits SET crawl_id = :own WHERE run_id = :run_id AND crawl_id = :crawl_id;

-- name: restore_crawl
-- A crawl whose row was lost is recorded as interrupted, with the totals of its visits.
INSERT INTO crawls (id, run_id, number, state, ended_by, started_at, updated_at, visited, failed, pages, bytes)
VALUES (:id, :run_id, :number, 'failed', 'crashed', :started_at, :updated_at, :visited, :failed, :pages, :bytes);

-- name: stray_visits
-- A visit belongs to a settled URL.
SELECT visits.run_id, 'visits', COUNT(*) || ' visits belong to no settled URL' FROM visits
LEFT JOIN urls ON urls.run_id = visits.run_id AND urls.id = visits.url_id
WHERE urls.id IS NULL OR urls.state NOT IN ('visited', 'failed') GROUP BY visits.run_id;

-- name: stray_pages
-- A page belongs to the visit that is its primary.
SELECT pages.run_id, 'pages', COUNT(*) || ' pages have no primary visit' FROM pages WHERE NOT EXISTS
(SELECT 1 FROM visits WHERE visits.run_id = pages.run_id AND visits.url_id = pages.url_id
 AND visits.content_sha256 = pages.content_sha256 AND visits.role = 'primary') GROUP BY pages.run_id;

-- name: stray_outlinks
-- Links belong to a visit, or to a noindex page.
SELECT outlinks.run_id, 'outlinks', COUNT(*) || ' records of links belong to no visit' FROM outlinks WHERE NOT EXISTS
(SELECT 1 FROM visits WHERE visits.run_id = outlinks.run_id AND visits.url_id = outlinks.url_id AND visits.kind IS NULL)
AND NOT EXISTS (SELECT 1 FROM urls WHERE urls.run_id = outlinks.run_id AND urls.id = outlinks.url_id
AND urls.reason = 'noindex')
GROUP BY outlinks.run_id;

-- name: lost_referrers
-- A referrer is a URL of the same run, one link nearer to a base URL, or at the same depth if it redirects.
SELECT urls.run_id, 'urls', COUNT(*) || ' URLs have a referrer that is missing or at another depth' FROM urls
LEFT JOIN urls AS referrers ON referrers.run_id = urls.run_id AND referrers.id = urls.referrer
WHERE urls.referrer IS NOT NULL AND (referrers.id IS NULL
    OR (urls.source IN ('spider', 'redirect') AND urls.depth <> referrers.depth + (urls.source = 'spider')))
GROUP BY urls.run_id;

-- name: wrong_tallies
-- Counters equal the rows they count.
SELECT run_id, 'tallies', state || ' ' || reason || ': ' || SUM(tally) || ' counted, ' || SUM(found) || ' found' FROM (
    SELECT run_id, state, reason, count AS tally, 0 AS found FROM tallies
    UNION ALL SELECT run_id, state, COALESCE(reason, ''), 0, COUNT(*) FROM urls GROUP BY run_id, state, reason
) GROUP BY run_id, state, reason HAVING SUM(tally) <> SUM(found);

-- name: wrong_base_pages
-- A page limit counts the pages of a base URL.
SELECT run_id, 'bases', 'base URL ' || number || ' has ' || found || ' pages, ' || pages || ' counted' FROM (
    SELECT run_id, number, pages,
           (SELECT COUNT(*) FROM pages WHERE pages.run_id = bases.run_id AND pages.base = bases.number) AS found
    FROM bases
) WHERE found <> pages;

-- name: wrong_counters
-- Ids, ranks and visit numbers are never given out twice.
SELECT id, 'runs', 'the next id, rank or visit number is wrong' FROM runs
WHERE next_url <> (SELECT COALESCE(MAX(urls.id), 0) + 1 FROM urls WHERE urls.run_id = runs.id)
   OR next_rank <= (SELECT COALESCE(MAX(urls.rank), -1) FROM urls WHERE urls.run_id = runs.id)
   OR next_visit <= (SELECT COALESCE(MAX(visits.number), 0) FROM visits WHERE visits.run_id = runs.id);

-- name: wrong_run_states
-- A completed run has no queue; a paused one has a queue, or sitemaps to read; one in progress has a crawl in progress.
SELECT id, 'runs', 'it is ' || state || ', and its queue or its crawls say otherwise' FROM runs
WHERE (state = 'completed' AND EXISTS (SELECT 1 FROM urls WHERE urls.run_id = runs.id AND urls.state = 'queued'))
   OR (state = 'paused' AND surveyed AND NOT EXISTS
       (SELECT 1 FROM urls WHERE urls.run_id = runs.id AND urls.state = 'queued'))
   OR (state = 'in_progress' AND NOT EXISTS
       (SELECT 1 FROM crawls WHERE crawls.run_id = runs.id AND crawls.state = 'in_progress'));

-- name: wrong_crawl_states
-- How a crawl ended decides its state.
SELECT run_id, 'crawls', 'crawl ' || number || ' is ' || state || ', ended by ' || COALESCE(ended_by, 'nothing')
FROM crawls WHERE (state = 'in_progress') <> (ended_by IS NULL)
   OR (state = 'completed') <> COALESCE(ended_by IN ('exhausted', 'budget', 'page_limit', 'drained'), 0);

-- name: wrong_crawl_counts
-- A crawl counts each of its visits; if a URL was retried or fetched again, it counted more than are left.
SELECT crawls.run_id, 'crawls', 'crawl ' || crawls.number || ' counts fewer visits than it has' FROM crawls
JOIN (SELECT crawl_id, SUM(kind IS NULL) AS visited, SUM(kind IS NOT NULL) AS failed FROM visits GROUP BY crawl_id) AS found
ON found.crawl_id = crawls.id WHERE found.visited > crawls.visited OR found.failed > crawls.failed ORDER BY crawls.id;

-- name: visited_twice
-- No URL is visited in two crawls of one run, whatever the indexes guarantee.
SELECT visits.run_id, 'visits', urls.key || ' was visited ' || COUNT(*) || ' times' FROM visits NOT INDEXED
JOIN urls ON urls.run_id = visits.run_id AND urls.id = visits.url_id GROUP BY visits.run_id, urls.key HAVING COUNT(*) > 1;

-- name: forget_body
-- An unreadable body is as good as missing.
DELETE FROM bodies WHERE sha256 = :sha256;

-- name: reopen_url
-- A URL with a damaged record gets a new place and is fetched again.
UPDATE urls SET state = 'queued', reason = NULL, rule = NULL, rank = :rank,
                changed_in = (SELECT last FROM units WHERE run_id = :run_id ORDER BY number DESC LIMIT 1)
WHERE run_id = :run_id AND id = :id AND (state IN ('visited', 'failed') OR reason = 'noindex');

-- name: forget_page
-- A reopened URL is not the primary of a page.
DELETE FROM pages WHERE run_id = :run_id AND url_id = :url_id;

-- name: forget_outlinks
-- A reopened URL gets new links.
DELETE FROM outlinks WHERE run_id = :run_id AND url_id = :url_id;

-- name: forget_stray_visits
-- The repair of `stray_visits`.
DELETE FROM visits WHERE NOT EXISTS (SELECT 1 FROM urls WHERE urls.run_id = visits.run_id AND urls.id = visits.url_id
AND urls.state IN ('visited', 'failed'));

-- name: forget_stray_pages
-- The repair of `stray_pages`.
DELETE FROM pages WHERE NOT EXISTS (SELECT 1 FROM visits WHERE visits.run_id = pages.run_id
AND visits.url_id = pages.url_id AND visits.content_sha256 = pages.content_sha256 AND visits.role = 'primary');

-- name: forget_stray_outlinks
-- The repair of `stray_outlinks`.
DELETE FROM outlinks WHERE NOT EXISTS (SELECT 1 FROM visits WHERE visits.run_id = outlinks.run_id
AND visits.url_id = outlinks.url_id AND visits.kind IS NULL)
AND NOT EXISTS (SELECT 1 FROM urls WHERE urls.run_id = outlinks.run_id AND urls.id = outlinks.url_id
AND urls.reason = 'noindex');

-- name: forget_lost_referrers
-- The repair of `lost_referrers`: how the URL was found is unknown.
UPDATE urls SET referrer = NULL WHERE referrer IS NOT NULL AND NOT EXISTS
(SELECT 1 FROM urls AS referrers WHERE referrers.run_id = urls.run_id AND referrers.id = urls.referrer
 AND (urls.source NOT IN ('spider', 'redirect') OR urls.depth = referrers.depth + (urls.source = 'spider')));

-- name: forget_tallies
-- The first half of the repair of `wrong_tallies`.
DELETE FROM tallies;

-- name: recount_tallies
-- The second half of the repair of `wrong_tallies`.
INSERT INTO tallies (run_id, state, reason, count)
SELECT run_id, state, COALESCE(reason, ''), COUNT(*) FROM urls GROUP BY run_id, state, reason;

-- name: recount_base_pages
-- The repair of `wrong_base_pages`.
UPDATE bases SET pages =
(SELECT COUNT(*) FROM pages WHERE pages.run_id = bases.run_id AND pages.base = bases.number);

-- name: mend_counters
-- The repair of `wrong_counters`.
UPDATE runs SET
    next_url = (SELECT COALESCE(MAX(urls.id), 0) + 1 FROM urls WHERE urls.run_id = runs.id),
    next_rank = MAX(next_rank, (SELECT COALESCE(MAX(urls.rank), -1) + 1 FROM urls WHERE urls.run_id = runs.id)),
    next_visit = MAX(next_visit, (SELECT COALESCE(MAX(visits.number), 0) + 1 FROM visits WHERE visits.run_id = runs.id));

-- name: pause_contradicting_runs
-- The repair of `wrong_run_states`: a run with work left can be resumed.
UPDATE runs SET state = 'paused', ended_at = NULL
WHERE (state = 'completed' AND EXISTS (SELECT 1 FROM urls WHERE urls.run_id = runs.id AND urls.state = 'queued'))
   OR (state = 'in_progress' AND NOT EXISTS
       (SELECT 1 FROM crawls WHERE crawls.run_id = runs.id AND crawls.state = 'in_progress'));

-- name: complete_empty_runs
-- The other repair of `wrong_run_states`: nothing is left to resume.
UPDATE runs SET state = 'completed', ended_at = (SELECT MAX(crawls.updated_at) FROM crawls WHERE crawls.run_id = runs.id)
WHERE state = 'paused' AND surveyed AND NOT EXISTS
(SELECT 1 FROM urls WHERE urls.run_id = runs.id AND urls.state = 'queued');

-- name: recount_crawls
-- The repair of `wrong_crawl_counts`.
UPDATE crawls SET
    visited = MAX(visited, (SELECT COUNT(*) FROM visits WHERE visits.crawl_id = crawls.id AND visits.kind IS NULL)),
    failed = MAX(failed, (SELECT COUNT(*) FROM visits WHERE visits.crawl_id = crawls.id AND visits.kind IS NOT NULL));

-- name: crash_contradicting_crawls
-- The repair of `wrong_crawl_states`: the only certainty is that it did not end normally.
UPDATE crawls SET state = 'failed', ended_by = 'crashed' WHERE (state = 'in_progress') <> (ended_by IS NULL)
   OR (state = 'completed') <> COALESCE(ended_by IN ('exhausted', 'budget', 'page_limit', 'drained'), 0);

-- name: forget_run_urls
-- Part of deleting a lost run.
DELETE FROM urls WHERE run_id = :run_id;

-- name: forget_run_units
-- Part of deleting a lost run.
DELETE FROM units WHERE run_id = :run_id;

-- name: forget_run_visits
-- Part of deleting a lost run.
DELETE FROM visits WHERE run_id = :run_id;

-- name: forget_run_pages
-- Part of deleting a lost run.
DELETE FROM pages WHERE run_id = :run_id;

-- name: forget_run_outlinks
-- Part of deleting a lost run.
DELETE FROM outlinks WHERE run_id = :run_id;

-- name: forget_run_bases
-- Part of deleting a lost run.
DELETE FROM bases WHERE run_id = :run_id;

-- name: forget_run_crawls
-- Part of deleting a lost run.
DELETE FROM crawls WHERE run_id = :run_id;

-- name: forget_run_tallies
-- Part of deleting a lost run.
DELETE FROM tallies WHERE run_id = :run_id;

-- name: forget_run_spool_lines
-- Part of deleting a lost run.
DELETE FROM spool_lines WHERE run_id = :run_id;

-- name: forget_run_bookmark
-- Part of deleting a lost run.
DELETE FROM bookmarks WHERE run_id = :run_id;

-- name: forget_run_outputs
-- Part of deleting a lost run.
DELETE FROM outputs WHERE run_id = :run_id;

-- name: forget_run
-- The last part of deleting a lost run.
DELETE FROM runs WHERE id = :run_id;

-- name: next_rank
-- Where the queue of a run ends, for URLs that are reopened.
SELECT next_rank FROM runs WHERE id = :run_id;

-- name: orphaned_runs
-- Runs with rows in other tables whose own row, or whose project, is missing.
SELECT left_over.run_id, runs.project_id, runs.number, MIN(visits.fetched_at) FROM (
    SELECT run_id FROM urls UNION SELECT run_id FROM visits
    UNION SELECT id FROM runs WHERE project_id NOT IN (SELECT id FROM projects)
) AS left_over LEFT JOIN runs ON runs.id = left_over.run_id LEFT JOIN visits ON visits.run_id = left_over.run_id
WHERE runs.id IS NULL OR runs.project_id NOT IN (SELECT id FROM projects) GROUP BY left_over.run_id ORDER BY left_over.run_id;

-- name: first_visited_keys
-- By these a run is recognized in the files that follow runs.
SELECT urls.key FROM visits JOIN urls ON urls.run_id = visits.run_id AND urls.id = visits.url_id
WHERE visits.run_id = :run_id ORDER BY visits.number LIMIT :most;

-- name: restore_project
-- A project whose row was lost gets its name from the files that follow runs; its settings are lost.
INSERT INTO projects (id, name, settings, bases, created_at) VALUES (:id, :name, '{}', :bases, :created_at) RETURNING id;

-- name: restore_run
-- A run whose row was lost is paused, so that its queue can be resumed; its counters are repaired later.
INSERT INTO runs (id, project_id, number, state, started_at, next_url, next_rank, next_visit, scope_fixed, surveyed,
                  horizon, due_only)
VALUES (:id, :project_id, :number, 'paused', :started_at, 1, 0, 1, 1, 1, 0, 0) RETURNING id;

-- name: baseless_runs
-- Runs whose base URLs were lost; the URLs that the user gave are still marked as such.
SELECT urls.run_id, urls.base, COALESCE(urls.url, urls.key), urls.key FROM urls
WHERE urls.source = 'initial' AND urls.depth = 0 AND NOT EXISTS (SELECT 1 FROM bases WHERE bases.run_id = urls.run_id)
AND NOT EXISTS (SELECT 1 FROM runs JOIN projects ON projects.id = runs.project_id
                WHERE runs.id = urls.run_id AND projects.bases = '[]')
GROUP BY urls.run_id, urls.base ORDER BY urls.run_id, urls.base;

-- name: unplaced_bodies
-- Bodies that visits refer to and that have no row; the store may still have them.
SELECT DISTINCT body_sha256 FROM visits WHERE body_sha256 IS NOT NULL AND body_sha256 NOT IN (SELECT sha256 FROM bodies);

-- name: restore_visit
-- A visit as a line of a file that follows its run records it.
INSERT INTO visits (run_id, number, url_id, crawl_id, depth, rank, status, kind, error, tries, final_url, redirect_to,
                    content_type, encoding, etag, last_modified, title, canonical, noindex, nofollow, links_cut, truncated,
                    body_sha256, content_sha256, role, bytes, wire_bytes, latency_ms, fetched_at, proxy, robots_tags)
VALUES (:run_id, :number, :url_id, :crawl_id, :depth, :rank, :status, :kind, :error, :tries, :final_url, :redirect_to,
        :content_type, :encoding, :etag, :last_modified, :title, :canonical, 0, 0, :links_cut, :truncated,
        :body_sha256, :content_sha256, :role, :bytes, :bytes, :latency_ms, :fetched_at, :proxy, :robots_tags);

-- name: next_crawl
-- An unused number for a crawl.
SELECT MAX((SELECT COALESCE(MAX(id), 0) FROM crawls), (SELECT COALESCE(MAX(crawl_id), 0) FROM visits)) + 1;

-- name: counted_runs
-- The rows of each run, and what its counters say.
SELECT runs.id, projects.name, runs.number,
    (SELECT COUNT(*) FROM urls WHERE run_id = runs.id),
    MAX(runs.next_url - 1, (SELECT COALESCE(MAX(id), 0) FROM urls WHERE run_id = runs.id),
        (SELECT COALESCE(SUM(count), 0) FROM tallies WHERE run_id = runs.id)),
    (SELECT COUNT(*) FROM visits WHERE run_id = runs.id),
    MAX((SELECT COUNT(*) FROM urls WHERE run_id = runs.id AND state IN ('visited', 'failed')),
        (SELECT COALESCE(SUM(count), 0) FROM tallies WHERE run_id = runs.id AND state IN ('visited', 'failed'))),
    (SELECT COUNT(*) FROM pages WHERE run_id = runs.id),
    MAX((SELECT COALESCE(SUM(pages), 0) FROM bases WHERE run_id = runs.id),
        (SELECT COUNT(*) FROM visits WHERE run_id = runs.id AND role = 'primary')),
    runs.number = (SELECT MAX(others.number) FROM runs AS others WHERE others.project_id = runs.project_id)
FROM runs JOIN projects ON projects.id = runs.project_id ORDER BY runs.id;

-- name: run_keys
-- Which URLs of a journal a run still has.
SELECT key FROM urls WHERE run_id = :run_id;

-- name: run_ids
-- Runs with rows left in a damaged database.
SELECT run_id FROM urls UNION SELECT run_id FROM visits UNION SELECT id FROM runs;
