"""What to write in place of Python that plain programs do not have. Texts only, for messages."""

from __future__ import annotations

import ast

CONTAINS = (
    "a plain function has loops, `if`, names of numbers, elements and parts of arrays, and functions of NumPy and "
    "math; help(loopsat.jit) lists them"
)
STATEMENTS: dict[type[ast.stmt], str] = {
    ast.Try: "nothing is caught: test for what may fail, as in `if b != 0:`",
    ast.With: "leave it out of the function",
    ast.ClassDef: "define it outside of this function; arguments are arrays and numbers",
    ast.Delete: "leave it out, or take the item of a list out, as in x.pop(k)",
    ast.Global: "make it a parameter and a result",
    ast.Nonlocal: "call the function in statements of their own, not by itself nor where it is given on, or make "
    "what it changes a parameter and a result",
}
EXPRESSIONS: dict[type[ast.expr], str] = {
    ast.GeneratorExp: "give it to sum, min, max, any, all or math.prod, or write a loop",
    ast.SetComp: "give it a name of its own first, as in seen = {f(x) for x in A}",
    ast.DictComp: "give it a name of its own first, as in places = {x: k for k, x in enumerate(A)}",
    ast.NamedExpr: "assign the name in a statement of its own",
    ast.JoinedStr: "leave text out of the function",
    ast.FormattedValue: "leave text out of the function, but for what assertions say",
    ast.Dict: "give it a name of its own first, as in counts = {}",
    ast.Set: "give it a name of its own first, as in seen = {0}",
    ast.Yield: "store into an array, and return it",
    ast.YieldFrom: "store into an array, and return it",
    ast.Await: "leave it out of the function",
}
ALONE = "call it in a statement of its own, before the condition"
APPENDING = "make the array first, as in out = np.empty(n), and store into out[k]"
OUTER = "it is of outside, where nothing changes by a call: return what is to be kept"
OWN = "make a list of the function's own first, as in x = list(x)"
SIZED = "make an array of the greatest size, store one item after the other, and return their number too"
FUNCTIONS = {
    "print": "leave it out, and print the results of the call",
    "sort": "sort before the call",
    "argsort": "sort before the call",
    "dict": EXPRESSIONS[ast.Dict],
    "set": "give it a name of its own first, as in seen = set(A)",
    **dict.fromkeys(("Counter", "defaultdict"), EXPRESSIONS[ast.Dict]),
    **dict.fromkeys(("ndindex", "product"), "write one loop for each dimension"),
    "combinations": "write one loop for each item, as in `for i in range(n): for j in range(i + 1, n):`",
    "at": "write a loop, as in `for k in range(len(places)): out[places[k]] += values[k]`",
    **dict.fromkeys(("str", "repr", "format", "join", "split", "strip"), EXPRESSIONS[ast.JoinedStr]),
    **dict.fromkeys(("float_power", "nextafter"), "write it as a plain Python function, which is put in place"),
    **dict.fromkeys(("eig", "eigh", "eigvals", "eigvalsh", "svd", "lstsq", "pinv"), "factorize before the call"),
    "rand": "draw before the call, and pass the numbers as an array",
}


def of_attribute(owner: str, name: str) -> str:
    """What to do about an attribute of a module that has no meaning here."""
    if "random" in owner:
        return FUNCTIONS["rand"]
    if owner.endswith("fft"):
        return "transform before or after the call, or write the loops of the transform"
    return FUNCTIONS.get(name, "")


def of_object(value: object) -> str:
    """What to make of an object of which nothing is known but that it is one."""
    kind = type(value)
    if kind.__module__ == "builtins" or not hasattr(value, "__dict__") or callable(value):
        return ""
    return f"make {kind.__name__} a data class (@dataclass) or a NamedTuple, or give what the function needs of it"


def of_target(target: ast.expr) -> str:
    """What to write in place of a store to an item of an object."""
    if not isinstance(target, ast.Attribute) or not isinstance(target.value, ast.Name):
        return ""
    name, item = target.value.id, target.attr
    return f"make a new one, as in {name} = dataclasses.replace({name}, {item}=...), and return it"


def of_text(value: object) -> str:
    """What to write in place of the characters of a text."""
    return (
        "a number may stand for it; bytes are np.frombuffer(text.encode(), np.uint8)" if isinstance(value, str) else ""
    )
