import { inspect } from 'node:util'
import { expect, it } from 'vitest'
import { tensor } from '@tenon/core'
import { kernelLibrary } from '@tenon/kernels'
import {
  accept,
  callLegacy,
  dataType,
  device,
  float,
  getGlobal,
  int,
  legacyFunc,
  Module,
  type NativeObject,
  OpaquePointer,
  packedFunc,
  rvalue,
  shape,
  t,
  tensorView,
  type TVMArgs,
} from '../src/index.ts'
import { kernel } from './support.ts'

const path = kernelLibrary('packed')
const array = kernel('echo')([1, 2]) as NativeObject
const closed = kernel('echo')(new Map()) as NativeObject
closed.close()
const x = tensor('float32', [2], [1, 2])
let args: TVMArgs | undefined
legacyFunc((given) => {
  args = given
})(3, 'text', null)

it.each<[string, object, string]>([
  ['PackedFunc', kernel('echo'), '[ffi.Function echo]'],
  ['NativeArray', array, '[ffi.Array]'],
  ['NativeMap, closed', closed, '[ffi.Map, closed]'],
  ['NativeShape', shape([2, 3]), '[ffi.Shape]'],
  ['NativeObject', getGlobal('ffi.GetInvalidObject')() as NativeObject, '[ffi.Object]'],
  ['Module', Module.open(path), `Module ${path}`],
  ['FloatValue', float(2), 'float(2)'],
  ['IntValue', int(2n), 'int(2)'],
  ['DataType', dataType('float16x2'), 'float16x2'],
  ['DeviceValue', device('cuda:1'), 'cuda:1'],
  ['OpaquePointer', new OpaquePointer(0xabcn), 'OpaquePointer 0xabc'],
  ['RValue', rvalue(array), 'rvalue([ffi.Array])'],
  ['TensorView', tensorView(x), 'tensorView(Tensor float32[2] [1, 2])'],
  ['TVMArgs', args!, 'TVMArgs(int 3, str "text", NULL null)'],
  ['TVMArgValue', args!.at(0), 'TVMArgValue(int 3)'],
  ['TVMRetValue', callLegacy(packedFunc(() => 1.5)), 'TVMRetValue(float 1.5)'],
  ['a type', t.optional(t.array(t.int32)), 'Optional<Array<int32>>'],
  ['an acceptor', accept.map(accept.str, accept.int), 'Map<str, int>'],
])('%s prints in one line', (_, value, text) => {
  expect(inspect(value)).toBe(text)
  expect(inspect({ value }, { breakLength: Infinity })).toBe(`{ value: ${text} }`)
})

it('typed functions print their names', () => {
  const sum = kernel('sum')
  expect(inspect(sum.typed([t.int], t.int, 'sum'))).toBe('[ffi.Function sum]')
  expect(inspect(sum.typed([t.int, t.int, t.int, t.int], t.int))).toBe('[ffi.Function sum]')
  expect(inspect(sum.with({}))).toBe('[ffi.Function sum]')
  expect(inspect(sum.with({ signal: new AbortController().signal }))).toBe('[ffi.Function sum] with a signal')
})
