"""Random programs of stages that hand buffers on: element-wise, guarded, permuted, in place, overwritten, reduced."""

from __future__ import annotations

import random

PLACES = ("i", "7 - i", "(i + 3) % 8", "i // 2", "i % 4", "T.min(i + 1, 7)")
INVERTIBLE = ("i", "7 - i", "(i + 3) % 8", "4 * (i % 2) + i // 2")
CONDITIONS = ("i < 6", "i >= 2", "i % 2 == 0", "i < 6 and i >= 2", "A[i] > 3", "i != 5")


def staged(rng: random.Random) -> str:
    """The text of a program over A, D (given), E (given and written), C (written) and up to three local buffers."""
    dtype = rng.choice(("uint8", "uint8", "float32", "int32"))
    small = dtype == "int32"  # values stay small, or sums would be faults
    local = [f"L{k}" for k in range(rng.randint(1, 3))]
    lines = [f'{name} = T.alloc_buffer((8,), "{dtype}")' for name in local]
    if small:
        lines += ["for i in range(8):", "    T.assume(A[i] > -9 and A[i] < 9 and D[i] > -9 and D[i] < 9 and E[i] > -9 and E[i] < 9)"]
    if rng.random() < 0.6:
        lines += ["for i in range(8):", f"    T.assume({rng.choice(CONDITIONS[:4])} or A[i] == {rng.choice(('0', '1', 'D[i]', 'A[i // 2]'))})"]
    readable = ["A", "D", "E"]
    writable = [*local, *local, "E", "C"]

    def element() -> str:
        return f"{rng.choice(readable)}[{rng.choice(PLACES)}]"

    def value() -> str:
        one, other = element(), element()
        forms = [one, f"T.max({one}, {rng.choice(('0', '2', other))})", f"T.if_then_else({rng.choice(CONDITIONS)}, {one}, {rng.choice(('0', other))})", "0", "1"]
        if small:
            forms.append(f"T.min(T.max({one} - {other}, -9), 9)")
        else:
            forms += [f"{one} + {other}", f"{one} * {rng.choice(('2', '0', other))}"]
        return rng.choice(forms)

    for _ in range(rng.randint(2, 6)):
        target = rng.choice(writable)
        kind = rng.random()
        cond = rng.choice(CONDITIONS)
        if kind < 0.1:
            lines += ["C[0] = 0", "for i in range(8):"]
            body = f"C[0] = T.max(C[0], {element()})" if small or rng.random() < 0.5 else f"C[0] = C[0] + {element()}"
            lines += [f"    if {cond}:", f"        {body}"] if rng.random() < 0.7 else [f"    {body}"]
            continue
        if kind < 0.2:
            lines += [f"{target}[{rng.randint(0, 7)}] = {rng.choice(('0', '1', 'A[2]', 'T.undef()'))}"]
        elif kind < 0.3 and target in readable:
            lines += ["for i in range(7):", f"    {target}[i + 1] = {rng.choice((f'{target}[i]', f'T.max({target}[i], A[i])'))}"]
        elif kind < 0.4:
            lines += ["for io, ii in T.grid(2, 4):", f"    {target}[4 * io + ii] = {rng.choice(('A[ii]', 'D[4 * io + ii]', 'A[2 * ii + io]', 'E[io]'))}"]
        elif kind < 0.7:
            lines += ["for i in range(8):", f"    if {cond}:", f"        {target}[{rng.choice(INVERTIBLE)}] = {value()}"]
            if rng.random() < 0.5:
                lines += ["    else:", f"        {target}[{rng.choice(INVERTIBLE)}] = {rng.choice(('0', 'T.undef()', element()))}"]
        else:
            lines += ["for i in range(8):", f"    {target}[{rng.choice((*INVERTIBLE, 'i // 2'))}] = {value()}"]
        if target not in readable:
            readable.append(target)
    final = rng.choice([r for r in readable if r not in ("A", "D")] or ["E"])
    lines += ["for i in range(8):", f"    if {rng.choice(CONDITIONS)}:", f"        C[i] = {final}[{rng.choice(PLACES)}]"]
    params = ", ".join(f'{n}: T.Buffer((8,), "{dtype}")' for n in "ADEC")
    return f"@T.prim_func\ndef f({params}):\n" + "".join(f"    {line}\n" for line in lines)
