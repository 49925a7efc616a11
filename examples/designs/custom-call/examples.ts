/** The examples of XLA's document of custom calls, in their order. Those for GPUs are in gpu.ts. */
import assert from 'node:assert/strict'
import { NativeLibrary, type Tensor, tensor } from 'tenon/core'
import { ApiVersion, customCall, f32, registeredFunction } from 'tenon/custom-call'

const last = (values: Tensor): number => Number(values.toArray().at(-1))
const ones = (count: number): Tensor =>
  tensor(
    'f32',
    [count],
    Array.from({ length: count }, () => 1),
  )

export function cpu(directory: string): void {
  NativeLibrary.open(`${directory}/libdo_custom_call.so`)
  const call = registeredFunction('do_custom_call').prepare({
    operands: [f32([128]), f32([2048])],
    results: [f32([2048])],
  })
  const out = tensor('f32', [2048])
  call.run([ones(128), ones(2048)], [out])
  assert.equal(last(out), 2)
  call.close()
}

export function status(directory: string): void {
  NativeLibrary.open(`${directory}/libdo_custom_call.so`)
  const call = registeredFunction('do_checked_call', { apiVersion: ApiVersion.STATUS_RETURNING }).prepare({
    operands: [f32([1])],
    results: [f32([1])],
  })
  assert.throws(() => call.run([tensor('f32', [1], [-1])], [ones(1)]), /An error occurred/)
  call.close()
}

export function tuples(directory: string): void {
  NativeLibrary.open(`${directory}/libdo_custom_call.so`)
  const p0 = [f32([32]), [f32([64]), f32([128])], f32([256])]
  const call = registeredFunction('do_tuple_call').prepare({
    operands: [p0],
    results: [f32([512]), f32([1024])],
    tuples: 'nested',
  })
  const outputs = [tensor('f32', [512]), tensor('f32', [1024])] as const
  call.run([ones(32), ones(64), ones(128), ones(256)], [...outputs])
  assert.deepEqual(
    outputs.map((output) => output.toArray()[0]),
    [2, 2],
  )
  call.close()
}

export function typed(directory: string): void {
  const call = customCall(NativeLibrary.open(`${directory}/libtyped_call.so`), 'do_typed_call')
  const out = call([ones(128), ones(2048)], { results: [f32([2048])] })
  assert.equal(last(out), 2)
}
