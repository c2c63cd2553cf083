"""Inner products of vectors with points in 8-bit integers, at the speed of 8-bit instructions.

A byte of a vector lies in [-63, 63] and a byte of a point in [-127, 127]. The vector's are stored with 64 added: a pair
of products of an unsigned with a signed byte then fits into 16 bits, and x86 multiplies and adds such pairs in one
instruction (pmaddubsw), 64 products at a time with AVX-512. What the added 64 contributes to a sum is known for each
point, and the sum begins with its negative. Sums are taken modulo 2^16, so that they are exact where the true sum fits;
`deniable.space.nearest_points` sees to that. It cuts many dimensions into parts, whose sums are halved ``shift`` times
before they are added.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

BLOCK_POINTS = 128
"""Points whose bytes lie together."""
ROWS = 6
"""Vectors that are multiplied with a block at a time: as many as have their sums in registers."""
COPIES = 64
"""Bytes of the largest register, which the two bytes of a vector that are multiplied together fill again and again."""
VECTOR_LIMIT, POINT_LIMIT = 63, 127
"""Largest absolute values of a vector's and of a point's bytes."""
OFFSET = VECTOR_LIMIT + 1
"""What is added to the bytes of a vector."""
SUM_LIMIT = 2**15 - 1
"""Largest absolute value of the sum of a part."""
_ADDRESS, _SUM, _LANE = ir.IntType(64), ir.IntType(16), ir.IntType(32)


class _TileWriter:
    """Writes the instructions of `fill_tile`: sums of ROWS vectors with ``columns`` registers of ``lanes`` points."""

    def __init__(self, builder: ir.IRBuilder, *, is_wide: bool, adds_pairs: bool) -> None:
        self.builder, self.adds_pairs = builder, adds_pairs
        self.lanes, self.columns = (32, 4) if is_wide else (16, 2)
        self.bytes = ir.VectorType(ir.IntType(8), 2 * self.lanes)
        self.sums = ir.VectorType(_SUM, self.lanes)
        self.products = ir.VectorType(_LANE, self.lanes)

    def allocate_sums(self) -> list[list[ir.Value]]:
        """Return places for the sums of ROWS vectors, which the compiler keeps in registers."""
        with self.builder.goto_entry_block():
            return [[self.builder.alloca(self.sums) for _ in range(self.columns)] for _ in range(ROWS)]

    def step(self, address: ir.Value, index: ir.Value | int, size: ir.Value | int) -> ir.Value:
        """Return the address of an item, by its index and the bytes of one."""
        index, size = (_ADDRESS(number) if isinstance(number, int) else number for number in (index, size))
        return self.builder.add(address, self.builder.mul(index, size))

    def locate(self, address: ir.Value, kind: ir.Type) -> ir.Value:
        """Return an address as a pointer to a kind of value."""
        return self.builder.inttoptr(address, kind.as_pointer())

    def load(self, address: ir.Value, kind: ir.Type) -> ir.Value:
        """Return a register read from an address."""
        return self.builder.load(self.locate(address, kind), align=1)

    def repeat(self, value: ir.Value) -> ir.Value:
        """Return a register of sums that are all one value."""
        first = self.builder.insert_element(ir.Constant(self.sums, ir.Undefined), value, _LANE(0))
        return self.builder.shuffle_vector(first, first, ir.Constant(self.products, [0] * self.lanes))

    def maximize(self, left: ir.Value, right: ir.Value) -> ir.Value:
        """Return the larger of two values, or of each pair in two registers."""
        return self.builder.select(self.builder.icmp_signed(">", left, right), left, right)

    def multiply(self, unsigned: ir.Value, signed: ir.Value) -> ir.Value:
        """Return the 16-bit sums of pairs of products of bytes."""
        return self.multiply_pairs(unsigned, signed) if self.adds_pairs else self.multiply_halves(unsigned, signed)

    def multiply_pairs(self, unsigned: ir.Value, signed: ir.Value) -> ir.Value:
        """Return them in the form that the compiler knows as pmaddubsw, whose limits are never reached."""
        builder = self.builder
        products = []
        for first in (0, 1):
            places = ir.Constant(self.products, [first + 2 * lane for lane in range(self.lanes)])
            left, right = (builder.shuffle_vector(register, register, places) for register in (unsigned, signed))
            products.append(builder.mul(builder.zext(left, self.products), builder.sext(right, self.products)))
        total = builder.add(*products)
        for order, limit in ((">", -(2**15)), ("<", 2**15 - 1)):
            bound = ir.Constant(self.products, [limit] * self.lanes)
            total = builder.select(builder.icmp_signed(order, total, bound), total, bound)
        return builder.trunc(total, self.sums)

    def multiply_halves(self, unsigned: ir.Value, signed: ir.Value) -> ir.Value:
        """Return them by products of 16 bits, for processors without such an instruction."""
        builder = self.builder
        left, right = (builder.bitcast(register, self.sums) for register in (unsigned, signed))
        eight, low = (ir.Constant(self.sums, [number] * self.lanes) for number in (8, 255))
        lower = builder.mul(builder.and_(left, low), builder.ashr(builder.shl(right, eight), eight))
        return builder.add(lower, builder.mul(builder.lshr(left, eight), builder.ashr(right, eight)))

    def add_part(self, totals: list[list[ir.Value]], vectors: ir.Value, points: ir.Value, pairs: ir.Value) -> None:
        """Write the sums of one part of the dimensions into ``totals``."""
        builder = self.builder
        for column in range(self.columns):
            start = self.load(self.step(points, column, 2 * self.lanes), self.sums)
            for row in totals:
                builder.store(start, row[column])
        with cgutils.for_range(builder, pairs) as loop:
            pair_points = self.step(points, builder.add(loop.index, _ADDRESS(1)), 2 * BLOCK_POINTS)
            pair_vectors = self.step(vectors, loop.index, ROWS * COPIES)
            signed = [self.load(self.step(pair_points, at, 2 * self.lanes), self.bytes) for at in range(self.columns)]
            for number, row in enumerate(totals):
                unsigned = self.load(self.step(pair_vectors, number, COPIES), self.bytes)
                for place, register in zip(row, signed, strict=True):
                    builder.store(builder.add(builder.load(place), self.multiply(unsigned, register)), place)

    def store_row(self, totals: list[ir.Value], scores: ir.Value, maximum: ir.Value) -> None:
        """Write the totals of one vector, and raise the maximum at an address to the largest of them."""
        builder, module = self.builder, self.builder.module
        largest = ir.Constant(self.sums, [-(2**15)] * self.lanes)
        for column, place in enumerate(totals):
            total = builder.load(place)
            target = self.locate(self.step(scores, column, 2 * self.lanes), self.sums)
            builder.store(total, target, align=2)
            largest = self.maximize(total, largest)
        name = f"llvm.vector.reduce.smax.v{self.lanes}i16"
        reduce = module.globals.get(name) or ir.Function(module, ir.FunctionType(_SUM, [self.sums]), name)
        target = self.locate(maximum, _SUM)
        builder.store(self.maximize(builder.call(reduce, [largest]), builder.load(target)), target)


def write_tile(builder: ir.IRBuilder, arguments: list[ir.Value], *, is_wide: bool, adds_pairs: bool) -> None:
    """Write the instructions of `fill_tile`: for each group of points the sums of its parts, and then their totals.

    Args:
        builder: where.
        arguments: of `fill_tile`.
        is_wide: for registers of 64 bytes, otherwise of 32.
        adds_pairs: for a processor with pmaddubsw.
    """
    scores, score_stride, maxima, maximum_stride, vectors, points, parts, pairs, shift = arguments
    writer = _TileWriter(builder, is_wide=is_wide, adds_pairs=adds_pairs)
    sums, totals = writer.allocate_sums(), writer.allocate_sums()
    shifts = writer.repeat(builder.trunc(shift, _SUM))
    width = 2 * writer.lanes * writer.columns
    row_scores = [writer.step(scores, builder.mul(score_stride, _ADDRESS(2)), row) for row in range(ROWS)]
    row_maxima = [writer.step(maxima, builder.mul(maximum_stride, _ADDRESS(2)), row) for row in range(ROWS)]
    for maximum in row_maxima:
        builder.store(_SUM(-(2**15)), writer.locate(maximum, _SUM))
    with cgutils.for_range(builder, _ADDRESS(2 * BLOCK_POINTS // width)) as group:
        for place in (place for row in totals for place in row):
            builder.store(ir.Constant(writer.sums, [0] * writer.lanes), place)
        with cgutils.for_range(builder, parts) as part:
            part_points = writer.step(
                points, builder.mul(part.index, builder.add(pairs, _ADDRESS(1))), 2 * BLOCK_POINTS
            )
            part_vectors = writer.step(vectors, builder.mul(part.index, pairs), ROWS * COPIES)
            writer.add_part(sums, part_vectors, writer.step(part_points, group.index, width), pairs)
            for sum_row, total_row in zip(sums, totals, strict=True):
                for place, target in zip(sum_row, total_row, strict=True):
                    halved = builder.ashr(builder.load(place), shifts)
                    builder.store(builder.add(builder.load(target), halved), target)
        for total_row, address, maximum in zip(totals, row_scores, row_maxima, strict=True):
            writer.store_row(total_row, writer.step(address, group.index, width), maximum)


def _write_host_tile(
    context: Any,  # noqa: ANN401 - numba's own type
    builder: ir.IRBuilder,
    signature: object,
    arguments: list[ir.Value],
) -> ir.Value:
    """Write `fill_tile` for the processor that numba compiles for; its choice decides the speed, not the result."""
    del signature
    triple, name, features = context.codegen().magic_tuple()
    is_wide = "avx512" in name or "+avx512bw" in features
    adds_pairs = triple.startswith("x86_64") and name not in {"generic", "x86-64"}
    write_tile(builder, arguments, is_wide=is_wide, adds_pairs=adds_pairs)
    return context.get_dummy_value()


def _declare_tile(  # numba matches arguments by name and number
    typing_context: Any,  # noqa: ANN401 - numba's own types, here and below
    scores: Any,  # noqa: ANN401
    score_stride: Any,  # noqa: ANN401
    maxima: Any,  # noqa: ANN401
    maximum_stride: Any,  # noqa: ANN401
    vectors: Any,  # noqa: ANN401
    points: Any,  # noqa: ANN401
    parts: Any,  # noqa: ANN401
    pairs: Any,  # noqa: ANN401
    shift: Any,  # noqa: ANN401
) -> tuple[Any, Any]:
    del typing_context, scores, score_stride, maxima, maximum_stride, vectors, points, parts, pairs, shift
    return types.void(*[types.intp] * 9), _write_host_tile


fill_tile: Callable[..., None] = intrinsic(_declare_tile)
"""``fill_tile(scores, score_stride, maxima, maximum_stride, vectors, points, parts, pairs, shift)``, in compiled loops.

Arrays are given by their addresses:

- ``scores``: int16 (ROWS, BLOCK_POINTS), written; its rows are ``score_stride`` numbers apart;
- ``maxima``: int16 (ROWS,), the largest score of each row, written; they are ``maximum_stride`` numbers apart;
- ``vectors``: uint8 (parts, pairs, ROWS, COPIES), each pair of bytes again and again;
- ``points``: int8 (parts, 1 + pairs, BLOCK_POINTS, 2); the first "pair" of each part is the 16-bit number with which
  its sum begins, -OFFSET times the sum of the point's bytes.
"""
