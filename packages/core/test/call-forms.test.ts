import { describe, expect, test } from 'vitest'
import { Callback } from '../src/callbacks/callback.ts'
import { ArgumentError, NativeError, ReadOnlyError, ScopeClosedError, ScopeHeldError } from '../src/errors/kinds.ts'
import { gcAllocator, processAllocator } from '../src/memory/allocators.ts'
import { Block } from '../src/memory/block.ts'
import { DEVICE_MEMORY, READ_ONLY, Segment } from '../src/memory/segment.ts'
import type { Value } from '../src/native/argument-conversion.ts'
import { resolveResult, type Slot } from '../src/native/call/store.ts'
import type { NativeFunction } from '../src/native/function-types.ts'
import { bindFunction } from '../src/native/native-function.ts'
import { NativeLibrary } from '../src/native/native-library.ts'
import { StructType } from '../src/native/struct-type.ts'
import type { ValueType } from '../src/native/value-type.ts'
import { fixturePath } from './fixture.ts'
import { structOf } from './plan-fixture.ts'

const fixture = NativeLibrary.open(fixturePath('core_fixture'))
const structs = NativeLibrary.open(fixturePath('structs'))
const libc = NativeLibrary.ofProcess()

const declare = (name: string, result: ValueType | 'void', ...parameters: ValueType[]): NativeFunction =>
  fixture.function(name, { result, parameters }) as NativeFunction

const structType = (kinds: readonly ValueType[], most = 8): StructType => new StructType(structOf(kinds, most))

function memory(bytes: Uint8Array | string): Segment {
  const source = Buffer.from(bytes as string)
  const segment = gcAllocator.allocate(source.length, 16)
  new Uint8Array(segment.view().buffer, segment.view().byteOffset).set(source)
  return segment
}

const bytesOf = (segment: Segment): number[] => [
  ...segment.block.bytes.subarray(segment.base, segment.base + segment.byteSize),
]

const textOf = (segment: Segment): string => Buffer.from(bytesOf(segment)).toString('latin1').split('\0', 1)[0]!

/** A segment that runs code whenever one of its properties is read. */
function spied(segment: Segment, run: () => void): Segment {
  return new Proxy(segment, {
    get(target, key) {
      run()
      return Reflect.get(target, key) as unknown
    },
    getPrototypeOf(target) {
      run()
      return Reflect.getPrototypeOf(target)
    },
  })
}

test('calls inside of conversions do not change the arguments or the result', () => {
  const other = declare('fixture_sum', 'float64', 'float64', 'int32', 'pointer', 'pointer', 'uint8')
  const numbers = memory(new Uint8Array(16))
  let nested = 0
  const nest = (): void => {
    nested++
    expect(other(1, 2, numbers, numbers, 3)).toBe(6)
  }
  const sum = declare('fixture_sum', 'float64', 'float64', 'int32', 'pointer', 'pointer', 'uint8')
  const single = memory(new Uint8Array(new Float32Array([0.5]).buffer))
  const wide = memory(new Uint8Array(new BigInt64Array([1000n]).buffer))
  expect(sum(0.25, 10, spied(single, nest), spied(wide, nest), 100)).toBe(1110.75)
  const pair = structType(['float32', 'bool', 'float64'])
  const mixed = structs.function('structs_mixed', { result: pair, parameters: ['int32', pair] })
  const value = memory(Uint8Array.from({ length: 16 }, (_, i) => (i === 4 ? 1 : i + 1)))
  const out = gcAllocator.allocate(16)
  mixed(out, -1, spied(value, nest))
  expect([bytesOf(out).slice(0, 5), bytesOf(out).slice(8)]).toEqual([
    bytesOf(value).slice(0, 5),
    bytesOf(value).slice(8),
  ])
  expect(nested).toBeGreaterThan(10)
})

describe('values are stored in words of 64 bits', () => {
  test('integers are stored widened to 64 bits by their sign', () => {
    for (const [kind, value, expected] of [
      ['int8', -5, -5n],
      ['int16', -300, -300n],
      ['int32', -70_000, -70_000n],
      ['uint8', 255, 255n],
      ['uint16', 65_535, 65_535n],
      ['uint32', 2 ** 32 - 1, 2n ** 32n - 1n],
      ['bool', true, 1n],
      ['int64', -(2 ** 40) - 3, -(2n ** 40n) - 3n],
      ['int64', -(2n ** 63n), -(2n ** 63n)],
      ['uint64', Number.MAX_SAFE_INTEGER, 2n ** 53n - 1n],
    ] as const) {
      // All upper bits of the register are set before.
      expect(declare('fixture_int64', 'int64', 'int64')(-1)).toBe(-1n)
      expect(declare('fixture_int64', 'int64', kind)(value), kind).toBe(expected)
    }
    expect(declare('fixture_uint64', 'uint64', 'uint64')(2n ** 64n - 1n)).toBe(2n ** 64n - 1n)
  })

  test('the upper half of a float32 is zero', () => {
    expect(declare('fixture_float64', 'float64', 'float64')(-Math.PI)).toBe(-Math.PI)
    const bits = new BigUint64Array(
      new Float64Array([declare('fixture_float64', 'float64', 'float32')(1.5) as number]).buffer,
    )
    expect(bits[0]).toBe(0x3fc00000n)
    expect(declare('fixture_float32', 'float32', 'float32')(0.1)).toBe(Math.fround(0.1))
  })

  test('results are narrowed from the low bytes', () => {
    const dirty = 0xa5a5_a5a5_a5a5_a580n
    for (const [kind, expected] of [
      ['int8', -128],
      ['uint8', 0x80],
      ['int16', 0xa580 - 0x10000],
      ['uint16', 0xa580],
      ['int32', 0xa5a5a580 - 2 ** 32],
      ['uint32', 0xa5a5a580],
      ['bool', true],
      ['uint64', dirty],
      ['int64', dirty - 2n ** 64n],
      ['void', undefined],
    ] as const) {
      expect(declare('fixture_uint64', kind, 'uint64')(dirty), kind).toBe(expected)
    }
    expect(declare('fixture_uint64', 'bool', 'uint64')(0xff00n)).toBe(false)
    expect(declare('fixture_uint64', 'pointer', 'uint64')(dirty)).toMatchObject({ address: dirty, byteSize: 0 })
  })
})

describe('variadic arguments and structs', () => {
  const print = (count: number): string => {
    const format = memory(`${'%d,'.repeat(count)}\0`)
    const out = gcAllocator.allocate(4096)
    const parameters: ValueType[] = ['pointer', 'uint64', 'pointer', ...new Array<ValueType>(count).fill('int32')]
    const snprintf = libc.function('snprintf', { result: 'int32', parameters, fixedParameters: 3 })
    const values = Array.from({ length: count }, (_, i) => (i % 2 === 0 ? i : -i))
    expect(snprintf(out, 4096, format, ...values)).toBe(`${values.join(',')},`.length)
    expect(textOf(out)).toBe(`${values.join(',')},`)
    return textOf(out)
  }

  test.each([31, 40, 200, 252])('%d variadic arguments are passed', (count) => {
    expect(print(count)).toContain(String(count - 2))
  })

  test('variadic arguments are passed on another thread', async () => {
    const parameters: ValueType[] = ['pointer', 'uint64', 'pointer', ...new Array<ValueType>(40).fill('float64')]
    const snprintf = libc.function('snprintf', { result: 'int32', parameters, fixedParameters: 3 })
    const out = gcAllocator.allocate(1000)
    const values = Array.from({ length: 40 }, (_, i) => i + 0.5)
    await snprintf.async(out, 1000, memory(`${'%g '.repeat(40)}\0`), ...values)
    expect(textOf(out)).toBe(`${values.join(' ')} `)
  })

  test('functions have at most 255 parameters', () => {
    expect(() => declare('fixture_deep', 'void', ...new Array<ValueType>(256).fill('int32'))).toThrow(ArgumentError)
  })

  test('structs are passed as their bytes, with the payload of a NaN', () => {
    const type = structType(['float32', 'bool', 'float64'])
    const mixed = structs.function('structs_mixed', { result: type, parameters: ['int32', type] })
    const value = gcAllocator.allocate(16)
    const view = value.view()
    view.setUint32(0, 0x7fa0_1234, true)
    view.setUint8(4, 1)
    view.setBigUint64(8, 0x7ff4_dead_beef_0001n, true)
    const out = gcAllocator.allocate(16)
    expect(mixed(out, 7, value)).toBeUndefined()
    expect([out.view().getUint32(0, true), out.view().getUint8(4)]).toEqual([0x7fa0_1234, 1])
    expect(out.view().getBigUint64(8, true)).toBe(0x7ff4_dead_beef_0001n)
  })

  test('packed structs are passed in memory', () => {
    const type = structType(['int8', 'float64', 'int32'], 1)
    const packed = structs.function('structs_packed', { result: type, parameters: [type] })
    const value = memory(Uint8Array.from({ length: 13 }, (_, i) => 200 + i))
    const out = gcAllocator.allocate(13)
    packed(out, value)
    expect(bytesOf(out)).toEqual(bytesOf(value))
  })

  test('structs of floats, and structs in memory, are returned to the first argument', async () => {
    const floats = structType(['float32', 'float32', 'float32'])
    const double = structs.function('structs_floats', { result: floats, parameters: [floats] })
    const out = gcAllocator.allocate(12)
    double(out, memory(new Uint8Array(new Float32Array([1, -0.5, 1e10]).buffer)))
    expect(new Float32Array(Uint8Array.from(bytesOf(out)).buffer)).toEqual(new Float32Array([2, -1, 2e10]))
    const large = structType(['int64', 'int64', 'int64'])
    const make = structs.function('structs_large', { result: large, parameters: ['int64', 'int64', 'int64'] })
    const made = gcAllocator.allocate(24, 8)
    make(made, 1, -2, 2n ** 62n)
    expect(new BigInt64Array(Uint8Array.from(bytesOf(made)).buffer)).toEqual(new BigInt64Array([1n, -2n, 2n ** 62n]))
    await double.async(out, out)
    expect(new Float32Array(Uint8Array.from(bytesOf(out)).buffer)[0]).toBe(4)
    await make.async(made, 4, 5, 6)
    expect(new BigInt64Array(Uint8Array.from(bytesOf(made)).buffer)).toEqual(new BigInt64Array([4n, 5n, 6n]))
  })

  test('a struct has at most 16,384 bytes, and the callee has a copy', () => {
    const type = structType(new Array<ValueType>(16_384).fill('uint8'))
    const sum = structs.function('structs_sum', { result: 'int64', parameters: [type, 'int32'] })
    const value = memory(Uint8Array.from({ length: 16_384 }, (_, i) => i & 0xff))
    expect(sum(value, 5)).toBe(BigInt((255 * 256 * 64) / 2 + 5))
    expect(bytesOf(value)[255]).toBe(255)
    const huge = new StructType({
      byteSize: 2 ** 24,
      byteAlignment: 1,
      naturalAlignment: 1,
      fields: [{ offset: 0, kind: 'int8' }],
    })
    expect(() => structs.function('structs_sum', { parameters: [huge] })).toThrow(/at most 16384 bytes, got 16777216/)
  })

  test('the segment of a struct must fit', () => {
    const type = structType(['float32', 'bool', 'float64'])
    const mixed = structs.function('structs_mixed', { result: type, parameters: ['int32', type] })
    const fits = gcAllocator.allocate(16)
    for (const wrong of [gcAllocator.allocate(15), gcAllocator.allocate(17), null, 1, {} as Segment, undefined]) {
      expect(() => mixed(fits, 1, wrong as Segment)).toThrow(ArgumentError)
      expect(() => mixed(wrong as Segment, 1, fits)).toThrow(ArgumentError)
    }
    const readOnly = new Segment(fits.block, fits.base, 16, READ_ONLY)
    expect(mixed(fits, 1, readOnly)).toBeUndefined()
    expect(() => mixed(readOnly, 1, fits)).toThrow(ReadOnlyError)
    // @ts-expect-error: an argument is missing
    expect(() => mixed(fits, 1)).toThrow('structs_mixed takes 2 arguments, got 1')
  })

  test('a struct in device memory is neither read nor written', async () => {
    const type = structType(['float32', 'bool', 'float64'])
    const mixed = structs.function('structs_mixed', { result: type, parameters: ['int32', type] })
    const host = memory(new Uint8Array(16).fill(7))
    const device = new Segment(host.block, host.base, 16, DEVICE_MEMORY)
    const out = gcAllocator.allocate(16)
    for (const flags of [DEVICE_MEMORY, DEVICE_MEMORY | READ_ONLY]) {
      const argument = new Segment(host.block, host.base, 16, flags)
      expect(() => mixed(out, 1, argument)).toThrow(/must be in host memory, got device memory/)
      await expect(mixed.async(out, 1, argument)).rejects.toThrow(/must be in host memory, got device memory/)
    }
    expect(() => mixed(device, 1, out)).toThrow(/must be in host memory, got device memory/)
    await expect(mixed.async(device, 1, out)).rejects.toThrow(/must be in host memory, got device memory/)
    expect([bytesOf(out), bytesOf(host)]).toEqual([new Array(16).fill(0), new Array(16).fill(7)])
    expect(() => resolveResult({ kind: 'struct', name: 'the result', byteSize: 16 } as Slot, device)).toThrow(
      'the result must be in host memory, got device memory',
    )
  })
})

test('variadic parameters that C promotes are refused', () => {
  for (const type of ['bool', 'int8', 'uint8', 'int16', 'uint16', 'float32'] as const) {
    const parameters = ['pointer', type] as const
    expect(() => libc.function('printf', { parameters, fixedParameters: 1 })).toThrow(/because C passes it as/)
    expect(libc.function('printf', { parameters, fixedParameters: 2 })).toBeTypeOf('function')
  }
})

test('operands stay open during a call', () => {
  const library = NativeLibrary.open(fixturePath('core_fixture'))
  const segment = processAllocator.allocate(8)
  const errors: unknown[] = []
  const callback = new Callback(() => {
    try {
      library.close()
    } catch (error) {
      errors.push(error)
    }
  })
  const parameters: ValueType[] = ['uint64', 'pointer', 'pointer']
  const call = library.function('fixture_call', { result: 'int32', parameters })
  call(callback.address, segment, null)
  expect(errors).toHaveLength(1)
  expect(errors[0]).toBeInstanceOf(ScopeHeldError)
  callback.release()
  library.close()
})

describe('captureErrno', () => {
  const parameters = ['pointer', 'int32'] as const
  const { gate } = libc
  const bind = (name: string, types: readonly ValueType[]) =>
    bindFunction(gate, name, Number(libc.symbol(name)), { result: 'int32', parameters: types }, { captureErrno: true })

  test('sets errno to 0 before the call, and returns it with the result', () => {
    const open = bind('open', parameters)
    expect(open(memory('/no/such/file\0'), 0)).toEqual({ value: -1, errno: 2 })
    expect(open(memory('/etc/passwd/x\0'), 0)).toEqual({ value: -1, errno: 20 })
    expect(bind('abs', ['int32'])(-3)).toEqual({ value: 3, errno: 0 })
  })

  test('returns the errno of the thread that performed the call', async () => {
    const pending = bind('open', parameters).async(memory('/no/such/file\0'), 0)
    expect(bind('abs', ['int32'])(-3)).toEqual({ value: 3, errno: 0 })
    expect(await pending).toEqual({ value: -1, errno: 2 })
  })
})

describe('a C++ exception', () => {
  const library = NativeLibrary.open('libstdc++.so.6')
  const thrower = library.function('__cxa_throw_bad_array_new_length', {})

  test('is thrown as an error with its text', () => {
    for (let i = 0; i < 3; i++) {
      expect(thrower).toThrow(NativeError)
      expect(thrower).toThrow(/__cxa_throw_bad_array_new_length threw a C\+\+ exception: .*bad_array_new_length/)
    }
    expect(declare('fixture_int32', 'int32', 'int32')(5)).toBe(5)
  })

  test('on another thread rejects the promise', async () => {
    await expect(thrower.async()).rejects.toThrow(/bad_array_new_length/)
    await expect(thrower.async()).rejects.toBeInstanceOf(NativeError)
  })
})

test('every number of arguments has its values in order', async () => {
  for (let count = 0; count <= 9; count++) {
    const kinds = new Array<ValueType>(count).fill('int64')
    const parameters: ValueType[] = ['pointer', 'uint64', 'pointer', ...kinds]
    const snprintf = libc.function('snprintf', { parameters, fixedParameters: 3 })
    const out = gcAllocator.allocate(500)
    const values = kinds.map((_, i) => 2 ** 50 + i)
    snprintf(out, 500, memory(`${'%ld '.repeat(count)}.\0`), ...values)
    expect(textOf(out)).toBe([...values, '.'].join(' '))
    const first = fixture.function('fixture_int64', { result: 'int64', parameters: kinds })
    if (count > 0) expect([first(...values), await first.async(...values)]).toEqual([2n ** 50n, 2n ** 50n])
    expect(() => first(...values, 1)).toThrow(`fixture_int64 takes ${count} arguments, got ${count + 1}`)
  }
})

test.each<[ValueType, readonly Value[]]>([
  ['bool', [0, 1, 'true' as never, null]],
  ['int8', [128, -129, 1.5, 128n, '1' as never, null, undefined]],
  ['uint8', [256, -1, 0.5, -1n, true]],
  ['int16', [32_768, -32_769, 32_768n]],
  ['uint16', [65_536, -1]],
  ['int32', [2 ** 31, -(2 ** 31) - 1, Number.NaN, 2n ** 31n, {} as never]],
  ['uint32', [2 ** 32, -1, -1n, Infinity]],
  ['int64', [2 ** 53, 0.5, 2n ** 63n, -(2n ** 63n) - 1n, null]],
  ['uint64', [-1, 2 ** 53, -1n, 2n ** 64n, undefined]],
  ['float32', [1n, '1' as never, null]],
  ['float64', [1n, true, undefined]],
  ['pointer', [0, 1n, undefined, 'text', new ArrayBuffer(8) as never]],
])('%s refuses values that it does not have', async (kind, values) => {
  const call = declare('fixture_int64', 'void', kind)
  for (const value of values) {
    expect(() => call(value), String(value)).toThrow(ArgumentError)
    await expect(call.async(value), String(value)).rejects.toThrow(/^argument 1 of fixture_int64 must be /)
  }
})

test('bigints are accepted for every integer', () => {
  for (const kind of ['int8', 'uint8', 'int16', 'uint16', 'int32', 'uint32', 'int64', 'uint64'] as const) {
    expect(declare('fixture_int64', 'int64', kind)(100n)).toBe(100n)
    expect(declare('fixture_int64', 'int64', kind)(-0)).toBe(0n)
  }
  expect(declare('fixture_int64', 'int64', 'int16')(-32_768n)).toBe(-32_768n)
})

test('memory that a conversion closes is refused', () => {
  const call = declare('fixture_sum', 'float64', 'float64', 'int32', 'pointer', 'pointer', 'uint8')
  const two = declare('fixture_call', 'int32', 'pointer', 'pointer', 'pointer')
  for (const form of [call, two]) {
    const library = NativeLibrary.open(fixturePath('core_fixture'))
    const open = new Segment(new Block(library.gate, new DataView(new ArrayBuffer(64)), Buffer.alloc(64), 1), 0, 8, 0)
    const closing = spied(gcAllocator.allocate(8), () => library.isAlive && library.close())
    const values = form === call ? [1, 2, open, closing, 3] : [open, closing, null]
    expect(() => form(...values)).toThrow(ScopeClosedError)
    expect(library.isAlive).toBe(false)
  }
})
