import { expect, test } from 'vitest'
import { formatSignature, parseSignature, SignatureError } from '../src/index.ts'
import { TEXTS } from './signature-fixture.ts'

test.each(TEXTS)('rule 11: %s is written as it was read', (text) => {
  const signature = parseSignature('kernel', text)
  expect(formatSignature(signature)).toBe(text)
  expect(parseSignature('kernel', formatSignature(signature))).toEqual(signature)
})

test('rule 19: an error has the column, the text and a caret', () => {
  let error: unknown
  try {
    parseSignature('f', '(x: f32[n]) -> (y: f32[m])')
  } catch (thrown) {
    error = thrown
  }
  expect(error).toBeInstanceOf(SignatureError)
  expect(error).toMatchObject({ column: 24, code: 'TENON_SIGNATURE' })
  expect((error as SignatureError).sentence).toBe(
    [
      'column 24: y uses m, which no operand and no integer attribute determines',
      '  (x: f32[n]) -> (y: f32[m])',
      '                         ^',
    ].join('\n'),
  )
})
