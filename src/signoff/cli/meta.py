"""`signoff help`, `version` and `completion`: about the command line itself."""

from __future__ import annotations

from collections.abc import Iterator

import click

from signoff import __version__
from signoff.cli.app import GROUPS, VERBS
from signoff.cli.options import json_option
from signoff.cli.show import answer_json, say
from signoff.errors import UsageError

# Where a plan can be named; anything else that is typed there is a file.
_PLANS = ("plan", "plans")
_NAMED_PLANS = ("bind", "activate", "worktree add", "worktree remove")


@click.command("help")
@click.argument("verbs", nargs=-1, metavar="[VERB]...")
@json_option
@click.pass_context
def help_command(ctx: click.Context, verbs: tuple[str, ...], as_json: bool) -> int:
    """Explain a verb; without one, list them all.

    `signoff help run` prints what `signoff run --help` does."""
    root = ctx.find_root()
    settings = dict(root.command.context_settings)
    found = click.Context(root.command, info_name=root.info_name, **settings)
    for verb in verbs:
        command = found.command
        inner = command.get_command(found, verb) if isinstance(command, click.Group) else None
        if inner is None:
            raise UsageError(f"no such verb `{' '.join(verbs)}`", "signoff help")
        found = click.Context(inner, info_name=verb, parent=found)
    if as_json:
        rows = [(group, *row) for group, rows in GROUPS.items() for row in rows]
        listed = [{"verb": v, "group": g, "summary": text} for g, v, _, text in rows]
        answer_json(text=found.get_help(), verbs=listed)
    else:
        say(found.get_help())
    return 0


@click.command("version")
@json_option
def version_command(as_json: bool) -> int:
    """Print the version."""
    if as_json:
        answer_json(version=__version__)
    else:
        say(f"signoff {__version__}")
    return 0


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@json_option
@click.pass_context
def completion_command(ctx: click.Context, shell: str, as_json: bool) -> int:
    """Print what makes your shell complete verbs, options and names of plans.

    \b
    bash: eval "$(signoff completion bash)" in ~/.bashrc
    zsh:  eval "$(signoff completion zsh)" in ~/.zshrc, after compinit
    fish: signoff completion fish > ~/.config/fish/completions/signoff.fish"""
    known = dict(_known(ctx.find_root().command, ctx.find_root()))
    script = _fish(known) if shell == "fish" else _posix(known) + _ENDINGS[shell]
    if as_json:
        answer_json(shell=shell, script=script)
    else:
        say(script.rstrip("\n"))
    return 0


def _known(command: click.Command, ctx: click.Context, path: str = "") -> Iterator[tuple[str, str]]:
    """Words that may follow a verb: verbs below it, options, words to choose from; or plans."""
    words = [option for p in command.params for option in p.opts if option.startswith("--")]
    words.append("--help")
    for argument in (p for p in command.params if isinstance(p, click.Argument)):
        choices = argument.type.choices if isinstance(argument.type, click.Choice) else ()
        words += map(str, choices)
        words += ["@plans"] if argument.name in _PLANS or path in _NAMED_PLANS else []
    inner = command.list_commands(ctx) if isinstance(command, click.Group) else []
    words += VERBS if path == "help" else inner
    yield path, " ".join(dict.fromkeys(words))
    for verb in inner:
        below = command.get_command(ctx, verb) if isinstance(command, click.Group) else None
        if below is not None:
            yield from _known(below, click.Context(below, ctx, verb), f"{path} {verb}".strip())


def _posix(known: dict[str, str]) -> str:
    cases = "\n".join(f"    '{path}') echo '{words}' ;;" for path, words in known.items())
    return _POSIX.replace("@cases@", cases)


def _fish(known: dict[str, str]) -> str:
    cases = "\n".join(
        f"        case '{path}'\n            string split ' ' -- '{words}'"
        for path, words in known.items()
    )
    return _FISH.replace("@cases@", cases)


# Names of plans are compared as text and never expanded: whoever can write a file into the vault
# chooses them. `list-plans --names` leaves out what a shell would have to quote.
_POSIX = """\
_signoff_words() {
    case "$1" in
@cases@
    esac
}
_signoff_verb() {
    local verb='' word
    for word in "$@"; do
        case "$word" in
        -*) ;;
        *) if [ -n "$(_signoff_words "${verb:+$verb }$word")" ]; then
            verb="${verb:+$verb }$word"
        fi ;;
        esac
    done
    printf '%s\\n' "$verb"
}
_signoff_candidates() {
    local words
    words=" $(_signoff_words "$(_signoff_verb "$@")") "
    case "$words" in *' @plans '*) signoff list-plans --names 2>/dev/null ;; esac
    printf '%s\\n' "$words" | tr ' ' '\\n' | grep -v -e '^@plans$' -e '^$'
}
"""
_ENDINGS = {
    "bash": """\
_signoff() {
    local typed="${COMP_WORDS[COMP_CWORD]}" word
    COMPREPLY=()
    while IFS= read -r word; do
        [[ "$word" == -* && "$typed" != -* ]] && continue
        [[ "$word" == "$typed"* ]] && COMPREPLY+=("$word")
    done < <(_signoff_candidates "${COMP_WORDS[@]:1:COMP_CWORD-1}")
}
complete -o default -F _signoff signoff
""",
    "zsh": """\
_signoff() {
    local -a found
    found=("${(@f)$(_signoff_candidates "${(@)words[2,CURRENT-1]}")}")
    [[ "$PREFIX" == -* ]] || found=("${(@)found:#-*}")
    compadd -a found || _files
}
compdef _signoff signoff
""",
}
_FISH = """\
function __signoff_words
    switch "$argv"
@cases@
    end
end
function __signoff_candidates
    set -l verb
    for word in (commandline -opc)[2..-1]
        if not string match -q -- '-*' $word; and test -n "$(__signoff_words $verb $word)"
            set -a verb $word
        end
    end
    set -l words (__signoff_words $verb)
    contains -- @plans $words; and signoff list-plans --names 2>/dev/null
    string match -v -- @plans $words
end
complete -c signoff -a '(__signoff_candidates)'
"""
