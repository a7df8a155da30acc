"""Ids that fit: deterministic, collision-free, stable while the history grows."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_portable_checkpoint.dialects.base import ExportOptions, IdRule
from langgraph_portable_checkpoint.dialects.ids import IdMap, NameMap
from langgraph_portable_checkpoint.dialects.registry import get_dialect

NINE = IdRule(pattern=re.compile("[a-zA-Z0-9]{9}"), max_length=9, prefix="", digest_length=9)
ANY_ID = st.text(max_size=70) | st.sampled_from(["functions.f:0", "call|fc", "toolu_1", "abcdefghi", "", "ü"])
RULES = [
    rule
    for name in ("openai-chat", "openai-responses", "anthropic", "mistral", "bedrock")
    if (rule := get_dialect(name).target(ExportOptions()).call_id) is not None
]


@pytest.mark.parametrize("rule", RULES)
@given(ids=st.lists(ANY_ID, max_size=12))
def test_new_ids_fit_and_are_distinct(rule: IdRule, ids: list[str]) -> None:
    mapped = [IdMap(rule).assign(one) for one in ids[:1]]
    id_map = IdMap(rule)
    mapped = [id_map.assign(one) for one in ids]
    assert all(rule.accepts(one) for one in mapped)
    assert len(set(mapped)) == len(mapped)


@pytest.mark.parametrize("rule", RULES)
@given(ids=st.lists(ANY_ID, max_size=12), count=st.integers(0, 12))
def test_ids_of_a_beginning_do_not_change(rule: IdRule, ids: list[str], count: int) -> None:
    whole, part = IdMap(rule), IdMap(rule)
    assert [whole.assign(one) for one in ids][:count] == [part.assign(one) for one in ids[:count]]


def test_an_id_that_fits_stays() -> None:
    assert IdMap(NINE).assign("abcdefghi") == "abcdefghi"


def test_a_taken_id_is_not_given_away() -> None:
    made = IdMap(NINE).assign("x")
    assert made is not None
    taken = IdMap(NINE)
    taken.assign(made)
    assert taken.assign("x") != made


def test_ids_may_come_back_in_another_step_where_the_host_counts_anew() -> None:
    steps = IdMap(IdRule(pattern=re.compile(".+"), max_length=64), unique="step")
    steps.start_step()
    first = steps.assign("functions.f:0")
    steps.start_step()
    assert steps.assign("functions.f:0") == first == "functions.f:0"


def test_names_stay_legible_and_distinct() -> None:
    names = NameMap(IdRule(pattern=re.compile("[a-zA-Z0-9_-]{1,64}"), max_length=64))
    one, two = names.assign("weather.get now"), names.assign("weather:get now")
    assert one.startswith("weather_get_now_")
    assert one != two
    assert names.assign("weather.get now") == one
    assert names.assign("fits") == "fits"
