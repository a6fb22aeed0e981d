"""Runs of slots against a plain table of slots."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from quorumcast.core.messages import DIGEST_BYTES as D
from quorumcast.core.messages import SIGNATURE_BYTES as S
from quorumcast.store.runs import BODY_OVERHEAD_BYTES, Run, Runs

TableSlot = tuple[bytes, bytes | None, bytes]


def slots_of(run: Run) -> dict[int, TableSlot]:
    found: dict[int, TableSlot] = {}
    for index, position in enumerate(range(run.first, run.last + 1)):
        body = run.bodies[index] if run.bodies is not None else None
        digest = run.digests[index * D : (index + 1) * D]
        found[position] = (digest, body, run.signatures[index * S : (index + 1) * S])
    return found


@st.composite
def runs(draw: st.DrawFn) -> Run:
    first, count = draw(st.integers(1, 20)), draw(st.integers(1, 5))
    digests = b"".join([bytes([draw(st.integers(0, 2))]) * D for _ in range(count)])
    bodies = tuple(b"b" * draw(st.integers(0, 9)) for _ in range(count))
    signatures = b"s" * S * count if draw(st.booleans()) else b""
    return Run(first, digests, bodies if draw(st.booleans()) else None, signatures)


steps = st.one_of(
    st.tuples(st.just("put"), runs()),
    st.tuples(st.sampled_from(["cut_below", "strip", "strip_whole"]), st.integers(0, 25)),
)


def apply(table: dict[int, TableSlot], many: Runs, how: str, what: Run | int) -> None:
    if isinstance(what, Run):
        table.update(slots_of(what))
    elif how == "cut_below":
        for position in [each for each in table if each <= what]:
            del table[position]
    elif how == "strip":
        for position in [each for each in table if each <= what]:
            table[position] = (table[position][0], None, table[position][2])
    else:  # which runs are stripped depends on where they begin and end: bodies alone may go
        for run in many.list:
            for position, slot in slots_of(run).items():
                assert table[position] == slot or (position <= what and slot[1] is None)
                table[position] = slot


@given(st.lists(steps, max_size=12))
def test_runs_are_a_table_of_slots(taken: list[tuple[str, Run | int]]) -> None:
    table: dict[int, TableSlot] = {}
    many = Runs()
    for how, what in taken:
        before = list(many.list)
        length, old = len(many.list), many.list
        getattr(many, how)(what)
        apply(table, many, how, what)
        found: dict[int, TableSlot] = {}
        for run in many.list:
            assert run.first > max(found, default=0)
            found |= slots_of(run)
        assert found == table
        bodies = [slot[1] for slot in table.values() if slot[1] is not None]
        assert many.size == sum(len(body) + BODY_OVERHEAD_BYTES for body in bodies)
        assert many.last == max(table, default=0)
        if how != "strip_whole":  # what a commit does can be undone
            assert old[:length] == before


@given(st.lists(runs(), max_size=6), st.integers(0, 25), st.integers(0, 25))
def test_what_is_asked_of_runs(put: list[Run], low: int, high: int) -> None:
    table: dict[int, TableSlot] = {}
    many = Runs()
    for run in put:
        many.put(run)
        table.update(slots_of(run))
    between = [table[each] for each in range(low, high + 1) if each in table]
    assert many.digests(low, high) == b"".join(slot[0] for slot in between)
    assert many.signatures(low, high) == b"".join(slot[2] for slot in between)
    end = low
    while end + 1 in table:
        end += 1
    assert many.end_of(low) == end
    here = low
    while here < end and table[here + 1][1] is not None:
        here += 1
    assert many.held(low, end) == here


@given(st.lists(runs(), max_size=4), runs())
def test_a_clash_is_the_first_position_with_another_digest(put: list[Run], run: Run) -> None:
    table: dict[int, TableSlot] = {}
    many = Runs()
    for each in put:
        many.put(each)
        table.update(slots_of(each))
    wrong = [p for p, slot in slots_of(run).items() if p in table and table[p][0] != slot[0]]
    assert many.clash(run) == (wrong[0] if wrong else None)


def test_runs_with_and_without_signatures_are_not_joined() -> None:
    many = Runs()
    table: dict[int, TableSlot] = {}
    for first, signatures in ((1, b""), (2, b"s" * S), (3, b"t" * S), (4, b""), (5, b"")):
        run = Run(first, bytes([first]) * D, (b"x",), signatures)
        many.put(run)
        table |= slots_of(run)
    many.strip_whole(5)
    found: dict[int, TableSlot] = {}
    for run in many.list:
        found |= slots_of(run)
    assert found == {position: (slot[0], None, slot[2]) for position, slot in table.items()}
    assert [run.first for run in many.list] == [1, 2, 4]  # and those that can be joined are


def test_bodies_go_up_to_where_enough_bytes_are_reached() -> None:
    many = Runs()
    many.put(Run(1, b"d" * D * 2, (b"x", b"x"), b""))
    many.put(Run(3, b"d" * D * 2, (b"x", b"x"), b""))
    cost = 1 + BODY_OVERHEAD_BYTES
    assert [many.reach(size) for size in (1, cost, cost + 1, 3 * cost, 9 * cost)] == [1, 1, 2, 3, 4]
