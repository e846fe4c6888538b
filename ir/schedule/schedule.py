"""`Schedule`: a program under transformation, and the record of what was done to it. Owns no transformation itself."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NoReturn, cast

import numpy as np
from msgspec.structs import replace

from ir.errors import LoopsatError, ScheduleError, suggest
from ir.instructions import instruction_of
from ir.nodes import Buffer, Expr, Module, PrimFunc, Var
from ir.page import Section
from ir.presburger.facts import promised
from ir.presburger.index_map import IndexMap
from ir.presburger.sets import exclusive
from ir.program.calls import calls_in, without_calls
from ir.program.edit import ROOT, Changed, block_path, blocks_of, find_buffer, loops_around, loops_of, with_unique_names
from ir.program.modules import Written, linked
from ir.schedule.arguments import buffer_name, integer, number, numbers, plain, scope_name
from ir.schedule.marks import with_true_marks
from ir.schedule.trace import SPREAD, BlockRef, LoopRef, Ref, Step, Trace, Transform
from ir.semantics.verify import check_entry, verify
from ir.shown import Shown, counted
from ir.transform.calls.outline import split_function
from ir.transform.calls.tensorize import tensorize, with_calls
from ir.transform.loops.coalesce import fuse
from ir.transform.loops.distribute import distribute
from ir.transform.loops.fuse import merge_adjacent_loops
from ir.transform.loops.index_set_split import loop_partition, peel
from ir.transform.loops.mark import parallel, unroll, vectorize
from ir.transform.loops.permute import reorder
from ir.transform.loops.rebase import rebase
from ir.transform.loops.skew import skew
from ir.transform.loops.strip_mine import split
from ir.transform.loops.tile import tile
from ir.transform.loops.version import version
from ir.transform.stages.compute_at import compute_at
from ir.transform.stages.forward_substitute import compute_inline
from ir.transform.stages.reduction import decompose_reduction
from ir.transform.stages.reverse_compute_at import reverse_compute_at
from ir.transform.stages.reverse_inline import reverse_compute_inline
from ir.transform.stages.sequential import sequential_buffer_access
from ir.transform.storage.copy_in_out import cache_read, cache_write
from ir.transform.storage.dimension_order import transform_layout
from ir.transform.storage.privatize import expand, privatize
from ir.traverse import walk

Block = BlockRef | str
Loop = LoopRef | Var | str
PadValue = int | float | Expr | Callable[..., object] | None

# A primitive maps a module and the name of the function it works on to a new module and the names of what it made.
_Primitive = Callable[..., Changed]
_MAKES_LOOPS: dict[str, _Primitive] = {
    "split": split,
    "fuse": fuse,
    "reorder": reorder,
    "tile": tile,
    "skew": skew,
    "rebase": rebase,
    "parallel": parallel,
    "vectorize": vectorize,
    "unroll": unroll,
    "loop_partition": loop_partition,
    "peel": peel,
    "distribute": distribute,
    "version": version,
    "privatize": privatize,
    "expand": expand,
    "merge_adjacent_loops": merge_adjacent_loops,
    "compute_inline": compute_inline,
    "reverse_compute_inline": reverse_compute_inline,
    "compute_at": compute_at,
    "reverse_compute_at": reverse_compute_at,
    "sequential_buffer_access": sequential_buffer_access,
}
_MAKES_BLOCKS: dict[str, _Primitive] = {
    "decompose_reduction": decompose_reduction,
    "cache_read": cache_read,
    "cache_write": cache_write,
    "tensorize": tensorize,
}
_STEPS = (
    "work_on", "get_block", "get_loops", "transform_layout", "split_function", "inline_calls", "apply", *_MAKES_LOOPS,
    *_MAKES_BLOCKS,
)  # fmt: skip
# Steps on functions that call others.
_PAST_CALLS = ("work_on", "get_block", "get_loops", "inline_calls", "transform_layout", "apply")
_FLOAT_ORDER = (
    "reorder",
    "tile",
    "distribute",
    "merge_adjacent_loops",
    "sequential_buffer_access",
    "reverse_compute_at",
    "decompose_reduction",
    "tensorize",
)


class Schedule(Shown):
    """A function or module, and primitives that change it step by step without changing what it computes.

    Loops are unique by variable name, blocks by name (duplicates are renamed on entry); both can be given by name or as
    the references that primitives return. A step that cannot be shown to be equivalent raises ScheduleError and changes
    nothing. A program that has no meaning raises VerifyError, unless `verify=False` vouches for it.
    `reassociate=False` refuses orders that change the last bits of float reductions.
    """

    def __init__(self, program: Written | Module, *, reassociate: bool = True, verify: bool = True) -> None:
        if not isinstance(program, (Module, PrimFunc)):  # pyright: ignore[reportUnnecessaryIsInstance]
            message = f"a schedule starts from a function or a module, not from {type(program).__name__}"
            raise ScheduleError("program", message, help="parse text with ir.parse, or decorate with @T.prim_func")
        module = program if isinstance(program, Module) else Module((program,))
        if not module.funcs:
            raise ScheduleError("empty-module", "the module has no functions", help="decorate one with @T.prim_func")
        for func in module.funcs:
            check_entry(func, verify)
        self._module = replace(module, funcs=tuple(map(_entered, module.funcs)))
        self._current = module.funcs[0].name
        self._reassociate = reassociate
        self.trace = Trace(home=self._current)

    # What is there ---------------------------------------------------------------------------------------------------

    def brief(self) -> str:
        """Its functions and how many steps were taken."""
        return f"Schedule of {', '.join(f.name for f in self._module.funcs)}: {counted(len(self.trace.steps), 'step')}"

    def sections(self) -> Iterator[Section]:
        """The program as it is now, and the steps that led to it."""
        yield Section(code=str(self._module))
        if self.trace.steps:
            yield Section("steps", str(self.trace))

    @property
    def mod(self) -> Module:
        """All functions as they are now."""
        funcs = tuple(map(_called, self._module.funcs))
        same = all(new is old for new, old in zip(funcs, self._module.funcs, strict=True))
        return self._module if same else replace(self._module, funcs=funcs)

    @property
    def func(self) -> PrimFunc:
        """The function worked on, as it is now."""
        return _called(self._module[self._current])

    def work_on(self, func: str) -> None:
        """Choose the function that names refer to.

        Raises:
            ScheduleError: there is no such function.
        """
        self._do("work_on", {"func": func})

    def get_block(self, name: str, func: str | None = None) -> BlockRef:
        """A block by name; `root` is the whole body of a function."""
        (found,) = self._do("get_block", {"name": name} if func is None else {"name": name, "func": func})
        return cast(BlockRef, found)

    def get_loops(self, block: Block = ROOT) -> tuple[LoopRef, ...]:
        """The loops around a block, outermost first, then those inside it in program order."""
        return cast("tuple[LoopRef, ...]", self._do("get_loops", {"block": self._block(block)}))

    def get_buffer(self, name: str) -> Buffer:
        """A buffer of the current function, for pad values that read it."""
        return find_buffer(self.func, buffer_name(name))

    # Loops -----------------------------------------------------------------------------------------------------------

    def split(self, loop: Loop, factors: Sequence[int | Expr | None]) -> tuple[LoopRef, ...]:
        """Split a loop into nested ones, outermost first; one factor may be None and is then inferred, rounding up.

        Where the factors do not divide the extent, a guard keeps the iterations that were there.
        """
        return self._loops("split", {"loop": self._loop(loop), "factors": numbers("factors", factors, open=True)})

    def fuse(self, *loops: Loop) -> LoopRef:
        """Make nested loops, each alone in the one before, into one."""
        return self._loops("fuse", {"loops": self._several(loops)})[0]

    def reorder(self, *loops: Loop) -> None:
        """Put loops of one nest into the given order, outermost first."""
        self._loops("reorder", {"loops": self._several(loops)})

    def tile(self, loops: Sequence[Loop], sizes: Sequence[int | Expr]) -> tuple[LoopRef, ...]:
        """Run a nest tile by tile: strip-mine each loop, and put the loops over strips outside.

        The loops are alone in one another, outermost first, with a size for each. Returns the loops over tiles, then
        those within one. Where a size does not divide an extent, a guard keeps the iterations that there were.
        """
        return self._loops("tile", {"loops": self._several(loops), "sizes": numbers("sizes", sizes)})

    def skew(self, outer: Loop, inner: Loop, factor: int = 1) -> LoopRef:
        """Let a loop count from its start plus `factor` times the variable of a loop around it.

        It runs the same iterations. Where both loops carry dependences, `reorder` may then put the skewed one outside,
        and those of the other one at one step of it are independent: a wavefront.
        """
        arguments = {"outer": self._loop(outer), "inner": self._loop(inner), "factor": integer("factor", factor)}
        return self._loops("skew", arguments)[0]

    def rebase(self, loop: Loop, start: int | Expr = 0) -> LoopRef:
        """Let a loop count from `start`."""
        return self._loops("rebase", {"loop": self._loop(loop), "start": number("start", start)})[0]

    def parallel(self, loop: Loop) -> None:
        """Promise that the iterations of a loop are independent, after proving it."""
        self._loops("parallel", {"loop": self._loop(loop)})

    def vectorize(self, loop: Loop) -> None:
        """Mark a loop, whose iterations must be independent, to run as one vector operation."""
        self._loops("vectorize", {"loop": self._loop(loop)})

    def unroll(self, loop: Loop) -> None:
        """Mark a loop of constant extent to be unrolled."""
        self._loops("unroll", {"loop": self._loop(loop)})

    def loop_partition(self, loop: Loop, points: Sequence[int | Expr] | None = None) -> tuple[LoopRef, ...]:
        """Cut a loop at `points`, by default where conditions in its body change, and decide those conditions."""
        given = None if points is None else numbers("points", points)
        return self._loops("loop_partition", {"loop": self._loop(loop), "points": given})

    def peel(self, loop: Loop, first: int = 0, last: int = 0) -> LoopRef:
        """Write the first and last iterations of a loop out, before and after it. Returns the loop that is left.

        Conditions that are constant for what is left, or in an iteration that is written out, are decided.
        """
        ends = {"first": integer("first", first), "last": integer("last", last)}
        return self._loops("peel", {"loop": self._loop(loop), **ends})[0]

    def distribute(self, loop: Loop) -> tuple[LoopRef, ...]:
        """Cut a loop into as many as dependences allow, each around consecutive statements of its body.

        The inverse of `merge_adjacent_loops`. A local of each iteration needs `expand` first.
        """
        return self._loops("distribute", {"loop": self._loop(loop)})

    def version(self, loop: Loop, condition: Expr) -> tuple[LoopRef, LoopRef]:
        """Run one copy of a loop where a condition holds, and another one where it does not. Returns both loops.

        What the condition decides is decided in each copy. It may use sizes, scalars and variables of loops around.
        """
        yes, no = self._loops("version", {"loop": self._loop(loop), "condition": condition})
        return yes, no

    def privatize(self, buffer: str | Buffer, loop: Loop) -> None:
        """Allocate a local buffer in each iteration of a loop, no larger than what one iteration keeps in it.

        Each iteration has to write what it reads of the buffer; the loop may be parallel then.
        """
        self._loops("privatize", {"buffer": buffer_name(buffer), "loop": self._loop(loop)})

    def expand(self, buffer: str | Buffer, loop: Loop) -> None:
        """Allocate a local of a loop's iterations once before the loop, with an axis in front: a place for each.

        The inverse of `privatize`. Values then outlive their iteration, so that the loop may be distributed.
        """
        self._loops("expand", {"buffer": buffer_name(buffer), "loop": self._loop(loop)})

    def merge_adjacent_loops(self, *loops: Loop) -> tuple[LoopRef, ...]:
        """Merge loops that follow each other; without arguments, all that can be merged in the current function."""
        return self._loops("merge_adjacent_loops", {"loops": self._several(loops)})

    # Stages ----------------------------------------------------------------------------------------------------------

    def compute_at(self, block: Block, loop: Loop, *, compact: bool = True) -> tuple[LoopRef, ...]:
        """Move a producer under a loop of its consumers, to compute there just what they need.

        Its buffer moves along and shrinks to what one iteration needs; without `compact` it keeps its shape.
        """
        arguments: dict[str, object] = {"block": self._block(block), "loop": self._loop(loop)}
        return self._loops("compute_at", arguments if compact else {**arguments, "compact": False})

    def reverse_compute_at(self, block: Block, loop: Loop) -> tuple[LoopRef, ...]:
        """Move a consumer under a loop of its producer, to consume there just what has been produced."""
        return self._loops("reverse_compute_at", {"block": self._block(block), "loop": self._loop(loop)})

    def compute_inline(self, block: Block) -> None:
        """Compute a producer's elements where they are used, and drop its buffer."""
        self._loops("compute_inline", {"block": self._block(block)})

    def reverse_compute_inline(self, block: Block) -> None:
        """Compute an elementwise consumer where its input is produced, and drop the buffer between them."""
        self._loops("reverse_compute_inline", {"block": self._block(block)})

    def decompose_reduction(self, block: Block, loop: Loop) -> BlockRef:
        """Move the initialisation of a reduction into a block of its own before a loop."""
        return self._blocks("decompose_reduction", {"block": self._block(block), "loop": self._loop(loop)})[0]

    def cache_read(self, block: Block, buffer: str | Buffer, scope: str = "global") -> BlockRef:
        """Copy a buffer before a block, which then reads the copy; `root` copies it for the whole function."""
        return self._blocks(
            "cache_read", {"block": self._block(block), "buffer": buffer_name(buffer), "scope": scope_name(scope)}
        )[0]

    def cache_write(self, block: Block, buffer: str | Buffer, scope: str = "global") -> BlockRef:
        """Let a block write a local buffer, which is copied to the real one afterwards."""
        return self._blocks(
            "cache_write", {"block": self._block(block), "buffer": buffer_name(buffer), "scope": scope_name(scope)}
        )[0]

    # Layouts ---------------------------------------------------------------------------------------------------------

    def transform_layout(
        self,
        block: Block,
        buffer: str | Buffer,
        index_map: IndexMap | Callable[..., object],
        pad_value: PadValue = None,
    ) -> None:
        """Store a buffer at mapped indices, with as little padding as the map needs.

        `index_map` takes the indices and returns the new ones. `pad_value` says what the padding holds: None (nothing
        may access it), a number, `T.undef(dtype)`, or a function of the new indices that may read the buffer itself. A
        buffer that the function writes gets a stage that writes the padding; one that it only reads, assumptions. A
        parameter of the module's functions changes in all functions that share it, by name; what calls pass changes in
        callers and callees, and who makes it fills its padding.
        """
        block_ref, name = self._block(block), buffer_name(buffer)
        found = find_buffer(self._module[block_ref.func], name)
        mapped = IndexMap.of(index_map, len(found.shape))
        physical = len(mapped.results)
        value: object = pad_value.item() if isinstance(pad_value, np.generic) else pad_value
        if callable(pad_value):
            computed = IndexMap.of(pad_value, physical, found.dtype)
            value = computed if computed.results else None  # a function that returns None names no value
        arguments = {"block": block_ref, "buffer": name, "index_map": mapped, "pad_value": value}
        self._loops("transform_layout", arguments)

    def sequential_buffer_access(self, block: Block, buffer: str | Buffer) -> tuple[LoopRef, ...]:
        """Rewrite the loops of a block to run over a buffer in its storage order."""
        arguments = {"block": self._block(block), "buffer": buffer_name(buffer)}
        return self._loops("sequential_buffer_access", arguments)

    # Functions -------------------------------------------------------------------------------------------------------

    def split_function(self, block: Block, name: str | None = None) -> tuple[str, str]:
        """Hoist a stage into a function of its own, which runs before the rest; returns the names of the two.

        What the stage establishes about the buffers between them becomes assumptions of the rest; what the rest never
        looks at becomes permission (stores of undef) in the stage.
        """
        reference = self._block(block)
        if name is not None and not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ScheduleError("argument", f"{name!r} is no name of a function")
        self._do("split_function", {"block": reference, "name": name})
        stage = reference.name if name is None else name
        return stage, reference.func

    def inline_calls(self, func: str | None = None) -> None:
        """Put the bodies of callees in the place of their calls, in the current function or the one named."""
        self._do("inline_calls", {"func": self._current if func is None else func})

    def tensorize(self, loop: Loop, instruction: PrimFunc) -> BlockRef:
        """Compute the nest of a loop by an instruction, a kernel under `@T.instruction`, and name it as a block.

        The nest must do what the body of the instruction does, on sections of its buffers that lie within them. Its
        loops stand for those of the body, in their order. In the program given back it is a call of the instruction.
        """
        return self._blocks("tensorize", {"loop": self._loop(loop), "instruction": instruction})[0]

    def apply(self, step: Transform) -> None:
        """Apply a directed rewrite, such as those of `egraph_rules.transforms`, to the current function."""
        self._do("apply", {"step": step})

    # Running steps ---------------------------------------------------------------------------------------------------

    def run(self, name: str, arguments: Mapping[str, object]) -> tuple[Ref, ...]:
        """Run a step by the name of its method, as a trace does. Returns the references it made.

        Raises:
            ScheduleError: there is no such step, or it does not apply; nothing has changed then.
        """
        self._check_arguments(name, arguments)
        arguments = {key: self._at_home(value) for key, value in arguments.items()}
        if name in SPREAD:
            getattr(self, name)(*cast("tuple[Loop, ...]", arguments["loops"]))
        else:
            getattr(self, name)(**arguments)
        return self.trace.steps[-1].outputs

    @exclusive
    def _do(self, name: str, arguments: Mapping[str, object]) -> tuple[Ref, ...]:
        """Run a step and record it."""
        if name not in _PAST_CALLS:
            self._check_no_calls(self._function_of(arguments))
        method = getattr(self, f"_run_{name}", None)
        if method is not None:
            outputs = cast("tuple[Ref, ...]", method(**arguments))
        elif name in _MAKES_LOOPS:
            outputs = self._primitive(_MAKES_LOOPS[name], name, arguments, LoopRef)
        else:
            outputs = self._primitive(_MAKES_BLOCKS[name], name, arguments, BlockRef)
        self.trace.steps.append(Step(name, tuple(arguments.items()), outputs))
        return outputs

    def _check_no_calls(self, func: str) -> None:
        """Refuse to move loops around calls: what a callee reads and writes is told by its body alone."""
        call = next(calls_in(self._module[func].body), None)
        if call is not None:
            message = f"{func} calls {call.callee.name}, and steps work on loops"
            help = f"put the bodies in place first, with sch.inline_calls({func!r}), or work on {call.callee.name}"
            raise ScheduleError("call", message, call.span, help=help)

    def _check_arguments(self, name: str, arguments: Mapping[str, object]) -> None:
        """Check what a trace passes to a step, whose text anyone may have edited."""
        method = getattr(type(self), name, None) if not name.startswith("_") else None
        if name not in _STEPS or method is None:
            raise ScheduleError("unknown-step", f"there is no step `{name}`", help=suggest(name, _STEPS))
        takes = inspect.signature(method).parameters
        needed = {p for p, spec in takes.items() if spec.default is spec.empty} - {"self"}
        if not needed <= arguments.keys() <= takes.keys():
            found = ", ".join(arguments) or "nothing"
            message = f"step {name} takes {', '.join(p for p in takes if p != 'self')}, but was given {found}"
            raise ScheduleError("trace", message, help="the trace may be from another version")
        if name in SPREAD and not isinstance(arguments["loops"], tuple):
            raise ScheduleError("trace", f"step {name} takes a list of loops, not {arguments['loops']!r}")

    def _primitive(
        self, function: _Primitive, name: str, arguments: Mapping[str, object], make: Callable[[str, str], Ref]
    ) -> tuple[Ref, ...]:
        where = self._function_of(arguments)
        given = {k: plain(v) for k, v in arguments.items()}
        extra = {"reassociate": self._reassociate} if name in _FLOAT_ORDER else {}
        before = self._module[where]
        changed = function(before, **given, **extra)
        self._replace(where, with_true_marks(before, changed.func))
        return tuple(make(where, output) for output in changed.outputs)

    def _replace(self, where: str, new: PrimFunc) -> None:
        new = new.as_form_of(self._module[where])
        self._commit(replace(self._module, funcs=tuple(new if f.name == where else f for f in self._module.funcs)))

    def _commit(self, module: Module, *, with_callers: bool = False) -> None:
        """Take over a new module once each changed function is shown to be well formed; parameters of functions that
        others call change only `with_callers`."""
        funcs: list[PrimFunc] = []
        for func in module.funcs:
            if any(func is f for f in self._module.funcs):
                funcs.append(func)
                continue
            unique = with_unique_names(func)
            try:
                verify(unique, allow_stray_loads=True)
            except LoopsatError as error:
                message = f"the result would not be a valid program: {error.message}"
                raise ScheduleError("unproven", message, error.span, notes=error.notes, help=error.help) from error
            funcs.append(unique)
        for old in () if with_callers else self._module.funcs:
            self._check_interface(old, next((f for f in funcs if f.name == old.name), None))
        self._module = linked(replace(module, funcs=tuple(funcs)))

    def _check_interface(self, old: PrimFunc, new: PrimFunc | None) -> None:
        """Refuse other parameters for a function that another one calls."""
        if new is None or [_kind(p) for p in new.params] == [_kind(p) for p in old.params]:
            return
        for func in self._module.funcs:
            for call in calls_in(func.body):
                if call.callee.name == old.name:
                    message = f"the step changes the parameters of {old.name}, which {func.name} calls"
                    help = f"inline the call first, with sch.inline_calls({func.name!r}), or let optimize choose"
                    raise ScheduleError("interface", message, call.span, help=help)

    def _run_inline_calls(self, func: str) -> tuple[Ref, ...]:
        self._check_function(func)
        funcs = tuple(without_calls(f) if f.name == func else f for f in self._module.funcs)
        self._commit(replace(self._module, funcs=funcs))
        return ()

    def _run_work_on(self, func: str) -> tuple[Ref, ...]:
        self._check_function(func)
        self._current = func
        return ()

    def _check_function(self, func: str) -> None:
        known = [f.name for f in self._module.funcs]
        if func not in known:
            help = suggest(func, known) or f"the functions are {', '.join(known)}"
            raise ScheduleError("unknown-function", f"the module has no function `{func}`", help=help)

    def _run_get_block(self, name: str, func: str | None = None) -> tuple[Ref, ...]:
        if func is not None:
            self._run_work_on(func)
        reference = self._block(name)
        block_path(self._module[reference.func], reference.name)
        return (reference,)

    def _run_get_loops(self, block: BlockRef) -> tuple[Ref, ...]:
        func = self._module[block.func]
        path = block_path(func, block.name)
        around = loops_around(path[:-1])
        inside = loops_of(replace(func, body=path[-1])).values()
        return tuple(LoopRef(block.func, loop.var.name) for loop in (*around, *inside))

    def _run_transform_layout(
        self, block: BlockRef, buffer: str, index_map: IndexMap, pad_value: object = None
    ) -> tuple[Ref, ...]:
        changed = transform_layout(self._module, block.func, block.name, buffer, index_map, pad_value)
        self._commit(changed, with_callers=True)
        return ()

    def _run_split_function(self, block: BlockRef, name: str | None = None) -> tuple[Ref, ...]:
        stage = block.name if name is None else name
        self._commit(split_function(self._module, block.func, block.name, stage))
        return ()

    def _run_apply(self, step: Transform) -> tuple[Ref, ...]:
        if not all(hasattr(step, part) for part in ("name", "options")) or not callable(step):
            message = f"{step!r} is no directed step"
            raise ScheduleError("step", message, help="apply one of egraph_rules.transforms, as in simplify()")
        before = self.func
        after = step(before)
        if after.params != before.params or after.name != before.name:
            message = f"{step.name} changes the interface of {before.name}"
            raise ScheduleError("interface", message, help="only transform_layout may change parameters")
        self._replace(self._current, after)
        return ()

    # References ------------------------------------------------------------------------------------------------------

    def _loops(self, name: str, arguments: Mapping[str, object]) -> tuple[LoopRef, ...]:
        return cast("tuple[LoopRef, ...]", self._do(name, arguments))

    def _blocks(self, name: str, arguments: Mapping[str, object]) -> tuple[BlockRef, ...]:
        return cast("tuple[BlockRef, ...]", self._do(name, arguments))

    def _block(self, block: Block) -> BlockRef:
        """The reference for a name: in the current function, or in the only one that has such a block."""
        if isinstance(block, BlockRef):
            self._check_home(block)
            return block
        if not isinstance(block, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ScheduleError("reference", f"{block!r} is no block", help="give a name, or what get_block returned")
        if block != ROOT and block not in blocks_of(self.func):
            having = [f.name for f in self._module.funcs if block in blocks_of(f)]
            if len(having) == 1:
                return BlockRef(having[0], block)
        return BlockRef(self._current, block)

    def _loop(self, loop: Loop) -> LoopRef:
        if isinstance(loop, LoopRef):
            self._check_home(loop)
            return loop
        if not isinstance(loop, (str, Var)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ScheduleError("reference", f"{loop!r} is no loop", help="give a name, or what get_loops returned")
        return LoopRef(self._current, loop if isinstance(loop, str) else loop.name)

    def _at_home(self, value: object) -> object:
        """What a trace of a function with another name refers to here, if there is only one function."""
        if isinstance(value, tuple):
            return tuple(self._at_home(v) for v in cast("tuple[object, ...]", value))
        if isinstance(value, (BlockRef, LoopRef)) and len(self._module.funcs) == 1:
            return replace(value, func=self._current)
        return value

    def _check_home(self, reference: Ref) -> None:
        """Check that a reference belongs to this schedule."""
        if all(reference.func != f.name for f in self._module.funcs):
            message = f"{reference.name} is of function `{reference.func}`, which this schedule does not have"
            raise ScheduleError("reference", message, help="take references from this schedule, or give names")

    def _several(self, loops: Sequence[Loop]) -> tuple[LoopRef, ...]:
        return tuple(self._loop(loop) for loop in loops)

    def _function_of(self, arguments: Mapping[str, object]) -> str:
        """The function that the references of a step belong to."""
        found: set[str] = set()
        for value in arguments.values():
            for part in cast("tuple[object, ...]", value) if isinstance(value, tuple) else (value,):
                if isinstance(part, (BlockRef, LoopRef)):
                    found.add(part.func)
        if len(found) > 1:
            _mixed(found)
        where = found.pop() if found else self._current
        if all(f.name != where for f in self._module.funcs):
            self._run_work_on(where)  # raises
        return where


def _mixed(found: set[str]) -> NoReturn:
    message = f"one step works on one function, but {' and '.join(sorted(found))} were given"
    raise ScheduleError("functions", message, help="take loops and blocks of one function")


def _entered(func: PrimFunc) -> PrimFunc:
    """A program that was verified, or vouched for, with names that tell its parts apart."""
    return with_unique_names(func).vouched()


def _called(func: PrimFunc) -> PrimFunc:
    """A program with calls in the place of the blocks that instructions compute."""
    if not any(instruction_of(s) is not None for s in walk(func.body)):
        return func
    return replace(func, body=with_calls(func.body, promised(func))).as_form_of(func)


def _kind(param: Var | Buffer) -> tuple[object, ...]:
    """What a caller sees of a parameter."""
    return (param.dtype, param.shape) if isinstance(param, Buffer) else (param.dtype,)
