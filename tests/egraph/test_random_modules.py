"""Random modules: calls with sections, scalars and loops around them, against the same program with bodies in place,
and against what is made of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from msgspec.structs import replace

from compare import assert_refines
from egraph_rules import optimize
from egraph_rules.cost.target import CPU, Target
from egraph_rules.modules.assemble import assembled
from egraph_rules.modules.candidates import storages
from egraph_rules.modules.flow import is_guarded
from egraph_rules.modules.graph import Graph, graph_of
from egraph_rules.modules.joining import joined
from egraph_rules.modules.knowledge import told
from egraph_rules.modules.program import ModuleSearch, search_for
from egraph_rules.modules.stages import staged, unstaged
from ir import interpret, parse, to_script, verify
from ir.errors import InterpretError, ScheduleError, VerifyError
from ir.nodes import Alloc, Assume, Module, PrimFunc, Store, Undef
from ir.program.calls import callees, calls_in, without_calls
from ir.schedule import Schedule
from ir.schedule.layout import layout_of
from ir.schedule.storage import Storage
from ir.transform.calls.specialize import specialized
from ir.traverse import has_loads, walk
from lower import compile

ROWS, COLUMNS = 4, 6


def kernels(rng: np.random.Generator) -> list[tuple[str, str]]:
    """Definitions of random kernels, each with its kind: what it takes and gives."""
    pick = lambda *items: items[int(rng.integers(len(items)))]  # noqa: E731
    made: list[tuple[str, str]] = []
    for k in range(3):
        op = pick(
            "A[i] + {c}",
            "A[i] * {c}",
            "T.max(A[i], {c})",
            "A[i] - A[(i + {c}) % n]",
            "T.if_then_else(i < {c}, A[i], s)",
            "T.if_then_else(i < {c}, A[i], 0)",
        )
        value = op.format(c=int(rng.integers(1, 4)))
        loop = pick("for i in range(n):", "for i in T.serial(n):")
        made.append(("map", f"""
@T.prim_func
def map{k}(A: T.Buffer((n,), "int32"), B: T.Buffer((n,), "int32"), s: T.int32, n: T.int32):
    {loop}
        B[i] = {value}
"""))  # fmt: skip
    for k in range(2):
        low = int(rng.integers(0, 3))
        made.append(("part", f"""
@T.prim_func
def part{k}(A: T.Buffer(({ROWS}, {COLUMNS}), "int32"), B: T.Buffer(({ROWS}, {COLUMNS}), "int32")):
    for i, j in T.grid({ROWS}, {COLUMNS}):
        if j >= {low} and i < {int(rng.integers(2, ROWS + 1))}:
            B[i, j] = A[i, j] + {int(rng.integers(-1, 2))}
        else:
            B[i, j] = {int(rng.integers(-1, 2))}
"""))  # fmt: skip
    made += [("whole", text) for text in whole_kernels(pick, int(rng.integers(-1, 3)))]
    for k in range(2):
        start, step = pick(("0", "B[0] + A[i, j]"), ("1", "B[0] * (A[i, j] + 1)"), ("-9", "T.max(B[0], A[i, j])"))
        made.append(("reduce", f"""
@T.prim_func
def reduce{k}(a: T.handle, b: T.handle):
    n = T.int32()
    m = T.int32()
    A = T.match_buffer(a, (n, m), "int32")
    B = T.match_buffer(b, (1,), "int32")
    B[0] = {start}
    for i, j in T.grid(n, m):
        B[0] = {step}
"""))  # fmt: skip
    return made


def whole_kernels(pick: Callable[..., str], c: int) -> Iterator[str]:
    """Kernels of which one leaves a function of the place, one what has bounds, and two take what such elements say."""
    buffer = f'T.Buffer(({ROWS}, {COLUMNS}), "int32")'
    each = f"    for i, j in T.grid({ROWS}, {COLUMNS}):\n        "
    value = pick("i * 2 - j", "T.if_then_else(j <= i, 1, 0)", "(i + j) % 3", f"T.if_then_else(j < 4, A[i, j], {c})")
    yield f"\n@T.prim_func\ndef place(A: {buffer}, B: {buffer}):\n{each}B[i, j] = {value}\n"
    value = pick("T.max(A[i, j], {c})", "T.min(A[i, j], {c})", "T.abs(A[i, j])", "A[i, j] * A[i, j]").format(c=c)
    yield f"\n@T.prim_func\ndef clip(A: {buffer}, B: {buffer}):\n{each}B[i, j] = {value}\n"
    given = f"A: {buffer}, C: {buffer}, B: {buffer}"
    cond = pick(f"A[i, j] > {c}", f"A[i, j] == {c}", f"0 <= A[i, j] and A[i, j] < {COLUMNS}")
    yield (
        f"\n@T.prim_func\ndef choose({given}):\n{each}"
        f"if {cond}:\n            B[i, j] = C[i, j]\n        else:\n            B[i, j] = {c}\n"
    )
    value = pick(f"C[i, T.min(T.max(A[i, j], 0), {COLUMNS - 1})]", f"T.max(A[i, j], {c}) + C[i, j]")
    yield f"\n@T.prim_func\ndef take({given}):\n{each}B[i, j] = {value}\n"


def a_module(seed: int) -> str:
    """A module whose main calls random kernels on sections of its buffers, which may meet."""
    rng = np.random.default_rng(seed)
    pick = lambda *items: items[int(rng.integers(len(items)))]  # noqa: E731
    lines = [f"L = T.alloc_buffer(({ROWS}, {COLUMNS}), 'int32')", "R = T.alloc_buffer((1,), 'int32')"]
    lines.append("R1 = T.alloc_buffer((3,), 'int32')")
    lines += [f"for i in range({ROWS}):", f"    map0(X[i, 0:{COLUMNS}], L[i, 0:{COLUMNS}], 1, {COLUMNS})", "R[0] = 1"]
    row = lambda: pick("0", "1", f"{ROWS - 1}")  # noqa: E731
    for _ in range(int(rng.integers(2, 6))):
        source, target = pick("X", "L", "Y"), pick("L", "Y")
        kind = int(rng.integers(12))
        names = [line.split()[0] for line in lines if line.startswith("s")]
        scalar = pick("2", *names, "R[0]", f"{source}[0, 1] + 1", "-3")
        name = f"map{int(rng.integers(3))}"
        if kind == 0:
            low = int(rng.integers(0, 3))
            size = int(rng.integers(1, COLUMNS - 2))
            far = pick(low, COLUMNS - size)
            given, taken = f"{source}[{row()}, {low}:{low + size}]", f"{target}[{row()}, {far}:{far + size}]"
            lines.append(f"{name}({given}, {taken}, {scalar}, {size})")
        elif kind == 1:
            lines += [f"for k in range({ROWS}):", f"    {name}({source}[k, 0:3], {target}[{ROWS - 1} - k, 3:6], k, 3)"]
        elif kind == 2:
            lines.append(f"{name}({source}[0:{ROWS}, {row()}], {target}[0:{ROWS}, {pick('4', '5')}], {scalar}, {ROWS})")
        elif kind == 3:
            lines.append(f"reduce{int(rng.integers(2))}({source}[0:2, 1:4], R)")
        elif kind < 6 and source != target:
            lines.append(f"part{int(rng.integers(2))}({source}, {target})")
        elif kind > 8:
            given, index, taken = pick(("X", "L", "Y"), ("X", "Y", "L"), ("L", "Y", "L"), ("Y", "L", "Y"))
            lines.append(f"{pick('place', 'clip')}({given}, {index})")
            lines.append(f"{pick('choose', 'take')}({index}, X, {taken})")
        elif kind == 8:
            inner = [f"    part{int(rng.integers(2))}({a}, {b})" for a, b in pick(("XL", "LY"), ("YL", "XY"), ("XL",))]
            lines += [
                pick("for q in range(2):", "if X[0, 1] < 1:"),
                *inner,
                f"    map2({target}[{row()}, 1:4], R1, 2, 3)",
            ]
        elif kind == 6:
            lines.append(f"s{len(lines)} = T.int32(2) * {source}[1, 2]")
        else:
            lines += [f"if {source}[0, 0] < {int(rng.integers(-3, 4))}:", f"    {target}[0, 0] = R[0]"]
    lines.append(f"map1(L[0, 0:{COLUMNS}], Y[0, 0:{COLUMNS}], R[0], {COLUMNS})")
    shape = f"T.Buffer(({ROWS}, {COLUMNS}), 'int32')"
    body = "\n    ".join(lines)
    return (
        "".join(text for _, text in kernels(rng)) + f"\n@T.prim_func\ndef main(X: {shape}, Y: {shape}):\n    {body}\n"
    )


def well_formed(seeds: range) -> list[tuple[int, Module]]:
    """The modules that verify: others may pass sections that meet, which is refused."""
    found: list[tuple[int, Module]] = []
    for seed in seeds:
        module = parse(a_module(seed))
        try:
            verify(module["main"])
        except VerifyError as error:
            assert error.code == "aliasing", error
            continue
        found.append((seed, module))
    return found


def arrays(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed + 1000)
    x, y = rng.integers(-3, 4, (2, ROWS, COLUMNS)).astype(np.int32)
    return x, y


@pytest.mark.parametrize("count", [20, pytest.param(400, marks=pytest.mark.fuzz)])
def test_calls_mean_the_bodies_in_their_place(count: int) -> None:
    modules = well_formed(range(count))
    assert len(modules) >= count // 8
    for seed, module in modules:
        main = module["main"]
        assert parse(to_script(main))["main"] == main
        inlined = without_calls(main)
        assert not [*calls_in(inlined.body)]
        verify(inlined)
        x, y = arrays(seed)
        try:
            expected = interpret(main, x, y)
        except Exception as error:  # products may overflow; then so does the other form
            with pytest.raises(type(error)):
                interpret(inlined, x, y)
            continue
        np.testing.assert_array_equal(interpret(inlined, x, y)[0], expected[0], err_msg=str(seed))


@pytest.mark.parametrize("seed", [0, *(pytest.param(s, marks=pytest.mark.fuzz) for s in range(1, 24))])
def test_what_is_made_of_a_module_does_the_same(seed: int) -> None:
    found = well_formed(range(seed, seed + 20))
    module = found[0][1]
    result = optimize(module)
    assert result.cost <= result.cost_before
    before, after = without_calls(module["main"]), without_calls(result.best["main"])
    assert assert_refines(before, after, np.random.default_rng(seed), runs=3)
    x, y = arrays(seed)
    expected = interpret(module, x, y)[0]
    np.testing.assert_array_equal(np.asarray(compile(result.best)(x, y)[0]), expected)


def that_run(seeds: range) -> Iterator[tuple[int, PrimFunc, tuple[np.ndarray, ...]]]:
    """Functions of well-formed modules with their seeds and what they give."""
    for seed, module in well_formed(seeds):
        try:
            expected = interpret(module["main"], *arrays(seed))
        except InterpretError:
            continue  # products may overflow
        yield seed, module["main"], expected


@pytest.mark.parametrize("count", [30, pytest.param(1000, marks=pytest.mark.fuzz)])
def test_what_callees_are_told_is_true(count: int) -> None:
    """Assumptions hold, and what they may leave in buffers nobody reads."""
    assumed = permitted = 0
    for seed, main, expected in that_run(range(count)):
        given = told(specialized(staged(main, alone=True)))
        inlined = without_calls(given)
        verify(inlined, allow_stray_loads=True)
        found = interpret(inlined, *arrays(seed), sanitize=True)
        np.testing.assert_array_equal(found, expected, err_msg=str(seed))
        stmts = [s for callee in callees(given) for s in walk(callee.body)]
        assumed += any(isinstance(s, Assume) and has_loads(s.cond) for s in stmts)
        permitted += any(isinstance(s, Store) and isinstance(s.value, Undef) for s in stmts)
    assert assumed >= count // 20 and permitted >= count // 20


def forced(graph: Graph, target: Target) -> Iterator[tuple[str, Storage, dict[str, list[Storage]]]]:
    """Each way to keep each buffer, with what there is to choose from then: all others as they are."""
    whole = {name: b.buffer for name, b in graph.between.items() if len(b.buffer.shape) == 2}
    ways = storages(graph, target, {name: [lambda i, j: [j, i]] for name in whole})
    for name, between in graph.between.items():
        if between.is_free or between.one_way or (between.writers and not between.is_result):
            for storage in ways[name][1:]:
                yield name, storage, {n: w[:1] for n, w in ways.items()} | {name: [storage]}


def a_symbolic_module(seed: int) -> str:
    """A module over `m` elements, of which `p` and sums with it say how many count."""
    rng = np.random.default_rng(seed)
    pick = lambda *items: items[int(rng.integers(len(items)))]  # noqa: E731

    def named(name: str, a: str = "n", b: str = "n") -> str:
        matched = f'    A = T.match_buffer(a, ({a},), "int32")\n    B = T.match_buffer(b, ({b},), "int32")'
        return (
            f"\n@T.prim_func\ndef {name}(a: T.handle, b: T.handle, k: T.int32):\n    n = T.int32()\n{matched}\n    for "
        )

    value = lambda: pick("A[i] + 1", "T.max(A[i], 0)", "i - k", "2", "A[n - 1 - i]", "T.if_then_else(i < k, A[i], 0)")  # noqa: E731
    names, text = list[str](), ""
    for f in range(4):
        cond = pick("i < k", "i >= k", "A[i] > 0", "A[i] == 2", "0 <= A[i] and A[i] < n", "i % 2 == 0")
        other = pick("", f"\n        else:\n            B[i] = {value()}")
        text += f"{named(f'f{f}')}i in range(n):\n        if {cond}:\n            B[i] = {value()}{other}\n"
        names.append(f"f{f}")
    text += f"{named('after', 'n + 1')}i in range(n):\n        if i >= k:\n            B[i] = A[i + 1]\n"
    choice = "T.if_then_else(0 < i and i < k, A[i - 1], 0)"
    text += f"{named('before', b='n + 1')}i in range(n + 1):\n        B[i] = {choice}\n"
    lines = ["H = T.alloc_buffer((m,), 'int32')", "W = T.alloc_buffer((m + 1,), 'int32')", "before(X, W, m)"]
    lines += ["for t in range(m):", "    H[t] = X[t]"]
    lines += ["R = T.alloc_buffer((4, m + 1), 'int32')", "Q = T.alloc_buffer((m + 2, 3), 'int32')"]
    lines += ["for i, t in T.grid(4, m + 1):", "    R[i, t] = i - t % 3", "for t, i in T.grid(m + 2, 3):"]
    lines += ["    Q[t, i] = t % 2 + i"]
    sections = (
        "R[0, 0:m], R[2, 1:m + 1]", "R[t + 1, 0:m], R[t, 0:m]", "X[0:m], R[t, 1:m + 1]", "R[3, 1:m + 1], H[0:m]",
        "Q[0:m, 1], Q[2:m + 2, 0]", "R[t, 0:m], Q[1:m + 1, t]", "Q[1:m + 1, 2], Y[0:m]", "R[X[0] % 4, 0:m], Y[0:m]",
    )  # fmt: skip

    def a_call(place: str) -> str:
        scalar = pick("p", "p + 1", "m - p", "2", "m", "X[0]", "t")
        one, other = pick(("X", "H"), ("H", "Y"), ("Y", "H"), ("X", "Y"))
        given = pick(f"{one}, {other}", f"{one}, {other}", pick(*sections))
        call = f"{pick(*names)}({given}, {scalar})"
        call = pick(call, call, call, f"before({one}, W, {scalar})", f"after(W, {other}, {scalar})")
        return call.replace("[t", f"[{place}").replace(", t", f", {place}")

    for _ in range(int(rng.integers(2, 5))):
        around = pick("", "", "for t in range(3):", "if p > 2:")
        calls = [a_call("t" if around[:3] == "for" else "1") for _ in range(3 if around else 1)]
        if around:
            calls = [around, *(f"    {c}" for c in calls)]
            calls[2:3] = [pick(calls[2], f"    if {pick('p > 1', 'X[0] > 0')}:\n        {calls[2]}")]
        lines += "\n".join(calls).split("\n")
    body = "\n    ".join([*lines, "f0(H, Y, p)"])
    buffer = 'T.Buffer((m,), "int32")'
    head = f"def main(X: {buffer}, Y: {buffer}, p: T.int32, m: T.int32):\n    T.assume(m >= 1)"
    return f"{text}\n@T.prim_func\n{head}\n    {body}\n"


@pytest.mark.parametrize("count", [20, pytest.param(2000, marks=pytest.mark.fuzz)])
def test_so_is_what_they_are_told_in_names_of_sizes_and_scalars(count: int) -> None:
    assumed = permitted = 0
    for seed in range(count):
        main = parse(a_symbolic_module(seed))["main"]
        given = told(specialized(staged(main, alone=True)))
        inlined = without_calls(given)
        verify(inlined, allow_stray_loads=True)
        rng = np.random.default_rng(seed)
        for m, p in ((1, 0), (5, 3), (4, 6), (7, -1)):
            x, y = rng.integers(-1, 4, (2, m)).astype(np.int32)
            expected = interpret(main, x, y, p=p, m=m)
            found = interpret(inlined, x, y, p=p, m=m, sanitize=True)
            np.testing.assert_array_equal(found, expected, err_msg=f"{seed} {m} {p}")
        stmts = [s for callee in callees(given) for s in walk(callee.body)]
        assumed += any(isinstance(s, Assume) and has_loads(s.cond) for s in stmts)
        permitted += any(isinstance(s, Store) and isinstance(s.value, Undef) for s in stmts)
    assert assumed >= count // 20 and permitted >= count // 20


@pytest.mark.parametrize("count", [24, pytest.param(1000, marks=pytest.mark.fuzz)])
def test_calls_joined_with_those_that_move_what_they_leave_do_the_same(count: int) -> None:
    made = 0
    for seed, main, expected in that_run(range(count)):
        apart = specialized(staged(main, alone=True))
        given = told(joined(apart, lambda func, parts: True, is_guarded, ()))
        made += len([*calls_in(given.body)]) < len([*calls_in(apart.body)])
        inlined = without_calls(given)
        verify(inlined, allow_stray_loads=True)
        found = interpret(inlined, *arrays(seed), sanitize=True)
        np.testing.assert_array_equal(found, expected, err_msg=str(seed))
    assert made >= count // 20


@pytest.mark.parametrize("count", [2, pytest.param(40, marks=pytest.mark.fuzz)])
def test_every_way_to_keep_buffers_and_sections_of_them_computes_the_same(count: int) -> None:
    """Callees are told where sections lie, so that buffers of which they take some may be kept in another way."""
    target = replace(CPU, tiles=(2, 4))
    pricer, kept = ModuleSearch(Module(()), "main", target, search_for(target)).pricer, 0
    for seed, module in well_formed(range(8 * count))[:count]:
        main = module["main"]
        try:
            expected = interpret(main, *arrays(seed))
        except InterpretError:
            continue  # products may overflow
        apart = told(specialized(staged(main, alone=True)))
        graph = graph_of(apart, () if "X" in graph_of(apart).fixed else ("X",))
        search = ModuleSearch(module, "main", target, search_for(target))
        search.pricer = pricer
        picked = list(forced(graph, target))
        for name, storage, offered in picked if count > 9 else picked[:: len(picked) // 2]:
            choice = search.choose(graph, offered)
            assert choice.written[name] == storage
            kept += 1
            for body in (lambda v: v.source, lambda v: v.best):
                made = assembled(graph, choice, pricer, body)
                verify(unstaged(made.entry), allow_stray_loads=True)
                x, y = arrays(seed)
                for pack in made.packs:
                    (x,) = interpret(pack, x)
                found = interpret(unstaged(made.entry), x, y)
                np.testing.assert_array_equal(found, expected, err_msg=f"{seed} {storage}")
    assert kept >= count


MAPS: dict[int, list[Callable[..., list[object]]]] = {
    1: [lambda i: [i // 2, i % 2], lambda i: [5 - i], lambda i: [i + 1]],
    2: [lambda i, j: [j, i], lambda i, j: [i // 2, j, i % 2], lambda i, j: [i, j // 4, j % 4]],
}
MAY_REFUSE = {"negative-index", "unused-buffer", "interface", "unproven"}  # what sizes and other callers say


@pytest.mark.parametrize("count", [2, pytest.param(300, marks=pytest.mark.fuzz)])
def test_layouts_by_hand_change_callers_and_callees_together(count: int) -> None:
    changed = 0
    for seed, main, expected in that_run(range(count)):
        rng = np.random.default_rng(seed)
        module = Module((*callees(main), main))
        for func in module.funcs:
            for buffer in (*func.buffers, *(s.buffer for s in walk(func.body) if isinstance(s, Alloc))):
                sch = Schedule(module)
                sch.work_on(func.name)
                index_map = MAPS[len(buffer.shape)][int(rng.integers(3))]
                pad = (None, 0, 7)[int(rng.integers(3))]
                try:
                    sch.transform_layout("root", buffer.name, index_map, pad_value=pad)
                except ScheduleError as error:
                    assert error.code in MAY_REFUSE, error
                    continue
                new = sch.mod["main"]
                verify(new)
                kept = {b.name: layout_of(new, b.name) for b in new.buffers if f"layout.{b.name}" in dict(new.attrs)}
                given = zip(main.buffers, arrays(seed), strict=True)
                packed = [kept[b.name].pack(a, pad or 0) if b.name in kept else a for b, a in given]
                (found,) = interpret(new, *(np.asarray(a, np.int32) for a in packed), sanitize=True)
                np.testing.assert_array_equal(kept["Y"].unpack(found) if "Y" in kept else found, expected[0], str(seed))
                changed += 1
    assert changed >= count
