import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { LoadError, NativeLibrary, tensor } from '@tenon/core'
import {
  callProvider,
  customCall,
  deviceFunction,
  hostCall,
  hostFunction,
  registeredHandler,
  registerType,
  TargetRegistry,
  targets,
  typedHandler,
} from '@tenon/custom-call'
import { kernelLibrary } from '@tenon/kernels'
import { getGlobal, Module, registerGlobal } from '@tenon/packed-func'
import { buildModel, operandSlice } from '@tenon/nnapi'
import { createPool } from '@tenon/pools'
import { NativeScope } from '@tenon/scope'
import { SymbolLookup } from '@tenon/scope/linker'
import { afterAll, describe, expect, test } from 'vitest'
import { Library } from '../src/index.ts'

const kernels = NativeLibrary.open(kernelLibrary('kernels'))
const library = Library.open(kernelLibrary('kernels'))
NativeLibrary.open(kernelLibrary('kernels_runtime'))
const scope = NativeScope.ofConfined()
const pool = createPool(64)
const ours = new TargetRegistry()
ours.registerFunction('twice', '(x: f32[2]) -> (y: f32[2])', () => {})
registerGlobal('suggestions.scale', () => null)
afterAll(() => {
  ours.unregister('twice')
  scope.close()
  pool.close()
})

function hintOf(action: () => unknown): string | undefined {
  try {
    action()
  } catch (error) {
    return (error as { hint?: string }).hint
  }
  throw new Error('the name must not be found')
}

/** Everything that looks up a name which a library or a program has chosen, with a misspelled name. */
const lookUps: readonly (readonly [name: string, lookUp: () => unknown, suggestion: string])[] = [
  ['NativeLibrary.symbol()', () => kernels.symbol('rms_nrom'), 'rms_norm'],
  ['NativeLibrary.function()', () => kernels.function('rms_nrom', { parameters: [] }), 'rms_norm'],
  ['SymbolLookup.get()', () => SymbolLookup.ofLibrary(kernels.path, scope).get('rms_nrom'), 'rms_norm'],
  ['Library.customCall()', () => library.customCall('rms_nrom'), 'rms_norm'],
  ['Library.hostCall()', () => library.hostCall('do_custom_cal'), 'do_custom_call'],
  ['customCall()', () => customCall(kernels, 'rms_nrom'), 'rms_norm'],
  [
    'typedHandler()',
    () => typedHandler(kernels, { execute: 'counter_v3', prepare: 'counter_v3_instantiat' }),
    'counter_v3',
  ],
  ['hostCall()', () => hostCall(kernels, 'do_custom_cal'), 'do_custom_call'],
  ['hostFunction()', () => hostFunction(kernels, 'do_custom_cal'), 'do_custom_call'],
  ['deviceFunction()', () => deviceFunction(kernels, 'do_custom_cal'), 'do_custom_call'],
  ['registerType()', () => registerType(kernels, 'tenon_factor', { id: 'factor_type_ib' }), 'factor_type_id'],
  ['callProvider()', () => callProvider(kernels, 'rms_nrom'), 'rms_norm'],
  ['registeredHandler()', () => registeredHandler('negat'), 'negate'],
  ['targets.prepare()', () => targets.prepare('negat', { operands: [], results: [] }), 'negate'],
  ['TargetRegistry.prepare()', () => ours.prepare('twise', { operands: [], results: [] }), 'twice'],
  ['Module.get()', () => Module.open(kernelLibrary('packed')).get('summ'), 'sum'],
  ['Module.get() of TVM to 0.20', () => Module.open(kernelLibrary('packed_legacy_llvm')).get('add_on'), 'add_one'],
  ['tensor()', () => tensor('flot32', [1]), 'float32'],
  ['operandSlice()', () => operandSlice(pool, 0, 'TENSOR_FLOT32' as 'TENSOR_FLOAT32', [1]), 'TENSOR_FLOAT32'],
  ['buildModel()', () => buildModel((g) => g.input('TENSOR_FLOT32' as 'TENSOR_FLOAT32', [1])), 'TENSOR_FLOAT32'],
  ['getGlobal()', () => getGlobal('suggestions.scael'), 'suggestions.scale'],
]

describe('a misspelled name gets a suggestion:', () => {
  test.each(lookUps)('%s', (_name, lookUp, suggestion) => {
    expect(hintOf(lookUp)).toMatch(new RegExp(`Did you mean .*${suggestion}`))
  })

  test('the names that other libraries chose are not suggested for a name without a similar one', () => {
    expect(hintOf(() => kernels.symbol('zzzzzzzz'))).toMatch(/^Build it with default visibility/)
    expect(hintOf(() => NativeLibrary.ofProcess().symbol('zzzzzzzz'))).toMatch(/^Build it with default visibility/)
  })
})

describe('a library that does not exist is a LoadError:', () => {
  const directory = mkdtempSync(join(tmpdir(), 'tenon-absent-'))
  afterAll(() => rmSync(directory, { recursive: true }))
  const absent = join(directory, 'libkernals.so')
  copyFileSync(kernelLibrary('kernels'), join(directory, 'libkernels.so'))

  const opens: readonly (readonly [name: string, open: () => unknown])[] = [
    ['Library.open()', () => Library.open(absent)],
    ['Library.open() with a URL', () => Library.open(pathToFileURL(absent))],
    ['NativeLibrary.open()', () => NativeLibrary.open(absent)],
    ['SymbolLookup.ofLibrary()', () => SymbolLookup.ofLibrary(absent, scope)],
    ['Module.open()', () => Module.open(absent)],
    ['Module.open() of a library for TVM to 0.20', () => Module.open(absent, { legacy: true })],
  ]
  test.each(opens)('%s', (_name, open) => {
    expect(open).toThrow(LoadError)
    expect(open).toThrow(`${absent} does not exist`)
    expect(hintOf(open)).toBe(`Did you mean ${join(directory, 'libkernels.so')}?`)
  })

  test('Module.open() keeps the message of tvm-ffi as the cause', () => {
    let thrown: unknown
    try {
      Module.open(absent)
    } catch (error) {
      thrown = error
    }
    expect(thrown).toMatchObject({ cause: { name: 'InternalError', kind: 'InternalError' } })
  })
})
