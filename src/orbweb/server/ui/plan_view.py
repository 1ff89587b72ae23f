"""The plan of a crawl as a page shows it. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from orbweb.app import CrawlPlan, PlannedBase
from orbweb.server.ui import format as texts


@dataclass(frozen=True, slots=True)
class PlanBase:
    """A base URL: what robots.txt says and the time between two requests."""

    url: str
    scope: str
    robots: str
    pace: str
    rule: str
    problem: str | None


@dataclass(frozen=True, slots=True)
class PlanSkip:
    """A reason for which URLs would be skipped, and the rule of the first; `chosen` if a rule of this form
    decides."""

    reason: str
    rule: str
    count: int
    chosen: bool


@dataclass(frozen=True, slots=True)
class PlanView:
    """The plan. `tone` of its verdict: accent, amber if some base URL gives no page, red if none does."""

    verdict: str
    tone: str
    summary: str
    bases: tuple[PlanBase, ...]
    sitemaps: tuple[tuple[str, int], ...]
    sitemap_urls: int
    would_visit: int
    sources: str
    examples: tuple[str, ...]
    would_skip: int
    skips: tuple[PlanSkip, ...]


def plan_view(plan: CrawlPlan) -> PlanView:
    wrong = [base for base in plan.bases if base.problem is not None]
    verdict, tone = _verdict(plan, len(wrong))
    skips = sorted(plan.would_skip.items(), key=lambda each: (-each[1].count, each[0]))
    return PlanView(
        verdict=verdict,
        tone=tone,
        summary=_summary(plan),
        bases=tuple(map(_base, plan.bases)),
        sitemaps=tuple((each.url, each.urls) for each in plan.sitemaps),
        sitemap_urls=sum(each.urls for each in plan.sitemaps),
        would_visit=plan.would_visit,
        sources=", ".join(f"{source} {texts.number(count)}" for source, count in plan.by_source.items()),
        examples=plan.examples,
        would_skip=sum(each.count for _, each in skips),
        skips=tuple(
            PlanSkip(
                reason,
                (found.examples[0].rule if found.examples else None) or "",
                found.count,
                reason in ("excluded", "not_included"),
            )
            for reason, found in skips
        ),
    )


def _verdict(plan: CrawlPlan, wrong: int) -> tuple[str, str]:
    if wrong and wrong == len(plan.bases) and not plan.would_visit:
        return "cannot be crawled", "red"
    return ("can be crawled in part", "amber") if wrong else ("can be crawled", "accent")


def _summary(plan: CrawlPlan) -> str:
    known = f"{texts.many(plan.would_visit, 'more URL')} known so far"
    return f"{known}, at least {texts.span(plan.at_least_s)}" if plan.at_least_s >= 1 else known


def _base(base: PlannedBase) -> PlanBase:
    pace = "as fast as it answers" if not base.seconds_apart else f"one request in {base.seconds_apart:.3g} s"
    return PlanBase(base.url, base.scope, base.robots, pace, base.rate_rule, base.problem)
