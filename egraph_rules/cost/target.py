"""What work costs on a target. Owns the tables; extraction multiplies and adds them up.

Figures are in units of one element moved through vector code; they order programs, they do not predict times. The CPU
column follows measurements on two cores (a sum over 16 MB: unmasked 0.15 ms, with the index test kept 0.56 to 1.7 ms,
because XLA materialises the selection; an elementwise kernel hides its mask). The TPU column follows the estimates of
its compiler (`benchmarks/tpu.py`), the GPU column measurements on one H100.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from ir.errors import OptionError, suggest
from ir.instructions import call_price
from ir.nodes import Binary, Call, Cast, Expr, Function, PrimFunc, Select, Unary
from ir.operators import LIBRARY
from ir.traverse import children


class Target(Struct, frozen=True):
    """Prices of one target.

    `load`, `store`: an element moved. `arith`, `division`, `special`: an operation, an integer division or modulo, a
    transcendental function. `slow_function`: one that is computed for one element after the other, such as a sine
    (XLA:CPU on two cores: 5 to 12 ns, where an exponential takes 0.1 and moving an element 0.2).
    `shift`: an integer division or modulo by a power of two; in indices, where programs have most of them, it makes no
    slice and costs what others cost.
    `index`: factor for arithmetic inside an index, most of which becomes a slice.
    `mask`: a guard around an elementwise store, per element. `reduction_mask`: a guard around an accumulation.
    `reduction_slice`: an accumulation over a part of an axis, per element. `store_slice`: a store to a part of an
    axis, per element of the buffer. `select`: a choice between two values, per element.
    `binding`: a value given a name, besides what the value costs, each time.
    `guarded`: the part of guarded work that is paid for; vector code pays all of it. `loop`: a loop, once. `kernel`: a
    store statement or an allocation, once. `default_extent`: assumed where an extent is symbolic.
    In a loop that stays one, each time: `step` for the iteration, `launch` for an array statement besides its elements;
    `scalar`: factor for the work of a statement on single elements, `scalars` where a step has several, of which one
    may copy what another one reads (XLA:CPU: 5 ns for a step, 3 more for each element that it stores, 50 or more with
    such a copy); `least_launch`: the least that any statement
    costs, where each is a kernel of its own. `library_row`: a row of a triangular system or a factorization, which
    wait for each other. `sort`: an element that is sorted, for each time that halving its row takes. `library`: how
    many times `launch` a call of a library is, as for a product of two matrices or a triangular system.
    `epilogue`: arithmetic on a sum, where it is a kernel of its own.
    `contraction`: a multiplication and addition of a product of arrays; `product`: such a product once, since it is
    compiled into no other statement; `product_rows`: rows of one below which it is slower than a part of a larger
    one; `product_of_batch`: one of many products of matrices, whatever their size (XLA:CPU: 10 to 400 ns, 50 in the
    mean, of matrices up to 8 × 8). `scan`: factor for the work of a statement that continues itself along an axis.
    `dispatch`: an array statement outside of loops, where a form of it is one of several. `scatter`: factor for the
    work of one whose places are data, in arrays (XLA:CPU stores one element after the other, more slowly than a
    loop that does nothing else: 6 ns each against 3). `read_by_data`, `store_by_data`: an element or row that is
    read, or stored to, at a place that data say, each time (measured: 0.9 ns, 1 to 4 ns). `reduction_spread`: an
    accumulation of terms of which there are more than any array in them has elements, each.
    `gather`: an element that is read along a diagonal of an array, besides what else is moved.
    `integer_contraction`: as `contraction`, of integers.
    `padded_read`: a read through padding that is fused into its reader, per element, besides the load; `padded_vector`
    where the compiler makes vector code of it, which it does for at most `padded_vectors` of them in a statement;
    `padded_branch` where it jumps around the load for each element, as in a minimum, among more reads than that, or
    where rows are put together of parts.
    `fresh`: an element of a temporary of `fresh_bytes` or more, besides storing it: the allocator gives such memory
    back and takes it anew, page by page, in each call (measured: 3 to 6 ns an element from 32 MiB on).
    `convolution_position`, `convolution_tap`, `convolution_patch`: what a library's convolution costs for each position
    of its result, for each tap of the filter there, whatever the channels, and for each element of the image under the
    filter, besides the products.
    `tap`: an element of a shifted slice, of several that are added up in one operation (measured with the addition, on
    two cores: 0.025 to 0.05 ns for images of 56 x 56 to 1024 x 1024 with few channels, 0.1 to 0.2 for small ones).
    `phase`: an array statement that is compiled once more, for some of the iterations of its loop; `section`: an
    element of a part of an array that is copied for it and back, which goes through memory, not caches.
    `one_pass`: elements of an array of two axes or more from which on stores to almost all of it, in a loop, go through
    all of it: XLA:CPU stores to a part on one core only. Measured on two: even at 60,000 on two axes, at 1,000,000 a
    third faster there and nearly twice as fast on three axes.
    `operation`: an array operation outside of loops, as it is compiled; `call`: of a program, once.
    `shared`: an element of a term that a reduction and another statement have in common, where the compiler stores it.
    `exchange`: an element that a device of a mesh receives from another one.
    `plain`: an element of an array that is stored and made of whole arrays and positions alone, with no number among
    them, besides. XLA:CPU of JAX 0.10 compiles such code in tiles that go through the stack (measured: `I + i` takes
    three times as long as `I + 2 * i`, from 32,000 elements on and as far as caches reach).
    `reductions_apart`: whether terms of a reduction are stored before it, but for arithmetic on floats, which a library
    does as it reduces (XLA:CPU of JAX 0.10; choices, slices and gathers it does before, in memory).
    `reduction_row`: a row that such a library reduces, besides its elements (measured: 1.7 ns a row).
    `reduction_repeated`: an element of the largest array in the terms of a reduction that has not all of their axes and
    so is repeated along others (measured: 3 to 6 ns an element of it).
    `reduction_column`: an element that it adds to one of more than `reduction_columns` columns, besides (measured: 2 to
    8 ns an element from 16,385 columns on, 0.15 ns up to there).
    `stores_copy`: whether the second of two stores to parts of an array, which a step of a loop reads too, copies all
    of it (measured with XLA:CPU of JAX 0.10).
    `column`: an element of a column that a step of a loop reads, besides; a store to one is thrice that (measured: 1.2
    and 4 ns).
    `near`: bytes that the nearest cache keeps from step to step, so that to go through them once for several steps
    saves nothing (measured: bools of 128 x 128 take 0.24 us a step, in strips 0.4).
    `results_together`: whether results of a step that have as many elements are made by one statement.
    `unrolled`: the most steps of a loop that are worth compiling as one (XLA:CPU copies arrays to which two store).
    `written_out`: the most steps of a loop in which elements do not look at each other that are compiled all as one.
    `function`: the most elements of a statement in a loop that is compiled as one function; 0 if none is.
    `function_launch`: `launch` in such a loop, `function_apart`: what an element costs there that is not beside others,
    next to elsewhere.
    `short_reduction`: the most floats of a row that are better combined one by one than by a reduction; 0 if none are.
    `tiles`: extents of the tiles in which the device keeps the last axes of arrays, the last one last; layouts of
    buffers between functions are proposed by them.
    `calls`: prices of calls by the function's name, in place of the function's own.
    """

    name: str
    load: float = 1.0
    store: float = 1.0
    arith: float = 0.25
    division: float = 1.0
    shift: float = 1.0
    special: float = 4.0
    slow_function: float = 35.0
    index: float = 0.2
    binding: float = 0.0
    mask: float = 0.25
    reduction_mask: float = 6.0
    reduction_slice: float = 3.0
    store_slice: float = 0.0
    select: float = 0.25
    guarded: float = 1.0
    loop: float = 5.0
    kernel: float = 50.0
    epilogue: float = 0.0
    default_extent: int = 256
    step: float = 10.0
    launch: float = 300.0
    scalar: float = 8.0
    scalars: float = 20.0
    least_launch: float = 0.0
    library: float = 25.0
    library_row: float = 0.0
    contraction: float = 0.2
    integer_contraction: float = 0.7
    product: float = 50.0
    product_rows: int = 240
    product_of_batch: float = 0.0
    scan: float = 4.0
    sort: float = 4.0
    largest: float = 6.0
    largest_row: float = 400.0
    largest_kept: float = 250.0
    padded_read: float = 1.2
    padded_vector: float = 0.1
    padded_vectors: int = 12
    padded_branch: float = 4.0
    fresh: float = 30.0
    fresh_bytes: int = 32 << 20
    convolution_position: float = 125.0
    convolution_tap: float = 0.0
    convolution_patch: float = 4.0
    convolution_volume: float = 1.0
    tap: float = 1.0
    dispatch: float = 14_000.0
    scatter: float = 60.0
    phase: float = 200_000.0
    section: float = 24.0
    gather: float = 5.0
    read_by_data: float = 8.0
    store_by_data: float = 20.0
    reduction_spread: float = 0.0
    shared: float = 2.0
    operation: float = 4_000.0
    call: float = 100_000.0
    one_pass: int = 60_000
    exchange: float = 8.0
    plain: float = 0.0
    reductions_apart: bool = False
    stores_copy: bool = False
    results_together: bool = False
    unrolled: int = 1
    written_out: int = 32
    reduction_row: float = 0.0
    reduction_repeated: float = 0.0
    reduction_columns: int = 1 << 62
    reduction_column: float = 0.0
    column: float = 1.0
    near: int = 0
    function: int = 0
    function_launch: float = 0.0
    function_apart: float = 1.0
    short_reduction: int = 0
    tiles: tuple[int, ...] = ()
    calls: tuple[tuple[str, float], ...] = ()


CPU = Target(
    "cpu",
    plain=2.5,
    reductions_apart=True,
    stores_copy=True,
    reduction_row=20.0,
    reduction_repeated=50.0,
    reduction_columns=1 << 14,
    reduction_column=35.0,
    column=20.0,
    near=32 << 10,
    product_of_batch=600.0,
    convolution_volume=25.0,
    tap=0.4,
    step=60.0,
    function=256,
    function_launch=30.0,
    function_apart=0.25,
    short_reduction=8,  # 2 to 12 times as fast up to it, and no slower at 16, whatever the terms
)
VALUES = replace(CPU, shift=CPU.arith)  # of expressions by themselves (measured: a mask takes what an addition takes)
# Measured on an H100 with JAX 0.11 (float32; the unit is 1.6 ps, 2.5 TB/s of elements moved). A call takes 63 us, an
# operation after others 1.9 us; a step of a loop 5.8 us with one statement and 2.7 us for
# each more, of 16 steps compiled as one 0.4 and 0.7; a guard, a slice or a
# shifted read nothing that can be told; 240 multiplications and additions 4 times as much as moving their element.
# Stores to a part of rows take a pass of their own (4 ps an element), transposed reads 5 ps. Elements by data: 11 ps
# are read of 4 MB, 27 of 64 MB, 29 stored. A product of float32 at 50 TFLOP/s, of int32 at 2.5 (int8: 86); 4,096
# products of 8 × 8 take 10 us. Sorting 2^20 takes 130 us, sums of their prefixes 30, an associative scan that carries
# two arrays 170. A Cholesky factor of 512 rows takes 230 us, a triangular system 150, a convolution of 5 × 5 on 2048 ×
# 2048 61, one of 3 × 3 with 64 channels on 112 × 112 120.
GPU = Target(
    "gpu",
    arith=0.02,
    division=0.4,
    shift=0.02,
    special=0.2,
    slow_function=0.4,
    mask=0.02,
    select=0.02,
    reduction_mask=0.05,
    reduction_slice=0.05,
    store_slice=2.4,
    kernel=1_200_000.0,
    operation=1_200_000.0,
    step=2_800_000.0,
    launch=800_000.0,
    least_launch=800_000.0,
    largest_row=0.0,
    largest_kept=0.0,
    dispatch=1_200_000.0,
    scalar=1.0,
    scalars=1.0,
    library=1.0,
    library_row=250_000.0,
    contraction=0.025,
    integer_contraction=0.5,
    product_of_batch=1_500.0,
    padded_read=0.05,
    padded_vector=0.05,
    padded_branch=0.05,
    fresh=0.0,
    convolution_position=7.0,
    convolution_patch=0.1,
    section=2.0,
    phase=10_000_000.0,
    scatter=4.0,
    gather=3.0,
    read_by_data=8.0,
    store_by_data=18.0,
    shared=0.0,
    column=0.0,
    one_pass=1 << 62,
    product=0.0,
    results_together=True,
    unrolled=16,
    call=39_000_000.0,
)
# Cycles that the compiler estimates ahead of time for one core of a v5e, float32, arrays of 4096 × 1024: an array
# read or written is 39,164 (x + 1: 78,328), which makes the unit 0.0093. Work hides behind that traffic: 128
# operations cost 59,200, 8 tanh 3,100, an integer quotient 8,400 (but a sine 150,000). A kernel has 1,824 before its
# first element, which is also what a statement in a loop costs each time. Storing to 1022 of 1024 columns, by a guard
# or a shorter loop, takes another pass over the array: 172,872 instead of 78,328; a select in full rows 80,366. In
# sums over 1022 of 1024 a mask (76,518) and a slice (76,772) cost what full rows do (76,516). What the table cannot
# express: an operation that is fused with nothing gets small windows with a delay each, so that a bare sum of full
# rows is estimated at 126,368 and the sum of their doubles at 76,516; rows of 256 × 4 cost half as much again as 8 ×
# 128. A matmul of 512 is 18,532, of 1024 106,084. The sum of a product that is formed, as `sum(A[:, None] * B, 2)`,
# takes 0.0098 for each term (256 × 256 × 256: 166,336, the matmul 6,458). A convolution by 3 × 3 takes 13 to 16 for
# each position, with 3 channels or with 32 (22 with 128, and 112 from one channel to one): a pass for each tap; as nine
# products of 30 × 30 matrices with slices of an image of 112 × 112 it is 62,821 instead of 302,356. Blocks of 32 along
# a filter of 3 take 0.16 for each position. Variants of one search are therefore compared by the compiler itself where
# it is installed (lower/tpu/compiler.py).
TPU = Target(
    "tpu",
    arith=0.01,
    division=0.2,
    shift=0.2,
    special=0.02,
    slow_function=4.0,
    mask=2.0,
    reduction_mask=0.05,
    reduction_slice=0.05,
    store_slice=2.0,
    select=0.05,
    kernel=195_000.0,
    epilogue=195_000.0,
    operation=195_000.0,
    step=1_000.0,
    launch=195_000.0,
    dispatch=195_000.0,
    scalar=65_000.0,
    scalars=65_000.0,
    library=1.0,
    contraction=0.012,
    integer_contraction=0.012,
    padded_read=0.05,
    padded_vector=0.05,
    padded_branch=0.05,
    fresh=0.0,
    convolution_position=2.0,
    convolution_tap=170.0,
    convolution_patch=1.0,
    section=2.0,
    read_by_data=60.0,
    store_by_data=180.0,
    reduction_spread=1.0,
    shared=0.0,
    one_pass=1 << 62,
    product=195_000.0,
    tiles=(8, 128),
)

TARGETS = {target.name: target for target in (CPU, GPU, TPU)}

# The prices by which searches compare programs; the others are those of plans of array code.
SEARCH_PRICES = (
    "load", "store", "arith", "division", "shift", "special", "slow_function", "index", "binding", "mask",
    "reduction_mask", "reduction_slice", "store_slice", "select", "guarded", "loop", "kernel",
)  # fmt: skip

SLOW = frozenset(("sin", "cos", "tan", "asin", "acos", "atan", "atan2"))  # computed for one element after the other
DIVISION = frozenset(("floordiv", "floormod", "truncdiv", "truncmod", "div"))


def target_named(name: str) -> Target:
    """The target called `name`.

    Raises:
        LoopsatError: there is none.
    """
    if name not in TARGETS:
        raise OptionError(
            "unknown-target", f"there is no target `{name}`", help=suggest(name, TARGETS) or f"use {', '.join(TARGETS)}"
        )
    return TARGETS[name]


def operator_cost(target: Target, op: str) -> float:
    """Price of one application of an operator, operands not counted."""
    if op in SLOW:
        return target.slow_function
    if op in LIBRARY:
        return target.special
    return target.division if op in DIVISION else target.arith


def call_cost(target: Target, function: Function) -> float:
    """Price of a call, arguments not counted: the target's, the function's own, or that of its body."""
    known = dict(target.calls).get(function.name, function.cost)
    return _work(target, function.body) if known is None else known


def instruction_cost(target: Target, instruction: PrimFunc, sizes: Mapping[str, float]) -> float | None:
    """Price of computing an instruction once on arrays of some sizes: the target's, or its author's; None if neither
    states one."""
    return dict(target.calls).get(instruction.name, call_price(instruction, sizes, target.default_extent))


def _work(target: Target, expr: Expr) -> float:
    """Price of the operations of an expression; its variables and literals are free."""
    match expr:
        case Call(function=function):
            own = call_cost(target, function)
        case Binary(op=op) | Unary(op=op):
            own = operator_cost(target, op)
        case Select():
            own = target.select
        case Cast():
            own = target.arith
        case _:
            own = 0.0
    return own + sum(_work(target, e) for e in children(expr))
