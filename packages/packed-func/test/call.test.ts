import { describe, expect, it } from 'vitest'
import fc from 'fast-check'
import { ArgumentRangeError, cpu, ScopeClosedError } from '@tenon/core'
import { kernelLibrary } from '@tenon/kernels'
import type { Argument, PackedFuncError } from '../src/index.ts'
import {
  dataType,
  device,
  float,
  getGlobal,
  int,
  Module,
  OpaquePointer,
  PackedFunc,
  packedFunc,
  type NativeArray,
  type Value,
  u64,
} from '../src/index.ts'
import { openStack } from '../src/native/stack.ts'
import { kernel, live, thrownBy } from './support.ts'

const echo = kernel('echo')
const typeIndex = kernel('type_index')
const sum = kernel('sum')

describe('the native type of a value', () => {
  it.each([
    ['a whole number is an Int', 7, 1],
    ['a bigint is an Int', 2n ** 62n, 1],
    ['a boolean is a Bool, not an Int', true, 2],
    ['another number is a Float', 0.5, 3],
    ['-0 is a Float', -0, 3],
    ['NaN is a Float', NaN, 3],
    ['a number beyond 2^53 is a Float', 2 ** 53, 3],
    ['null is None', null, 0],
    ['undefined is None', undefined, 0],
    ['text is a RawStr', 'longer than seven', 8],
    ['text with a NUL is a String object, not cut', 'with\0a NUL inside', 65],
    ['text of seven bytes is small', 'seven b', 11],
    ['text of seven characters and more bytes is not small', 'sevenäb', 8],
    ['bytes up to seven are small', new Uint8Array(7), 12],
    ['more than seven bytes are borrowed', new Uint8Array(8), 9],
    ['bytes without room on the stack are an object', new Uint8Array(200_000), 66],
    ['float() makes a whole number a Float', float(3), 3],
    ['int() makes an Int', int(3n), 1],
    ['an element type is a DataType', dataType('float32'), 5],
    ['a device is a Device', device('cuda:1'), 6],
    ['the CPU of the core is a Device', cpu, 6],
    ['a function is a Function', () => 1, 68],
    ['an array is an Array', [1, 2], 71],
  ])('%s', (_, value, expected) => {
    expect(typeIndex(value as never)).toBe(expected)
  })

  it("a bigint outside int64 is refused with tvm-ffi's message", () => {
    const error = thrownBy(() => echo(2n ** 63n))
    expect(error).toBeInstanceOf(ArgumentRangeError)
    expect(String(error)).toContain('is too large to fit in int64_t')
    expect(thrownBy(() => echo(-(2n ** 63n) - 1n))).toBeInstanceOf(RangeError)
  })

  it('a value without a native form is refused', () => {
    const error = thrownBy(() => echo(Symbol('x') as never))
    expect(error).toBeInstanceOf(TypeError)
    expect((error as PackedFuncError).kind).toBe('TypeError')
  })
})

describe('the result of a call', () => {
  it.each<[Value]>([
    [0],
    [-1],
    [2 ** 31],
    [-(2 ** 31) - 1],
    [Number.MAX_SAFE_INTEGER],
    [Number.MIN_SAFE_INTEGER],
    [2n ** 63n - 1n],
    [-(2n ** 63n)],
    [2n ** 53n],
    [true],
    [false],
    [null],
    [0.1],
    [-0],
    [Infinity],
    [''],
    ['short'],
    ['äöü'],
    ['a text of some length'],
    ['€'.repeat(5000)],
    ['x'.repeat(200_000)],
    ['with\0NUL and more'],
    [new Uint8Array(0)],
    [new Uint8Array([1, 2, 3])],
    [new Uint8Array(300_000).fill(7)],
  ])('value %# is returned unchanged', (value) => {
    expect(echo(value)).toStrictEqual(value)
  })

  it('small bigints are returned as numbers', () => {
    expect(echo(5n)).toBe(5)
  })

  it('element types and devices keep their fields', () => {
    expect(String(echo(dataType('float8_e4m3fn')))).toBe('float8_e4m3fn')
    expect(String(echo(device('cuda:3')))).toBe('cuda:3')
    const aliases = ['c', 'llvm', 'gpu:1', 'nvptx', 'cl', 'mtl:2', 'hexagon']
    const names = ['cpu:0', 'cpu:0', 'cuda:1', 'cuda:0', 'opencl:0', 'metal:2', 'hexagon:0']
    expect(aliases.map((name) => String(device(name)))).toEqual(names)
  })

  it('every int64 is returned unchanged', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (value) => {
        expect(BigInt(echo(value) as number | bigint)).toBe(value)
      }),
    )
  })

  it('every number is returned unchanged', () => {
    fc.assert(
      fc.property(fc.double(), (value) => {
        expect(echo(value)).toBe(value)
      }),
    )
  })

  it('every string is returned unchanged', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 100 }), (value) => {
        expect(echo(value)).toBe(value)
      }),
    )
  })
})

describe('native values', () => {
  it('devices with numbers outside int32 are refused', () => {
    expect(() => echo({ type: 2 ** 40, id: 1 })).toThrow('cannot take')
    expect(() => echo({ type: 1, id: 1.5 })).toThrow('cannot take')
  })

  it.each([0, 3, 10, 100, 200_000])('bytes of a subclass with another length than %i are passed whole', (size) => {
    for (const other of [-1, NaN, 2, 20, 300_000, 2 ** 40]) {
      class Bytes extends Uint8Array {
        override get length(): number {
          return other
        }
      }
      const bytes = new Bytes(size).fill(7)
      const [first, second] = (echo([1, bytes, 'after']) as NativeArray).toArray().slice(1) as [Uint8Array, string]
      expect([first.byteLength, first.every((byte) => byte === 7), second]).toEqual([size, true, 'after'])
    }
    expect(() => echo(new Proxy(new Uint8Array(9), {}))).toThrow('cannot take a proxy of a Uint8Array')
  })

  it('bytes whose buffer is detached are refused', () => {
    const bytes = new Uint8Array(8)
    structuredClone(bytes.buffer, { transfer: [bytes.buffer] })
    expect(() => echo(bytes)).toThrow(ScopeClosedError)
    expect(echo(new Uint8Array())).toEqual(new Uint8Array())
  })

  it('a pointer is passed on unchanged, also null', () => {
    const pointer = kernel('some_pointer')(1) as OpaquePointer
    expect(pointer).toBeInstanceOf(OpaquePointer)
    expect(typeIndex(pointer)).toBe(4)
    expect((echo(pointer) as OpaquePointer).address).toBe(pointer.address)
    expect((kernel('some_pointer')() as OpaquePointer).address).toBe(0n)
    const tagged = new OpaquePointer(0xdead_beef_dead_beefn)
    expect((echo(tagged) as OpaquePointer).address).toBe(0xdead_beef_dead_beefn)
  })

  it('passing an object adds no reference, keeping it adds one', () => {
    const array = echo([1]) as NativeArray
    expect(kernel('references')(array)).toBe(1)
    const second = echo(array) as NativeArray
    expect(kernel('references')(array)).toBe(2)
    second.close()
    expect(kernel('references')(array)).toBe(1)
  })

  it('a function that takes an int accepts a Bool, but not a whole Float', () => {
    const array = echo(['zero', 'one']) as NativeArray
    const get = getGlobal('ffi.ArrayGetItem')
    expect(get(array, true)).toBe('one')
    expect(() => get(array, float(1))).toThrow(TypeError)
  })

  it('a function that takes a bool accepts an Int', () => {
    const has = getGlobal('ffi.ModuleImplementsFunction')
    expect(has(Module.open(kernelLibrary('packed')), 'sum', 7)).toBe(true)
  })
})

describe('calls', () => {
  it('a function that sets nothing returns null', () => {
    expect(kernel('nothing')()).toBeNull()
  })

  it('pass a thousand arguments', () => {
    const values = Array.from({ length: 1000 }, (_, i) => i)
    expect(sum(...values)).toBe(499_500)
  })

  it('throw RecursionError for more arguments than the stack has room for', () => {
    const error = thrownBy(() => sum(...Array.from({ length: 7000 }, () => 1))) as PackedFuncError
    expect(error.kind).toBe('RecursionError')
    expect(sum(1, 2)).toBe(3)
  })

  it('a failed call does not affect the next one', () => {
    expect(() => sum('x')).toThrow('sum takes numbers')
    expect(sum(1)).toBe(1)
  })

  it('tryCall returns the kind and the text of an error', () => {
    expect(kernel('fail_as').tryCall('KeyError')).toEqual({ ok: false, kind: 'KeyError', sentence: 'failed as asked' })
    expect(sum.tryCall(1, 2)).toEqual({ ok: true, value: 3 })
  })

  it('a packed function can be passed where a function is expected', () => {
    expect([1, 2, 3].map((x) => sum(x, 1))).toEqual([2, 3, 4])
    expect(Array.from([1, 2, 3], sum)).toEqual([1, 3, 5])
  })

  it('exceptions of a C++ kernel are errors', () => {
    const greet = kernel('greet', 'packed_cpp')
    expect(greet('Ada')).toBe('Hello, Ada!')
    expect(greet('a longer name, too long to be small')).toBe('Hello, a longer name, too long to be small!')
    const error = thrownBy(() => greet(1)) as PackedFuncError
    expect(error.kind).toBe('InternalError')
    expect(error.sentence).toBe('a name must be text')
  })

  it('calls that throw restore the stack', () => {
    const stack = openStack()
    const before = { top: stack.top, text: stack.text, depth: stack.depth, undo: stack.undo.length }
    for (const values of [['x'.repeat(50)], [[1, [2, 'three']]], ['a\0b and some more'], [Symbol('x')]] as never[][]) {
      thrownBy(() => {
        echo(...values)
        throw new Error('done')
      })
    }
    expect({ top: stack.top, text: stack.text, depth: stack.depth, undo: stack.undo.length }).toEqual(before)
  })

  it('text, errors, arrays and functions do not leak', () => {
    const failAs = kernel('fail_as')
    const run = packedFunc(() => 'x'.repeat(20))
    run()
    const before = live()
    for (let i = 0; i < 20_000; i++) {
      echo('text that is longer than seven')
      echo('with\0 a NUL so that it is an object')
      run()
      sum.tryCall([1, ['two']])
      typeIndex(() => i)
      failAs.tryCall('ValueError')
    }
    expect(live()).toEqual(before)
  })
})

describe('a function as an object', () => {
  it('close() throws ScopeClosedError if it is closed already, Symbol.dispose does not', () => {
    const lookup = getGlobal('ffi.String')
    expect(lookup).toBeInstanceOf(PackedFunc)
    expect(lookup.typeKey).toBe('ffi.Function')
    lookup.close()
    lookup[Symbol.dispose]()
    expect(() => lookup.close()).toThrow(ScopeClosedError)
    expect(lookup.isAlive).toBe(false)
    expect(() => lookup('x')).toThrow('closed already')
    expect(() => lookup.tryCall('x')).toThrow('closed already')
  })

  it('may be closed while it runs', () => {
    const self = packedFunc(() => {
      self.close()
      return 'still here, with a long text'
    })
    expect(self()).toBe('still here, with a long text')
  })
})

describe('u64', () => {
  it.each([
    [0n, 0],
    [2n ** 63n - 1n, 2n ** 63n - 1n],
    [2n ** 63n, -(2n ** 63n)],
    [2n ** 64n - 1n, -1],
    [7, 7],
  ])('%s is passed by its bits, and returned as %s', (value, back) => {
    expect(kernel('echo')(u64(value))).toBe(back)
  })

  it('refuses values that are not a uint64', () => {
    for (const value of [-1n, 2n ** 64n, -1, 1.5, NaN, 2 ** 53, '1'])
      expect(() => u64(value as never)).toThrow('value must be')
  })
})

describe('the error for a value that no function takes', () => {
  it.each<[name: string, number: number, received: string, values: unknown[]]>([
    ['first of one', 1, 'Symbol(x)', [Symbol('x')]],
    ['second of two', 2, 'Symbol(x)', [1, Symbol('x')]],
    ['fifth of five', 5, 'Symbol(x)', [1, 2, 3, 4, Symbol('x')]],
    ['element of an array', 2, 'Symbol(x)', ['a', [1, [Symbol('x')]]]],
  ])('names the argument: %s', (_, number, received, values) => {
    expect(() => echo(...(values as Argument[]))).toThrow(
      `argument ${number}: a packed function cannot take ${received}`,
    )
  })
})
