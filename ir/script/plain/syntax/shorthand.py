"""Python that says in other words what the language has: `raise` as `assert`, `map` and `filter` as comprehensions,
`del` of names, declarations, `with np.errstate`, queues as lists, and loops of `itertools`. Owns syntax alone.
"""

from __future__ import annotations

import ast
import bisect
import builtins
import collections
import copy
import functools
import heapq
import itertools
import math
from collections import Counter, deque
from collections.abc import Callable, Collection, Sequence
from typing import cast

import numpy as np

from ir.naming import fresh
from ir.script.plain.loops.counting import at_place
from ir.script.plain.syntax.cells import all_names, names_of
from ir.script.plain.syntax.counted import selects
from ir.script.plain.syntax.counters import late_nodes
from ir.script.plain.syntax.filled import Filled, Put
from ir.script.plain.syntax.kinds import Meaning
from ir.script.plain.syntax.lists import OF_LISTS, is_list, names_of_lists, with_extensions, with_names_of_lists
from ir.script.scope import Source

_HEAPS = (heapq.heappush, heapq.heappop, heapq.heapify)
_INSERTS = (bisect.insort, bisect.insort_left)
_LOOPS = (
    itertools.product, itertools.combinations, itertools.combinations_with_replacement, itertools.permutations,
    itertools.pairwise,
)  # fmt: skip
_MOST_CHOSEN = 8  # items of a combination or permutation, which are as many loops
_REPORTS = (np.errstate, np.printoptions)  # around statements, which mean the same without


def without_shorthand(node: ast.FunctionDef, source: Source, outer: Meaning) -> ast.FunctionDef:
    """A function in the words of the language; `outer` says what names of outside mean.

    Raises:
        ParseError: the order of items in a heap decides about something.
    """
    own = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    own |= {a.arg for a in ast.walk(node) if isinstance(a, ast.arg)}

    def called(call: ast.Call) -> object:
        """What a call calls: a function of outside, or of Python's own."""
        if isinstance(call.func, ast.Name):
            return None if call.func.id in own else outer(call.func)
        return outer(call.func) if isinstance(call.func, ast.Attribute) else None

    if any(isinstance(part, ast.Attribute) and part.attr == "mgrid" for part in ast.walk(node)):
        node = copy.deepcopy(node)
        node.body = [_Grids(outer).visit(stmt) for stmt in node.body]
    node = _with_whole_dictionaries(with_extensions(with_names_of_lists(node)))
    if not any(_is_shorthand(part, called) for part in ast.walk(node)):
        return node
    heaps = _heaps(node, called, source)
    lists = {n for n, made in names_of_lists(node).items() if all(isinstance(v, ast.List) or is_list(v) for v in made)}
    written = _Shorthand(called, all_names(node), heaps, _read_outside(node), lists).visit(copy.deepcopy(node))
    assert isinstance(written, ast.FunctionDef)
    return written


def _with_whole_dictionaries(node: ast.FunctionDef) -> ast.FunctionDef:
    """A function that makes dictionaries anew in place of stores to what text names: `d = {**d, "k": v}`.

    Those are names of one dictionary each, which nothing but statements of the function itself stores to, and which has
    no other name meanwhile: that would name what it was.
    """
    parts = [*ast.walk(node)]
    stores = [n.value for n in parts if isinstance(n, ast.Subscript) and not isinstance(n.ctx, ast.Load)]
    everywhere = Counter(n.id for n in stores if isinstance(n, ast.Name))
    bound = Counter(n.id for n in parts if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load))
    here = Counter(found[0] for stmt in node.body if (found := _stored(stmt)) is not None)
    names = {name for name, count in here.items() if count == everywhere[name] and bound[name] == 1}
    names = {name for name in names if not _is_shared(name, node.body)}
    body, empty = list[ast.stmt](), set[str]()
    for stmt in node.body:
        match stmt:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Dict(keys=[])) if name in names:
                empty.add(name)
                continue
            case _:
                pass
        if (found := _stored(stmt)) is not None and found[0] in names:
            name, key, value = found
            old = [] if name in empty else [ast.Name(name, ast.Load())]
            made = ast.Dict([*(None for _ in old), key], [*old, value])
            stmt = at_place(ast.Assign([ast.Name(name, ast.Store())], made), stmt)
            empty.discard(name)
        body.append(stmt)
    node = copy.copy(node)
    node.body = body
    return node


def _is_shared(name: str, body: Sequence[ast.stmt]) -> bool:
    """Whether statements up to the last that stores to a dictionary do more with it than to look into it."""
    last = max(k for k, stmt in enumerate(body) if (found := _stored(stmt)) is not None and found[0] == name)
    parts = [n for stmt in body[: last + 1] for n in ast.walk(stmt)]
    looked = [n.value for n in parts if isinstance(n, ast.Subscript | ast.Attribute)]
    looked += [other for n in parts if isinstance(n, ast.Compare) for other in n.comparators]
    read = (n for n in parts if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load))
    return not all(any(n is one for one in looked) for n in read)


def _stored(stmt: ast.stmt) -> tuple[str, ast.expr, ast.expr] | None:
    """The name of a dictionary, the text, and what is stored there, of a statement that does so."""
    match stmt:
        case ast.Assign(targets=[ast.Subscript(ast.Name(id=name), ast.Constant(value=str()) as key)], value=value):
            return name, key, value
        case ast.AugAssign(target=ast.Subscript(ast.Name(id=name), ast.Constant(value=str()) as key), op=op):
            now = ast.Subscript(ast.Name(name, ast.Load()), key, ast.Load())
            return name, key, at_place(ast.BinOp(now, op, stmt.value), stmt)
        case _:
            return None


def _raises(call: ast.Call) -> bool:
    """Whether NumPy is told to do more than to report."""
    return any(not isinstance(k.value, ast.Constant) or k.value.value in ("raise", "call") for k in call.keywords)


def _heaps(node: ast.FunctionDef, called: Callable[[ast.Call], object], source: Source) -> set[str]:
    """The names of heaps, of which nothing asks for the order of items, but for that of the least one."""
    calls = [n for n in ast.walk(node) if isinstance(n, ast.Call) and any(called(n) is one for one in _HEAPS)]
    names = {n.args[0].id for n in calls if n.args and isinstance(n.args[0], ast.Name)}
    for part in ast.walk(node) if names else ():
        match part:
            case ast.Subscript(value=ast.Name(id=name), slice=place) if name in names:
                asked = not (isinstance(part.ctx, ast.Load) and isinstance(place, ast.Constant) and place.value == 0)
            case ast.For(iter=ast.Name(id=name)) | ast.comprehension(iter=ast.Name(id=name)):
                asked = name in names
            case ast.Return(value=ast.Name(id=name)):
                asked = name in names
            case _:
                asked = False
        if asked:
            place = part.iter if isinstance(part, (ast.For, ast.comprehension)) else part
            hint = "take them out by heapq.heappop, or look at heap[0], len(heap) and sorted(heap)"
            raise source.error("unsupported", "the order of items in a heap is Python's own", place, help=hint)
    return names


def raised(node: ast.Raise) -> ast.stmt:
    """The assertion that a place with a `raise` is not reached."""
    return _asserting(ast.Constant(False), node)


def _is_shorthand(node: ast.AST, called: Callable[[ast.Call], object]) -> bool:
    match node:
        case ast.Raise() | ast.Delete() | ast.AnnAssign(target=ast.Name()) | ast.With():
            return True
        case ast.ListComp() if selects(node):
            return True
        case ast.comprehension(ifs=[ast.expr(), *_] as tests) if _assigned_first(tests[0]) is not None:
            return True
        case ast.comprehension(iter=ast.GeneratorExp()) | ast.For(iter=ast.GeneratorExp()):
            return True
        case ast.Call(func=ast.Name(id="map" | "filter")):
            return True
        case ast.Call(func=ast.Name(id="list" | "sorted"), args=[ast.GeneratorExp(), *_]):
            return True
        case ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name(id="bin")), attr="count")):
            return True
        case ast.Call(func=ast.Attribute(attr="tolist"), args=[], keywords=[]):
            return True
        case ast.Call(func=ast.Attribute()) if _by_columns(node):
            return True
        case ast.Call():
            return any(called(node) is one for one in (*_LOOPS, *_HEAPS, *_INSERTS, deque, functools.reduce, math.fsum))
        case _:
            return False


def _asserting(test: ast.expr, node: ast.Raise) -> ast.stmt:
    """An assertion that says what an exception would."""
    match node.exc:
        case ast.Call(func=ast.Name(id=kind), args=[ast.Constant(value=str()) as text, *_]):
            parts: list[ast.expr] = [ast.Constant(f"{kind}: "), text]
        case ast.Call(func=ast.Name(id=kind), args=[ast.JoinedStr(values=values), *_]):
            parts = [ast.Constant(f"{kind}: "), *values]
        case ast.Call(func=ast.Name(id=kind)) | ast.Name(id=kind):
            parts = [ast.Constant(kind)]
        case _:
            parts = [ast.Constant(ast.unparse(node))]
    return at_place(ast.Assert(test, ast.JoinedStr(parts)), node)


class _Grids(ast.NodeTransformer):
    """Writes `np.mgrid[a:b, c:d]` as a stack of grids."""

    def __init__(self, outer: Meaning) -> None:
        self.outer = outer

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        match node:
            case ast.Subscript(value=ast.Attribute(value=module, attr="mgrid") as grid, slice=ast.Tuple(elts=parts)):
                axes = [self._axis(module, part) for part in parts]
                if None in axes or self.outer(grid) is not np.mgrid:
                    return node
                args = ", ".join(f"A{k}" for k in range(len(axes)))
                filled = Filled({"NP": module, **{f"A{k}": axis for k, axis in enumerate(axes) if axis is not None}})
                return filled.expression(f"NP.stack(NP.meshgrid({args}, indexing='ij'))", node)
            case _:
                return node

    def _axis(self, module: ast.expr, part: ast.expr) -> ast.expr | None:
        match part:
            case ast.Slice(lower=lower, upper=ast.expr() as upper, step=step):
                first = lower or ast.Constant(0)
                by = step or ast.Constant(1)
                names = {"NP": module, "FIRST": first, "STOP": upper, "BY": by}
                return Filled(names).expression("NP.arange(FIRST, STOP, BY)", part)
            case _:
                return None


class _Shorthand(ast.NodeTransformer):
    def __init__(
        self,
        called: Callable[[ast.Call], object],
        taken: set[str],
        heaps: set[str],
        outside: Collection[str],
        lists: Collection[str],
    ) -> None:
        self.called, self.taken, self.heaps, self.outside, self.lists = called, taken, heaps, outside, lists

    # Statements ------------------------------------------------------------------------------------------------------

    def visit_If(self, node: ast.If) -> ast.stmt | list[ast.stmt]:
        """A branch; one that does nothing but raise is an assertion, after which the other is all that there is."""
        self.generic_visit(node)
        match node:
            case ast.If(test=test, body=[ast.Raise() as failed], orelse=other):
                return [_asserting(ast.copy_location(ast.UnaryOp(ast.Not(), test), test), failed), *other]
            case ast.If(test=test, body=body, orelse=[ast.Raise() as failed]):
                return [_asserting(test, failed), *body]
            case _:
                return node

    def visit_With(self, node: ast.With) -> ast.stmt | list[ast.stmt]:
        """What only says how NumPy reports stands around nothing."""
        calls = [item.context_expr for item in node.items if item.optional_vars is None]
        plain = [c for c in calls if isinstance(c, ast.Call) and self.called(c) in _REPORTS and not _raises(c)]
        self.generic_visit(node)
        return node.body if len(plain) == len(node.items) else node

    def visit_Delete(self, node: ast.Delete) -> ast.stmt | list[ast.stmt]:
        """Names may stay; items of lists are taken out by `pop`."""
        self.generic_visit(node)
        found: list[ast.stmt] = []
        for target in node.targets:
            match target:
                case ast.Name():
                    found.append(at_place(ast.Pass(), node))
                case ast.Subscript(value=ast.Name(id=name) as items, slice=place) if (
                    name in self.lists and not isinstance(place, ast.Slice)
                ):
                    pop = ast.Attribute(ast.Name(items.id, ast.Load()), "pop", ast.Load())
                    found.append(at_place(ast.Expr(ast.Call(pop, [place], [])), node))
                case _:
                    found.append(ast.copy_location(ast.Delete([target]), node))
        return found

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        self.generic_visit(node)
        if not isinstance(node.target, ast.Name):
            return node
        return at_place(ast.Pass() if node.value is None else ast.Assign([node.target], node.value), node)

    def visit_Return(self, node: ast.Return) -> list[ast.stmt]:
        self.generic_visit(node)
        whole = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
        return [*self._selected(node, whole), node]

    def visit_Assign(self, node: ast.Assign) -> list[ast.stmt]:
        self.generic_visit(node)
        return [*self._selected(node, []), node]

    def _selected(self, node: ast.Return | ast.Assign, whole: Sequence[ast.expr | None]) -> list[ast.stmt]:
        """Names for lists of which data say how long they are, which are a `whole`, or given to NumPy or `sorted`."""
        late = late_nodes(node)
        given = [
            arg
            for call in ast.walk(node)
            if isinstance(call, ast.Call) and call not in late and _takes_arrays(self.called(call))
            for arg in call.args
        ]
        lists = [n for n in (*whole, *given) if isinstance(n, ast.ListComp) and selects(n)]
        if any(isinstance(n, ast.NamedExpr) or getattr(n, "attr", "") == "pop" for n in ast.walk(node)):
            return []  # whose order counts
        found: list[ast.stmt] = []
        for one in lists:
            name = fresh("selected", self.taken)
            Put(one, at_place(ast.Name(name, ast.Load()), one)).visit(node)
            found.append(at_place(ast.Assign([ast.Name(name, ast.Store())], one), one))
        return found

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        if isinstance(node.value, ast.Call) and self.called(node.value) is heapq.heapify:
            return at_place(ast.Pass(), node)
        self.generic_visit(node)
        return node

    # Heaps: lists in no order, of which the least item is looked up ------------------------------------------------

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        match node:
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=0)) if name in self.heaps:
                node.slice = self._least(name, node)
            case _:
                self.generic_visit(node)
        return node

    def _least(self, name: str, node: ast.AST) -> ast.expr:
        """Where the least item of a list is."""
        found = ast.parse(f"min(range(len({name})), key={name}.__getitem__)", mode="eval").body
        for part in ast.walk(found):
            for field in ("lineno", "col_offset", "end_lineno", "end_col_offset"):
                part.__dict__.pop(field, None)
        return at_place(found, node)

    # Calls -----------------------------------------------------------------------------------------------------------

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.Call(func=ast.Attribute(value=array, attr="tolist"), args=[], keywords=[]):
                items = at_place(ast.Call(ast.Name("list", ast.Load()), [array], []), node)
                setattr(items, OF_LISTS, True)
                return items
            case _:
                pass
        match self.called(node), node.args:
            case heapq.heappush, [ast.Name() as heap, item]:
                return at_place(ast.Call(ast.Attribute(heap, "append", ast.Load()), [item], []), node)
            case heapq.heappop, [ast.Name(id=name) as heap]:
                pop = ast.Attribute(heap, "pop", ast.Load())
                return at_place(ast.Call(pop, [self._least(name, node)], []), node)
            case bisect.insort | bisect.insort_left as insort, [ast.Name() as items, item] if not node.keywords:
                text = "OTHER < ITEM" if insort is bisect.insort_left else "not ITEM < OTHER"
                names: dict[str, str | ast.expr] = {"ITEMS": items, "ITEM": item, "OTHER": fresh("other", self.taken)}
                place = Filled(names).expression(f"sum(1 for OTHER in ITEMS if {text})", node)
                return at_place(ast.Call(ast.Attribute(items, "insert", ast.Load()), [place, item], []), node)
            case math.fsum, [items]:
                total = ast.Call(ast.Name("sum", ast.Load()), [items, ast.Constant(0.0)], [])
                return at_place(total, node)
            case functools.reduce, [function, ast.GeneratorExp() as items, *start]:
                node.args = [function, ast.copy_location(ast.ListComp(items.elt, items.generators), items), *start]
                return node
            case builtins.map, [function, *items] if items and not node.keywords:
                return self._mapped(node, function, items)
            case builtins.filter, [function, items]:
                return self._filtered(node, function, items)
            case builtins.list, [ast.GeneratorExp() as items]:
                return ast.copy_location(ast.ListComp(items.elt, items.generators), node)
            case builtins.sorted, [ast.GeneratorExp() as items, *_]:
                node.args[0] = ast.copy_location(ast.ListComp(items.elt, items.generators), items)
                return node
            case collections.deque, [] if not node.keywords:
                return ast.copy_location(ast.List([], ast.Load()), node)
            case collections.deque, [items] if not node.keywords:
                made = ast.Call(ast.Name("list", ast.Load()), [items], [])
                return items if isinstance(items, ast.List) else at_place(made, node)
            case itertools.pairwise, [ast.Name() as items]:
                later = ast.Subscript(items, ast.Slice(ast.Constant(1)), ast.Load())
                return at_place(ast.Call(ast.Name("zip", ast.Load()), [items, later], []), node)
            case _:
                return self._method(node)

    def _method(self, node: ast.Call) -> ast.expr:
        """Methods of queues, which lists have by other names, and `bin(x).count("1")`."""
        match node:
            case ast.Call(func=ast.Attribute(attr="popleft") as function, args=[]):
                function.attr, node.args = "pop", [at_place(ast.Constant(0), node)]
            case ast.Call(func=ast.Attribute(attr="appendleft") as function, args=[item]):
                function.attr, node.args = "insert", [at_place(ast.Constant(0), node), item]
            case ast.Call(
                func=ast.Attribute(value=ast.Call(args=[number]) as call, attr="count"), args=[ast.Constant(value="1")]
            ) if self.called(call) is bin:
                whole = ast.Call(ast.Name("int", ast.Load()), [number], [])
                return at_place(ast.Call(ast.Attribute(whole, "bit_count", ast.Load()), [], []), node)
            case ast.Call(func=ast.Attribute(value=array, attr="flatten" | "ravel" | "reshape" as attr)) if (
                _by_columns(node) and self.called(node) is None
            ):
                names: dict[str, str | ast.expr] = {"A": array, "SHAPE": ast.Tuple(node.args, ast.Load())}
                whole = len(node.args) == 1 and not isinstance(node.args[0], ast.Tuple)
                if len(node.args) == 1 and not whole:
                    names["SHAPE"] = node.args[0]
                text = (
                    f"A.T.{attr}()"
                    if attr != "reshape"
                    else "A.T.reshape(SHAPE)"
                    if whole
                    else "A.T.reshape(SHAPE[::-1]).T"
                )
                return Filled(names).expression(text, node)
            case _:
                pass
        return node

    # Loops of `itertools` --------------------------------------------------------------------------------------------

    def visit_For(self, node: ast.For) -> ast.stmt:
        """A loop; one over products, combinations or permutations is a nest, of which all loops are left at once."""
        heads = self._heads(node.target, node.iter)
        if heads is not None and not _changes(node.body, [(h.target, h.iter) for h in heads[1:]]):
            breaks = _breaks(node.body)
            for head in reversed(heads[1:]):
                ended: list[ast.stmt] = [ast.Continue()] if breaks else []
                inner: list[ast.stmt] = [ast.For(head.target, head.iter, node.body, ended), *[ast.Break()] * breaks]
                node.body = [at_place(one, node) for one in inner]
                if head.ifs:
                    node.body = [at_place(ast.If(head.ifs[0], node.body, []), node)]
            node.target, node.iter = heads[0].target, heads[0].iter
        self.generic_visit(node)
        return self._nested(node)

    def _nested(self, node: ast.For) -> ast.stmt:
        """A loop over what others give, as the nest that it is: `for x in A: if x > 0: y = f(x); ...`."""
        items = node.iter
        if not isinstance(items, ast.GeneratorExp) or (len(items.generators) > 1 and _breaks(node.body)) or node.orelse:
            return node
        own = {n: fresh(n, self.taken) for part in items.generators for n in names_of(part.target)}
        for name in (n for n in ast.walk(items) if isinstance(n, ast.Name) and n.id in own):
            name.id = own[name.id]
        body: list[ast.stmt] = [at_place(ast.Assign([node.target], items.elt), items), *node.body]
        for part in reversed(items.generators):
            for test in reversed(part.ifs):
                body = [at_place(ast.If(test, body, []), test)]
            body = [at_place(ast.For(part.target, part.iter, body, []), node)]
        return body[0]

    def visit_ListComp(self, node: ast.ListComp) -> ast.expr:
        node.generators = self._generators(node.generators)
        self.generic_visit(node)
        node.generators = _flat(node.generators)
        return node

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.expr:
        node.generators = self._generators(node.generators)
        self.generic_visit(node)
        node.generators = _flat(node.generators)
        return node

    def _generators(self, parts: list[ast.comprehension]) -> list[ast.comprehension]:
        found: list[ast.comprehension] = []
        for part in parts:
            heads = self._heads(part.target, part.iter) or [ast.comprehension(part.target, part.iter, [], 0)]
            for before, head in itertools.pairwise(heads):
                before.ifs, head.ifs = head.ifs, []
            found += heads
            found[-1].ifs = part.ifs
            while (
                found[-1].ifs
                and (given := _assigned_first(found[-1].ifs[0])) is not None
                and (given.target.id not in self.outside)
            ):
                test, *tests = found[-1].ifs
                found[-1].ifs = []
                over = at_place(ast.Tuple([given.value], ast.Load()), given)
                named = ast.copy_location(ast.Name(given.target.id, ast.Load()), given)
                tests.insert(0, named if test is given else cast(ast.expr, Put(given, named).visit(test)))
                found.append(ast.comprehension(given.target, over, tests, 0))
        return found

    def _heads(self, target: ast.expr, over: ast.expr) -> list[ast.comprehension] | None:
        """The loops of the nest that a loop is, each with what must hold before it; None for other loops."""
        if not isinstance(over, ast.Call):
            return None
        match self.called(over), over.args, over.keywords:
            case itertools.product, items, []:
                heads = [*items]
            case itertools.product, [items], [ast.keyword(arg="repeat", value=ast.Constant(value=int() as times))]:
                heads = [copy.deepcopy(items) for _ in range(times)]
            case (
                itertools.combinations | itertools.combinations_with_replacement | itertools.permutations
            ) as chosen, ([items, *count]), []:
                return self._places(chosen, items, count[0] if count else None, target)
            case _:
                return None
        if not 0 < len(heads) <= _MOST_CHOSEN:
            return None
        plain = isinstance(target, ast.Tuple) and all(isinstance(t, ast.Name) for t in target.elts)
        if isinstance(target, ast.Tuple) and plain and len(target.elts) == len(heads):
            return [ast.comprehension(t, one, [], 0) for t, one in zip(target.elts, heads, strict=True)]
        names = [fresh("item", self.taken) for _ in heads]
        found = [
            ast.comprehension(at_place(ast.Name(name, ast.Store()), over), one, [], 0)
            for name, one in zip(names, heads, strict=True)
        ]
        return [*found, _given(target, [ast.Name(n, ast.Load()) for n in names], over)]

    def _places(
        self, chosen: object, items: ast.expr, count: ast.expr | None, target: ast.expr
    ) -> list[ast.comprehension] | None:
        """Loops over places of items, each after that of the loop around, or another than those of all around; then
        the names are given.
        """
        first, size = _range_of(items) if isinstance(items, ast.Call) and self.called(items) is range else (None, None)
        match count or size or items, target:
            case ast.Constant(value=int() as number), _:
                pass
            case ast.BinOp(ast.Constant(value=int() as stop), ast.Sub(), ast.Constant(value=int() as start)), _:
                number = stop - start
            case ((ast.Tuple(elts=parts) | ast.List(elts=parts)), _):
                number = len(parts)
            case _, ast.Tuple(elts=parts):
                number = len(parts)
            case _:
                return None
        if not 0 < number <= _MOST_CHOSEN or not (size or isinstance(items, (ast.Name, ast.Tuple, ast.List))):
            return None
        names = [t.id for t in target.elts if isinstance(t, ast.Name)] if isinstance(target, ast.Tuple) else []
        direct = size is not None and first is None and len(names) == number and chosen is not itertools.permutations
        names = names if direct else [fresh("at", self.taken) for _ in range(number)]
        size = size or ast.Call(ast.Name("len", ast.Load()), [items], [])
        repeated = chosen is itertools.combinations_with_replacement
        start = "LAST, " if repeated else "LAST + 1, " if chosen is itertools.combinations else ""
        heads: list[ast.comprehension] = []
        for k, name in enumerate(names):
            place: dict[str, str | ast.expr] = {"SIZE": size, "LAST": names[k - 1], "AT": name}
            over = Filled(place).expression(f"range({start if k else ''}SIZE)", items)
            heads.append(ast.comprehension(at_place(ast.Name(name, ast.Store()), target), over, [], 0))
        inner: list[ast.expr] = [ast.Name(n, ast.Load()) for n in names]
        if not direct:
            text = "ITEMS[AT]" if not isinstance(items, ast.Call) else "AT" if first is None else "FIRST + AT"
            places = [{"ITEMS": items, "FIRST": first or items, "AT": at} for at in inner]
            heads.append(_given(target, [Filled({**place}).expression(text, items) for place in places], items))
        if chosen is itertools.permutations:
            for k in range(2, number + 1):
                others = " and ".join(f"AT != {name}" for name in names[: k - 1])
                heads[k].ifs = [Filled({"AT": names[k - 1]}).expression(others, items)]
        return heads

    def _mapped(self, node: ast.Call, function: ast.expr, items: list[ast.expr]) -> ast.expr:
        """`map(f, x, y)`: `(f(a, b) for a, b in zip(x, y))`."""
        names = [fresh("item", self.taken) for _ in items]
        reads: list[ast.expr] = [ast.Name(n, ast.Load()) for n in names]
        stores: list[ast.expr] = [ast.Name(n, ast.Store()) for n in names]
        zipped: ast.expr = ast.Call(ast.Name("zip", ast.Load()), items, [])
        over, target = (items[0], stores[0]) if len(items) == 1 else (zipped, ast.Tuple(stores, ast.Store()))
        head = ast.comprehension(target, over, [], 0)
        return at_place(ast.GeneratorExp(ast.Call(function, reads, []), _flat([head])), node)

    def _filtered(self, node: ast.Call, function: ast.expr, items: ast.expr) -> ast.expr:
        """`filter(f, x)`: `(a for a in x if f(a))`."""
        name = fresh("item", self.taken)
        item = ast.Name(name, ast.Load())
        none = isinstance(function, ast.Constant) and function.value is None
        test: ast.expr = item if none else ast.Call(function, [ast.Name(name, ast.Load())], [])
        head = ast.comprehension(ast.Name(name, ast.Store()), items, [test], 0)
        return at_place(ast.GeneratorExp(item, _flat([head])), node)


def _read_outside(node: ast.FunctionDef) -> set[str]:
    """Names that are read elsewhere than in comprehensions which assign them by `:=`."""
    within: Counter[str] = Counter()
    for part in ast.walk(node):
        if isinstance(part, (ast.ListComp, ast.GeneratorExp)):
            names = {n.target.id for n in ast.walk(part) if isinstance(n, ast.NamedExpr)}
            within.update(n.id for n in ast.walk(part) if isinstance(n, ast.Name) and n.id in names)
    everywhere = Counter(n.id for n in ast.walk(node) if isinstance(n, ast.Name))
    return {name for name, count in everywhere.items() if count != within[name]}


def _assigned_first(test: ast.expr) -> ast.NamedExpr | None:
    """The assignment that a condition of a comprehension begins with, which always runs: `if (y := f(x)) > 0`."""
    match test:
        case ast.NamedExpr():
            return test
        case ast.Compare(left=left) | ast.BinOp(left=left):
            return _assigned_first(left)
        case ast.BoolOp(values=[first, *_]):
            return _assigned_first(first)
        case _:
            return None


def _flat(parts: list[ast.comprehension]) -> list[ast.comprehension]:
    """The loops of a comprehension, of which those over what others give are two: `for x in A for y in (f(x),)`."""
    found: list[ast.comprehension] = []
    for part in parts:
        if isinstance(part.iter, ast.GeneratorExp):
            item = at_place(ast.Tuple([part.iter.elt], ast.Load()), part.iter)
            found += [*part.iter.generators, ast.comprehension(part.target, item, part.ifs, 0)]
        else:
            found.append(part)
    return found


def _by_columns(node: ast.Call) -> bool:
    """Whether a method of an array takes its elements in the order of columns."""
    match node:
        case ast.Call(keywords=[ast.keyword(arg="order", value=ast.Constant(value="F"))]):
            return True
        case ast.Call(func=ast.Attribute(attr="flatten" | "ravel"), args=[ast.Constant(value="F")], keywords=[]):
            return True
        case _:
            return False


def _given(target: ast.expr, items: Sequence[ast.expr], node: ast.AST) -> ast.comprehension:
    """A loop that gives a name to a tuple."""
    return ast.comprehension(target, at_place(ast.Tuple([ast.Tuple([*items], ast.Load())], ast.Load()), node), [], 0)


def _range_of(items: ast.Call) -> tuple[ast.expr | None, ast.expr | None]:
    """Where a range starts, if that is said, and how many numbers are in it; None for one with steps."""
    match items.args:
        case [count]:
            return None, count
        case [first, stop]:
            return first, ast.BinOp(stop, ast.Sub(), first)
        case _:
            return None, None


def _takes_arrays(function: object) -> bool:
    module = str(getattr(function, "__module__", ""))
    return function is sorted or isinstance(function, np.ufunc) or module.partition(".")[0] == "numpy"


def _breaks(nodes: list[ast.stmt]) -> bool:
    """Whether statements of a loop leave it by `break`."""
    for node in nodes:
        inner = (ast.For, ast.While)
        lists = [getattr(node, "orelse", []), [] if isinstance(node, inner) else getattr(node, "body", [])]
        if isinstance(node, ast.Break) or any(map(_breaks, lists)):
            return True
    return False


def _changes(nodes: list[ast.stmt], heads: list[tuple[ast.expr, ast.expr]]) -> bool:
    """Whether statements may change what inner loops run over, of which Python takes note before the first step."""
    names = {n for _, over in heads for n in names_of(over)} - {n for t, _ in heads for n in names_of(t)}
    for part in (n for s in nodes for n in ast.walk(s)):
        if isinstance(part, ast.Name) and part.id in names and not isinstance(part.ctx, ast.Load):
            return True
        owner = part.value if isinstance(part, (ast.Subscript, ast.Attribute)) else None
        while isinstance(owner, (ast.Subscript, ast.Attribute)):
            owner = owner.value
        stores = isinstance(part, ast.Attribute) or not isinstance(getattr(part, "ctx", None), ast.Load)
        if isinstance(owner, ast.Name) and owner.id in names and stores:
            return True
    return False
