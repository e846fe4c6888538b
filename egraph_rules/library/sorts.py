"""Sorts of an array in place, ascending, as people write them with a search or with shifts in the inner loop.

Plain Python functions, which are read like those of `@loopsat.jit` and never run. Sorts by swaps of two fixed positions
are in `kernels`, as templates.
"""

from __future__ import annotations

from typing import Any


def insertion(A: Any) -> None:
    for i in range(1, len(A)):
        key = A[i]
        j = i - 1
        while j >= 0 and A[j] > key:
            A[j + 1] = A[j]
            j -= 1
        A[j + 1] = key


def insertion_from_above(A: Any) -> None:
    for i in range(1, len(A)):
        key = A[i]
        j = i
        while j > 0 and A[j - 1] > key:
            A[j] = A[j - 1]
            j -= 1
        A[j] = key


def insertion_by_swaps(A: Any) -> None:
    for i in range(1, len(A)):
        j = i
        while j > 0 and A[j - 1] > A[j]:
            A[j - 1], A[j] = A[j], A[j - 1]
            j -= 1


def insertion_by_swaps_of_the_later(A: Any) -> None:
    for i in range(1, len(A)):
        j = i
        while j > 0 and A[j - 1] > A[j]:
            A[j], A[j - 1] = A[j - 1], A[j]
            j -= 1


def insertion_with_break(A: Any) -> None:
    for i in range(1, len(A)):
        for j in range(i, 0, -1):
            if A[j - 1] <= A[j]:
                break
            A[j - 1], A[j] = A[j], A[j - 1]


def selection(A: Any) -> None:
    for i in range(len(A)):
        m = i
        for j in range(i + 1, len(A)):
            if A[j] < A[m]:
                m = j
        A[i], A[m] = A[m], A[i]


def selection_of_the_later(A: Any) -> None:
    for i in range(len(A)):
        m = i
        for j in range(i + 1, len(A)):
            if A[j] < A[m]:
                m = j
        A[m], A[i] = A[i], A[m]


def selection_short(A: Any) -> None:
    for i in range(len(A) - 1):
        m = i
        for j in range(i + 1, len(A)):
            if A[j] < A[m]:
                m = j
        A[i], A[m] = A[m], A[i]


def selection_by_a_third(A: Any) -> None:
    for i in range(len(A)):
        m = i
        for j in range(i + 1, len(A)):
            if A[j] < A[m]:
                m = j
        t = A[i]
        A[i] = A[m]
        A[m] = t


def selection_by_a_third_short(A: Any) -> None:
    for i in range(len(A) - 1):
        m = i
        for j in range(i + 1, len(A)):
            if A[j] < A[m]:
                m = j
        t = A[i]
        A[i] = A[m]
        A[m] = t


def selection_where_it_differs(A: Any) -> None:
    for i in range(len(A)):
        m = i
        for j in range(i + 1, len(A)):
            if A[j] < A[m]:
                m = j
        if m != i:
            A[i], A[m] = A[m], A[i]


def selection_where_it_differs_short(A: Any) -> None:
    for i in range(len(A) - 1):
        m = i
        for j in range(i + 1, len(A)):
            if A[j] < A[m]:
                m = j
        if m != i:
            A[i], A[m] = A[m], A[i]


SORTS = (
    insertion, insertion_from_above, insertion_by_swaps, insertion_by_swaps_of_the_later, insertion_with_break,
    selection, selection_of_the_later, selection_short, selection_by_a_third, selection_by_a_third_short,
    selection_where_it_differs, selection_where_it_differs_short,
)  # fmt: skip
