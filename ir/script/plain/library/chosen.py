"""Functions of NumPy that choose items, so that data say how many they give: as the first items of arrays that have
room for all, in plain functions that are put in place of calls.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def kept(a: Any, condition: Any) -> Any:
    """The items of an array, which has the dimensions of the condition first, where that is true."""
    flat = np.ravel(condition)
    items = np.reshape(a, flat.shape + a.shape[np.ndim(condition) :])
    found = np.empty(items.shape, a.dtype)
    n = 0
    for k in range(len(flat)):
        if flat[k]:
            found[n] = items[k]
            n += 1
    return found[:n]


def flatnonzero(a: Any) -> Any:
    flat = np.ravel(a)
    places = np.empty(flat.shape, np.int64)
    n = 0
    for k in range(len(flat)):
        if flat[k] != 0:
            places[n] = k
            n += 1
    return places[:n]


def nonzero(a: Any) -> Any:
    return np.unravel_index(flatnonzero(a), a.shape) if a.ndim > 1 else (flatnonzero(a),)


def argwhere(a: Any) -> Any:
    flat = np.ravel(a)
    found = np.empty((a.size, a.ndim), np.int64)
    n = 0
    for k in range(len(flat)):
        if flat[k] != 0:
            places = np.unravel_index(k, a.shape)
            for d in range(a.ndim):
                found[n, d] = places[d]
            n += 1
    return found[:n]


def compress(condition: Any, a: Any) -> Any:
    return kept(np.ravel(a), condition)


def extract(condition: Any, arr: Any) -> Any:
    return kept(np.ravel(arr), np.ravel(condition))


def unique(ar: Any, return_index: Any = False, return_inverse: Any = False, return_counts: Any = False) -> Any:
    given = np.ravel(ar)
    if return_index or return_inverse:
        return _unique_places(given, ar.shape, return_index, return_inverse, return_counts)
    flat = np.sort(given)
    found = np.empty(flat.shape, flat.dtype)
    counts = np.zeros(flat.shape, np.int64)
    n = 0
    for k in range(len(flat)):
        if k == 0 or flat[k] != flat[k - 1]:
            found[n] = flat[k]
            n += 1
        counts[n - 1] += 1
    return (found[:n], counts[:n]) if return_counts else found[:n]


def _unique_places(given: Any, shape: Any, return_index: Any, return_inverse: Any, return_counts: Any) -> Any:
    order = np.argsort(given)
    found = np.empty(given.shape, given.dtype)
    index = np.empty(given.shape, np.int64)
    inverse = np.empty(given.shape, np.int64)
    counts = np.zeros(given.shape, np.int64)
    n = 0
    for k in range(len(order)):
        if k == 0 or given[order[k]] != given[order[k - 1]]:
            found[n] = given[order[k]]
            index[n] = order[k]
            n += 1
        inverse[order[k]] = n - 1
        counts[n - 1] += 1
    if not return_inverse:
        return (found[:n], index[:n], counts[:n]) if return_counts else (found[:n], index[:n])
    places = np.reshape(inverse, shape)
    if return_index:
        return (found[:n], index[:n], places, counts[:n]) if return_counts else (found[:n], index[:n], places)
    return (found[:n], places, counts[:n]) if return_counts else (found[:n], places)


def union1d(ar1: Any, ar2: Any) -> Any:
    return unique(np.concatenate((np.ravel(ar1), np.ravel(ar2))))


def isin(element: Any, test_elements: Any) -> Any:
    return np.any(element[..., None] == np.ravel(test_elements), axis=-1)


def intersect1d(ar1: Any, ar2: Any) -> Any:
    one = unique(ar1)
    return kept(one, isin(one, ar2))


def setdiff1d(ar1: Any, ar2: Any) -> Any:
    one = unique(ar1)
    return kept(one, np.logical_not(isin(one, ar2)))


CHOSEN = (flatnonzero, nonzero, argwhere, compress, extract, unique, union1d, isin, intersect1d, setdiff1d)
