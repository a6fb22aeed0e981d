"""The full count is what the rules say, and no two parties come to different contents."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorumcast.broadcast.path import Path
from quorumcast.broadcast.tally import Tally
from quorumcast.broadcast.weigh import Weigher, agreed
from quorumcast.core.quorum import Quorum
from tests.broadcast.brute import Words, all_texts, text_of
from tests.broadcast.cast import ZERO, digests, path

TEXTS = all_texts("ab", 4)
SIZES = [(4, 1), (5, 1), (6, 1), (7, 1), (7, 2), (4, 0)]

sizes = st.sampled_from(SIZES)
contents = st.sampled_from(TEXTS)
votes = st.builds(lambda hole, text: "." * hole + text, st.sampled_from((0, 0, 0, 1, 2)), contents)


@st.composite
def words(draw: st.DrawFn, n: int, own: bool) -> Words:
    """Anything that n replicas may say, the first of them being the owner where it votes."""
    names = [f"r{number}" for number in range(2 if own else 1, n + 1)]

    def some(values: st.SearchStrategy[str]) -> dict[str, str]:
        return {name: draw(values) for name in names if draw(st.booleans())}

    plain = st.sampled_from([text for text in TEXTS if text])
    mine = draw(contents) if own else ""
    return Words(some(votes), some(plain), some(plain), mine)


@given(sizes.flatmap(lambda size: st.tuples(st.just(size), words(size[0], own=True))))
@settings(max_examples=600)
def test_a_replica_concludes_nothing_that_the_rules_do_not_say(
    case: tuple[tuple[int, int], Words],
) -> None:
    size, said = case
    quorum = Quorum.byzantine(*size)
    tally = said.tally(said.own)
    ready, confirmed, _ = Weigher(tally, quorum, tally.path, []).weigh()
    if ready.end:
        assert said.may_ready(quorum, text_of(ready))
    if confirmed.end:
        assert said.may_confirm(quorum, text_of(confirmed))


@given(sizes.flatmap(lambda size: st.tuples(st.just(size), words(size[0], own=False))), contents)
@settings(max_examples=400)
def test_a_subscriber_concludes_nothing_that_the_rules_do_not_say(
    case: tuple[tuple[int, int], Words], guess: str
) -> None:
    """Its path is a guess, and counts as nobody's vote."""
    size, said = case
    quorum = Quorum.byzantine(*size)
    weigher = Weigher(said.tally(guess), quorum, None, [])
    ready, confirmed, _ = weigher.weigh()
    assert not ready.end or said.may_ready(quorum, text_of(ready))
    assert not confirmed.end or said.may_confirm(quorum, text_of(confirmed))


@given(sizes.flatmap(lambda size: st.tuples(st.just(size), words(size[0], own=True))))
@settings(max_examples=400)
def test_with_all_digests_known_it_concludes_all_that_the_rules_say(
    case: tuple[tuple[int, int], Words],
) -> None:
    size, said = case
    quorum = Quorum.byzantine(*size)
    tally = said.tally(said.own)
    named = [path(text) for text in {*said.ready.values(), *said.confirmed.values()}]
    weigher = Weigher(tally, quorum, tally.path, named)
    ready, confirmed, unlinked = weigher.weigh()
    known = [text_of(each) for each in weigher.paths]
    assert ready.end == said.furthest_ready(quorum, known)
    assert confirmed.end == said.furthest_confirmed(quorum, known)
    assert unlinked == {}


@given(sizes.flatmap(lambda size: st.tuples(st.just(size), words(size[0], own=True))))
def test_votes_alone_make_ready_whatever_the_paths(case: tuple[tuple[int, int], Words]) -> None:
    """With votes and nothing else, no content of any shape escapes the count."""
    size, said = case
    quorum = Quorum.byzantine(*size)
    said = Words(said.held, {}, {}, said.own)
    tally = said.tally(said.own)
    ready, confirmed, _ = Weigher(tally, quorum, tally.path, []).weigh()
    assert ready.end == said.furthest_ready(quorum, TEXTS)
    assert confirmed.end == said.furthest_confirmed(quorum, TEXTS)


@given(sizes.flatmap(lambda size: st.tuples(st.just(size), words(size[0], own=True))))
def test_whoever_states_what_no_known_path_has_can_be_asked(
    case: tuple[tuple[int, int], Words],
) -> None:
    size, said = case
    tally = said.tally(said.own)
    weigher = Weigher(tally, Quorum.byzantine(*size), tally.path, [])
    known = [text_of(each) for each in weigher.paths]
    expected = {
        sender: path(text).tip
        for stated in (said.ready, said.confirmed)
        for sender, text in stated.items()
        if not any(each.startswith(text) for each in known)
    }
    assert weigher.weigh().unlinked == expected


@given(
    st.dictionaries(st.sampled_from("wxyz"), votes),
    st.none() | contents,
    st.integers(1, 4),
    st.integers(1, 3),
)
def test_agreed_is_a_count_per_position(
    held: dict[str, str], own: str | None, need: int, start: int
) -> None:
    tally = Words(held, {}, {}).tally("")
    everybody = [*held.values(), *([own] if own is not None else [])]
    found, at = "", start - 1
    while True:
        count = Counter(text[at] for text in everybody if text[at : at + 1] not in ("", "."))
        if not count or max(count.values()) < need:
            break
        most = max(count.values())
        found += max(letter for letter in count if count[letter] == most)
        at += 1
    result = agreed(tally, None if own is None else path(own), need, start)
    assert result == digests(found)


# -- the thresholds, each on its edge -----------------------------------------------------------


def told(held: int, ready: int, confirmed: int, quorum: Quorum) -> Tally:
    """So many senders say each of these about one position."""
    names = [f"r{number}" for number in range(1, quorum.n + 1)]
    said = Words(
        dict.fromkeys(names[:held], "a"),
        dict.fromkeys(names[:ready], "a"),
        dict.fromkeys(names[:confirmed], "a"),
    )
    return said.tally("")


def concluded(tally: Tally, quorum: Quorum) -> tuple[int, int]:
    """How far READY and CONFIRMED go, once the digests are known."""
    ready, confirmed, _ = Weigher(tally, quorum, None, [path("a")]).weigh()
    return ready.end, confirmed.end


@pytest.mark.parametrize(("n", "f"), SIZES)
def test_q_votes_make_ready_and_one_less_does_not(n: int, f: int) -> None:
    quorum = Quorum.byzantine(n, f)
    q = -(-(n + f + 1) // 2)
    assert concluded(told(q - 1, 0, 0, quorum), quorum)[0] == 0
    assert concluded(told(q, 0, 0, quorum), quorum)[0] == 1


@pytest.mark.parametrize(("n", "f"), [size for size in SIZES if size[1]])
def test_only_q_plus_f_votes_are_certain(n: int, f: int) -> None:
    quorum = Quorum.byzantine(n, f)
    q = -(-(n + f + 1) // 2)
    assert concluded(told(q + f - 1, 0, 0, quorum), quorum)[1] == 0
    assert concluded(told(q + f, 0, 0, quorum), quorum)[1] == 1


@pytest.mark.parametrize(("n", "f"), [size for size in SIZES if size[1]])
def test_f_plus_1_readies_amplify_and_only_2f_plus_1_confirm(n: int, f: int) -> None:
    quorum = Quorum.byzantine(n, f)
    assert concluded(told(0, f, 0, quorum), quorum) == (0, 0)
    assert concluded(told(0, f + 1, 0, quorum), quorum) == (1, 0)
    assert concluded(told(0, 2 * f, 0, quorum), quorum)[1] == 0
    assert concluded(told(0, 2 * f + 1, 0, quorum), quorum)[1] == 1


@pytest.mark.parametrize(("n", "f"), [size for size in SIZES if size[1]])
def test_f_plus_1_confirmations_are_believed_and_f_are_not(n: int, f: int) -> None:
    quorum = Quorum.byzantine(n, f)
    assert concluded(told(0, 0, f, quorum), quorum) == (0, 0)
    assert concluded(told(0, 0, f + 1, quorum), quorum) == (1, 1)


def test_n6_f1_three_votes_are_too_few() -> None:
    """Rule 7: a goes to two, b to three, the sixth votes both ways: neither has a quorum."""
    quorum = Quorum.byzantine(6, 1)
    split = {"r1": "a", "r2": "a", "r3": "b", "r4": "b", "r5": "b"}
    for lie in "ab":
        assert concluded(Words({**split, "r6": lie}, {}, {}).tally(""), quorum)[1] == 0
    assert concluded(Words({**split, "r6": "a"}, {}, {}).tally(""), quorum)[0] == 0


def test_a_path_that_no_single_run_follows_is_found() -> None:
    """Votes aab, aba, baa: position by position, with r4, aaa has a quorum."""
    quorum = Quorum.byzantine(4, 1)
    said = Words({"r2": "aba", "r3": "baa", "r4": "aaa"}, {}, {}, own="aab")
    tally = said.tally("aab")
    ready, confirmed, _ = Weigher(tally, quorum, tally.path, []).weigh()
    assert text_of(ready) == "aaa"
    assert confirmed.end == 0


def test_a_later_position_without_its_prefix_is_not_ready() -> None:
    quorum = Quorum.byzantine(4, 1)
    said = Words({"r1": "ba", "r2": "ca", "r3": "aa", "r4": "aa"}, {}, {})
    assert Weigher(said.tally(""), quorum, None, []).weigh().ready.end == 0


def test_a_ready_covers_another_path_up_to_where_they_part() -> None:
    quorum = Quorum.byzantine(4, 1)
    said = Words({}, {"r2": "aab", "r3": "aac"}, {})
    ready = Weigher(said.tally(""), quorum, None, [path("aab"), path("aac")]).weigh().ready
    assert text_of(ready) == "aa"


def test_paths_over_another_base_are_not_compared() -> None:
    quorum = Quorum.byzantine(4, 1)
    tally = Words({}, {"r2": "ab", "r3": "ab"}, {}).tally("")
    other = Path(path("a").tip, digests("b"))
    assert Weigher(tally, quorum, None, [other]).weigh().ready.end == 0
    assert tally.path.base == ZERO
