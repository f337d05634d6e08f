"""The catalogue: names that exist, values that fit, plural forms, other languages."""

from __future__ import annotations

import ast
import pickle
import re
import shutil
import string
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import discreet
from discreet import PureDP, explain
from discreet.errors import BudgetExceeded, DiscreetError, InputError
from discreet.reports import sentence
from discreet.words import catalogue, languages, say, texts

SOURCE = Path(discreet.__file__).parent


def _flat(place: Any, at: str = "") -> dict[str, Any]:
    if isinstance(place, dict):
        found: dict[str, Any] = {}
        for key, value in place.items():
            found |= _flat(value, f"{at}.{key}" if at else key)
        return found
    return {at: place}


def _fields(text: str) -> set[str]:
    return {
        re.split(r"[.\[]", field)[0]
        for _, field, _, _ in string.Formatter().parse(text)
        if field is not None
    }


@pytest.mark.parametrize("name", languages())
def test_languages_have_the_same_texts_with_the_same_values(name: str) -> None:
    english, other = _flat(catalogue("en").texts()), _flat(catalogue(name).texts())
    assert english.keys() == other.keys()
    for key, text in other.items():
        if isinstance(text, str):
            assert _fields(text) == _fields(english[key]), key


def test_another_language_is_one_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(texts._TEXTS / "en", tmp_path / "en")
    shutil.copytree(texts._TEXTS / "en", tmp_path / "pl")
    general = tmp_path / "pl" / "general.toml"
    spoken = tmp_path / "pl" / "reports.toml"
    texted = spoken.read_text(encoding="utf-8").replace("Say someone thinks", "Ktoś myśli,")
    spoken.write_text(texted, encoding="utf-8")
    said = general.read_text(encoding="utf-8").replace(
        'plural = "n != 1"',
        'plural = "n==1 ? 0 : n%10>=2 && n%10<=4 && (n%100<12 || n%100>14) ? 1 : 2"',
    )
    general.write_text(said, encoding="utf-8")
    monkeypatch.setattr(texts, "_TEXTS", tmp_path)
    monkeypatch.setenv("DISCREET_LANGUAGE", "pl")
    assert languages() == ("en", "pl")
    assert sentence(explain(PureDP(0.5), 0.3)).startswith("Ktoś myśli,")
    rule = catalogue()._plural()
    shown = [texts.fill("{n:# osoba|# osoby|# osób}", rule, n=n) for n in (1, 2, 5, 12, 22)]
    assert shown == ["1 osoba", "2 osoby", "5 osób", "12 osób", "22 osoby"]
    monkeypatch.setenv("DISCREET_LANGUAGE", "xx")
    assert catalogue().language == "en"


def test_an_unknown_language_is_refused() -> None:
    with pytest.raises(ValueError, match="language is 'xx'"):
        catalogue("xx")


def test_an_error_says_its_text_and_survives_pickling() -> None:
    error = BudgetExceeded("errors.example", account="clinic", left="0.2")
    assert error.to_dict() == {
        "code": "over-budget",
        "message": "The account clinic has 0.2 left.",
        "next": "Spend less.",
    }
    again = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert str(again) == str(error) == "The account clinic has 0.2 left. Spend less."
    assert str(InputError("ratio is 1; it must be above 1.")) == "ratio is 1; it must be above 1."


def _calls() -> Iterator[tuple[str, ast.Call]]:
    """Every call that takes a name of the catalogue: `say`, and the exceptions."""
    errors = {cls.__name__ for cls in _subclasses(DiscreetError)} | {"error"}
    for path in sorted(SOURCE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            called = getattr(node.func, "id", getattr(node.func, "attr", None))
            if called == "say" or called in errors:
                yield f"{path.relative_to(SOURCE)}:{node.lineno}", node


def _subclasses(cls: type) -> Iterator[type]:
    yield cls
    for below in cls.__subclasses__():
        yield from _subclasses(below)


def test_every_name_in_the_code_has_a_text_and_every_value_is_given() -> None:
    english = catalogue("en")
    faults = []
    for where, call in _calls():
        first = call.args[0] if call.args else None
        if not (isinstance(first, ast.Constant) and isinstance(first.value, str)):
            continue
        name = first.value
        if not re.fullmatch(r"[a-z_]+(?:\.[a-z0-9_-]+)+", name):
            continue
        if not english.has(name):
            faults.append(f"{where}: no text is called {name}")
            continue
        entry = english.entry(name)
        parts = entry.values() if isinstance(entry, dict) else [entry]
        wanted = set().union(*(_fields(str(part)) for part in parts))
        given = {keyword.arg for keyword in call.keywords}
        if None not in given and not wanted <= given:
            faults.append(f"{where}: {name} also wants {sorted(wanted - given)}")
    assert not faults, "\n".join(faults)


def test_one_of_a_kind_is_singular() -> None:
    for name, text in _flat(catalogue("en").texts()).items():
        for _, field, spec, _ in string.Formatter().parse(text) if isinstance(text, str) else ():
            if field is not None and spec and "|" in spec:
                assert len(spec.split("|")) == 2, name
    assert say("frequency.of", count="1", crowd="10") == "1 in 10"
