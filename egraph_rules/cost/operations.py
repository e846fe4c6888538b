"""What operations on arrays cost on a target, by their sizes: the arithmetic of all choices among forms of a plan.

Whoever looks for a form knows how many elements it moves, how often it runs and what an element of it takes, and asks
here; a figure that all of them share stands in `egraph_rules.cost.target`. Sizes are numbers of elements, prices are in
the units of the tables. "In a loop" means inside of one that stays sequential when the program runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import log2, prod
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from egraph_rules.cost.target import TPU, Target

# Statements -----------------------------------------------------------------------------------------------------------


def width(bits: int) -> float:
    """How wide an element is, next to one of 32 bits: so many more of narrow ones are moved and worked on at once."""
    return max(bits, 8) / 32


def moved(target: Target, elements: float) -> float:
    """Elements that are read and stored elsewhere."""
    return elements * (target.load + target.store)


def steps(target: Target, count: float, each: float) -> float:
    """A loop that stays one."""
    return count * (target.step + each)


def in_function(target: Target) -> Target:
    """The target within loops that are compiled as one function, where no statement is a kernel of its own, and loops
    are functions no more."""
    return replace(target, launch=target.function_launch, function=0)


def as_one(target: Target) -> Target:
    """The target within loops all steps of which are compiled as one statement."""
    return replace(target, step=0.0, launch=0.0, least_launch=0.0, store=0.0, function=0)


def unrolled(target: Target, count: float, together: int, statements: int) -> float:
    """What it saves to compile so many of a loop's steps as one, less what compiling their statements costs."""
    return count * target.step * (1 - 1 / together) - (together - 1) * statements * target.phase


def statement(
    target: Target, elements: float, *, library: bool = False, scatters: bool = False, fused: bool = False
) -> float:
    """An array statement in a loop, of which `elements` is what its elements cost; `fused` with the one before it."""
    launch = 0.0 if fused else target.launch * (target.library if library else 1.0)
    return launch + (target.scatter if scatters else 1.0) * elements


def single(target: Target, work: float, *, several: bool = False) -> float:
    """A statement on single elements in a loop, alone or one of several, of which `work` is what its element costs."""
    return max((target.scalars if several else target.scalar) * work, target.least_launch)


def sort(target: Target, elements: float, length: float) -> float:
    """Sorting so many elements along an axis of some length."""
    return target.sort * elements * log2(length + 2)


def largest(target: Target, rows: float, length: float, count: float, *, floats: bool = True) -> float:
    """Finding the `count` largest elements of so many rows of some length, of `floats` by a library."""
    if not floats:
        return target.dispatch + rows * length * count * 4 * (target.load + target.arith)
    return target.dispatch + rows * (target.largest_row + target.largest * length + target.largest_kept * count)


def convolution(target: Target, places: float, outs: float, channels: float, taps: Sequence[float]) -> float:
    """A library's convolution: positions of the result, channels of it and of the image, and taps of the filter along
    each dimension."""
    t, every = target, prod(taps)
    patch = channels * every
    image = t.convolution_position + every * t.convolution_tap + patch * t.convolution_patch
    each = t.contraction if len(taps) <= 2 else t.contraction * t.convolution_volume
    return places * (image + outs * patch * each)


def convolution_by_taps(target: Target, work: float, taps: float, copied: float, *, contracts: bool) -> float:
    """The same as a product of arrays for each tap, which copies so many elements; other operators than multiplication
    and addition of floats are none that a library knows."""
    product = target.contraction if contracts else target.load + target.arith
    return work * product + taps * (copied * target.convolution_patch + target.kernel)


def convolution_of_slices(target: Target, results: float, work: float, turns: float | None, *, in_rows: bool) -> float:
    """The same as a sum of shifted slices for so many results, in one operation or in so many turns of a loop;
    `in_rows`: what a slice takes lies side by side."""
    if turns is None and in_rows:
        return work * (target.tap + target.arith) + moved(target, results) + target.kernel
    if turns is None:
        return work * (target.load + target.arith) + target.kernel
    return work * (2 * target.load + target.arith + target.store) + steps(target, turns, target.least_launch)


def contraction(target: Target, products: float, batch: float = 1.0) -> float:
    """Multiplications and additions of a product of arrays, or of a batch of several."""
    return target.contraction * products + (target.product_of_batch * batch if batch > 1 else 0.0)


def contraction_by_terms(target: Target, products: float) -> float:
    """A product of arrays written out as a sum of so many elementwise products in all, which are compiled as one."""
    return products * (target.load + target.arith)


def contraction_if_exact(target: Target, products: float, read: float) -> float:
    """A product of arrays of integers, computed in floats where a test of what it reads says that they hold it; it is
    compiled in integers as well."""
    return target.phase + read * (target.load + target.arith) + products * target.contraction


def instances(target: Target, calls: float, read: float, stored: float, price: float | None) -> float:
    """Calls of an instruction at all positions of its axes: each moves what it reads and stores, or has a price."""
    return target.launch + calls * (read * target.load + stored * target.store if price is None else price)


UNROLLED_ROW = 32  # elements of a row up to which it is reduced in the code that computes it


def reduction(target: Target, terms: float, results: float, *, innermost: bool, columns: float) -> float:
    """A reduction of floats that a library does, besides its terms and the store of its results.

    `innermost`: along rows; else `columns` are the elements of a row that are kept.
    """
    if innermost:
        return terms * target.arith + results * target.reduction_row
    return terms * (target.arith + (target.reduction_column if columns > target.reduction_columns else 0.0))


def triangular_system(target: Target, rows: float, columns: float) -> float:
    """A triangular system in a loop: half a product with the matrix, which is read once."""
    work = rows * (rows + 2 * columns) * target.load + rows * rows * columns * target.contraction
    return target.launch * target.library + rows * target.library_row + work


def factorization(target: Target, rows: float, times: float) -> float:
    """Factorizations of square matrices: a sixth of a product each, and elements that a library wants in a layout of
    its own."""
    elements = rows * rows * (2 * (target.load + target.store) + rows * target.contraction / 6)
    return target.dispatch + rows * target.library_row + times * elements


# Scans ----------------------------------------------------------------------------------------------------------------

ScanForm = Literal["associative", "blocks", "cumulative", "doubling", "in turn"]
_OF_A_LEVEL = 6  # operations of an associative scan in a loop (measured: 0.1 us a level, an operation 0.015 to 0.02 us)
UNROLLED_SCAN = 8  # steps of a scan of single elements in turn that are compiled as one
FILTER_WIDTH = 32  # positions of a block of a filter


class ScanSize(Struct, frozen=True):
    """A scan's positions, and how many it has side by side; whether it is along the innermost axis, in a loop."""

    length: float
    rows: float
    innermost: bool
    inside: bool


def scan_forms(
    target: Target, size: ScanSize, *, arrays: float, blocks: bool, doublings: int | None, cumulative: bool = False
) -> dict[ScanForm, float]:
    """What each form costs that is sound for a scan, besides its terms.

    `arrays` are those that an associative scan carries, half of one more where pairs are put together; `blocks`: sums
    of blocks are sound; `doublings`: how many passes over windows that double in length it takes, if that is sound;
    `cumulative`: an operation of the library does it.
    """
    work = target.load + target.store + 2 * target.arith
    launch = target.launch if size.inside else target.dispatch
    elements, levels = size.length * size.rows, log2(max(size.length, 2.0))
    together = UNROLLED_SCAN if size.rows == 1 else 1
    if together > 1:  # a step waits for the one before it
        each = single(target, work)
    else:
        each = max(min(target.launch + work * size.rows, target.scan * work * size.rows), target.least_launch)
    turned = target.gather * elements if size.innermost and size.rows > 1 else 0.0
    around = 0.0 if size.inside else 2 * target.operation  # terms before it, and the store of what it makes
    found: dict[ScanForm, float] = {
        "associative": arrays * (target.scan * elements * work + levels * (_OF_A_LEVEL if size.inside else 1) * launch),
        "in turn": steps(target, size.length / together, together * each) + turned + around,
    }
    if cumulative:
        found["cumulative"] = max(target.scatter, target.scan) * elements + launch
    if blocks:
        found["blocks"] = target.scan * elements + 0.6 * levels * launch
    if doublings is not None:
        found["doubling"] = 0.75 * doublings * (elements * work + launch)
    return found


def prefixes(target: Target, length: float, rows: float) -> float:
    """Sums of all prefixes of rows, by blocks."""
    return target.dispatch + target.scan * length * rows


def prefixes_by_masks(target: Target, length: float, results: float, rows: float) -> float:
    """The same as products with a mask of all terms for all results (measured: 0.08 ns for each of these)."""
    return length * results * (target.store + rows * target.contraction)


def filter_in_blocks(target: Target, size: ScanSize) -> float:
    """What a linear filter costs besides its terms.

    Measured on two cores: 0.8 ns an element in long ones, and 8 us for what happens once.
    """
    once = 6 * target.launch if size.inside else target.dispatch
    work = size.length * size.rows * target.scan * (target.load + target.arith)
    return once + work + size.length / FILTER_WIDTH * target.step


# Ranges that data give ------------------------------------------------------------------------------------------------


_TESTS = 8  # to test the ranges, to find the row of each position, and to do what is to be done


def ranges_in_turn(target: Target, rows: float, visited: float, work: float) -> float:
    """A loop over the positions of each range, `visited` in all."""
    return rows * target.step + visited * (target.step + single(target, work))


def ranges_under_masks(target: Target, statements: int, positions: float, work: float) -> float:
    """All positions that a range may have, for each range, under masks."""
    return target.launch * statements + positions * (work + target.mask)


def ranges_by_prefixes(target: Target, length: float, rows: float, wide: float, work: float, *, by_row: bool) -> float:
    """`rows` ranges combined over `length` positions of `wide` elements each.

    `by_row`: it is worked out which position is in which range (measured: as much as a scatter).
    """
    levels = log2(length / max(rows, 1.0) + 1.0) + 2.0
    if by_row:
        wide, work = 1.0, work + target.scatter * (2 * target.load + target.store)
    each = length * (work + target.arith) + 2 * levels * rows * (target.load + target.select)
    return 2 * target.launch + wide * each


def ranges_in_one_loop(target: Target, positions: float, statements: Iterable[tuple[float, int, bool]]) -> float:
    """One loop over the positions of all ranges; of each statement what an element costs, how many arrays it reads by
    row, and whether it stores by row."""
    each = 2 * target.scatter * target.load  # which row it is
    for work, gathered, stored in statements:
        each += work + target.scatter * (target.load * gathered + (target.load + target.store) * stored)
    return _TESTS * target.launch + positions * each


# Forms of loops -------------------------------------------------------------------------------------------------------


def stages_as_arrays(target: Target, stores: int, elements: float, *, inside: bool, to_parts: bool) -> float:
    """Stages written out, each store of which is an array statement, in a loop or not, or one `to_parts` of arrays."""
    each = target.launch if inside else target.dispatch if to_parts else target.operation
    return stores * each + elements * (target.load + target.store + target.arith)


def stages_by_gathers(target: Target, count: float, stores: int, elements: float, gathered: float) -> float:
    """A loop over so many stages, each store of which is an array statement that gathers some of what it reads."""
    each = target.load + target.store + target.read_by_data * gathered
    return steps(target, count, stores * target.launch) + elements * each


def stages_in_turn(target: Target, elements: float) -> float:
    """The same stages one element after the other."""
    return steps(target, elements, single(target, target.load + target.store + target.arith))


def strip(target: Target, elements: float, count: int, work: float, bits: int) -> float:
    """The late part of a strip of so many steps in one pass, which moves its elements, of so many bits, once."""
    return target.launch + moved(target, elements) * width(bits) + elements * count * work


def more_phases(target: Target, count: int, statements: int, whole: float, least: float) -> float:
    """What a loop in `count` phases costs besides: its statements are compiled for each, and a part of the `whole`."""
    return (count - 1) * (statements * target.phase + least * whole)


def taken_apart(target: Target, elements: float, row: float, *, in_function: bool) -> float:
    """Elements taken one by one from rows of so many bytes, in place of side by side.

    A loop that is one function finds them in the cache, which keeps for the next steps what lies beside them, unless
    rows fall on the same few of its lines."""
    kept = in_function and row % _SAME_LINES
    return elements * target.load * (target.function_apart if kept else 1.0)


def transposed_copies(target: Target, copies: Sequence[float], launches: float) -> float:
    """Copies of so many elements each, made `launches` times."""
    return sum(copies) * target.load + launches * len(copies) * target.launch


def windows_together(target: Target, taps: float, kept: float, term: float, bits: int) -> float:
    """All taps of a window at once, for each position that is kept: terms of a price, with results of so many bits."""
    return taps * kept * (term + target.arith * width(bits))


def window_alone(target: Target, positions: float, kept: float, size: int, term: float, bits: int) -> float:
    """Windows of a size along a single axis, at the `kept` ones of its positions, made of windows of 4 at all: each is
    an operation of its own. Terms have a price, results so many bits."""
    total, narrow = 0.0, width(bits)
    while size // 4 > 1:
        total += positions * ((4 + size % 4) * (term + target.arith * narrow) + target.store * narrow)
        total += target.operation
        size, term = size // 4, target.load * narrow
    return total + kept * (size * (term + target.arith * narrow) + target.store * narrow) + target.operation


def contraction_in_blocks(target: Target, result: float, blocks: Iterable[tuple[Iterable[int], float]]) -> float:
    """Blocks of a contraction: of each the extents of its axes, and how many elements of operands are copied; and a
    copy of the results into one array."""
    total = moved(target, 2 * result)
    for extents, copied in blocks:
        total += target.dispatch + target.contraction * prod(extents) + moved(target, copied)
    return total


# Padding, and what is worked out again --------------------------------------------------------------------------------


def padded_copy(target: Target, elements: float, size: float, *, inside: bool) -> float:
    """A buffer padded once, of `size` bytes. Large blocks of memory are fresh, each page of them a fault."""
    fresh = target.fresh if size >= target.fresh_bytes and not inside else 0.0
    return moved(target, elements) + elements * fresh + target.kernel


def padding_fused(target: Target, elements: float, reads: int) -> float:
    """A padded buffer of which each of so many reads works out what is padding."""
    return elements * reads * target.padded_read


def padding_kept(target: Target, elements: float, reads: int, *, one_by_one: bool) -> float:
    """A padded buffer that is kept for all who read it; elements of short rows are read one by one either way, as was
    measured for 2 to 18 reads."""
    read = 0.6 * padding_fused(target, elements, reads) if one_by_one else 0.0
    return moved(target, elements) + target.kernel + read


def padded_read_apart(target: Target, *, compared: bool) -> float:
    """An element that is read through padding where elements lie apart, so that no code is vector code: a test among
    comparisons is dearer."""
    return target.padded_read * (1.5 if compared else 1.0)


def keys_compared(target: Target, keys: int) -> float:
    """An element that is compared with each key that it may have."""
    return keys * (4 * target.load + 3 * target.arith)


def stored_by_key(target: Target) -> float:
    """An element that is added to one of few of its row: measured on CPU, 1.1 to 2 ns, and a comparison 0.1 to 0.17."""
    return 0.5 * target.scatter


def kept_stage(target: Target, elements: float, *, slow: bool = False) -> float:
    """A stage in memory of its own, read once; where elements are at places that data say, or are spread along an axis,
    it is several operations (measured on CPU, for 100 to 5000 elements: 3.5 us)."""
    return moved(target, elements) + target.operation * (8 if slow else 1)


def stored_terms(target: Target, elements: float) -> float:
    """Terms of a reduction that another statement has too, which the compiler stores."""
    return target.shared * elements


# Kernels of ours ------------------------------------------------------------------------------------------------------

# Of an operation in one, where shifted reads keep the units busy that XLA's fusions leave to arithmetic: 1024 lanes a
# cycle, of which an element moved takes 0.0093.
_KERNEL_OPERATION = {TPU.name: 0.105}
_SAME_LINES = 256  # bytes of rows, of which a multiple brings the columns of many to the same lines of a cache
_WORD = 4  # bytes of the elements in whose units prices are
# By the TPU compiler's estimate for its own kernels: of a byte that is read or written, and before the first element.
# An operation takes 1024 lanes a cycle; four units could share the work, but shifted reads keep more than one busy.
_CYCLES_A_BYTE = 39_164 / (4 * 4096 * 1024)
_CYCLES_A_KERNEL = 1_824
_CYCLES_AN_OPERATION = 1 / 1024


def kernels(target: Target, count: int, size: float, operations: float = 0.0) -> float:
    """So many kernels that move `size` bytes and compute so much in all."""
    work = _KERNEL_OPERATION.get(target.name, target.arith) * operations
    return target.load * size / _WORD + work + count * target.kernel


def kernel_cycles(count: int, size: float, operations: float) -> float:
    """The same in cycles of a TPU."""
    return _CYCLES_A_KERNEL * count + size * _CYCLES_A_BYTE + operations * _CYCLES_AN_OPERATION
