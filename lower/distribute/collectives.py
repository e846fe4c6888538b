"""JAX code for what devices exchange, as text that emitted modules contain; one function each."""

from __future__ import annotations

NEIGHBOURS = '''
def with_neighbours(x, dim, axes, parts, before, after):
    """`x` with the elements that stand before and after it on the devices next to this one, in a ring."""
    size, blocks = x.shape[dim], [x]
    for k in range(1, -(-before // size) + 1):
        part = lax.slice_in_dim(x, max(0, k * size - before), size, axis=dim)
        blocks.insert(0, lax.ppermute(part, axes, [(d, (d + k) % parts) for d in range(parts)]))
    for k in range(1, -(-after // size) + 1):
        part = lax.slice_in_dim(x, 0, min(size, after - (k - 1) * size), axis=dim)
        blocks.append(lax.ppermute(part, axes, [((d + k) % parts, d) for d in range(parts)]))
    return jnp.concatenate(blocks, dim)
'''

WINDOW = '''
def window(x, dim, axes, first, width):
    """`width` elements of a dimension, from `first` on counted from those of this device, whoever has them."""
    places = first + jnp.arange(width)
    mine = (places >= 0) & (places < x.shape[dim])
    found = jnp.take(x, jnp.clip(places, 0, x.shape[dim] - 1), axis=dim)
    mine = mine.reshape([-1 if d == dim else 1 for d in range(x.ndim)])
    return from_owners(jnp.where(mine, found, jnp.zeros_like(found)), axes)
'''

OWNERS = '''
def from_owners(x, axes, dim=None):
    """What one device has of each element, where all others have zero; of `dim` the block that is this device's own."""

    def total(x):
        return lax.psum(x, axes) if dim is None else lax.psum_scatter(x, axes, scatter_dimension=dim, tiled=True)

    def exact(x):  # sums of floats would lose signs of zeros
        return lax.bitcast_convert_type(total(lax.bitcast_convert_type(x, f"uint{8 * x.dtype.itemsize}")), x.dtype)

    if x.dtype == jnp.bool_:
        return total(x.astype(jnp.uint8)).astype(jnp.bool_)
    if not jnp.issubdtype(x.dtype, jnp.floating):
        return total(x)
    found = jax.custom_jvp(exact)
    found.defjvp(lambda primals, tangents: (exact(*primals), total(*tangents)))
    return found(x)
'''

AFAR = '''
def from_afar(x, dim, axes, parts, step, low, high):
    """Elements `low` to `high` of a dimension, counted from where block `step * d` starts for device d, in a ring."""
    size, blocks = x.shape[dim], []
    for k in range(low // size, high // size + 1):
        part = lax.slice_in_dim(x, max(0, low - k * size), min(size, high + 1 - k * size), axis=dim)
        blocks.append(lax.ppermute(part, axes, [((step * d + k) % parts, d) for d in range(parts)]))
    return jnp.concatenate(blocks, dim)
'''

TURNED = '''
def turned(x, dim, other, axes, size):
    """`x` with all of `dim`, and of `other`, in blocks of `size`, one block."""
    parts = lax.axis_size(axes)
    x = jnp.pad(x, [(0, parts * size - n if d == other else 0) for d, n in enumerate(x.shape)])
    return lax.all_to_all(x, axes, split_axis=other, concat_axis=dim, tiled=True)
'''

OWN = '''
def own_block(x, dim, axes, size):
    """The block of a dimension that is this device's own; XLA (JAX 0.10) would read beyond a slice of it as of `x`."""
    parts = lax.axis_size(axes)
    x = jnp.pad(x, [(0, max(0, parts * size - n) if d == dim else 0) for d, n in enumerate(x.shape)])
    return lax.optimization_barrier(lax.dynamic_slice_in_dim(x, lax.axis_index(axes) * size, size, dim))
'''

EXTREME = '''
def all_{name}(x, axes, keep_nan):
    """The {name}imum over devices, of which JAX has no derivative; XLA's exchange on CPUs would drop NaN."""

    def found(x):
        best = lax.p{name}(x, axes)
        if not keep_nan:
            return best
        nan = lax.pmax(jnp.isnan(x).astype(jnp.int32), axes) > 0
        return jnp.where(nan, jnp.nan, best).astype(x.dtype)

    def along(primals, tangents):  # shared among those that have it, as with extremes on one device
        best = found(*primals)
        mine = (primals[0] == best).astype(x.dtype)
        return best, lax.psum(mine * tangents[0], axes) / lax.psum(mine, axes)

    extreme = jax.custom_jvp(found)
    extreme.defjvp(along)
    return extreme(x)
'''

CARRIED = '''
def carried(x, dim, axes, op, start):
    """A scan of each device's part, gone on with from device to device."""
    totals = lax.all_gather(lax.index_in_dim(x, -1, dim), axes)
    earlier = jnp.arange(len(totals)) < lax.axis_index(axes)
    totals = jnp.where(earlier.reshape(-1, *[1] * x.ndim), totals, jnp.asarray(start, x.dtype))
    return op(functools.reduce(op, list(totals)), x)
'''

CARRIED_LINEAR = '''
def carried_linear(x, factors, dim, axes):
    """A recurrence `factor * previous + term` of each device's part, gone on with from device to device."""
    ends = [lax.all_gather(lax.index_in_dim(a, -1, dim), axes) for a in (factors, x)]
    before = jnp.zeros_like(ends[1][0])
    for device, (factor, term) in enumerate(zip(*ends)):
        before = jnp.where(device < lax.axis_index(axes), factor * before + term, before)
    return factors * before + x
'''

FUNCTIONS = {
    "with_neighbours": NEIGHBOURS,
    "window": WINDOW,
    "from_owners": OWNERS,
    "from_afar": AFAR,
    "turned": TURNED,
    "own_block": OWN,
    "all_max": EXTREME.replace("{name}", "max"),
    "all_min": EXTREME.replace("{name}", "min"),
    "carried": CARRIED,
    "carried_linear": CARRIED_LINEAR,
}

REDUCTIONS = {"add": "lax.psum", "max": "lax.pmax", "min": "lax.pmin"}
