"""What was done to files of a run or a workspace, as text. Pure."""

from __future__ import annotations

from orbweb.cli.output.format import Report, hint, many, size, span

DAMAGED_SHOWN = 3
LOST_WORDS = {"urls": "URL", "visits": "visit", "pages": "page"}


def export_text(report: Report) -> str:
    """What an export did, in a sentence or two."""
    place = report["out"] or "standard output"
    text = f"{many(report['pages'], 'page')} of run {report['run']} as {report['to']}: {place}"
    changes = [f"{report[name]} {name}" for name in ("written", "unchanged", "removed") if report[name]]
    text += f" ({size(report['bytes'])}" + (f", {', '.join(changes)})" if report["files"] > 1 else ")")
    if report["kept"]:
        text += f"\n{many(report['kept'], 'obsolete file')} not removed, because they were edited"
    return text


def report_text(report: Report) -> str:
    """What a report has become."""
    pages = many(report["pages"], "page")
    return f"report on run {report['run']}, {pages}: {report['out']} ({size(report['bytes'])})"


def extract_text(report: Report) -> str:
    """What a person reads at the end of an extraction."""
    lines = [f"failed: {row['url']}: {row['problem']}" for row in report["failed"]]
    if not report["pages"]:
        return f"run {report['run']}: every page is already extracted by extractor {report['extractor']}"
    lines.append(
        f"run {report['run']}: {report['extracted']} of {many(report['pages'], 'page')} extracted by extractor "
        f"{report['extractor']} in {span(report['seconds'])}"
    )
    if report["left"]:
        lines.append(f"{many(report['left'], 'page')} left; to continue: {hint('extract', report['project'])}")
    return "\n".join(lines)


def replay_text(report: Report) -> str:
    """What a person reads at the end of a replay."""
    lines = [f"damaged: {row['url']}: {row['problem']}" for row in report["damaged"]]
    lines += [f"failed: {row['url']}: {row['problem']}" for row in report["failed"]]
    run = f"project {report['project']}, run {report['run']}"
    made = f"{run}: {many(report['visits'], 'visit')} in {span(report['seconds'])}"
    lines.append(f"{made}, every stored body verified" if report["verified"] and not report["damaged"] else made)
    lines += [
        f"  {file['path']}: {many(file['lines'], 'line')}, {size(file['bytes'])}" for file in report["files"]
    ]
    lines.append(f"  {report['markdown']}: {many(report['pages'], 'page')}")
    return "\n".join(lines)


def import_text(report: Report) -> str:
    """What a person reads at the end of an import."""
    lines = [
        f"project {report['project']}, run {report['run']} {report['state']}: {report['visited']} visited, "
        f"{many(report['pages'], 'page')}, {report['failed']} failed, {report['queued']} queued, "
        f"{report['skipped']} skipped"
    ]
    if report["missing"]:
        lines.append(f"bodies not found: {report['missing']} (--bodies DIR)")
    if report["repeated"]:
        lines.append(f"{many(report['repeated'], 'duplicate line')} ignored")
    if report["problems"]:
        number = len(report["problems"]) + report["unnamed_problems"]
        lines.append(f"{many(number, 'problem')}, listed above; the rest was imported")
    if report["queued"]:
        lines.append(f"to continue: {hint('resume', report['project'])}")
    return "\n".join(lines)


def index_text(found: list[Report]) -> str:
    """The page index, one line per URL."""
    columns = ("url", "status", "timestamp", "etag", "last_modified", "sha256", "stored_path")
    lines = ["\t".join(str(entry[name] or "-").replace("\t", " ") for name in columns) for entry in found]
    return "\n".join(lines) or "no visits"


def configured_text(report: Report) -> str:
    settings, seeds, _ = report["files"]
    lines = [f"left as edited (--force writes it again): {name}" for name in report["edited"]]
    lines += [f"unchanged: {name}" for name in report["unchanged"]]
    lines += [f"written: {name}" for name in (*report["written"], *report["folders"])]
    return "\n".join([*lines, f"edit {settings} and {seeds}, then: {hint('crawl')}"])


def reset_text(report: Report) -> str:
    wiped = ", ".join(report["wiped"])
    return f"{report['workspace']}: {f'deleted {wiped}' if wiped else 'nothing to delete'}"


def doomed_text(report: Report) -> str:
    """What a deletion removes."""
    names = " and ".join(report["projects"])
    held = f"{many(report['urls'], 'URL')}, {many(report['pages'], 'page')}"
    if report["run"] is not None:
        return f"run {report['run']} of {names} ({held})"
    return f"project {names} ({many(report['runs'], 'run')}, {held})"


def deleted_text(report: Report) -> str:
    return f"deleted {doomed_text(report)}; {size(report['freed'])} freed"


def renamed_text(report: Report) -> str:
    return "\n".join(f"{old} is now {new}" for old, new in report["renamed"].items())


def doctor_text(report: Report) -> str:
    """Each damage with the URLs it affects, then the repairs."""
    left = [_damage_key(damage) for damage in report["left"]]
    lines = [line for damage in report["damages"] for line in _damage_lines(damage, left)]
    lines += [
        line
        for damage in report["left"]
        if damage not in report["damages"]
        for line in _damage_lines(damage, left)
    ]
    lines += [line for loss in report["lost"] for line in _loss_lines(loss)]
    spoiled = [
        f"forgettable: {damage['file']}, {damage['where']}: {damage['problem']}\n    repair: {damage['repair']}"
        for damage in report["forgettable"]
    ]
    if not lines:
        return "\n".join([*spoiled, f"{report['workspace']}: healthy"])
    lines += spoiled
    if report["quarantine"]:
        lines.append(
            f"{many(report['requeued'], 'URL')} queued again; damaged files were moved to {report['quarantine']}"
        )
        if "orbweb.db" in report["quarantined"]:
            lines.append(f"the database was rebuilt; the damaged one is {report['quarantine']}/orbweb.db")
        if report["requeued"]:
            lines += [f"to fetch them: {hint('resume', name)}" for name in report["paused"]]
        elif not report["lost"]:
            lines.append("no page needs to be fetched again")
    if report["left"]:
        word = "could not be repaired; restore from a backup, or crawl again" if report["quarantine"] else "found"
        lines.append(f"{many(len(report['left']), 'damage')} {word}")
    return "\n".join(lines)


def _loss_lines(loss: Report) -> list[str]:
    """What a project or a run has lost: counts and examples."""
    run = f"run {loss['run']} of " if loss["run"] is not None else ""
    numbers = [many(loss[name], word) for name, word in LOST_WORDS.items() if loss[name]]
    counted = f": at least {', '.join(numbers)}" if numbers else ""
    lines = [f"lost: {run}project {loss['project']}: {loss['what']}{counted}"]
    lines += [f"    {url}" for url in loss["named"][:DAMAGED_SHOWN]]
    more = len(loss["named"]) - DAMAGED_SHOWN
    return lines if more <= 0 else [*lines, f"    and {more} more (--json lists all)"]


def _damage_key(damage: Report) -> tuple[str, str, str]:
    return damage["file"], damage["where"], damage["problem"]


def _damage_lines(damage: Report, left: list[tuple[str, str, str]]) -> list[str]:
    state = "damaged" if _damage_key(damage) in left else "repaired"
    lines = [
        f"{state}: {damage['file']}, {damage['where']}: {damage['problem']}",
        f"    repair: {damage['repair']}",
    ]
    lines += [f"    {url}" for url in damage["urls"][:DAMAGED_SHOWN]]
    more = len(damage["urls"]) - DAMAGED_SHOWN
    return lines if more <= 0 else [*lines, f"    and {more} more (--json lists all)"]
