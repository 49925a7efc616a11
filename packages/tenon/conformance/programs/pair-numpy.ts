import assert from 'node:assert/strict'
import { ReadOnlyError, type Tensor, tensor } from 'tenon'
import { NativeScope } from 'tenon/scope'
import { checkDlpack } from './dlpack-pair.ts'
import { evaluate, offer, python, takeOver } from './python.ts'
import { checkMask } from './xgrammar-mask.ts'

const names = [
  'int8',
  'int16',
  'int32',
  'int64',
  'uint8',
  'uint16',
  'uint32',
  'uint64',
  'float16',
  'float32',
  'float64',
]
const types = [...names, 'complex64', 'complex128', 'bool'] as const

/** A tensor that must not be written. */
function sealed(): Tensor<'float32'> {
  const memory = NativeScope.ofConfined().allocate(8, 4)
  tensor('f32', [2], memory).set([1, 2])
  return tensor('f32', [2], memory.asReadOnly())
}

const xgrammar = process.env['TENON_XGRAMMAR_LIBRARY']

await checkDlpack({
  setup: 'import numpy as np',
  whole: `np.array([[1, 2, 3], [4, 5, 6]], dtype='f4')`,
  scalar: `np.array(5, dtype='f4')`,
  reversed: 'x[:, ::-1]',
  reverses: false,
  addressOf: (name) => `${name}.ctypes.data`,
  fromDlpack: 'np.from_dlpack',
  types: Object.fromEntries(types.map((name) => [name, name])) as never,
  zeros: (type) => `np.zeros(2, dtype='${type}')`,
  others: {
    ...(xgrammar === undefined ? {} : { 'xgrammar fills a bitmask of NumPy': () => checkMask(xgrammar) }),
    'a read-only array is a read-only tensor, and the other way'() {
      python('x = np.zeros(2)\nx.flags.writeable = False')
      assert.throws(() => (takeOver('x') as Tensor).set([1, 2]), ReadOnlyError)
      const x = sealed()
      assert.equal(evaluate(`np.from_dlpack(${offer(x)}).flags.writeable`), false)
      assert.equal(evaluate(`np.from_dlpack(${offer(tensor([1, 2]))}).flags.writeable`), true)
    },
    'a copy of a read-only tensor may be written'() {
      const x = sealed()
      python(`x = np.from_dlpack(${offer(x, { copy: true })})\nx[0] = 7`)
      assert.deepEqual(evaluate('x.tolist()'), [7, 2])
      assert.deepEqual(x.toArray(), [1, 2])
    },
    'the older struct'() {
      python(`x = np.array([1, 2], dtype='f4')`)
      assert.deepEqual((takeOver('x', false) as Tensor).toArray(), [1, 2])
    },
    'an array on its way back is the same memory'() {
      python(`x = np.array([1, 2], dtype='f4')`)
      assert.equal(evaluate(`np.from_dlpack(${offer(takeOver('x') as Tensor)}).ctypes.data == x.ctypes.data`), true)
    },
  },
})
