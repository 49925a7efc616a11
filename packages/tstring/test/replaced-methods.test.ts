import { constants } from 'node:buffer'

import { ArgumentRangeError } from '@tenon/core'
import { expect, test } from 'vitest'
import { StringTensor, TensorLimitError } from '../src/index.ts'

type Method = (...parameters: never[]) => unknown

const methods = Buffer.prototype as unknown as { utf8Slice: Method; utf8Write: Method }

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

test('a string that the engine cannot make is reported with its index and its size', () => {
  const tensor = StringTensor.from(['a', 'é'.repeat(50)])
  const before = methods.utf8Slice
  methods.utf8Slice = () => {
    throw new RangeError('Cannot create a string longer than 0x1fffffe8 characters')
  }
  try {
    expect(() => tensor.get(1)).toThrow(TensorLimitError)
    expect(() => tensor.get(1)).toThrow(
      expect.objectContaining({ details: { index: 1, value: 100, limit: constants.MAX_STRING_LENGTH } }),
    )
  } finally {
    methods.utf8Slice = before
  }
})
