"""A sorting network and a binary search: `while` loops whose steps are known, and ones that are bounded by halving."""

import numpy as np

import loopsat


@loopsat.jit
def bitonic(a):
    n = len(a)  # a power of two
    size = 2
    while size <= n:  # written out: `size` and `gap` are numbers in each step
        gap = size // 2
        while gap > 0:
            for i in range(n):
                other = i ^ gap
                if other > i and (a[i] > a[other]) == (i & size == 0):
                    a[i], a[other] = a[other], a[i]
            gap //= 2
        size *= 2
    return a


@loopsat.jit
def places(sorted_values, wanted):
    found = np.empty(len(wanted), np.int64)
    for k, x in enumerate(wanted):
        low, high = 0, len(sorted_values)
        while low < high:  # high - low halves: at most as many steps as the length has bits
            middle = (low + high) // 2
            if sorted_values[middle] < x:
                low = middle + 1
            else:
                high = middle
        found[k] = low
    return found


rng = np.random.default_rng(0)
values, wanted = rng.random(8).astype("f4"), rng.random(5).astype("f4")
ordered = bitonic(values)
assert np.array_equal(ordered, np.sort(values))
assert np.array_equal(places(ordered, wanted), np.searchsorted(ordered, wanted))
print(places.explain())
