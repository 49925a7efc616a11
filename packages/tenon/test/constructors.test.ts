import { ArgumentError, NativeLibrary, tensor } from '@tenon/core'
import { kernelLibrary } from '@tenon/kernels'
import { Module, NativeArray, NativeObject, PackedFunc } from '@tenon/packed-func'
import { SymbolLookup } from '@tenon/scope/linker'
import { expect, test } from 'vitest'
import { Library } from '../src/index.ts'

type Any = new (...values: unknown[]) => unknown

/** Classes whose objects are made by functions, with what a reader may pass to `new` instead, and the hint. */
const classes: readonly (readonly [name: string, made: unknown, argument: unknown, hint: string])[] = [
  ['Library', Library, kernelLibrary('kernels'), 'Library.open('],
  ['NativeLibrary', NativeLibrary, kernelLibrary('kernels'), 'NativeLibrary.open('],
  ['SymbolLookup', SymbolLookup, kernelLibrary('kernels'), 'SymbolLookup.ofLibrary('],
  ['Module', Module, kernelLibrary('packed'), 'Module.open('],
  ['PackedFunc', PackedFunc, () => 1, 'packedFunc('],
  ['NativeArray', NativeArray, [1, 2], 'getGlobal('],
  ['NativeObject', NativeObject, tensor('f32', [1]), 'getGlobal('],
]

test.each(classes)('new %s() is refused with a hint', (_name, made, argument, hint) => {
  for (const values of [[argument], [], [{}, 'x']]) {
    let thrown: unknown
    try {
      Reflect.construct(made as Any, values)
    } catch (error) {
      thrown = error
    }
    expect(thrown).toBeInstanceOf(ArgumentError)
    expect((thrown as ArgumentError).hint).toContain(hint)
  }
})
