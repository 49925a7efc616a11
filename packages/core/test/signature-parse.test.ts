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

test('strings are an element type with a layout, which is tf if the text does not name one', () => {
  const signature = parseSignature(
    'words',
    '(text: string[n], lite: string<tflite>) -> (same: string<rfc16>[n], count: s64)',
  )
  expect(formatSignature(signature)).toBe(
    '(text: string[n], lite: string<tflite>) -> (same: string<rfc16>[n], count: s64)',
  )
  expect(signature.operands).toMatchObject([
    { name: 'text', stringLayout: 'tf', dtypes: ['uint8'], shape: ['n'] },
    { name: 'lite', stringLayout: 'tflite', shape: [] },
  ])
  expect(signature.isComplete).toBe(true)
})

test.each([
  ['(text: string<tf8>[n]) -> ()', 'column 15: "tf8" is not a layout of strings'],
  ['(text: string<>) -> ()', 'column 15: expected the layout of the strings, got ">"'],
  ['(text: string<tf[n]) -> ()', 'column 17: expected ">", got "["'],
  ['(text: string[n] @donated) -> ()', 'column 18: text cannot have notes, because its elements are strings'],
  [
    '(x: f32[n]) -> (y: string<tflite>[n])',
    'column 20: a result must not be string<tflite>, whose size depends on its strings',
  ],
  ['(x: f32[n]) -> (y?: string[n])', 'column 17: the result y must be required, because its elements are strings'],
  [
    '(x: f32[n]) -> (); temps (t: string[n])',
    'column 30: a temporary must not have strings, which the kernel could not free',
  ],
  ['(t: string[n] | f32[n]) -> ()', 'column 15: expected "," or ")", got "|"'],
  ['(t: string) -> (u: u8 @alias(t))', 'column 30: u must have the type of t, because it shares its memory'],
])('the signature %s is refused', (text, sentence) => {
  expect(() => parseSignature('words', text)).toThrow(sentence)
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
