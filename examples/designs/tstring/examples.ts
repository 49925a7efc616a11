/** The layouts and rules of TensorFlow's RFC of string tensors, in its order. */
import assert from 'node:assert/strict'
import { StringTensor } from 'tenon/tstring'

export function types(): void {
  const small = StringTensor.from(['small'], { layout: 'rfc16' })
  const large = StringTensor.from(['longer than the fifteen bytes of a struct'], { layout: 'rfc16', storage: 'malloc' })
  const offset = StringTensor.from(['longer than the fifteen bytes of a struct'], { layout: 'rfc16' })
  const prealloc = StringTensor.ofCapacity(1, 64, { layout: 'rfc16' })
  const found = [small, large, offset, prealloc].map((tensor) => tensor.type(0))
  assert.deepEqual(found, ['small', 'large', 'offset', 'prealloc'])
  large.close()
}

export function typeBits(): void {
  const tensor = StringTensor.from(['small'], { layout: 'rfc16' })
  assert.equal(tensor.segment.view().getUint8(0) & 0x03, 0)
}

export function data(): void {
  const moved = StringTensor.from(['a string that lies behind the table'], { layout: 'rfc16' })
  const view = moved.segment.view()
  const offset = view.getUint32(4, true) // from the string itself, not from the start of the tensor
  assert.equal(String.fromCharCode(view.getUint8(offset)), 'a')
}

export function assignment(): void {
  const tensor = StringTensor.from(['small'], { layout: 'rfc16', storage: 'malloc' })
  tensor.set(0, 'a string that exceeds the capacity')
  assert.deepEqual([tensor.type(0), tensor.get(0)], ['large', 'a string that exceeds the capacity'])
  tensor.close()
}

export function sizes(): void {
  const bytes = (layout: 'rfc16' | 'rfc24'): number => StringTensor.from(['x'], { layout }).segment.byteSize
  assert.deepEqual([bytes('rfc16'), bytes('rfc24')], [16, 24])
}
