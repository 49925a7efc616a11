/** The examples of the document of TVM's runtime, and of the quick start of tvm-ffi, in their order. That for CUDA is in gpu.ts. */
import assert from 'node:assert/strict'
import { tensor } from 'tenon'
import { getGlobal, Module, packedFunc, registerGlobal, removeGlobal } from 'tenon/packed-func'

export function callPacked(): void {
  const myadd = packedFunc((a: number, b: number) => a + b)
  const c = myadd(1, 2)
  assert.equal(c, 3)
}

export function getGlobalFunc(directory: string): void {
  registerGlobal('myadd', Module.open(`${directory}/libmy_add.so`).get('my_add'))
  const myadd = getGlobal('myadd')
  assert.equal(myadd(1, 2), 3)
  removeGlobal('myadd')
}

export function callHello(directory: string): void {
  const printed: string[] = []
  const callback = (msg: string): void => void printed.push(msg)

  const f = packedFunc(callback)
  const callhello = Module.open(`${directory}/libmy_add.so`).get('callhello')
  callhello(f)
  assert.deepEqual(printed, ['hello world'])
}

interface TensorNode {
  readonly shape: Iterable<number>
  readonly dtype: object
  readonly op: { readonly name: string }
  readonly value_index: number
}

export function placeholder(directory: string): void {
  const te = Module.open(`${directory}/libobjects.so`)
  const x = te.get('placeholder')([3, 4], 'x') as unknown as TensorNode
  assert.equal(x.op.name, 'x')
  assert.deepEqual([[...x.shape], String(x.dtype), x.value_index], [[3, 4], 'float32', 0])
}

export function loadModule(directory: string): void {
  const mod = Module.open(`${directory}/libmy_add.so`)

  const x = tensor('f32', [5], [1, 2, 3, 4, 5])
  const y = tensor('f32', [5])

  mod.get('add_one_cpu')(x, y)
  assert.deepEqual(y.toArray(), [2, 3, 4, 5, 6])
}

export function callAddOne(directory: string): void {
  const [x, y] = [tensor('f32', [1], [1]), tensor('f32', [1])]
  const mod = Module.open(`${directory}/libmy_add.so`)
  const addOneCpu = mod.get('add_one_cpu')
  addOneCpu(x, y)
  assert.deepEqual(y.toArray(), [2])
}

export function addOneC(directory: string): void {
  const [x, y] = [tensor('f32', [2], [1, 2]), tensor('f32', [2])]
  Module.open(`${directory}/libadd_one_c.so`).get('add_one_c')(x, y)
  assert.deepEqual(y.toArray(), [2, 3])
}
