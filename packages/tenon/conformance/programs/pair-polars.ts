import assert from 'node:assert/strict'
import pl from 'nodejs-polars'
import type { Tensor } from 'tenon'
import { adopted, checkPair, collect, column, copied, copiedBy, flat, refused, refusedBy, scopeClosed } from './pair.ts'

const series = (values: unknown): pl.Series => pl.Series('x', flat(values), pl.Float32)

/** Tenon's memory as a series. */
function take(t: Tensor): { read(): unknown } {
  const x = pl.Series('x', t.view() as Float32Array)
  return { read: () => x.toArray() }
}

/** A series of one element. */
function takeOne(t: Tensor): { read(): unknown } {
  const { read } = take(t)
  return { read: () => (read() as unknown[])[0] }
}

await checkPair({
  values: column,
  toTenon: {
    contiguous: copied(() => series(column.contiguous)),
    transposed: refused(
      () =>
        adopted(
          pl.Series('x', [
            [1, 2],
            [3, 4],
          ]),
        ),
      /not implemented for List/,
    ),
    sliced: copied(() => series(column.contiguous).slice(1, 3)),
    reversed: copied(() =>
      pl
        .DataFrame([series(column.contiguous)])
        .sort('x', true)
        .getColumn('x'),
    ),
    'no elements': copied(() => series([])),
    '0-d': refused(() => adopted(series([5]).sum()), /must be a TypedArray or a tensor/),
  },
  fromTenon: {
    contiguous: copiedBy(take),
    transposed: refusedBy(take, /must have adjacent elements/),
    sliced: copiedBy(take),
    'no elements': copiedBy(take),
    '0-d': copiedBy(takeOne),
  },
  lifetimes: [
    {
      closed: 'the series and its frame are collected',
      left: 'the memory stays',
      async check() {
        const y = adopted(pl.DataFrame({ x: [1, 2, 3] }).getColumn('x'))
        await collect()
        assert.deepEqual(y.toArray(), [1, 2, 3])
      },
    },
    scopeClosed(take, 'the memory stays', ({ read }) => assert.deepEqual(read(), column.contiguous)),
  ],
})
