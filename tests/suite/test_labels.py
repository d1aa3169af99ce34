"""``--variant`` picks what a label names, or says what there is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from case_data import case_id, load
from sphynx.errors import UsageError
from sphynx.suite import Variant, variant
from sphynx.suite.labels import labels, select_variants

FILE = "smoke_eval.py"


def kind(harness: str, model: str, profile: str | None = None, sandbox: str | None = None) -> Variant:
    chosen = None if profile is None else {"name": profile, "dir": "."}
    return variant(harness=harness, model=model, profile=chosen, sandbox=sandbox)  # type: ignore[typeddict-item]


@pytest.mark.parametrize("worked", load("variant-selection"), ids=case_id)
def test_worked_cases(worked) -> None:
    """Selection follows the worked cases of the contract."""
    kinds = [kind(**given) for given in worked["input"]["variants"]]
    expected = worked["expected"]
    if "selected" in expected:
        found = select_variants(worked["input"]["wanted"], kinds, FILE)
        assert [kinds[place].label for place in found] == expected["selected"]
        return
    with pytest.raises(UsageError) as raised:
        select_variants(worked["input"]["wanted"], kinds, FILE)
    listed = expected.get("matches") or expected["available"]
    assert raised.value.issues == tuple(listed)
    if "matches" in expected:
        assert raised.value.message.splitlines()[1:] == [f"  {label}" for label in listed]
    else:
        assert str(raised.value.hint).endswith(f"there are: {', '.join(listed)}")
    assert FILE in raised.value.message
    assert ("ambiguous" in raised.value.message) == (expected["error"] == "ambiguous")


def test_variants_under_one_label_are_taken_together() -> None:
    """Variants that differ only in sandbox share a label."""
    kinds = [kind("pi", "m", sandbox="e2b"), kind("pi", "n"), kind("pi", "m", sandbox="modal")]
    assert select_variants(["pi/m"], kinds, FILE) == [0, 2]


def test_the_result_keeps_the_files_order_without_repeats() -> None:
    """However often and in which order labels are named."""
    kinds = [kind("pi", "a"), kind("pi", "b", "p"), kind("pi", "c")]
    assert select_variants(["pi/c", "p", "pi/a", "pi/b"], kinds, FILE) == [0, 1, 2]


def test_a_near_miss_gets_a_hint() -> None:
    """A mistyped label names the nearest one."""
    with pytest.raises(UsageError) as raised:
        select_variants(["codex/lune"], [kind("codex", "luna")], FILE)
    assert raised.value.hint == 'did you mean "codex/luna"? there are: codex/luna'


WORDS = st.sampled_from(["a", "b", "c"])
KINDS = st.lists(st.builds(kind, WORDS, WORDS, st.none() | WORDS), max_size=8)


@given(KINDS)
def test_every_label_selects_its_own(kinds: list[Variant]) -> None:
    """A label read from the grid always runs exactly the variants that carry it."""
    for label in labels(kinds):
        found = select_variants([label], kinds, FILE)
        assert found == [place for place, one in enumerate(kinds) if one.label == label]


@given(KINDS, st.text())
def test_a_selection_is_one_label_or_an_error(kinds: list[Variant], wanted: str) -> None:
    """Nothing is ever chosen by guessing."""
    try:
        found = select_variants([wanted], kinds, FILE)
    except UsageError as error:
        assert set(error.issues) <= set(labels(kinds))
    else:
        assert len({kinds[place].label for place in found}) == 1
