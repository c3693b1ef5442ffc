"""Completion for shells, as text that needs no Python when it is used: a list of what can be typed where. Pure."""

import shlex
from enum import StrEnum
from typing import Final

from datum.cli.outline import Outline, Parameter, Value


class Shell(StrEnum):
    """The shells that are served."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


FILE_NAMES: Final = {Shell.BASH: "datum", Shell.ZSH: "_datum", Shell.FISH: "datum.fish"}
"""As the shell looks for it in its folder of completions."""


def completion(shell: Shell, top: Outline) -> str:
    """Return the text that teaches a shell the commands, options and values of datum."""
    match shell:
        case Shell.BASH:
            return _bash(top)
        case Shell.ZSH:
            return _zsh(top)
        case Shell.FISH:
            return _fish(top)


def _all(top: Outline) -> list[Outline]:
    """Return every command of every depth, those above before those below."""
    return [top, *(each for below in top.commands for each in _all(below))]


def _words(parameters: tuple[Parameter, ...]) -> list[str]:
    return [name for each in parameters for name in each.names]


# `=` separates words for bash: `--root=/srv` arrives as three of them.
_BASH: Final = """\
# bash completion for datum; made from its commands, needs no other file
_datum() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} i next command=datum
    COMPREPLY=()
    if [[ $word == = ]]; then word=; elif [[ $before == = ]]; then before=${COMP_WORDS[COMP_CWORD-2]}; fi
    for ((i = 1; i < COMP_CWORD; i++)); do
        next="$command ${COMP_WORDS[i]}"
        case $next in
@COMMANDS@) command=$next ;;
        esac
    done
    case "$command:$before" in
@VALUES@    esac
    if [[ $word == -* ]]; then
        case $command in
@OPTIONS@        esac
        return
    fi
    case $command in
@ARGUMENTS@    esac
}
complete -F _datum datum
"""


def _bash(top: Outline) -> str:
    commands = "|".join(f'"{each.name}"' for each in _all(top)[1:])
    values: dict[str, list[str]] = {}
    options, arguments = [], []
    for each in _all(top):
        for option in each.options:
            if option.metavar:
                values.setdefault(_bash_values(option), []).extend(f'"{each.name}:{name}"' for name in option.names)
        options.append(f'        "{each.name}") {_compgen(_words(each.options))};;\n')
        words = [below.word for below in each.commands]
        offered = f"{_compgen(words)}" if words else "".join(_bash_values(item) for item in each.arguments[:1])
        if offered:
            arguments.append(f'    "{each.name}") {offered};;\n')
    return (
        _BASH.replace("@COMMANDS@", f"            {commands}")
        .replace("@VALUES@", "".join(f"        {'|'.join(each)}) {offer}return ;;\n" for offer, each in values.items()))
        .replace("@OPTIONS@", "".join(options))
        .replace("@ARGUMENTS@", "".join(arguments))
    )


def _compgen(words: list[str]) -> str:
    return f'mapfile -t COMPREPLY < <(compgen -W {shlex.quote(" ".join(words))} -- "$word"); '


def _bash_values(parameter: Parameter) -> str:
    match parameter.value:
        case Value.FILE:
            return 'compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); '
        case Value.DIRECTORY:
            return 'compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$word"); '
        case Value.CHOICE:
            return _compgen(list(parameter.choices))
        case Value.NOTHING:
            return ""


def _zsh(top: Outline) -> str:
    functions = "".join(_zsh_function(each) for each in reversed(_all(top)))
    return f'#compdef datum\n# zsh completion for datum; made from its commands\n\n{functions}\n_datum "$@"\n'


def _zsh_function(command: Outline) -> str:
    lines = [_zsh_option(option, name) for option in command.options for name in option.names]
    if command.commands:
        lines += ["'1: :->command'", "'*:: :->rest'"]
    else:
        lines += [_zsh_argument(item) for item in command.arguments]
    arguments = " \\\n".join(f"        {line}" for line in lines)
    body = f"    _arguments -S \\\n{arguments}\n" if not command.commands else _zsh_group(command, arguments)
    return f"{_function(command)}() {{\n{body}}}\n\n"


def _zsh_group(command: Outline, arguments: str) -> str:
    listed = "".join(f"            {shlex.quote(f'{each.word}:{each.summary}')}\n" for each in command.commands)
    cases = "".join(f"            {each.word}) {_function(each)} ;;\n" for each in command.commands)
    return (
        "    local curcontext=$curcontext state line\n"
        f"    _arguments -C -S \\\n{arguments}\n"
        "    case $state in\n"
        f"    command)\n        local -a commands=(\n{listed}        )\n"
        "        _describe -t commands command commands ;;\n"
        f"    rest)\n        case $line[1] in\n{cases}        esac ;;\n"
        "    esac\n"
    )


def _function(command: Outline) -> str:
    return "_" + command.name.replace(" ", "_").replace("-", "_")


def _zsh_option(option: Parameter, name: str) -> str:
    help_ = _zsh_text(option.help)
    repeated = "*" if option.is_repeated else ""
    if not option.metavar:
        return shlex.quote(f"{repeated}{name}[{help_}]")
    return shlex.quote(f"{repeated}{name}=[{help_}]:{_zsh_text(option.metavar)}:{_zsh_values(option)}")


def _zsh_argument(argument: Parameter) -> str:
    place = "*" if argument.is_repeated else ("" if argument.is_required else ":")
    return shlex.quote(f"{place}:{_zsh_text(argument.metavar)}:{_zsh_values(argument)}")


def _zsh_text(text: str) -> str:
    """Take its meaning from what `_arguments` reads: brackets end a text, colons a field."""
    for character in "\\[]:":
        text = text.replace(character, f"\\{character}")
    return text


def _zsh_values(parameter: Parameter) -> str:
    match parameter.value:
        case Value.FILE:
            return "_files"
        case Value.DIRECTORY:
            return "_files -/"
        case Value.CHOICE:
            return f"({' '.join(parameter.choices)})"
        case Value.NOTHING:
            return " "


def _fish(top: Outline) -> str:
    lines = ["# fish completion for datum; made from its commands", "complete -c datum -f"]
    for command in _all(top):
        lines += [f"complete -c datum {_fish_condition(command)} {each}" for each in _fish_offers(command)]
    return "\n".join(lines) + "\n"


def _fish_condition(command: Outline) -> str:
    """Return when a command is the one being typed: its words were, and none of those below it."""
    seen = [f"__fish_seen_subcommand_from {word}" for word in command.name.split()[1:]]
    below = " ".join(each.word for each in command.commands)
    parts = [*seen, *([f"not __fish_seen_subcommand_from {below}"] if below else [])]
    return f"-n {_fish_text('; and '.join(parts))}" if parts else ""


def _fish_offers(command: Outline) -> list[str]:
    found = [f"-a {each.word} -d {_fish_text(each.summary)}" for each in command.commands]
    found += [f"-a {_fish_text(' '.join(item.choices))}" for item in command.arguments if item.choices]
    found += ["-F" for item in command.arguments if item.value in {Value.FILE, Value.DIRECTORY}]
    for option in command.options:
        names = " ".join(f"-l {name.removeprefix('--')}" for name in option.names)
        found.append(f"{names} {_fish_values(option)}-d {_fish_text(option.help)}")
    return found


def _fish_values(option: Parameter) -> str:
    match option.value:
        case Value.FILE:
            return "-r -F "
        case Value.DIRECTORY:
            return "-x -a '(__fish_complete_directories)' "
        case Value.CHOICE:
            return f"-x -a {_fish_text(' '.join(option.choices))} "
        case Value.NOTHING:
            return "-x " if option.metavar else ""


def _fish_text(text: str) -> str:
    """Quote for fish, whose single quotes know two escapes (fish_language, Quotes)."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
