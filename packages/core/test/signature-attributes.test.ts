import { expect, test } from 'vitest'
import { ArgumentError, gcAllocator, parseSignature, tensor } from '../src/index.ts'
import { resolveAttributes } from '../src/internal.ts'

const signature = parseSignature(
  'all',
  `() -> (); flag?: pred, tiny?: s8, wide?: u64, half?: f32, wave?: c64, axes?: s32[], weights?: f64[], label?: string,
    raw?: bytes, at?: pointer, to?: dtype, extra?: dictionary, mode: enum("fast", "exact") = "fast",
    window?: { size: s32, stride: s32 = 1 }`,
)

function errorOf(attributes: unknown): ArgumentError {
  try {
    resolveAttributes(signature, attributes)
  } catch (error) {
    if (error instanceof ArgumentError) return error
    throw error
  }
  throw new Error('the attributes are accepted')
}

const transferred = new Float64Array(2)
structuredClone(transferred, { transfer: [transferred.buffer] })

/** Wrong attributes, each with its message and its hint. */
const rows: readonly (readonly [unknown, string, string])[] = [
  [{ flag: 1 }, 'flag of all must be pred, got 1', 'Pass true or false.'],
  [{ tiny: 300 }, 'tiny of all must be s8, got 300', 'Pass a whole number from -128 to 127.'],
  [{ tiny: '3' }, 'tiny of all must be s8, got "3"', 'Pass a whole number from -128 to 127.'],
  [
    { wide: -1n },
    'wide of all must be u64, got -1n',
    'Pass a whole number from 0 to 2^64 - 1, as a bigint beyond 2^53 - 1.',
  ],
  [{ half: 1n }, 'half of all must be f32, got 1n', 'Pass a number.'],
  [
    { wave: [1] },
    'wave of all must be c64, got an array of length 1',
    'Pass a number, or an array of the real and the imaginary part.',
  ],
  [{ wave: [1, 'i'] }, 'wave[1] of all must be f32, got "i"', 'Pass a number.'],
  [
    { axes: 3 },
    'axes of all must be s32[], got 3',
    'Pass an array of whole numbers from -2147483648 to 2147483647, or an Int32Array.',
  ],
  [{ axes: [0, 1.5] }, 'axes[1] of all must be s32, got 1.5', 'Pass a whole number from -2147483648 to 2147483647.'],
  [
    { axes: new Float32Array(2) },
    'axes of all must be s32[], got Float32Array(2)',
    'Pass an array of whole numbers from -2147483648 to 2147483647, or an Int32Array.',
  ],
  [
    { weights: transferred },
    'weights of all must be f64[], got an array whose buffer was transferred',
    'Copy the values before the buffer is transferred.',
  ],
  [{ label: 5 }, 'label of all must be a string, got 5', 'Pass a string.'],
  [{ label: '\ud800' }, 'label of all must be a string, got a string with a lone surrogate', 'Pass well-formed text.'],
  [
    { extra: 'text' },
    'extra of all must be a dictionary, got "text"',
    'Pass an object with the attributes of the dictionary.',
  ],
  [
    { raw: [1, 2] },
    'raw of all must be bytes, got an array of length 2',
    'Pass a Uint8Array, or a string, which is encoded as UTF-8.',
  ],
  [{ at: 4096 }, 'at of all must be a pointer, got 4096', 'Pass a tensor, a segment, or an address as a bigint.'],
  [{ to: 'f23' }, 'to of all must be the name of an element type, got "f23"', 'Did you mean f32?'],
  [
    { to: 11 },
    'to of all must be the name of an element type, got 11',
    'Pass the name of an element type, for example "float32".',
  ],
  [
    { extra: new Map() },
    'extra of all must be a dictionary, got an object of class Map',
    'Pass an object with the attributes of the dictionary.',
  ],
  [{ mode: 'exat' }, 'mode of all must be one of "fast", "exact", got "exat"', 'Did you mean exact?'],
  [{ mode: 2 }, 'mode of all must be one of "fast", "exact", got 2', 'Pass one of the strings.'],
  [{ window: 3 }, 'window of all must be a dictionary, got 3', 'Pass an object, for example { size: 1 }.'],
  [{ window: {} }, 'window.size of all must be s32, got no value', 'Pass window.size, for example 1.'],
  [{ window: { size: 3, strde: 2 } }, 'window of all does not have an attribute named strde', 'Did you mean stride?'],
  [
    { window: { size: 3, stride: 2 ** 31 } },
    'window.stride of all must be s32, got 2147483648',
    'Pass a whole number from -2147483648 to 2147483647.',
  ],
]

test.each(rows)('wrong attributes are explained, number %#', (attributes, sentence, hint) => {
  const error = errorOf(attributes)
  expect({ sentence: error.sentence, hint: error.hint }).toEqual({ sentence, hint })
  expect(error.details).toMatchObject({ path: expect.any(String) as string, expected: expect.anything() as unknown })
  expect(error.details).toHaveProperty('received')
})

test('the message of an attribute with a type names both types', () => {
  const softmax = parseSignature('softmax', '(x: f32[n]) -> (y: f32[n]); temperature: f32 = 1')
  const readTyped = (value: unknown): { type: string; value: unknown } => ({ type: 'f64', value })
  expect(() => resolveAttributes(softmax, { temperature: 2 }, readTyped)).toThrow(
    [
      'temperature of softmax must be f32, got an attribute of f64',
      'Hint: Pass a plain value, for example 0.5, or an attribute of f32.',
    ].join('\n'),
  )
})

test('attributes are plain values of their types, with defaults', () => {
  const at = gcAllocator.allocate(8)
  const text = `() -> (); flag: pred, tiny: s8, wide: u64, half: f32, wave: c64, axes: s32[], label: string, raw: bytes,
    at: pointer, to: dtype, extra: dictionary, mode: enum("fast", "exact") = "exact", ids: s64[] = [1, 2], none?: f32,
    window: { size: s32, stride: s32 = 1 }, start: c128 = 2`
  const extra = { any: 1 }
  const given = {
    ...{ flag: true, tiny: -5n, wide: 7, half: -0, wave: 1, axes: [1, 2n], label: 'é', raw: 'é', at, to: 'f32', extra },
    ...{ window: { size: 3 }, none: undefined },
  }
  expect(resolveAttributes(parseSignature('all', text), given)).toEqual({
    ...{ flag: true, tiny: -5, wide: 7n, half: -0, wave: [1, 0], axes: new Int32Array([1, 2]), label: 'é', at, extra },
    ...{ raw: new Uint8Array([0xc3, 0xa9]), to: 'float32', mode: 'exact', ids: new BigInt64Array([1n, 2n]) },
    ...{ window: { size: 3, stride: 1 }, start: [2, 0] },
  })
})

test('a pointer is a segment, a tensor or an address, and is returned as it is', () => {
  const x = tensor('f32', [2])
  expect(resolveAttributes(signature, { at: x })['at']).toBe(x)
  expect(resolveAttributes(signature, { at: 4096n })['at']).toBe(4096n)
})

test('each value is read once', () => {
  const reads: string[] = []
  const watched = <Value extends object>(name: string, target: Value): Value =>
    new Proxy(target, {
      get(of, key, receiver) {
        if (typeof key === 'string' && key !== 'length') reads.push(`${name}.${key}`)
        return Reflect.get(of, key, receiver) as unknown
      },
    })
  const axes = watched('axes', [1, 2])
  const attributes = watched('all', { tiny: 1, axes, window: watched('window', { size: 3 }) })
  expect(resolveAttributes(signature, attributes)).toMatchObject({
    axes: new Int32Array([1, 2]),
    window: { stride: 1 },
  })
  expect(reads).toEqual(['all.tiny', 'all.axes', 'all.window', 'axes.0', 'axes.1', 'window.size'])
})

test('the names of built-in properties are names of attributes', () => {
  const form = parseSignature('f', '() -> (); __proto__: s8, constructor?: s8, toString: { valueOf: s8 = 2 }')
  const given = JSON.parse('{ "__proto__": 1, "toString": {} }') as unknown
  const resolved = resolveAttributes(form, given)
  expect(Object.entries(resolved)).toEqual([
    ['__proto__', 1],
    ['toString', { valueOf: 2 }],
  ])
  expect(() => resolveAttributes(form, { toString: {} })).toThrow('__proto__ of f must be s8, got no value')
})
