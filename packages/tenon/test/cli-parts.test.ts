import { dtypes, tensor, type Element } from '@tenon/core'
import { array, f32, f64, pred, s64, str, u8 } from '@tenon/custom-call'
import { describe, expect, test } from 'vitest'
import { parseArguments } from '../src/cli/arguments.ts'
import { parseAttribute } from '../src/cli/attribute-spec.ts'
import { formatTensor } from '../src/cli/format-tensor.ts'
import { suggest } from '@tenon/core/internal'
import type { Definition } from '../src/cli/definition.ts'
import { parseResultSpec } from '../src/cli/tensor-spec.ts'
import { UsageError } from '../src/cli/usage-error.ts'

function usageError(action: () => unknown): UsageError {
  try {
    action()
  } catch (error) {
    expect(error).toBeInstanceOf(UsageError)
    return error as UsageError
  }
  throw new Error('nothing was thrown')
}

describe('parseArguments', () => {
  const definition = {
    library: { type: 'positional' },
    arg: { type: 'string', repeatable: true, valueHint: 'file' },
    repeat: { type: 'string' },
    abi: { type: 'enum', options: ['typed', 'host'] },
    json: { type: 'boolean' },
    'grpc-port': { type: 'string' },
    'http-port': { type: 'string' },
    host: { type: 'string' },
  } as const satisfies Definition
  const help = 'Run tenon x --help for the list.'

  test('returns the values of repeatable flags in order', () => {
    const values = parseArguments(
      ['lib.so', '--arg', 'a', '--json', '--arg=b', '--arg', '-1', '--abi', 'host'],
      definition,
      help,
    )
    expect(values).toEqual({ library: 'lib.so', arg: ['a', 'b', '-1'], repeat: undefined, abi: 'host', json: true })
    expect(parseArguments(['--', '--lib'], definition, help)).toEqual({ library: '--lib', arg: [], json: false })
  })

  test.each([
    [['x', '--arrg', 'a'], 'there is no flag --arrg', 'Did you mean --arg?'],
    [['x', '--port', '1'], 'there is no flag --port', 'Did you mean --grpc-port or --http-port?'],
    [['x', '--hlep'], 'there is no flag --hlep', 'Did you mean --help?'],
    [['x', '-q'], 'there is no flag -q', help],
    [['x', '--constructor'], 'there is no flag --constructor', help],
    [['x', '--library', 'y'], 'there is no flag --library', help],
    [['x', '--arg'], '--arg needs a value: --arg <file>', undefined],
    [['x', '--arg', '--json'], '--arg needs a value: --arg <file>', undefined],
    [['x', '--json=yes'], '--json takes no value', undefined],
    [['x', '--repeat', '1', '--repeat', '2'], '--repeat is given more than once', undefined],
    [['x', '--abi', 'cuda'], '--abi must be one of typed, host, got cuda', undefined],
    [['--json'], 'the argument <library> is missing', undefined],
    [['x', 'y'], 'unexpected argument y', undefined],
  ])('refuses %j', (rawArgs, message, hint) => {
    const error = usageError(() => parseArguments(rawArgs, definition, help))
    expect(error.message).toBe(message)
    expect(error.hint).toBe(hint)
  })
})

test('suggest() returns the most similar names, and nothing for a name without a similar one', () => {
  const names = ['rms_norm', 'broadcast_add', 'saxpy', 'fail_with']
  expect(suggest('rms_nrom', names)).toEqual(['rms_norm'])
  expect(suggest('RmsNorm', names)).toEqual(['rms_norm'])
  expect(suggest('saxby', names)).toEqual(['saxpy'])
  expect(suggest('broadcast', names)).toEqual(['broadcast_add'])
  expect(suggest('softmax', names)).toEqual([])
  expect(suggest('', names)).toEqual([])
  expect(suggest('ab', ['ac', 'ad', 'ae', 'af'])).toEqual(['ac', 'ad', 'ae'])
})

describe('parseResultSpec', () => {
  test.each([
    ['f32[2,4]:y.npy', 'float32[2, 4]', 'y.npy'],
    ['f32[2, 4]', 'float32[2, 4]', undefined],
    ['s64[]', 'int64[]', undefined],
    ['pred', 'bool[]', undefined],
    ['bf16[0]:dir/with:colon.npy', 'bfloat16[0]', 'dir/with:colon.npy'],
  ])('parses %s', (text, type, path) => {
    const spec = parseResultSpec(text)
    expect([String(spec.type), spec.path]).toEqual([type, path])
  })

  test.each([
    ['y.npy', /must be type\[size,size,\.\.\.\]:file\.npy, got y\.npy/],
    ['f31[2]', /no element type f31/],
    ['f32[2,-4]', /a size must be a whole number, got -4/],
    ['f32[2,,4]', /a size must be a whole number, got nothing/],
    ['f32[1e3]', /a size must be a whole number, got 1e3/],
    ['f32[2', /must be type\[size,size,\.\.\.\]:file\.npy, got f32\[2/],
    ['', /must be type\[size,size,\.\.\.\]:file\.npy, got nothing/],
  ])('refuses %s', (text, message) => {
    expect(usageError(() => parseResultSpec(text)).message).toMatch(message)
  })
})

describe('parseAttribute', () => {
  test.each([
    ['eps=f32:1e-5', 'eps', f32(1e-5)],
    ['a=f64:-inf', 'a', f64(-Infinity)],
    ['a=f32:nan', 'a', f32(Number.NaN)],
    ['n=s64:-9007199254740993', 'n', s64(-9007199254740993n)],
    ['n=u8:0xff', 'n', u8(255)],
    ['b=pred:true', 'b', pred(true)],
    ['s=str:', 's', str('')],
    ['s=str:a=b:c,\n', 's', str('a=b:c,\n')],
    ['v=s32[]:1, 2,-3', 'v', array('s32', [1, 2, -3])],
    ['v=f64[]:', 'v', array('f64', [])],
  ])('parses %s', (text, name, attribute) => {
    expect(parseAttribute(text)).toEqual([name, attribute])
  })

  test.each([
    ['eps', 'must be name=type:value, got eps', 'name=f32:1e-5'],
    ['=f32:1', 'must be name=type:value, got =f32:1', 'name=f32:1e-5'],
    ['eps=1e-5', 'a number must have its type', 'eps=f32:1e-5 or eps=f64:1e-5'],
    ['n=3', 'a number must have its type', 'n=f32:3, n=s32:3 or n=s64:3.'],
    ['temperature=-1', 'a number must have its type', 'temperature=f32:-1, temperature=s32:-1 or temperature=s64:-1.'],
    ['b=true', 'the value must have its type', 'b=pred:true'],
    ['s=fast', 'the value must have its type', 's=str:fast'],
    ['s=float:1', 'no attribute type float', 'name=f32:1e-5'],
    ['c=c64:1', 'no attribute type c64', 'name=f32:1e-5'],
    ['b=pred:1', 'must be true or false, got 1', undefined],
    ['n=s32:1.5', 'must be a whole number, got 1.5', undefined],
    ['n=s32:', '--attr n=s32:: the value is missing', 'name=f32:1e-5'],
    ['t=f32: ', 'the value is missing', 'name=f32:1e-5'],
    ['x=f32:1,5', 'must be a number, got 1,5', undefined],
    ['v=s32[]:1,,2', 'must be a whole number, got nothing', undefined],
    ['n=u8:256', '--attr n=u8:256: an element of uint8 must be a whole number from 0 to 255, got 256', undefined],
    ['v=pred[]:true', 'an array attribute must have elements of one of', undefined],
    ['h=f16:1', 'no attribute type f16', 'name=f32:1e-5'],
  ])('refuses %s', (text, message, hint) => {
    const error = usageError(() => parseAttribute(text))
    expect(error.message).toContain(message)
    if (hint === undefined) expect(error.hint).toBeUndefined()
    else expect(error.hint).toContain(hint)
  })
})

/** The expected texts are the output of NumPy 2.4. */
describe('formatTensor', () => {
  const show = (dtype: string, shape: number[], values: readonly Element[]): string =>
    formatTensor(tensor(dtype, shape, values))

  test.each([
    ['float32', [2, 2], [0.5, 2.25, -3, 100], '[[  0.5    2.25]\n [ -3.   100.  ]]'],
    ['float32', [2], [0.1, 1 / 3], '[0.1        0.33333334]'],
    [
      'float32',
      [2, 3],
      [0.1, 2.25, -3, 1 / 3, 1e-3, 100],
      '[[ 1.0000000e-01  2.2500000e+00 -3.0000000e+00]\n [ 3.3333334e-01  1.0000000e-03  1.0000000e+02]]',
    ],
    ['float64', [4], [1 / 3, Number.NaN, Infinity, -Infinity], '[0.33333333        nan        inf       -inf]'],
    ['float32', [3], [-0, 0, 1.5], '[-0.   0.   1.5]'],
    ['float16', [3], [0.1, 0.5, 3], '[0.1 0.5 3. ]'],
    ['int64', [2, 2], [1n, -20n, 300n, 4n], '[[  1 -20]\n [300   4]]'],
    ['bool', [3], [true, false, true], '[ True False  True]'],
    [
      'complex64',
      [2],
      [
        [1, -2],
        [0.5, 0.25],
      ],
      '[1. -2.j   0.5+0.25j]',
    ],
    ['float32', [], [2.5], '2.5'],
    ['float32', [0, 3], [], '[]'],
    ['float32', [2, 2, 2], [1, 2, 3, 4, 5, 6, 7, 8], '[[[1. 2.]\n  [3. 4.]]\n\n [[5. 6.]\n  [7. 8.]]]'],
  ] as const)('%s%j', (dtype, shape, values, text) => {
    expect(show(dtype, [...shape], values)).toBe(text)
  })

  test('wraps long rows and abbreviates large arrays', () => {
    const hundreds = Array.from({ length: 40 }, (_, index) => index * 100)
    expect(show('int32', [40], hundreds).split('\n')).toEqual([
      '[   0  100  200  300  400  500  600  700  800  900 1000 1100 1200 1300',
      ' 1400 1500 1600 1700 1800 1900 2000 2100 2200 2300 2400 2500 2600 2700',
      ' 2800 2900 3000 3100 3200 3300 3400 3500 3600 3700 3800 3900]',
    ])
    const counted = Array.from({ length: 1001 }, (_, index) => index)
    expect(show('int32', [1001], counted)).toBe('[   0    1    2 ...  998  999 1000]')
    expect(show('int16', [1001, 1], counted)).toBe('[[   0]\n [   1]\n [   2]\n ...\n [ 998]\n [ 999]\n [1000]]')
  })

  test('formats every element type', () => {
    for (const { name } of dtypes) expect(formatTensor(tensor(name, [2]))).toMatch(/^\[\s*\S+ \s*\S+\s*\]$/)
  })
})
