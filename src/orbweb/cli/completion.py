"""Shell completion: the scripts, and the words that could come next.

A script calls orbweb with the words that were typed and the variable `_ORBWEB_COMPLETE`; orbweb prints one
candidate per line, with its meaning after a tab. The shell never evaluates the lines.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from orbweb.cli import output, project_names
from orbweb.cli.arguments import FLAGS, WORKSPACE
from orbweb.cli.options import DEFAULT_WORKSPACE
from orbweb.cli.overview import Line, summary

app = typer.Typer()

BASH = """\
_orbweb() {
    local line
    COMPREPLY=()
    while IFS=$'\\t' read -r line _; do
        COMPREPLY+=("$line")
    done < <(_ORBWEB_COMPLETE=1 orbweb "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o bashdefault -o default -F _orbweb orbweb"""

ZSH = """\
#compdef orbweb
_orbweb() {
    local -a words_found meanings
    local word meaning
    while IFS=$'\\t' read -r word meaning; do
        words_found+=("$word")
        meanings+=("${word}${meaning:+  -- $meaning}")
    done < <(_ORBWEB_COMPLETE=1 orbweb "${(@)words[2,CURRENT]}" 2>/dev/null)
    if (( ${#words_found} )); then
        compadd -l -d meanings -- "${words_found[@]}"
    else
        _files
    fi
}
if [ "$funcstack[1]" = "_orbweb" ]; then
    _orbweb
else
    compdef _orbweb orbweb
fi"""

FISH = """\
function __orbweb_complete
    set -l typed (commandline -opc) (commandline -ct)
    _ORBWEB_COMPLETE=1 orbweb $typed[2..-1] 2>/dev/null
end
complete --command orbweb --arguments '(__orbweb_complete)'"""


class Shell(StrEnum):
    """The choices of completion."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


SCRIPTS = {Shell.BASH: BASH, Shell.ZSH: ZSH, Shell.FISH: FISH}


@app.command()
def completion(
    shell: Annotated[Shell, typer.Argument(metavar="bash|zsh|fish", help="The shell to print a script for.")],
) -> None:
    """Print a script that lets a shell complete words.

    Commands, options, choices and projects are completed. For bash, add this line to ~/.bashrc:
    eval "$(orbweb completion bash)". For zsh, the same with zsh to ~/.zshrc, after compinit. For fish:
    orbweb completion fish > ~/.config/fish/completions/orbweb.fish
    """
    output.line(SCRIPTS[shell])


def candidates(typed: Sequence[str], commands: Iterable[Line], built: Callable[[str], Any]) -> list[str]:
    """What could stand in place of the last word, each with its meaning after a tab. `built` gives the command of
    a name as typer builds it."""
    before, begun = list(typed[:-1]), typed[-1] if typed else ""
    at = _command_at(before)
    if at is None:
        found: Iterable[tuple[str, str]] = commands
    else:
        found = _of_command(built(before[at]), before[at + 1 :], begun, _workspace(before))
    begun = "" if begun == "=" else begun
    return [f"{word}\t{meaning}".rstrip() for word, meaning in found if word.startswith(begun)]


def _command_at(words: Sequence[str]) -> int | None:
    """Where the command is; options of every command may stand before it."""
    skip = False
    for at, word in enumerate(words):
        if not (skip or word in FLAGS or word.startswith(WORKSPACE)):
            return at
        skip = word == WORKSPACE
    return None


def _workspace(words: Sequence[str]) -> Path:
    """The workspace that the words name."""
    found = os.environ.get("ORBWEB_WORKSPACE") or str(DEFAULT_WORKSPACE)
    for word, following in zip(words, [*words[1:], ""], strict=True):
        name, equals, value = word.partition("=")
        if name == WORKSPACE:
            found = value if equals else following or found
    return Path(found).expanduser()


def _of_command(command: Any, before: Sequence[str], begun: str, workspace: Path) -> Iterator[tuple[str, str]]:
    if command is None:
        return
    options = {flag: each for each in command.params for flag in (*each.opts, *each.secondary_opts)}
    asked = before[-2] if before[-1:] == ["="] else before[-1] if before else ""
    if begun == "=":
        asked = before[-1] if before else ""
    option = options.get(asked)
    if option is not None and not getattr(option, "is_flag", False) and asked.startswith("-"):
        yield from ((str(choice), "") for choice in _choices(option))
    elif begun.startswith("-"):
        for flag, each in options.items():
            if flag.startswith("--"):
                yield flag, summary(each.help)
        yield "--help", "Explain the command."
    elif any(each.name in ("project", "words") and not each.opts[0].startswith("-") for each in command.params):
        if not _has_argument(before, options):
            yield from ((name, "project") for name in project_names.completions(workspace))
    else:
        arguments = [each for each in command.params if not each.opts[0].startswith("-")]
        yield from ((str(choice), "") for each in arguments[:1] for choice in _choices(each))


def _choices(parameter: Any) -> Sequence[Any]:
    found = getattr(parameter.type, "choices", ())
    return [getattr(choice, "value", choice) for choice in found]


def _has_argument(before: Sequence[str], options: dict[str, Any]) -> bool:
    """Whether a word is neither an option nor the value of one."""
    takes_value = False
    for word in before:
        if takes_value or word == "=":
            takes_value = word == "="
        elif word.startswith("-"):
            found = options.get(word)
            takes_value = found is not None and not getattr(found, "is_flag", False)
        else:
            return True
    return False
