"""Promises in files: there and back, and one clear sentence for what cannot be used."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import DiscreetError, InputError, ToleranceError
from discreet.promises import (
    PRESETS,
    AllOf,
    Box,
    Counterfactual,
    Difference,
    Formula,
    Function,
    Groups,
    Posterior,
    PosteriorUnlessRatio,
    Ratio,
    Table,
    delta_in,
    preset,
    priors,
    promise_in,
    promised,
    tolerance_in,
)
from discreet.promises.keys import load_yaml, promise_keys
from soaking import examples

EVERY_SHAPE = [
    Ratio(3),
    Ratio(math.inf),
    Ratio(1.0000000001, priors(q=1)),
    Posterior(0.12, priors(p=0.05)),
    Posterior(0.5, Box(0, 0.3, 0.1, 1)),
    PosteriorUnlessRatio(0.25, 3, priors(q=1)),
    PosteriorUnlessRatio(0.25, 3, priors(p=0.05, q=0.5)),
    Difference(0.2),
    Counterfactual(4),
    Counterfactual(4, True),
    Formula("max(0.25/(p*q), 3) if p*q < 0.2 else 1.5", Box(0.01, 1, 0, 1)),
    Table(((0, 1, 10), (0.1, 1, 3), (1, 1, math.inf)), priors(q=1)),
    AllOf((Ratio(3), Difference(0.2))),
    Ratio(3) & Difference(0.2, priors(q=1)) & Formula("3"),
    Groups((("patients", Ratio(3)), ("staff", AllOf((Ratio(2), Difference(0.3)))))),
    *(one.tolerance for one in PRESETS.values()),
]


def from_yaml(text):
    return tolerance_in(load_yaml(text))


@pytest.mark.parametrize("tolerance", EVERY_SHAPE, ids=str)
def test_yaml_there_and_back(tolerance):
    promise = promised(tolerance)
    assert promise_in(load_yaml(promise.to_yaml())) == promise
    assert tolerance_in(tolerance.to_mapping()) == tolerance


def test_flags_with_underscores():
    assert tolerance_in({"posterior": 0.25, "unless_ratio": 3, "values_known": True}) == (
        PosteriorUnlessRatio(0.25, 3, priors(q=1))
    )
    assert tolerance_in({"ratio": 3, "difference": 0.2}) == AllOf((Ratio(3), Difference(0.2)))
    assert tolerance_in({"preset": "threefold"}) == Ratio(3)
    assert from_yaml("tolerance: {ratio: 3}") == Ratio(3)
    assert from_yaml("promise: {ratio: 3}") == Ratio(3)


def test_table_file_is_relative_to_the_folder(tmp_path):
    (tmp_path / "t.csv").write_text("p,q,ratio\n0,1,10\n\n1,1,2\n")
    tolerance = tolerance_in({"table": "t.csv", "q": 1}, tmp_path)
    assert promise_in({"table": "t.csv", "q": 1}, tmp_path).tolerance == tolerance
    assert tolerance.ratio_at(0.5, 1.0) == 2


@pytest.mark.parametrize(
    ("mapping", "says"),
    [
        ({}, "nothing is promised yet"),
        ({"posterior": 0.12}, "p: 0.05"),
        ({"posterior": 0.12, "p": 0.3}, "budget would be 0"),
        ({"posterior": 0.3, "box": [0, 1, 0, 0.3]}, "budget would be 0"),
        ({"unless_ratio": 3}, "goes with posterior"),
        ({"counts_sensitive_only": True, "ratio": 2}, "goes with counterfactual"),
        ({"counts_sensitive_only": "no", "counterfactual": 2}, "true or false"),
        ({"counts_sensitive_only": 0, "counterfactual": 2}, "true or false"),
        ({"ratio": 1}, "above 1"),
        ({"ratio": 0.5}, "above 1"),
        ({"ratio": math.nan}, "nan"),
        ({"ratio": "3"}, "must be a number"),
        ({"ratio": True}, "must be a number"),
        ({"difference": 0}, "above 0"),
        ({"posterior": -1, "unless_ratio": 2}, "0 or more"),
        ({"ratio": 3, "p": 0}, "above 0"),
        ({"ratio": 3, "p": 1.5}, "at most at 1"),
        ({"ratio": 3, "q": math.nan}, "nan"),
        ({"ratio": 3, "box": [0.5, 0.1, 0, 1]}, "empty"),
        ({"ratio": 3, "box": [0, 0, 0, 1]}, "fixed at 0"),
        ({"ratio": 3, "box": [0, 1, 0]}, "four"),
        ({"ratio": 3, "box": [0, 2, 0, 1]}, "between 0 and 1"),
        ({"ratio": 3, "box": [0, math.nan, 0, 1]}, "between 0 and 1"),
        ({"ratio": 3, "box": "all"}, "must be a list"),
        ({"ratio": 3, "p": 0.5, "box": [0, 0.1, 0, 1]}, "outside the box"),
        ({"ratio": 3, "values_known": True, "q": 0.5}, "leave out q"),
        ({"ratio": 3, "values_known": "yes"}, "true or false"),
        ({"rato": 3}, "no key 'rato'"),
        ({"preset": "nope"}, "there is no preset"),
        ({"preset": "threefold", "p": 0.1}, "names its own priors"),
        ({"profile": "r+1"}, "name 'r'"),
        ({"table": [[0, 1, 3], [1, 1]]}, "row 2"),
        ({"table": [[0, 1, "x"]]}, "not a number"),
        ({"table": [[0, 1, 3], [1, 0.5, 3]], "q": 1}, "incomplete"),
        ({"table": [[0.1, 1, 3], [1, 1, 2]], "q": 1}, "no values outside"),
        ({"table": [[0, 1, 3], [0, 1, 2]]}, "twice"),
        ({"table": [[0, 1, 0.5]]}, "above 1"),
        ({"table": [[0, 2, 3]]}, "between 0 and 1"),
        ({"table": []}, "empty"),
        ({"table": "missing.csv"}, "cannot be read"),
        ({"groups": {}}, "groups is empty"),
        ({"groups": [1]}, r"groups is \[1\]; it must name groups"),
        ({"all": 3}, "must be a list"),
    ],
)
def test_bad_tolerances(mapping, says):
    with pytest.raises(InputError, match=says) as caught:
        promise_in(mapping)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("!!python/object/apply:os.system ['true']", "types are refused"),
        ("ratio: [", "line"),
        ("3", "holds no keys of a promise"),
        ("- ratio: 3", "holds no keys of a promise"),
        ("", "holds no keys of a promise"),
    ],
)
def test_bad_yaml(text, says):
    with pytest.raises(InputError, match=says) as caught:
        from_yaml(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a,b\n1,2\n", "header"),
        ("", "header"),
        ("p,q,ratio\n1,1\n", "row 1"),
        ("p,q,ratio\n1,1,x\n", "row 1"),
        ('p,q,ratio\n"1,1,2\n', "not CSV"),
    ],
)
def test_bad_csv(text, says):
    with pytest.raises(ToleranceError, match=says):
        Table.from_csv(text, priors(q=1))


def test_a_file_that_is_not_text(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"\xff\xfe\x00p")
    with pytest.raises(InputError, match="UTF-8"):
        promise_in({"table": "t.csv"}, tmp_path)


def test_how_surely():
    assert promise_in({"ratio": 3, "every_output": True}).every_output
    assert promise_in({"ratio": 3, "every_output": False}).surety is None
    keys = {"ratio": 3, "delta": 1e-6, "confidence": 0.999}
    assert promise_in(keys).confidence == 0.999
    assert delta_in(keys) == 1e-6
    assert delta_in({"ratio": 3}) == delta_in({"delta": None}) == 0
    for bad in (
        {"every_output": True, "delta": 1e-6},
        {"every_output": 1},
        {"every_output": True, "confidence": 0.9},
        {"on_average": True, "confidence": 0.9, "about": "value", "q": 0.05},
        {"every_output": True, "on_average": True, "about": "value", "q": 0.05},
        {"confidence": "x"},
        {"confidence": True},
        {"confidence": 1},
        {"confidence": math.nan},
        {"sided": "three"},
        {"answers": 20},
        {"answers": 1, "on_average": True, "about": "value", "q": 0.05},
    ):
        with pytest.raises(InputError) as caught:
            promise_in({"ratio": 3} | bad)
        assert caught.value.exit_code == 2
        assert "\n" not in str(caught.value)
    for delta in (2, -1, "x", True, math.nan):
        with pytest.raises(ToleranceError, match="delta is"):
            delta_in({"delta": delta})


def test_function_has_no_file():
    with pytest.raises(ToleranceError, match="formula or a table"):
        Function(lambda p, q: 3.0).to_mapping()


def test_function_without_a_number():
    for bad in (lambda p, q: math.nan, lambda p, q: 1 / 0, lambda p, q: "x"):
        with pytest.raises(ToleranceError, match="no number"):
            Function(bad).ratio_at(0.5, 0.5)


def test_presets_are_known():
    assert preset("kr-both") == PosteriorUnlessRatio(0.25, 3)
    assert len({one.about for one in PRESETS.values()}) == len(PRESETS)


@settings(derandomize=True, deadline=None, max_examples=examples(200))
@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=10) | st.integers(),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(
                st.sampled_from([*sorted(promise_keys()), "x"]),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    )
)
def test_any_mapping_is_read_or_refused(value):
    try:
        promise_in(value)
    except DiscreetError as error:
        assert "\n" not in str(error)


@settings(derandomize=True, deadline=None, max_examples=examples(150))
@given(st.text(max_size=60) | st.text(alphabet="p,qrati0123456789.\n\"'", max_size=60))
def test_any_csv_is_read_or_refused(text):
    try:
        Table.from_csv("p,q,ratio\n" + text)
    except DiscreetError:
        return


def test_prior_is_a_key_wherever_it_is_a_flag() -> None:
    """In Python, in a mapping and in a file it is p with q = 1; beside p it is refused."""
    promised = promise_in({"posterior": 0.12, "prior": "5%"})
    assert promised == promise_in({"posterior": 0.12, "p": 0.05, "about": "membership"})
    with pytest.raises(ToleranceError):
        promise_in({"posterior": 0.12, "prior": 0.05, "p": 0.1})


def test_a_misspelt_key_is_told_with_the_nearest() -> None:
    with pytest.raises(ToleranceError, match="The nearest is 'posterior'"):
        promise_in({"posterier": 0.12, "p": 0.05})
