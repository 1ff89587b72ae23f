"""The HTTP API over a real socket: the fields of each answer, and the same crawls as from other faces."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import orbweb
from harness import Cli, assert_books_balance, wait_until
from servers.graph import GraphSite
from servers.pages import chain
from servers.site import StaticSite, Validated, html, serve
from serving import RunningServer, served, site_of

PAGES = 40


class Crawled:
    """A server with one crawled project."""

    def __init__(self, server: RunningServer, url: str, started: dict[str, Any], workspace: Path) -> None:
        self.server, self.url, self.started, self.workspace = server, url, started, workspace


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    workspace = tmp_path_factory.mktemp("api") / "workspace"
    with (
        serve(Validated(GraphSite(5, PAGES))) as site,
        served(workspace, "--private-host", site_of(site.url), "--max-active", "2") as server,
    ):
        started = server.crawl(site.url, project="site")
        yield Crawled(server, site.url, started, workspace)


def test_a_crawl_answers_with_its_ids(crawled: Crawled) -> None:
    assert set(crawled.started) == {"projectID", "runID", "crawlID", "jobID", "state"}
    assert all(isinstance(crawled.started[name], int) for name in ("projectID", "runID", "crawlID", "jobID"))


def test_the_queue_and_the_run_have_their_fields(crawled: Crawled) -> None:
    run = crawled.server.get(f"/run/{crawled.started['runID']}")
    assert set(run) == {"id", "projectID", "state", "crawls", "totalPagesCrawled", "createdAt"}
    assert run["state"] == "completed"
    assert [set(each) for each in run["crawls"]] == [{"id", "state", "pagesCrawled"}]
    assert run["crawls"][0]["id"] == crawled.started["crawlID"]
    queue = crawled.server.get("/queue/site")
    assert set(queue) == {
        *("projectID", "hasQueue", "visited", "pending", "total", "canResume", "currentRunID", "runState"),
        "runCrawlIDs",
    }
    status = orbweb.open(crawled.workspace).status("site")
    assert queue["visited"] == queue["total"] == status.visited
    assert run["totalPagesCrawled"] == status.visited + status.failed
    assert (queue["hasQueue"], queue["pending"], queue["canResume"]) == (False, 0, False)
    assert (queue["currentRunID"], queue["runCrawlIDs"]) == (run["id"], [crawled.started["crawlID"]])


def test_a_name_works_where_an_id_does(crawled: Crawled) -> None:
    number = crawled.started["projectID"]
    for path in (
        "/queue/{}",
        "/projects/{}",
        "/config/{}",
        "/rules/{}",
        "/projects/{}/runs",
        "/projects/{}/pages",
    ):
        assert crawled.server.get(path.format(number)) == crawled.server.get(path.format("site")), path
    assert crawled.server.get("/projects/nothing", status=404)["code"] == "unknown_project"
    assert crawled.server.get("/run/99999", status=404)["code"] == "unknown_id"
    assert crawled.server.get(f"/run/{10**30}", status=404)["code"] == "unknown_id"


def test_every_page_is_listed_once_in_any_order_and_in_any_parts(crawled: Crawled) -> None:
    known = orbweb.open(crawled.workspace).pages("site")
    for sort in ("place", "url", "-url", "title", "-tokens", "words", "bytes", "-depth"):
        found: list[dict[str, Any]] = []
        after = None
        while True:
            params = {"sort": sort, "limit": 7, **({"after": after} if after else {})}
            part = crawled.server.get("/projects/site/pages", params=params)
            found += part["items"]
            after = part["next"]
            if after is None:
                break
        assert sorted(each["url"] for each in found) == sorted(page.url for page in known), sort
        if sort != "place":
            values = ["" if (value := each[sort.removeprefix("-")]) is None else value for each in found]
            assert values == sorted(values, reverse=sort.startswith("-")), sort
    assert (
        crawled.server.get("/projects/site/pages", params={"after": "x"}, status=422)["code"] == "invalid_request"
    )


def test_an_unknown_field_is_named(crawled: Crawled) -> None:
    body = {"url": "http://127.0.0.1:1/", "bugdet": 3}
    found = crawled.server.post("/crawl", body, status=422)
    assert found["code"] == "invalid_request"
    assert found["errors"] == [
        {"field": "bugdet", "message": "unknown field; /api/v1/openapi.json lists those of this request"}
    ]


def test_a_list_has_its_twins(crawled: Crawled) -> None:
    whole = crawled.server.get("/projects/site/pages", params={"limit": 1000})["items"]
    assert crawled.server.get("/projects/site/pages.json", params={"limit": 1000}) == whole
    table = crawled.server.send("GET", "/api/v1/projects/site/pages.csv", params={"limit": 1000})
    assert table.headers["content-type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(table.text)))
    assert [row["url"] for row in rows] == [each["url"] for each in whole]
    for path in (
        "/projects",
        "/jobs",
        "/projects/site/runs",
        "/projects/site/crawls",
        "/queue/site/items",
        "/tokens",
    ):
        assert crawled.server.get(f"{path}.json") == crawled.server.get(path)["items"]
        assert crawled.server.send("GET", f"/api/v1{path}.csv").status_code == 200


def test_a_page_can_be_read_in_every_form_and_its_bytes_never_run(crawled: Crawled) -> None:
    space = orbweb.open(crawled.workspace)
    page = next(page for page in space.pages("site") if page.words)
    params = {"url": page.url}
    meta = crawled.server.get("/projects/site/page", params=params)
    assert (meta["url"], meta["bodySha256"], meta["document"]["words"]) == (page.url, page.body_sha256, page.words)
    document = space.document("site", page.url)
    assert document is not None
    for form, text in (("markdown", document.markdown), ("text", document.text)):
        found = crawled.server.send("GET", f"/api/v1/projects/site/page/{form}", params=params)
        assert found.text == text
        assert found.headers["content-type"] == "text/plain; charset=utf-8"
    body = crawled.server.send("GET", "/api/v1/projects/site/page/body", params=params)
    assert body.content == space.body(page.body_sha256 or "")
    assert body.headers["content-type"].startswith("text/plain")
    assert body.headers["content-disposition"].startswith("attachment")
    assert body.headers["content-security-policy"] == "sandbox; default-src 'none'"
    assert body.headers["x-content-type-options"] == "nosniff"
    missing = crawled.server.get("/projects/site/page", params={"url": crawled.url + "/never"}, status=404)
    assert missing["code"] == "unknown_url"
    explained = crawled.server.get("/projects/site/explain", params=params)
    assert explained["verdict"] == "allowed"


def test_search_failures_and_settings_are_those_of_the_workspace(crawled: Crawled) -> None:
    space = orbweb.open(crawled.workspace)
    word = next(page.title for page in space.pages("site") if page.title).split()[0]
    hits = crawled.server.get("/projects/site/search", params={"q": word})["items"]
    assert [hit["url"] for hit in hits] == [hit.url for hit in space.search("site", word)]
    failed = crawled.server.get("/projects/site/failed")["items"]
    assert [each["url"] for each in failed] == [each.url for each in space.failed("site")]
    counts = crawled.server.get("/projects/site/failed/counts")
    assert counts["failed"] == len(failed)
    settings = {each["key"]: each for each in crawled.server.get("/config/site")["settings"]}
    assert settings["limits.rate"]["source"] == "project"
    assert settings["fetch.timeout_s"]["source"] == "default"


def test_an_export_is_a_job_with_a_file(crawled: Crawled) -> None:
    job = crawled.server.post("/projects/site/exports", {"to": "zip"}, status=202)
    done = crawled.server.ended(job["id"])
    assert done["state"] == "completed", done
    assert done["done"] == done["total"] == done["result"]["pages"]
    file = crawled.server.send("GET", f"/api/v1/jobs/{job['id']}/file")
    assert zipfile.ZipFile(io.BytesIO(file.content)).testzip() is None
    assert "attachment" in file.headers["content-disposition"]


def test_settings_are_stored_by_option_by_key_and_by_their_old_names(crawled: Crawled) -> None:
    body = {"url": crawled.url, "project": "stored", "incrementalCrawlingEnabled": False, "crawlBudget": 3}
    made = crawled.server.call("PUT", "/config", {**body, "workers": 2, "settings": {"fetch.timeout_s": 21}})
    found = {each["key"]: each["value"] for each in crawled.server.get("/config/stored")["settings"]}
    assert (found["incremental"], found["limits.budget"], found["limits.workers"]) == (False, 3, 2)
    assert found["fetch.timeout_s"] == 21
    crawled.server.call("PUT", "/config", {"project": str(made["projectID"]), "crawlBudget": None})
    found = {each["key"]: each["value"] for each in crawled.server.get("/config/stored")["settings"]}
    assert (found["limits.budget"], found["limits.workers"]) == (None, 2)
    crawled.server.call("DELETE", "/projects/stored")
    assert crawled.server.get("/projects/stored", status=404)["code"] == "unknown_project"


@pytest.mark.parametrize(
    "given",
    [
        {"allowPrivate": True},
        {"resolve": ["a.example:80:127.0.0.1"]},
        {"proxy": "http://127.0.0.1:1"},
        {"config": "/etc/passwd"},
        {"plugin": "x"},
        {"trust": ["private=127.0.0.1:1"]},
        {"seeds": "/etc/passwd"},
        {"metricsPort": 1},
        {"settings": {"proxy.urls": ["http://127.0.0.1:1"]}},
        {"budget": "5"},
        {"workers": 0},
        {"include": ["("]},
    ],
    ids=lambda given: next(iter(given)),
)
def test_what_only_the_operator_may_set_and_what_is_wrong_is_refused(
    crawled: Crawled, given: dict[str, Any]
) -> None:
    for path, method in (("/crawl", "POST"), ("/config", "PUT"), ("/plan", "POST"), ("/projects", "POST")):
        named = {} if path == "/plan" else {"project": "refused"}
        found = crawled.server.send(method, f"/api/v1{path}", {"url": crawled.url, **named, **given})
        assert found.status_code == 422, f"{method} {path}: {found.text}"
        assert found.headers["content-type"] == "application/problem+json"
    assert "refused" not in orbweb.open(crawled.workspace).projects()


def test_an_address_that_the_operator_has_not_named_is_not_reached(crawled: Crawled) -> None:
    with serve(StaticSite({"/": html("secret")})) as other:
        for method, path in (("POST", "/crawl"), ("PUT", "/config"), ("POST", "/plan"), ("POST", "/projects")):
            refused = crawled.server.call(method, path, {"url": other.url}, status=403)
            assert refused["code"] == "not_trusted"
        secret = {"url": crawled.url, "project": "leak", "headers": {"x-secret": "$HOME"}}
        assert crawled.server.post("/crawl", secret, status=403)["code"] == "not_trusted"
        assert not other.log


def test_the_document_of_the_api_names_every_route_and_has_examples(crawled: Crawled) -> None:
    document = crawled.server.get("/openapi.json")
    crawl = document["paths"]["/api/v1/crawl"]["post"]
    assert crawl["requestBody"]["content"]["application/json"]["examples"]
    fields = document["components"]["schemas"]["CrawlBody"]["properties"]
    names = {"maxDepth", "strictPath", "userAgent", "budget", "newRun"}
    assert names <= set(fields)
    assert not {"config", "seeds", "resolve", "allowPrivate", "trust", "metricsPort"} & set(fields)


def test_tokens_have_scopes_and_end_when_they_are_revoked(crawled: Crawled) -> None:
    made = {
        scope: crawled.server.post("/tokens", {"name": scope, "scope": scope}, status=201)
        for scope in ("read", "crawl", "admin")
    }
    assert not any("token" in each for each in crawled.server.get("/tokens")["items"])
    stored = (crawled.workspace / "server.db").read_bytes()
    assert not any(each["token"].encode() in stored for each in made.values())
    reader, crawler = made["read"]["token"], made["crawl"]["token"]
    assert crawled.server.get("/projects", token=reader)["items"]
    assert crawled.server.post("/projects/site/retry", {}, token=reader, status=403)["code"] == "scope_too_small"
    assert crawled.server.get("/tokens", token=crawler, status=403)["code"] == "scope_too_small"
    assert crawled.server.call("DELETE", "/projects/site", token=crawler, status=403)["code"] == "scope_too_small"
    crawled.server.call("DELETE", f"/tokens/{made['read']['id']}", status=204)
    assert crawled.server.get("/projects", token=reader, status=401)["code"] == "token_required"


# One scenario by three faces: crawl with a budget, resume, limit, recrawl, rules, diff.


def by_command_line(cli: Cli, url: str) -> list[str]:
    cli.crawl(url, "--project", "site", "--rate", "max", "--budget", 10).ok(4)
    cli.resume("site", "--budget", "none").ok(0, 3)
    cli("recrawl", "site", "--budget", "none", "--json", "--no-progress").ok(0, 3)
    cli.crawl(url, "--project", "limited", "--rate", "max", "--page-limit", 5, "--exclude", "7").ok(0, 3)
    return hashes(cli.workspace)


def by_library(space: orbweb.Workspace, url: str) -> list[str]:
    space.crawl(url, project="site", rate="max", budget=10)
    space.resume("site", budget=None)
    space.recrawl("site", budget=None)
    space.crawl(url, project="limited", rate="max", page_limit=5, exclude=["7"])
    return hashes(space.path)


def by_api(server: RunningServer, url: str, workspace: Path) -> list[str]:
    first = server.crawl(url, project="site", budget=10)
    queue = server.get("/queue/site")
    assert (queue["total"], queue["canResume"], queue["runState"]) == (
        queue["visited"] + queue["pending"],
        True,
        "paused",
    )
    assert server.get(f"/run/{first['runID']}")["totalPagesCrawled"] == 10
    again = server.post("/resume-crawl/site", {"budget": None})
    assert (again["runID"], again["crawlID"]) != (first["runID"], first["crawlID"])
    assert again["runID"] == first["runID"]
    server.ended(again["jobID"])
    run = server.get(f"/run/{first['runID']}")
    assert sum(crawl["pagesCrawled"] for crawl in run["crawls"]) == run["totalPagesCrawled"]
    status = orbweb.open(workspace).status("site")
    assert run["totalPagesCrawled"] == status.visited + status.failed
    server.ended(server.post("/recrawl/site", {"budget": None})["jobID"])
    server.crawl(url, project="limited", pageLimit=5, exclude=["7"])
    diff = server.get("/projects/site/diff")
    assert (diff["old"], diff["new"]) == (1, 2)
    lines = server.send("GET", f"/api/v1/run/{first['runID']}/manifest").text
    assert lines.splitlines() == list(orbweb.open(workspace).manifest("site", run=1))
    return hashes(workspace)


def hashes(workspace: Path) -> list[str]:
    assert_books_balance(workspace / "orbweb.db")
    space = orbweb.open(workspace)
    return [space.manifest_hash("site", run=number) for number in (1, 2)] + [space.manifest_hash("limited")]


def test_the_same_crawls_give_the_same_manifests_from_every_face(tmp_path: Path, cli: Cli) -> None:
    with serve(Validated(GraphSite(11, 60))) as site:
        expected = by_command_line(cli, site.url)
        assert by_library(orbweb.open(tmp_path / "library"), site.url) == expected
        with served(tmp_path / "api", "--private-host", site_of(site.url)) as server:
            assert by_api(server, site.url, tmp_path / "api") == expected


def test_a_crawl_is_steered_and_seen_from_both_sides(tmp_path: Path, cli: Cli) -> None:
    with (
        serve(StaticSite(chain(400))) as site,
        served(cli.workspace, "--private-host", site_of(site.url), "--max-active", "1") as server,
    ):
        one = server.post("/crawl", {"url": site.url, "project": "one", "rate": 20})
        busy = server.post("/crawl", {"url": site.url, "project": "one"}, status=409)
        assert (busy["code"], busy["crawlID"], busy["jobID"]) == ("crawl_active", one["crawlID"], one["jobID"])
        two = server.post("/crawl", {"url": site.url, "project": "two", "rate": "max", "budget": 5})
        assert (two["state"], two["runID"], two["crawlID"]) == ("queued", None, None)
        server.post(f"/crawl/{one['crawlID']}/pause")
        wait_until(lambda: cli.ask("status", "one", "--json").json["held"])
        wait_until(lambda: server.get("/projects/one/state")["state"] == "on_hold")
        server.post(f"/crawl/{one['crawlID']}/unpause")
        wait_until(lambda: server.get("/projects/one/state")["state"] == "in_progress")
        cli("stop", "one").ok()
        assert server.ended(one["jobID"])["result"]["endedBy"] == "cancelled"
        assert server.post(f"/crawl/{one['crawlID']}/pause", status=409)["code"] == "crawl_ended"
        assert server.ended(two["jobID"])["state"] == "completed"
        assert server.post(f"/crawl/{one['crawlID']}/finish")["command"] == "finish"
        assert server.get(f"/run/{one['runID']}")["state"] == "completed"
        assert server.post("/resume-crawl/one", status=409)["code"] == "nothing_queued"
        preview = server.post("/queue/two/preview", {"exclude": ["."]})
        assert preview["removed"] == preview["queued"] > 0
        assert server.get("/queue/two/items", params={"source": "spider"})["items"]
        rules = server.call("PATCH", "/rules/two", {"exclude": ["."]})
        assert sum(rules["skipped"].values()) == preview["removed"]


def test_a_crawl_of_the_command_line_is_followed_live(tmp_path: Path, cli: Cli) -> None:
    with serve(StaticSite(chain(200))) as site, served(cli.workspace) as server:
        crawl = cli.start("crawl", site.url, "--project", "mine", "--rate", "40")
        states = []
        for _, state in server.events():
            states.append(state)
            if state["state"] == "completed":
                break
        crawl.communicate(timeout=60)
    fields = {"pagesFound", "pagesProcessed", "pagesFailed", "queueSize", "inProgress", "rate", "state"}
    assert all(fields <= set(state) for state in states)
    assert {"in_progress", "completed"} <= {state["state"] for state in states}
    assert states[-1]["pagesProcessed"] == states[-1]["pagesFound"] == len(chain(200))
    assert all(
        state["pagesFound"] == state["pagesProcessed"] + state["pagesFailed"] + state["queueSize"]
        for state in states
    )
