import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { formatSignature, parseSignature, SignatureError } from '../src/index.ts'
import { TEXTS } from './signature-fixture.ts'

test.each(TEXTS)('%s is written as it was read', (text) => {
  const signature = parseSignature('kernel', text)
  expect(formatSignature(signature)).toBe(text)
  expect(parseSignature('kernel', formatSignature(signature))).toEqual(signature)
})

test('an error has the column, the text and a caret', () => {
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

test('strings are an element type only where the caller allows it', () => {
  const text = '(text: string[n]) -> (same: string[n], count: s64)'
  const signature = parseSignature('words', text, { strings: true })
  expect(formatSignature(signature)).toBe(text)
  expect(signature.operands).toMatchObject([{ name: 'text', isString: true, dtypes: ['uint8'], shape: ['n'] }])
  expect(signature.isComplete).toBe(true)
  expect(() => parseSignature('words', text)).toThrow('"string" is not an element type')
  expect(() => parseSignature('words', '(text: string[n] @donated) -> ()', { strings: true })).toThrow(
    'text cannot have notes, because its elements are strings',
  )
})

test('a signature prints as one line', () => {
  const signature = parseSignature('add', '(a: f32[n]) -> (b: f32[n]) -- First.\nSecond.')
  expect(inspect(signature)).toBe('add(a: f32[n]) -> (b: f32[n]) -- First. Second.')
  expect(structuredClone(signature)).toEqual(signature)
})

test('a signature has the convention and the source that the caller passes', () => {
  expect(parseSignature('f', '() -> ()')).toMatchObject({ convention: 'typed', source: 'option' })
  const options = { convention: 'packed', source: 'sidecar' } as const
  expect(parseSignature('f', '() -> ()', options)).toMatchObject(options)
})
