import { expect, test } from 'vitest'
import { formatSignature, parseSignature, SignatureError } from '../src/index.ts'

function errorOf(text: string): SignatureError {
  try {
    parseSignature('f', text)
  } catch (error) {
    if (error instanceof SignatureError) return error
    throw error
  }
  throw new Error(`${text} is accepted`)
}

/** Wrong texts and the first lines of their messages. The text and a caret follow. */
const rows: readonly (readonly [string, string])[] = [
  ['(x: f23) -> ()', 'column 5: "f23" is not an element type'],
  ['(x: f32 | float32) -> ()', 'column 11: float32 must be listed once'],
  ['() -> (); k: f23', 'column 14: "f23" is not the type of an attribute'],
  ['() -> (); k: bf16', 'column 14: XLA does not have attributes of bfloat16'],
  ['() -> (); k: c64[]', 'column 14: XLA does not have array attributes of complex64'],
  ['() -> (); k: s8 = 300', 'column 19: the default must be s8, got 300'],
  ['() -> (); k: u8 = -1', 'column 19: the default must be u8, got -1'],
  ['() -> (); k: s32 = 1.5', 'column 20: the default must be s32, got 1.5'],
  ['() -> (); k: pred = 1', 'column 21: the default must be pred, got 1'],
  ['() -> (); k: f32 = 1e39', 'column 20: the default must be f32, got 1e39'],
  ['() -> (); k: f32 = "1"', 'column 20: expected a number, got the string "1"'],
  ['() -> (); k: s32[] = [1, 3000000000]', 'column 26: the default must be s32, got 3000000000'],
  ['() -> (); k: c64 = [1]', 'column 20: a complex number must have 2 parts, got 1'],
  ['() -> (); k: enum()', 'column 19: an enum must have at least one string'],
  ['() -> (); k: enum("a", "a")', 'column 24: the enum must have "a" once'],
  ['() -> (); k: enum("a", "b") = "c"', 'column 31: the default must be one of "a", "b", got "c"'],
  ['() -> (); k: dtype = "f23"', 'column 22: "f23" is not an element type'],
  ['() -> (); k: { a: s8 } = 1', 'column 26: a dictionary cannot have a default'],
  ['() -> (); k: dictionary = 1', 'column 27: a dictionary cannot have a default'],
  ['() -> (); k: { a: s8, a: s8 }', 'column 23: a must have one type, got a second'],
  ['() -> (); "": s8', 'column 11: the name of an attribute must not be empty'],
  ['() -> (); k: bytes = [256]', 'column 23: the default must be u8, got 256'],
  ['(x: f32[n*m]) -> ()', 'column 9: x uses n, which no operand and no integer attribute determines'],
  ['(x: f32[n+n]) -> ()', 'column 9: x uses n, which no operand and no integer attribute determines'],
  ['(x: f32[n/2]) -> ()', 'column 9: x uses n, which no operand and no integer attribute determines'],
  ['(x: f32[0*n]) -> ()', 'column 11: x uses n, which no operand and no integer attribute determines'],
  ['(x: f32[k]) -> (y: f32[k+j]); k: f32', 'column 26: y uses j, which no operand and no integer attribute determines'],
  ['(x: f32[..., n, ...]) -> ()', 'column 17: a shape must have at most one "...", got a second'],
  ['(x: f32[...a, n, ...b]) -> ()', 'column 18: a shape must have at most one "...", got a second'],
  ['(x: f32[n]) -> (y: f32[m])', 'column 24: y uses m, which no operand and no integer attribute determines'],
  ['(x: f32[n]) -> (y: f32[..., n])', 'column 24: y uses ..., which no operand has'],
  ['(x: f32[n]) -> (y: f32[...m, n])', 'column 24: y uses ...m, which no operand has'],
  [
    '(x: f32[n]) -> (); where n < m',
    'column 30: the condition uses m, which no operand and no integer attribute determines',
  ],
  ['(x: f32[n]) -> (); temps (t: f32[m])', 'column 34: t uses m, which no operand and no integer attribute determines'],
  ['(x: f32[n]) -> (); temps (t: f32[?])', 'column 27: the type of the temporary t cannot be inferred'],
  ['(x: f32[n]) -> (); temps (t: T[n])', 'column 27: the type of the temporary t cannot be inferred'],
  ['(x: f32[n]) -> (); where T in f32', 'column 26: T is not the element type of a parameter'],
  ['(x: T) -> (); where T in f32, T in f64', 'column 31: T must have one condition "in", got a second'],
  ['(x: f32) -> (); where t in f32', 'column 23: "t" cannot be a variable'],
  ['(x?: f32, z: f32) -> ()', 'column 11: the required operand z cannot follow x?'],
  ['(...x: f32, z: f32) -> ()', 'column 13: z cannot follow ...x'],
  ['(...x: f32, ...z: f32) -> ()', 'column 16: z cannot follow ...x'],
  ['() -> (); temps (t?: f32)', 'column 18: the temporary t must be required'],
  ['(x: f32 @alias(y)) -> (y: f32)', 'column 10: @alias must be on a result, got the operand x'],
  ['(x: f32) -> (y: f32 @alias(z))', 'column 28: @alias must name a required operand, got z'],
  ['(x?: f32) -> (y: f32 @alias(x))', 'column 29: @alias must name a required operand, got x'],
  ['(x: f32) -> (y: f32 @alias(x), z: f32 @alias(x))', 'column 46: x must have one alias, got a second'],
  ['(x: f32) -> (y: f32 @donated)', 'column 22: @donated must be on an operand, got the result y'],
  ['(x: f32 @donated) -> (y: f32)', 'column 2: x is donated, and no result shares its memory'],
  [
    '(x: f32[n, m] @cm) -> (y: f32[n, m] @alias(x))',
    'column 44: y must have the layout of x, because it shares its memory',
  ],
  ['(x: f32) -> (y: f64 @alias(x))', 'column 28: y must have the type of x, because it shares its memory'],
  ['(x: f32[n, 3]) -> (y: f32[n] @alias(x))', 'column 37: y must have the type of x, because it shares its memory'],
  ['(x: f32[n, 3]) -> (y: f32[n, 4] @alias(x))', 'column 40: y must have the type of x, because it shares its memory'],
  ['(t?: token) -> ()', 'column 6: the token t must be a required operand or result'],
  ['(t: token @cm) -> ()', 'column 11: the token t cannot have notes'],
  ['(x: f32 @quick) -> ()', 'column 10: @quick is not a note'],
  ['(x: f32[n] @cm) -> ()', 'column 13: x must have at least 2 axes for @cm, got 1'],
  ['(x: f32[n, m] @layout(0, 0)) -> ()', 'column 16: the layout must have each axis from 0 once'],
  ['(x: f32[n, m] @layout(0, 1, 2)) -> ()', 'column 16: the layout of x must have 2 axes, got 3'],
  ['(x: f32[n, m] @cm @layout(0, 1)) -> ()', 'column 20: x must have one layout, got a second'],
  ['(x: f32, x: f32) -> ()', 'column 10: x is the name of two parameters'],
  ['(x: f32) -> (x: f32)', 'column 14: x is the name of two parameters'],
  ['(x: f32) -> (); x: s8', 'column 17: x is the name of two parameters'],
  ['() -> (); stages (execute: a)', 'column 19: "execute" is not a stage'],
  ['() -> (); stages (prepare: a, prepare: b)', 'column 31: the stage prepare must have one handler, got a second'],
  ['(x: f32) -> (y: f32); packed (x)', 'column 23: packed must name y, which it leaves out'],
  [
    '(x: f32) -> (y: f32); packed (x, y, z)',
    'column 37: packed must name each operand, result and attribute once, got z',
  ],
  [
    '(x: f32) -> (y: f32); packed (x, y, x)',
    'column 37: packed must name each operand, result and attribute once, got x',
  ],
  ['', 'column 1: expected "(", got the end of the text'],
  ['(x: f32', 'column 8: expected "," or ")", got the end of the text'],
  ['(x f32) -> ()', 'column 4: expected ":", got "f32"'],
  ['(x: f32) - ()', 'column 10: expected "->", got "-"'],
  ['(x: f32[n) -> ()', 'column 10: expected "," or "]", got ")"'],
  ['(x: f32[n m]) -> ()', 'column 11: expected "," or "]", got "m"'],
  ['(x: f32) -> () temperature: f32', 'column 16: expected ";", "--" or the end of the text, got "temperature"'],
  ['(x: f32) -> (); where', 'column 22: expected a size, got the end of the text'],
  ['(x: f32) -> (); k', 'column 18: expected ":", got the end of the text'],
  ['(x: f32§) -> ()', 'column 8: "§" is not part of the language'],
  ["() -> (); a: string = 'x", 'column 23: the string has no closing quote'],
  ["() -> (); a: string = '\\q'", 'column 24: the escape sequence is unknown'],
  ['(x: f32[1.5]) -> ()', 'column 9: a size must be a whole number from 0 to 2^53 - 1, got 1.5'],
  [
    '(x: f32[9007199254740992]) -> ()',
    'column 9: a size must be a whole number from 0 to 2^53 - 1, got 9007199254740992',
  ],
  ['(x: f32) -> (); async; async', 'column 24: a signature must have one clause "async", got a second'],
  [
    '(x?: f32, ...y?: f32) -> ()',
    'column 15: expected ":", because ...y takes any number of tensors, also none, got "?"',
  ],
]

test.each(rows)('%s is refused with the column and the reason', (text, message) => {
  const error = errorOf(text)
  const [first, shown, caret] = error.sentence.split('\n')
  expect(first).toBe(message)
  expect(shown).toBe(`  ${text}`)
  expect(caret).toBe(`${' '.repeat(1 + error.column)}^`)
  expect(error.details).toMatchObject({ column: error.column })
})

test('a long text is shown around the column', () => {
  const [, shown, caret] = errorOf(`(${'x'.repeat(200)}: f23) -> (${'y'.repeat(200)}: f32)`).sentence.split('\n')
  expect(shown).toBe(`  ... ${'x'.repeat(48)}: f23) -> (${'y'.repeat(41)} ...`)
  expect(caret).toBe(`${' '.repeat(56)}^`)
})

test('control characters do not break the lines of a message', () => {
  const { sentence } = errorOf('(x: f32)\n->\t\u0007 ()')
  expect(sentence).toBe('column 13: "\\u0007" is not part of the language\n  (x: f32) ->   ()\n              ^')
})

test('control characters of a hostile text do not reach a terminal', () => {
  expect(errorOf('() -> () -- a\u001b[2J').sentence).toContain('column 14: the documentation has a control character')
  const form = parseSignature('f', "() -> (); a: string = '\u001b\u009b', b: enum('\u007f')")
  const text = String.raw`() -> (); a: string = "\u001b\u009b", b: enum("\u007f")`
  expect(formatSignature(form)).toBe(text)
  expect(parseSignature('f', text)).toEqual(form)
  expect(errorOf("() -> (); b: enum('a') = '\u009b'").sentence).not.toMatch(/\u009b/)
})

test('a text has at most 65536 bytes of UTF-8', () => {
  const doc = '() -> () -- '
  const rest = 65_536 - doc.length
  expect(parseSignature('f', doc + 'é'.repeat(rest / 2)).doc).toHaveLength(rest / 2)
  expect(errorOf(`${doc}${'é'.repeat(rest / 2)}x`).message).toContain('must have at most 65536 bytes, got 65537')
})

test('a signature has at most 256 parameters and 256 attributes', () => {
  const list = (count: number, type: string): string => Array.from({ length: count }, (_, i) => `p${i}: ${type}`).join()
  expect(parseSignature('f', `(${list(256, 'f32')}) -> ()`).operands).toHaveLength(256)
  expect(errorOf(`(${list(256, 'f32')}) -> (y: f32)`).sentence).toContain('at most 256 parameters, got 257')
  expect(parseSignature('f', `() -> (); ${list(256, 's8')}`).attributes).toHaveLength(256)
  expect(errorOf(`() -> (); d: { ${list(256, 's8')} }`).sentence).toContain('at most 256 attributes, got more')
})

test('a text nests at most 32 levels', () => {
  const parentheses = (levels: number): string => `(x: u8[${'('.repeat(levels)}n${')'.repeat(levels)}]) -> ()`
  expect(parseSignature('f', parentheses(32)).operands[0]?.shape).toEqual(['n'])
  expect(errorOf(parentheses(33)).sentence).toContain('at most 32 levels')
  const sum = (levels: number): string => `(x: u8[n${'+1'.repeat(levels)}]) -> ()`
  expect(parseSignature('f', sum(32)).operands).toHaveLength(1)
  expect(errorOf(sum(33)).sentence).toContain('at most 32 levels')
  const dictionaries = (levels: number): string => `() -> (); a: ${'{ a: '.repeat(levels)}s8${' }'.repeat(levels)}`
  expect(parseSignature('f', dictionaries(32)).attributes).toHaveLength(1)
  expect(errorOf(dictionaries(33)).sentence).toContain('at most 32 levels')
})

test.each([
  ['parentheses', '(x: u8[', '('],
  ['operators', '(x: u8[n', '+n'],
  ['quotes', '', '"'],
  ['backslashes', '() -> (); a: string = "', '\\'],
  ['a name', '(', 'a'],
  ['element types', '(x: ', 'f32|'],
  ['attributes', '() -> (); ', 'a:s8,'],
  ['operands', '(', 'a:u8,'],
  ['sizes', '(x: u8[', '?,'],
  ['conditions', '() -> (); where ', '1<2,'],
  ['digits', '() -> (); a: u64 = ', '9'],
  ['dictionaries', '() -> (); a: ', '{a:'],
  ['functions', '(x: u8[n, ', 'min('],
  ['spaces', '', ' '],
  ['surrogates', '', '\ud83d'],
])('64 KiB of %s are read in linear time', (_what, start, part) => {
  const text = start + part.repeat((65_536 - start.length) / part.length)
  expect(errorOf(text)).toBeInstanceOf(SignatureError)
})

test('arguments of other types are refused', () => {
  expect(() => parseSignature('', '() -> ()')).toThrow('name must be a string, not empty')
  expect(() => parseSignature('f', 1 as never)).toThrow('text must be the text of a signature, got 1')
  expect(() => parseSignature('f', '() -> ()', { convention: 'fast' as never })).toThrow(
    'convention must be one of typed',
  )
  expect(() => parseSignature('f', '() -> ()', { from: 'x' } as never)).toThrow('must not have the option "from"')
})

test('every name of an element type is accepted, and written in its short form', () => {
  const { operands } = parseSignature('f', '(a: float32, b: pred, c: bool, d: i64, e: uint8, f: bfloat16) -> ()')
  expect(operands.map(({ dtypes }) => dtypes[0])).toEqual(['float32', 'bool', 'bool', 'int64', 'uint8', 'bfloat16'])
  const { attributes } = parseSignature('f', '() -> (); a: float32, b: bool, c: i64[], d: complex64')
  expect(attributes.map(({ type }) => type)).toEqual(['f32', 'pred', 's64[]', 'c64'])
})

test('words of the language are names of parameters, sizes and attributes', () => {
  const text = '(where: f32[min, max, in], token: f32[any]) -> (cm: f32[min]); async: s8, where2?: s8, temps: f32'
  const form = parseSignature('f', text)
  expect(form.attributes.map(({ name }) => name)).toEqual(['async', 'where2', 'temps'])
  expect(form.isAsync).toBe(false)
})
