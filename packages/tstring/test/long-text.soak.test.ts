import { expect, it } from 'vitest'
import { StringTensor, TensorLimitError } from '../src/index.ts'

const isSoak = process.env['TENON_SOAK'] === '1'

// Each use of half a gibibyte takes seconds on some machines, so one run tries one of them.
it('a string that JavaScript cannot have is reported with its index', { timeout: 300_000 }, () => {
  const size = 2 ** 29
  const bytes = new Uint8Array(16 + size)
  new Uint32Array(bytes.buffer, 0, 4).set([2, 16, 16, 16 + size])
  const tensor = StringTensor.ofSegment(bytes, { layout: 'tflite' })
  const uses = [() => tensor.get(1), () => tensor.toArray(), () => tensor.toArray({ slices: true })]
  for (const use of isSoak ? uses : uses.slice(Math.floor(Math.random() * uses.length)).slice(0, 1)) {
    expect(use).toThrow(/element 1 must have at most \d+ characters .* got 536870912 bytes\n.*bytes\(\)/)
  }
  expect(() => tensor.get(1, { invalid: 'latin1' })).toThrow(TensorLimitError)
  expect([tensor.byteLength(1), tensor.bytes(1)[0]]).toEqual([size, 0])
})
