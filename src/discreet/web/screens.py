"""What all screens share: templates, navigation, links, files, and "how is this computed"."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import escape
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.templating import Jinja2Templates

from discreet import __version__
from discreet.laws.registry import released_laws
from discreet.statements import presenter
from discreet.web.assets import style, vega_version
from discreet.web.thread import STEPS, Thread, shown_to
from discreet.web.workfolder import folder_of
from discreet.words import catalogue, say


@dataclass(frozen=True, slots=True)
class Screen:
    """One screen: its name in addresses, and the module that serves it."""

    name: str
    package: str

    @property
    def path(self) -> str:
        """Its address."""
        return f"/{self.name}"

    @property
    def label(self) -> str:
        """What the navigation calls it."""
        return say(f"web.screens.{self.name}")


_NAMES = ("tolerate", "cost", "series", "release", "synthetic", "ledger", "explain", "attack")
SCREENS = tuple(Screen(name, "release" if name == "synthetic" else name) for name in _NAMES)


class How(BaseModel):
    """How a number is computed: the formula, the theorem, the Python line, the command."""

    what: str
    formula: str
    source: str
    python: str
    command: str | None = None


def how(name: str, *, python: str, command: str | None = None, **values: Any) -> How:
    """Return how a number is computed, with the texts of that name in the catalogue."""
    what, formula, source = (
        say(f"web.how.{name}.{part}", **values) for part in ("what", "formula", "source")
    )
    return How(what=what, formula=formula, source=source, python=python, command=command)


def command_of(name: str, flags: Mapping[str, Any]) -> str:
    """Return the command line with these flags.

    >>> command_of("horizon", {"rho": 0.01, "posterior_limit": 0.9})
    'discreet horizon --rho 0.01 --posterior-limit 0.9'
    """
    words = ["discreet", name]
    for key, value in flags.items():
        words.append(f"--{key.replace('_', '-')}")
        if value is not True:
            words.append(value if isinstance(value, str) else repr(value))
    return shlex.join(words)


class Problem(BaseModel):
    """What a JSON endpoint says when it cannot answer (status 422); `fields` says where."""

    code: str
    message: str
    fields: dict[str, str] = {}


#: What an endpoint declares beside its answer.
REFUSED: dict[int | str, dict[str, Any]] = {422: {"model": Problem}}


#: The Python line and the command of what every page computes in the same way.
_SAME_EVERYWHERE = {
    "learned": (
        "discreet.explain(account.total, prior).posterior.upper",
        "discreet explain --epsilon E --prior P",
    ),
    "spent": (
        "discreet.Ledger.open(url).show(account)",
        "discreet ledger show --ledger sqlite:///ledger.db",
    ),
    "verified": (
        "discreet.Ledger.open(url).verify(head)",
        "discreet ledger verify --ledger sqlite:///ledger.db",
    ),
    "expected_risk": (
        'discreet.synthetic.expected_risk("spec.yaml").expected',
        "discreet assess spec.yaml --expected",
    ),
    "region": ("discreet.synthetic.Region.parse(rules).largest_epsilon()", None),
}


def how_always(name: str) -> How:
    """Return how a number is computed that every page computes in the same way."""
    python, command = _SAME_EVERYWHERE[name]
    return how(name, python=python, command=command)


_CODE = re.compile("`([^`]*)`")
templates = Jinja2Templates(directory=Path(__file__).parent / "templates")
templates.env.trim_blocks = True
templates.env.lstrip_blocks = True
templates.env.globals |= {
    "say": say,
    "released_laws": released_laws,
    "language": lambda: catalogue().language,
    "how_always": how_always,
    "presenter": presenter,
}
templates.env.filters["code"] = lambda text: _CODE.sub(r"<code>\1</code>", str(escape(text)))


def page(
    request: Request,
    name: str,
    *,
    status: int | None = None,
    link: str | None = None,
    yaml: str | None = None,
    thread: Thread | None = None,
    step: str | None = None,
    at: str | None = None,
    **context: Any,
) -> HTMLResponse:
    """Render a template of a screen; `link` is its state as a path, `yaml` where its file is.

    With a `problem` among what the template needs, its status is 422, unless it says another.
    `thread` is the promise that the screen is about, else the one that its address brought along;
    `step` is where the screen stands on the way to a release, and `at` the address of the screen
    that a page belongs to, where its own begins like that of another.
    """
    along = Thread.of(request.query_params) if thread is None else thread
    told = shown_to(along, folder_of(request))
    carried = told.query if told is not None and thread is None else ""
    if link and carried:
        link += ("&" if "?" in link else "?") + carried
    here = next((one for one in SCREENS if (at or request.url.path).startswith(one.path)), None)
    shared = {
        "screens": SCREENS,
        "here": here,
        "version": __version__,
        "style": style(),
        "vega": vega_version(),
        "texts": json.dumps(catalogue().entry("web.script")),
        "link": link,
        "yaml": yaml,
        "thread": along,
        "told": told,
        "carried": carried,
        "steps": STEPS,
        "step": step,
    }
    status = status or (422 if context.get("problem") else 200)
    return templates.TemplateResponse(request, name, shared | context, status_code=status)


def unbroken(words: str) -> str:
    """Keep a number and its percent sign on one line."""
    return words.replace(" %", "\N{NO-BREAK SPACE}%")


# -- a state as a YAML file that the command line accepts


def as_yaml(mapping: Mapping[str, Any], command: str = "") -> str:
    """Return a mapping as YAML, with the command that reads it as a comment on top.

    >>> print(as_yaml({"ratio": 3.0}, "discreet choose --file tolerance.yaml"), end="")
    # discreet choose --file tolerance.yaml
    ratio: 3.0
    """
    import yaml

    text = str(yaml.safe_dump(dict(mapping), sort_keys=False, allow_unicode=True))
    return f"# {command}\n{text}" if command else text


def yaml_file(text: str, name: str) -> Response:
    """Return a YAML text as a download; the name is one of ours, never one that was sent."""
    disposition = f'attachment; filename="{name}"'
    return Response(
        text, media_type="application/yaml", headers={"Content-Disposition": disposition}
    )
