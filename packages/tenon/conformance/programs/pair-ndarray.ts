import assert from 'node:assert/strict'
import ndarray from 'ndarray'
import { ArgumentError, ScopeClosedError, type Tensor } from 'tenon'
import {
  adopted,
  checkPair,
  collect,
  inPlace,
  lent,
  mapNested,
  matrix,
  onRequest,
  pinnedScopeClosed,
  scopeClosed,
  tensorCollected,
} from './pair.ts'

const data = Float32Array.of(1, 2, 3, 4, 5, 6)
const array = (): ndarray.NdArray<Float32Array> => ndarray(data, [2, 3])

/** The elements of an array of any strides, as ndarray reads them. */
function elementsOf(x: ndarray.NdArray<Float32Array>): unknown {
  if (x.shape.length === 0) return x.get()
  return Array.from({ length: x.shape[0]! }, (_, i) => elementsOf(x.pick(i)))
}

/** Tenon's memory as an array of the same strides. */
function take(x: Tensor): { read(): unknown; memory: Float32Array } {
  const { buffer, byteOffset } = x.segment.view()
  const memory = new Float32Array(buffer, byteOffset, x.segment.byteSize / 4)
  return { read: () => elementsOf(ndarray(memory, [...x.shape], x.strides && [...x.strides])), memory }
}

await checkPair({
  values: matrix,
  toTenon: {
    contiguous: inPlace(() => ({ x: array(), memory: data })),
    transposed: inPlace(() => ({ x: array().transpose(1, 0), memory: data })),
    sliced: inPlace(() => ({ x: array().lo(0, 1), memory: data, first: 1 })),
    reversed: onRequest(() => array().step(1, -1)),
    'no elements': inPlace(() => ({ x: array().hi(0, 3), memory: data })),
    '0-d': inPlace(() => ({ x: array().pick(1, 1), memory: data, first: 4 })),
  },
  fromTenon: {
    contiguous: lent(take),
    transposed: lent(take),
    sliced: lent(take),
    'no elements': lent(take),
    '0-d': lent(take),
  },
  lifetimes: [
    {
      closed: 'the array is collected',
      left: 'the memory stays',
      async check() {
        const y = adopted(ndarray(Float32Array.of(1, 2, 3, 4, 5, 6), [2, 3]).transpose(1, 0))
        await collect()
        assert.deepEqual(y.toNested(), matrix.transposed)
      },
    },
    {
      closed: 'its buffer is transferred',
      left: '`ScopeClosedError`',
      check() {
        const x = ndarray(new Float32Array(6), [2, 3])
        const y = adopted(x)
        structuredClone(x.data, { transfer: [x.data.buffer] })
        assert.throws(() => y.toArray(), ScopeClosedError)
        assert.throws(() => adopted(x), ArgumentError)
      },
    },
    scopeClosed(take, '`undefined` elements', ({ read, memory }) => {
      assert.deepEqual(
        read(),
        mapNested(matrix.contiguous, () => undefined),
      )
      assert.throws(() => adopted(memory), ArgumentError)
    }),
    pinnedScopeClosed(take),
    tensorCollected(take),
  ],
})
