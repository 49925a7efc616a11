import { afterEach, describe, expect, it } from 'vitest'
import { LoadError, tensor, type Tensor } from '@tenon/core'
import { kernelLibrary } from '@tenon/kernels'
import type { PackedFuncError } from '../src/index.ts'
import { Module, registerGlobal, removeGlobal } from '../src/index.ts'
import { isOwnLibrary, live, thrownBy } from './support.ts'

const load = (name: string): Module => Module.open(kernelLibrary(name))

describe('a library', () => {
  const lib = load('packed')

  it('has functions by name', () => {
    expect(lib.get('sum')(1, 2)).toBe(3)
    expect(lib.has('sum')).toBe(true)
    expect(lib.has('none')).toBe(false)
    expect(lib.tryGet('none')).toBeUndefined()
    const error = thrownBy(() => lib.get('none')) as PackedFuncError
    expect(error.kind).toBe('AttributeError')
    expect(lib.kind).toBe('library')
  })

  it('has an entry', () => {
    expect(lib.entry()).toBe(42)
  })

  it('has metadata and documentation of its functions', () => {
    expect(JSON.parse(lib.metadata('sum')!)).toHaveProperty('type_schema')
    expect(lib.doc('sum')).toBe('The sum of its numbers.')
    expect(lib.metadata('echo')).toBeUndefined()
    expect(lib.doc('echo')).toBeUndefined()
  })

  it('is kept open by its functions', () => {
    const before = live()
    const other = load('packed')
    const sum = other.get('sum')
    other.close()
    expect(sum(2, 3)).toBe(5)
    sum.close()
    expect(live()).toEqual(before)
  })

  it('a missing library and a path without an extension are errors', () => {
    const missing = thrownBy(() => Module.open('/nowhere/lib.so')) as LoadError
    expect(missing).toBeInstanceOf(LoadError)
    expect(missing.sentence).toBe('the library /nowhere/lib.so does not exist')
    const cause = missing.cause as PackedFuncError
    expect(cause.kind).toBe('InternalError')
    expect(cause.sentence).toContain('Failed to load dynamic shared library /nowhere/lib.so')
    const unnamed = thrownBy(() => Module.open('/nowhere/lib')) as PackedFuncError
    expect(unnamed.kind).toBe('RuntimeError')
    expect(unnamed.sentence).toBe('Failed to get file format from /nowhere/lib')
    expect((thrownBy(() => Module.open('/nowhere/lib.xyz')) as PackedFuncError).sentence).toContain(
      'Loader for `.xyz` files',
    )
  })
})

describe('imports', () => {
  it('are searched for functions', () => {
    const outer = load('packed_cpp')
    expect(outer.tryGet('sum')).toBeUndefined()
    outer.import(load('packed'))
    expect(outer.get('sum')(1, 1)).toBe(2)
    expect(outer.tryGet('sum', { imports: false })).toBeUndefined()
    expect(outer.has('sum', { imports: false })).toBe(false)
    expect(outer.doc('sum')).toBe('The sum of its numbers.')
  })

  it('are refused if they form a circle', () => {
    const a = load('packed')
    const b = load('packed_cpp')
    a.import(b)
    expect(() => b.import(a)).toThrow('Cyclic dependency')
    expect(() => a.import(a)).toThrow('Cyclic dependency')
  })
})

describe.each([
  ...(isOwnLibrary ? [['0.21', 'packed_tvm_021', 'square_neighbours_021'] as const] : []),
  ['0.22 to 0.25', 'packed_tvm_022', 'square_neighbours'] as const,
  ['0.26', 'packed_tvm_026', 'square_neighbours'] as const,
])('a library of the compiler of TVM %s', (_, library, name) => {
  afterEach(() => removeGlobal('test.compiled.helper'))
  const lib = load(library)

  it.each([[0], [1], [2], [3], [8]])('runs in parallel with %i tasks, a barrier and scratch memory', (tasks) => {
    const values = Array.from({ length: 1000 }, (_unused, i) => i % 10)
    const x = tensor('float32', [1000], values)
    const y = tensor('float32', [1000])
    lib.get(name)(x, y, tasks)
    expect(y.toArray()).toEqual(values.map((value, i) => value ** 2 + values[(i + 1) % 1000]! ** 2))
  })

  it('the error of a task is the error of the call', () => {
    const [x, y] = [tensor('float32', [8]), tensor('float32', [8])] as [Tensor, Tensor]
    for (const tasks of [1, 4]) {
      const error = thrownBy(() => lib.get(name)(x, y, tasks, true)) as PackedFuncError
      expect(error.kind).toBe('ValueError')
      expect(error.sentence).toBe('the last task failed')
    }
  })

  it('finds functions of the process through its context', () => {
    const other = load(library)
    registerGlobal('test.compiled.helper', (x: number) => x + 1)
    expect(other.entry(1)).toBe(2)
    // The library keeps the function that it has found, as in TVM.
    removeGlobal('test.compiled.helper')
    expect(other.entry(2)).toBe(3)
  })

  it('looking up a function that is not registered is an error', () => {
    const error = thrownBy(() => load(library).entry(1)) as PackedFuncError
    expect(error.sentence).toBe('Cannot find function test.compiled.helper in the imported modules or global registry.')
  })
})

it('a library prepares its context once', () => {
  const prepared = load('packed_tvm_026').get('prepared')
  expect([prepared(), prepared()]).toEqual([1, 1])
})
