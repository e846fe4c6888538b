"""Rules over tensor terms: what a sum over array axes may be instead, when a program is lowered.

Sums of products may be taken apart, as their products are rounded already; where a difference of elements is exact,
sums of both are not, so that taking them apart is `DISTRIBUTE`, as expanding products is. What a mask hides need not be
a number, so a product with zero stands for a mask only where the other factor is `finite`.
"""

from __future__ import annotations

from egraph_rules.authoring.tensor import (
    Axes,
    Pattern,
    apart,
    axes,
    contract,
    differ,
    finite,
    flag,
    number,
    ones,
    rounds,
    shown,
    some,
    tensor_rule,
    times,
    total,
    where,
    within,
)
from ir.floats import Floats

_ORDER = Floats.REASSOCIATE
_APART = Floats.REASSOCIATE | Floats.DISTRIBUTE
_SIGNS = Floats.NO_SIGNED_ZEROS
_HIDDEN = Floats.FINITE | Floats.NO_SIGNED_ZEROS  # 0.0 for what a mask hides: no NaN times zero, no -0.0


@tensor_rule(because="a sum is linear", floats=_APART)
def sum_of_sums(k: Axes, x: Pattern, y: Pattern):
    return total(k, x + y), total(k, x) + total(k, y)


@tensor_rule(because="a sum is linear", floats=_APART)
def sum_of_differences(k: Axes, x: Pattern, y: Pattern):
    return total(k, x - y), total(k, x) - total(k, y)


@tensor_rule(because="a product is rounded before it is added, and its sum alike", floats=_ORDER)
def sum_of_product_and_more(k: Axes, x: Pattern, y: Pattern):
    return total(k, x + y), total(k, x) + total(k, y), rounds(x)


@tensor_rule(because="a product is rounded before it is added, and its sum alike", floats=_ORDER)
def sum_of_more_and_product(k: Axes, x: Pattern, y: Pattern):
    return total(k, x + y), total(k, x) + total(k, y), rounds(y)


@tensor_rule(because="a product is rounded before another is taken away, and its sum alike", floats=_ORDER)
def sum_of_product_and_less(k: Axes, x: Pattern, y: Pattern):
    return total(k, x - y), total(k, x) - total(k, y), rounds(x)


@tensor_rule(because="a product is rounded before it is taken away, and its sum alike", floats=_ORDER)
def sum_of_less_and_product(k: Axes, x: Pattern, y: Pattern):
    return total(k, x - y), total(k, x) - total(k, y), rounds(y)


@tensor_rule(because="a sum is linear", floats=_SIGNS)
def sum_of_negated(k: Axes, x: Pattern):
    return total(k, -x), -total(k, x)


@tensor_rule(because="a factor that is the same for all terms counts once", floats=_ORDER)
def factor_out(k: Axes, c: Pattern, x: Pattern):
    return total(k, c * x), c * total(k, x), apart(axes(c), k)


@tensor_rule(because="what does not vary along an inner axis can wait for the outer sum", floats=_ORDER)
def factor_out_of_inner_sum(k: Axes, c: Pattern, x: Pattern):
    inner, outer = k.without(axes(c)), k & axes(c)
    return total(k, c * x), total(outer, c * total(inner, x)), some(inner), some(outer)


@tensor_rule(because="a factor that is the same for all terms counts once", floats=_ORDER)
def factor_in(k: Axes, c: Pattern, x: Pattern):
    return c * total(k, x), total(k, c * x), apart(axes(c), k)


@tensor_rule(because="a factor that is the same for all terms counts once", floats=_ORDER)
def factor_into_contraction(k: Axes, c: Pattern, x: Pattern, y: Pattern):
    return c * contract(k, x, y), contract(k, c * x, y), apart(axes(c), k)


@tensor_rule(because="sums over different axes are one over all of them", floats=_ORDER)
def sum_of_sum(k: Axes, j: Axes, x: Pattern):
    return total(k, total(j, x)), total(k | j, x), apart(k, j)


@tensor_rule(because="products that share a factor are one with the sum of the others", floats=_ORDER)
def joined_contractions(k: Axes, x: Pattern, y: Pattern, z: Pattern):
    return contract(k, x, z) + contract(k, y, z), contract(k, x + y, z), within(axes(x), axes(y))


@tensor_rule(because="products that share a factor are one with the sum of the others", floats=_ORDER)
def contraction_joins_another(k: Axes, x: Pattern, y: Pattern, z: Pattern, c: Pattern):
    joined = contract(k, x + y, z)
    return (c + contract(k, x, z)) + contract(k, y, z), c + joined, within(axes(x), axes(y))


@tensor_rule(because="a divisor that is the same for all terms counts once", floats=_ORDER)
def divisor_out(k: Axes, c: Pattern, x: Pattern):
    return total(k, x / c), total(k, x) / c, apart(axes(c), k)


@tensor_rule(because="what does not vary along an inner axis can wait for the outer sum", floats=_ORDER)
def divisor_out_of_inner_sum(k: Axes, c: Pattern, x: Pattern):
    inner, outer = k.without(axes(c)), k & axes(c)
    return total(k, x / c), total(outer, total(inner, x) / c), some(inner), some(outer)


@tensor_rule(because="a product may be divided in place of a factor", floats=_ORDER)
def quotient_in_product(x: Pattern, c: Pattern, y: Pattern):
    return (x / c) * y, (x * y) / c


@tensor_rule(because="a factor may be divided in place of a product", floats=_ORDER)
def sum_of_divided_product(k: Axes, x: Pattern, y: Pattern, c: Pattern):
    varies = k & axes(c)  # else it is divided once
    return total(k, (x * y) / c), total(k, x * (y / c)), some(varies), within(axes(c), axes(y))


@tensor_rule(because="equal terms are added as often as there are", floats=_ORDER)
def sum_of_equals(k: Axes, x: Pattern):
    return total(k, x), times(k, x), apart(axes(x), k)


@tensor_rule(because="equal terms are added as often as there are", floats=_ORDER)
def sum_of_partly_equals(k: Axes, x: Pattern):
    missing, rest = k.without(axes(x)), k & axes(x)
    return total(k, x), times(missing, total(rest, x)), some(missing), some(rest)


@tensor_rule(because="a product is commutative")
def product_commutes(x: Pattern, y: Pattern):
    return x * y, y * x


@tensor_rule(because="a product is associative", floats=_ORDER)
def product_associates(x: Pattern, y: Pattern, z: Pattern):
    return (x * y) * z, x * (y * z)


@tensor_rule(because="multiplication distributes over addition", floats=_APART)
def product_of_sum(x: Pattern, y: Pattern, z: Pattern):
    return x * (y + z), x * y + x * z


@tensor_rule(because="multiplication distributes over subtraction", floats=_APART)
def product_of_difference(x: Pattern, y: Pattern, z: Pattern):
    return x * (y - z), x * y - x * z


@tensor_rule(because="a minus sign can go to either factor")
def product_of_negated(x: Pattern, y: Pattern):
    return (-x) * y, -(x * y)


@tensor_rule(because="a mask that is the same for all terms can wait", floats=_ORDER)
def mask_out(k: Axes, m: Pattern, x: Pattern):
    return total(k, where(m, x)), where(m, total(k, x)), apart(axes(m), k)


@tensor_rule(because="what is hidden is hidden")
def mask_of_masked(m: Pattern, x: Pattern):
    return where(m, where(m, x)), where(m, x)


@tensor_rule(because="both terms are hidden alike")
def mask_of_sum(m: Pattern, x: Pattern, y: Pattern):
    return where(m, x + y), where(m, x) + where(m, y)


@tensor_rule(because="both terms are hidden alike")
def mask_of_difference(m: Pattern, x: Pattern, y: Pattern):
    return where(m, x - y), where(m, x) - where(m, y)


@tensor_rule(because="nothing is hidden twice", floats=_SIGNS)
def mask_of_negated(m: Pattern, x: Pattern):
    return where(m, -x), -where(m, x)


@tensor_rule(because="one factor of zero makes the product zero, where the other is a number", floats=_HIDDEN)
def mask_of_factor(m: Pattern, x: Pattern, y: Pattern):
    return where(m, x * y), where(m, x) * y, finite(y), within(axes(m), axes(x))


@tensor_rule(because="zero times zero is zero", floats=_SIGNS)
def mask_of_factors(m: Pattern, x: Pattern, y: Pattern):
    return where(m, x * y), where(m, x) * where(m, y), within(axes(m), axes(x)), within(axes(m), axes(y))


@tensor_rule(because="a number times zero is zero, times one itself", floats=_HIDDEN)
def mask_as_product(m: Pattern, x: Pattern):
    return where(m, x), flag(m) * x, finite(x)


@tensor_rule(because="a number times zero is zero, times one itself, and nobody looks at what is none", floats=_HIDDEN)
def mask_as_product_of_numbers(m: Pattern, x: Pattern):
    repeated = axes(m).without(axes(x))  # else as many elements are masked as are asked for numbers
    return where(m, x), flag(m) * number(x), shown(m, x), some(repeated)


@tensor_rule(because="zero times a number is zero, and nobody looks at what is none", floats=_HIDDEN)
def mask_of_factor_beside_numbers(m: Pattern, x: Pattern, y: Pattern):
    repeated = axes(x).without(axes(y))  # else as many elements are masked as are asked for numbers
    return where(m, x * y), where(m, x) * number(y), shown(m, y), within(axes(m), axes(x)), some(repeated)


@tensor_rule(because="a sum of products over factors of different axes is a contraction", floats=_ORDER)
def contraction(k: Axes, x: Pattern, y: Pattern):
    a, b = axes(x), axes(y)
    return total(k, x * y), contract(k, x, y), differ(a, b), some(a & k), some(b & k), within(k, a | b)


@tensor_rule(because="a sum is a product with ones", floats=_ORDER)
def sum_as_contraction(k: Axes, x: Pattern):
    return total(k, x), contract(k, x, ones(k)), within(k, axes(x)), differ(axes(x), k)


TENSOR_RULES = (
    sum_of_sums,
    sum_of_differences,
    sum_of_product_and_more,
    sum_of_more_and_product,
    sum_of_product_and_less,
    sum_of_less_and_product,
    sum_of_negated,
    factor_out,
    factor_out_of_inner_sum,
    factor_in,
    factor_into_contraction,
    sum_of_sum,
    joined_contractions,
    contraction_joins_another,
    divisor_out,
    divisor_out_of_inner_sum,
    quotient_in_product,
    sum_of_divided_product,
    sum_of_equals,
    sum_of_partly_equals,
    product_commutes,
    product_associates,
    product_of_sum,
    product_of_difference,
    product_of_negated,
    mask_out,
    mask_of_masked,
    mask_of_sum,
    mask_of_difference,
    mask_of_negated,
    mask_of_factor,
    mask_of_factors,
    mask_as_product,
    mask_as_product_of_numbers,
    mask_of_factor_beside_numbers,
    contraction,
    sum_as_contraction,
)
