import { ArgumentRangeError } from '@tenon/core'
import { expect, test } from 'vitest'
import { StringTensor } from '../src/index.ts'

const methods = Buffer.prototype as unknown as { utf8Write: (...parameters: never[]) => unknown }

const many = Array.from({ length: 40 }, (_, i) => `é${'x'.repeat(i)}`)

const uses: Readonly<Record<string, () => StringTensor>> = {
  'in an arena': () => StringTensor.from(many),
  'with a very long string in an arena': () => StringTensor.from(Array<string>(33).fill('é'.repeat(100_000))),
  'in malloc blocks': () => StringTensor.from(many, { storage: 'malloc' }),
  'packed for another layout': () => StringTensor.from(many, { layout: 'rfc16' }),
  'of TensorFlow Lite': () => StringTensor.from(many, { layout: 'tflite' }),
}

// The sizes became those of the elements, and reading them ended the process.
test.each(Object.entries(uses))('strings %s are refused while utf8Write() returns wrong sizes', (_, use) => {
  const before = methods.utf8Write
  for (const size of [-1, 2 ** 20, 2 ** 31, 2 ** 32, 2 ** 53, NaN, 1.5, '8', undefined]) {
    methods.utf8Write = () => size
    try {
      expect(use).toThrow(ArgumentRangeError)
    } finally {
      methods.utf8Write = before
    }
  }
  expect(use().toArray()[5]).toBe(use().get(5))
})
