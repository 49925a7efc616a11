import { afterEach, describe, expect, it } from 'vitest'
import { LoadError, tensor } from '@tenon/core'
import { kernelLibrary } from '@tenon/kernels'
import {
  dataType,
  device,
  float,
  Module,
  type PackedFunc,
  type PackedFuncError,
  packedFunc,
  registerGlobal,
  removeGlobal,
  tensorView,
} from '../src/index.ts'
import { isOwnLibrary, live, thrownBy } from './support.ts'

const load = (name: string): Module => Module.open(kernelLibrary(name))

if (isOwnLibrary)
  describe('a library of the LLVM code generator of TVM to 0.20', () => {
    afterEach(() => removeGlobal('test.legacy.helper'))
    const lib = isOwnLibrary ? load('packed_legacy_llvm') : undefined!

    it('has kernels and an entry', () => {
      const x = tensor('float32', [5], [1, 2, 3, 4, 5])
      const y = tensor('float32', [5])
      lib.entry(x, y)
      expect(y.toArray()).toEqual([2, 3, 4, 5, 6])
      lib.get('add_one')(tensorView(y), tensorView(y))
      expect(y.toArray()).toEqual([3, 4, 5, 6, 7])
      expect(lib.tryGet('none')).toBeUndefined()
      expect(lib.tryGet('__tvm_module_ctx')).toBeUndefined()
    })

    it.each([
      ['an int', 5, 0],
      ['a bool', true, 15],
      ['a float', 2.5, 2],
      ['null', null, 4],
      ['an element type', dataType('float32'), 5],
      ['a device', device('cpu'), 6],
      ['a tensor', tensor('float32', [1]), 13],
      ['a borrowed tensor', tensorView(tensor('float32', [1])), 7],
      ['a module', lib, 9],
      ['a function', () => 1, 10],
      ['text, small', 'short', 11],
      ['text, borrowed', 'longer than seven', 11],
      ['text, an object', 'longer than\0 seven', 11],
      ['bytes, small', new Uint8Array(3), 12],
      ['bytes, borrowed', new Uint8Array(30), 12],
      ['bytes, an object', new Uint8Array(200_000), 12],
      ['an array', [1], 8],
    ])('%s has its type code', (_, value, code) => {
      expect(lib.get('type_code')(value as never)).toBe(code)
    })

    it('refuses an int for a float, which float() passes', () => {
      const scale = lib.get('scale')
      expect(scale(1.5, 2.5)).toBe(3.75)
      const error = thrownBy(() => scale(1.5, 2)) as PackedFuncError
      expect([error.kind, error.sentence]).toEqual(['TypeError', 'scale takes floats'])
      expect(scale(1.5, float(2))).toBe(3)
    })

    it('raises errors, without a kind as RuntimeError', () => {
      const text = 'Assert fail: (num_args == 2), add_one: num_args should be 2'
      expect(lib.get('add_one').tryCall(1)).toEqual({ ok: false, kind: 'RuntimeError', sentence: text })
      expect(lib.get('scale').tryCall(1)).toEqual({
        ok: false,
        kind: 'RuntimeError',
        sentence: 'scale: num_args should be 2',
      })
      expect(lib.get('type_code').tryCall()).toEqual({
        ok: false,
        kind: 'RuntimeError',
        sentence: 'type_code takes one argument',
      })
    })

    it('calls functions of TypeScript, whose errors return as the same object', () => {
      registerGlobal('test.legacy.helper', (a: number, b: number) => a * b)
      expect(lib.get('ask_helper')(6, 7)).toBe(42)
      const mine = new RangeError('mine')
      const other = load('packed_legacy_llvm')
      registerGlobal(
        'test.legacy.helper',
        () => {
          throw mine
        },
        { override: true },
      )
      expect(thrownBy(() => other.get('ask_helper')(1))).toBe(mine)
    })

    it('passes many arguments', () => {
      registerGlobal('test.legacy.helper', (...values: number[]) => values.length)
      expect(load('packed_legacy_llvm').get('ask_helper')(...Array.from({ length: 100 }, (_, i) => i))).toBe(100)
    })
  })

if (isOwnLibrary)
  describe('a library of the C code generator of TVM to 0.20', () => {
    afterEach(() => removeGlobal('test.legacy.text'))
    const lib = isOwnLibrary ? load('packed_legacy_c') : undefined!

    it('has an entry that is a function', () => {
      expect(lib.entry(1, 2, true)).toBe(4)
      expect(() => lib.entry('x')).toThrow('the entry takes whole numbers')
    })

    it('creates functions and finalizes them', () => {
      const before = live()
      const finalized = lib.get('count_finalized')
      const count = finalized() as number
      const make = lib.get('make_twice')
      const twice = make(1) as PackedFunc
      expect(twice(20)).toBe(41)
      expect(twice.tryCall('x')).toMatchObject({ ok: false, kind: 'TypeError', sentence: 'twice takes a whole number' })
      twice.close()
      expect(finalized()).toBe(count + 1)
      make.close()
      finalized.close()
      expect(live()).toEqual(before)
    })

    it('gets text from functions of TypeScript', () => {
      registerGlobal('test.legacy.text', () => 'text that is longer than seven')
      expect(lib.get('length_of_text')('test.legacy.text')).toBe(30)
      registerGlobal('test.legacy.text', () => 'short', { override: true })
      expect(lib.get('length_of_text')('test.legacy.text')).toBe(5)
      registerGlobal('test.legacy.text', () => dataType('float16x2'), { override: true })
      expect(lib.get('length_of_text')('test.legacy.text')).toBe(9)
    })

    it('raises the errors that it gets with the same kind', () => {
      registerGlobal('test.legacy.text', () => {
        throw new TypeError('not today')
      })
      const error = thrownBy(() => lib.get('length_of_text')('test.legacy.text')) as PackedFuncError
      expect([error.kind, error.sentence]).toEqual(['TypeError', 'not today'])
      registerGlobal('test.legacy.text', () => tensor('float32', [1]), { override: true })
      expect(() => lib.get('length_of_text')('test.legacy.text')).toThrow('the function must return text')
    })

    it('calls kernels of tvm-ffi and is called by them', () => {
      const call = load('packed').get('call')
      expect(call(lib.get('__tvm_main__'), 1, 2)).toBe(3)
      registerGlobal(
        'test.legacy.text',
        packedFunc(() => load('packed').get('sum')(1, 1) as number),
      )
      expect(() => lib.get('length_of_text')('test.legacy.text')).toThrow('the function must return text')
    })
  })

if (isOwnLibrary)
  it('the option legacy opens a library without marks of its version', () => {
    const lib = Module.open(kernelLibrary('packed_legacy_plain'), { legacy: true })
    expect(lib.get('halve')(float(3))).toBe(1.5)
    expect(lib.get('halve').tryCall(3)).toMatchObject({ ok: false, kind: 'RuntimeError' })
    expect(load('packed_legacy_plain').tryGet('halve')).toBeUndefined()
    // The option does not change a library that has marks.
    expect(Module.open(kernelLibrary('packed_tvm_022'), { legacy: true }).has('square_neighbours')).toBe(true)
  })

if (!isOwnLibrary)
  it('another tvm-ffi library cannot call kernels of TVM to 0.20', () => {
    expect(() => load('packed_legacy_c')).toThrow(LoadError)
  })
