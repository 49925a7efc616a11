import { execFileSync } from 'node:child_process'
import { globSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { NativeLibrary, tensor } from '@tenon/core'
import {
  InvalidArgumentError,
  registerType,
  s32,
  s64,
  targetCall,
  typedHandler,
  type ApiMinor,
  type AttributeDictionary,
  type HandlerOptions,
  type TypedHandler,
} from '@tenon/custom-call'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { liveObjects, thrownBy } from './kernels.ts'

/** A directory with XLA's headers of some versions, as `0.1`, `0.2-june`, each with `xla/ffi/api/ffi.h` in it. */
const headers = process.env['TENON_XLA_HEADERS']
const source = fileURLToPath(new URL('fixtures/xla_handlers.cc', import.meta.url))

/** Compiles the handlers with one version of the headers. */
function compile(directory: string, version: string): NativeLibrary {
  const path = join(directory, `lib${version}.so`)
  const flags = ['-std=c++17', '-O1', '-DNDEBUG', '-fPIC', '-shared', '-w', '-I', join(headers!, version), '-o', path]
  execFileSync(process.env['CXX'] ?? 'g++', [...flags, source], { env: { ...process.env, LD_PRELOAD: '' } })
  return NativeLibrary.open(path)
}

const versions = headers === undefined ? [] : readdirSync(headers).toSorted()

if (versions.length > 0) {
  describe.each(versions)("handlers that are written with XLA's own header, %s", (version) => {
    const minor = version.slice(0, 3)
    const isNewer = Number(minor) > 0.4
    const options: HandlerOptions = { allowNewerApi: isNewer }
    let directory: string
    let library: NativeLibrary
    beforeAll(() => {
      directory = mkdtempSync(join(tmpdir(), 'tenon-xla-headers-'))
      library = compile(directory, version)
    }, 120_000)
    afterAll(() => rmSync(directory, { recursive: true }))

    const handler = (symbol: string): TypedHandler => typedHandler(library, symbol, options)

    test('report their version', () => {
      expect(handler('RmsNorm').metadata.version).toBe(minor)
    })

    test('rms_norm, by its signature', () => {
      const rmsNorm = targetCall('(x: f32[n, d]) -> (y: f32[n, d]); eps: f32', handler('RmsNorm'))
      const y = rmsNorm(tensor('f32', [1, 3], [1, 2, 2]), { eps: 0 })
      expect(y.toArray().map((value) => Number(value).toFixed(4))).toStrictEqual(['0.5774', '1.1547', '1.1547'])
    })

    test('report a wrong type in diagnostics', () => {
      const x = tensor('f64', [1, 3])
      using call = handler('RmsNorm').prepare({ operands: [x], results: [x], attrs: { eps: s32(1) } })
      const error = thrownBy(() => call.run([x], [x]))
      expect(error).toBeInstanceOf(InvalidArgumentError)
      expect((error as { diagnostics: string[] }).diagnostics.length).toBeGreaterThan(1)
    })

    const results = (symbol: string, attrs: AttributeDictionary, size: number): unknown[] => {
      const out = tensor(symbol === 'ArraySum' ? 's32' : 's64', [size])
      using call = handler(symbol).prepare({ results: [out], attrs })
      call.run([], [out])
      return out.toArray()
    }

    test('arrays and dictionaries', () => {
      expect(results('ArraySum', { list: new Int32Array([1, 2, 3, 4]) }, 1)).toStrictEqual([10])
      expect(results('DictionaryLookup', { secret: 42n, other: 'x', more: true }, 2)).toStrictEqual([42n, 3n])
    })

    test('keep a state, whose type is registered first', async () => {
      const { address: id } = library.function('counter_type_id', { result: 'pointer' })()
      const info = minor === '0.1' ? {} : { info: 'counter_type_info' }
      const type = registerType(library, `counter of ${version}`, {
        id,
        ...info,
        api: (isNewer ? '0.4' : minor) as ApiMinor,
      })
      const symbols = { execute: 'CounterExecute', instantiate: 'CounterInstantiate' }
      const target = typedHandler(library, symbols, options)
      if (minor !== '0.1') expect(target.metadata.stateTypeId).toBe(type.id)
      using call = target.prepare({ results: [s64([])], attrs: { start: 7n } })
      const count = tensor('s64', [])
      for (const expected of [7n, 8n]) {
        call.run([], [count])
        expect(count.toArray()).toStrictEqual([expected])
      }
      await call.runAsync([], [count])
      expect(count.toArray()).toStrictEqual([9n])
    })

    test('aliasing', () => {
      const x = tensor('f32', [4])
      using call = handler('Aliasing').prepare({ operands: [x], results: [x] })
      call.run([x], [x])
      expect(() => call.run([x], [tensor('f32', [4])])).toThrow(/must lie where the operand does/)
      expect(liveObjects()).toStrictEqual({ errors: 0, futures: 0 })
    })
  })
}

test('the headers of XLA are not part of this repository', () => {
  const root = fileURLToPath(new URL('../../..', import.meta.url))
  const found = ['packages/*', 'examples/*', 'fixtures/*'].flatMap((where) =>
    globSync(`${where}/{include,csrc,src,test}/**/ffi/api/*.h`, { cwd: root }),
  )
  expect(found).toStrictEqual([])
})
