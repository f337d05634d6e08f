"""Pages of the documentation that are made and not written: a hook of MkDocs.

- `cli.md`: every command with its options, read from the command line itself.
- `reference/`: every public name of every room, as `__all__` has it; mkdocstrings fills them in.
- `contributing.md`, `conduct.md`, `security.md`, `changelog.md`: the files beside `docs/`, so that
  a link that works in the repository works on the site too.

Nothing of it is stored, so nothing of it can go stale.
"""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

__all__ = ["cli_page", "on_files", "on_page_markdown", "reference_pages"]

ROOT = Path(__file__).resolve().parent.parent
BESIDE = {
    "CONTRIBUTING.md": "contributing.md",
    "CODE_OF_CONDUCT.md": "conduct.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
    "README.md": "index.md",
}

# room -> what it is, in the order in which data flows through them
ROOMS = {
    "promises": "What is promised",
    "budgets": "From a promise to a budget",
    "guarantees": "What a release guarantees",
    "beliefs": "What an adversary may come to believe",
    "laws": "Mechanisms as mathematics",
    "composition": "Many releases, one guarantee",
    "series": "A plan of releases",
    "ledger": "The account and its promises",
    "noise": "Samplers",
    "statements": "What was promised and what may be learned",
    "releases": "From one spec to tables",
    "surveys": "Surveys with randomized answers",
    "synthetic": "Synthetic microdata",
    "auditing": "Attacks on our own releases",
    "charts": "Pictures",
    "reports": "Reports",
    "words": "The catalogue of sentences",
    "rounding": "The safe side",
    "errors": "What can go wrong",
}
# the words of a module, without its members
_TEXT_ONLY = (
    "    options:",
    "      members: []",
    "      show_root_heading: false",
    "      show_root_toc_entry: false",
)


def on_files(files: Files, config: Any) -> Files:
    """Add the made pages to the written ones."""
    made = {"cli.md": cli_page()} | reference_pages()
    for source, target in BESIDE.items():
        path = ROOT / source
        if path.exists() and files.get_file_from_path(target) is None:
            text = path.read_text(encoding="utf-8").replace("](docs/", "](")
            for other, page in BESIDE.items():
                text = text.replace(f"]({other}", f"]({page}")
            made[target] = text
    for name, text in made.items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Point links to files beside `docs/` at their pages."""
    depth = page.file.src_uri.count("/")
    for source, target in BESIDE.items():
        markdown = markdown.replace(
            f"]({'../' * (depth + 1)}{source}", f"]({'../' * depth}{target}"
        )
    return markdown


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", "\\|").strip()


def _flags(param: Any, context: Any) -> str:
    names = ", ".join(f"`{flag}`" for flag in (*param.opts, *param.secondary_opts))
    if param.param_type_name == "argument":
        return f"`{param.name.upper()}`" + ("" if param.required else " (optional)")
    if getattr(param, "is_flag", False):
        return names
    return f"{names} `{param.make_metavar(context).strip('<>')}`"


def _options(command: Any, context: Any) -> list[str]:
    lines = ["| option | what it says |", "|---|---|"]
    for param in command.get_params(context):
        if "--help" in param.opts:
            continue
        said = _cell(param.help or "")
        default = param.default
        told = isinstance(default, str | int | float) and not isinstance(default, bool)
        if told and default != "":
            said += f" Default: {default}."
        if param.required and param.param_type_name != "argument":
            said += " Needed."
        lines.append(f"| {_flags(param, context)} | {said} |")
    return lines


def _usage(command: Any) -> list[str]:
    """What a command says of itself, its paragraphs as they stand."""
    said = (command.help or "").replace("\b", "").strip()
    return ["", *said.splitlines(), ""]


def cli_page() -> str:
    """Return the reference of the command line as Markdown."""
    from typer.main import get_command

    from discreet import errors
    from discreet.cli import _app

    group: Any = get_command(_app)
    context = group.make_context("discreet", [], resilient_parsing=True)
    lines = [
        "# The command line",
        "",
        "Made from the program itself. Every command takes `--help` and `--json`; what the JSON "
        "holds is said in [JSON](json.md).",
        "",
        "    discreet COMMAND [OPTIONS]",
        "",
        "## Exit codes",
        "",
        "| code | means |",
        "|---|---|",
        "| 0 | done |",
        "| 1 | a check did not pass: `ledger verify`, `audit`, `assess` |",
    ]
    kinds: dict[int, list[str]] = {}
    for name in errors.__all__:
        kind = getattr(errors, name)
        if kind is not errors.DiscreetError:
            kinds.setdefault(kind.exit_code, []).append(f"`{name}`")
    means = {
        2: "bad usage or input",
        3: "over the cap, or a promise would break",
        4: "refused by policy",
        5: "an internal error",
    }
    lines += [f"| {c} | {means[c]} ({', '.join(kinds[c])}) |" for c in sorted(kinds)]
    lines += [
        "",
        "Results go to standard output, messages to standard error. `NO_COLOR` is honoured. "
        "`DISCREET_DEBUG=1` shows the details of a fault of ours, which may hold data.",
        "",
    ]
    for name in group.list_commands(context):
        command: Any = group.get_command(context, name)
        lines += [f"## discreet {name}", *_usage(command)]
        inner = getattr(command, "list_commands", None)
        if inner is None:
            lines += [*_options(command, context), ""]
            continue
        for part in inner(context):
            sub = command.get_command(context, part)
            lines += [f"### discreet {name} {part}", *_usage(sub), *_options(sub, context), ""]
    return "\n".join(lines)


def reference_pages() -> dict[str, str]:
    """Return one page a room, and one that lists the verbs of `discreet` itself."""
    import discreet

    pages = {}
    for room, title in ROOMS.items():
        module = import_module(f"discreet.{room}")
        lines = [f"# {title}: `discreet.{room}`", ""]
        lines += [f"::: discreet.{room}", *_TEXT_ONLY, ""]
        for name in module.__all__:
            path = _path(module, name)
            if path is not None:
                lines += [f"::: {path}", ""]
        pages[f"reference/{room}.md"] = "\n".join(lines)
    lines = [
        "# The Python interface",
        "",
        "Verbs are functions of `discreet`, nouns are its packages. Everything is loaded on first "
        "use: `import discreet` costs nothing. Results are frozen dataclasses with `to_dict()` "
        "(JSON-ready, see [JSON](../json.md)), a one-line `repr`, and a table in notebooks.",
        "",
        "| name | package | what it is |",
        "|---|---|---|",
    ]
    for name in discreet.__all__[1:]:
        value = getattr(discreet, name)
        room = discreet._HOME[name].split(".")[0]
        first = _cell((value.__doc__ or "").strip().split("\n\n")[0])
        lines.append(f"| `discreet.{name}` | [{room}]({room}.md) | {first} |")
    lines += ["", "The packages, in the order in which data flow through them:", ""]
    lines += [f"- [{title}]({room}.md): `discreet.{room}`" for room, title in ROOMS.items()]
    pages["reference/index.md"] = "\n".join(lines)
    return pages


def _path(module: Any, name: str) -> str | None:
    """Where a public name is defined, as mkdocstrings wants it."""
    value = getattr(module, name)
    home = getattr(value, "__module__", "")
    if str(home).startswith("discreet") and hasattr(value, "__qualname__"):
        return f"{home}.{value.__qualname__}"
    return None  # an alias of types, or a constant: its room's text says what it is
