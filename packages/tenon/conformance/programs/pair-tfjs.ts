import assert from 'node:assert/strict'
import * as tf from '@tensorflow/tfjs-core'
import { MathBackendCPU } from '@tensorflow/tfjs-backend-cpu'
import { ArgumentError, type Tensor } from 'tenon'
import {
  adopted,
  afterCopy,
  checkPair,
  collect,
  flat,
  inPlace,
  lent,
  mapNested,
  matrix,
  nest,
  pinnedScopeClosed,
  reordered,
  scopeClosed,
  tensorCollected,
} from './pair.ts'

await tf.setBackend('cpu')
assert.ok(tf.backend() instanceof MathBackendCPU)
const whole = tf.tensor2d(flat(matrix.contiguous), [2, 3])
const given = (x: tf.Tensor): { x: tf.Tensor; memory: Float32Array } => ({ x, memory: x.dataSync() as Float32Array })

/** Tenon's memory as a tensor of the backend. */
function take(t: Tensor): { read(): unknown; memory: Float32Array } {
  const x = tf.tensor(t.view() as Float32Array, [...t.shape])
  const read = (): unknown => {
    const y = tf.add(x, 0)
    return nest(y.dataSync(), y.shape)
  }
  return { read, memory: x.dataSync() as Float32Array }
}

await checkPair({
  values: matrix,
  toTenon: {
    contiguous: inPlace(() => given(whole)),
    transposed: reordered(() => given(tf.transpose(whole))),
    sliced: reordered(() => given(tf.slice(whole, [0, 1], [2, 2]))),
    reversed: reordered(() => given(tf.reverse(whole, 1))),
    'no elements': inPlace(() => given(tf.zeros([0, 3]))),
    '0-d': inPlace(() => given(tf.scalar(5))),
  },
  fromTenon: {
    contiguous: lent(take),
    transposed: afterCopy(take),
    sliced: afterCopy(take),
    'no elements': lent(take),
    '0-d': lent(take),
  },
  lifetimes: [
    {
      closed: '`dispose()` of the tensor',
      left: 'the memory stays',
      async check() {
        const x = tf.clone(tf.tensor1d([1, 2, 3]))
        const y = adopted(x)
        x.dispose()
        await collect()
        assert.deepEqual(y.toArray(), [1, 2, 3])
        assert.throws(() => adopted(x), /disposed/)
      },
    },
    {
      closed: 'the backend is removed',
      left: 'the memory stays',
      async check() {
        const y = adopted(tf.tensor1d([1, 2, 3]))
        tf.removeBackend('cpu')
        await collect()
        assert.deepEqual(y.toArray(), [1, 2, 3])
      },
    },
    scopeClosed(take, 'NaN', ({ read, memory }) => {
      assert.deepEqual(
        read(),
        mapNested(matrix.contiguous, () => NaN),
      )
      assert.throws(() => adopted(memory), ArgumentError)
    }),
    pinnedScopeClosed(take),
    tensorCollected(take),
  ],
})
