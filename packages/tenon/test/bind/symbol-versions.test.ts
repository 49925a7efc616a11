import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { LoadError } from '@tenon/core'
import type { NativeModule } from '@tenon/scope/bind'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Library } from '../../src/index.ts'
import { type Finished, runTenon } from '../run-tenon.ts'
import type { Bound } from './bound-store.ts'

// Only glibc has versions.
if (
  process.platform === 'linux' &&
  'glibcVersionRuntime' in (process.report.getReport() as unknown as { header: object }).header
)
  describe('a function with a version in its annotations', () => {
    // In the package, so that the modules find tenon.
    const directory = mkdtempSync(join(dirname(fileURLToPath(import.meta.url)), 'versions-'))
    const library = join(directory, 'libversions.so')
    const at = (name: string): string => join(directory, name)
    afterAll(() => rmSync(directory, { recursive: true }))

    const bind = (output: string, functions: object): Finished => {
      writeFileSync(at(`${output}.json`), JSON.stringify({ tenon: 1, functions }))
      const options = ['--library', library, '--annotations', at(`${output}.json`), '--output', at(output)]
      return runTenon(['bind', at('versions.h'), ...options])
    }
    const load = async (name: string, query = ''): Promise<Bound> =>
      (await import(pathToFileURL(join(directory, name, 'index.js')).href + query)) as Bound

    beforeAll(() => {
      writeFileSync(at('versions.h'), 'int limit(int by);\nint gone(void);\nint plain(void);\n')
      writeFileSync(
        at('versions.c'),
        `int limit_old(int by) { return 10 * by; }
         int limit_new(int by) { return 20 * by; }
         int gone_old(void) { return 3; }
         int plain(void) { return 4; }
         __asm__(".symver limit_old, limit@V_1");
         __asm__(".symver limit_new, limit@@V_2");
         __asm__(".symver gone_old, gone@V_1");`,
      )
      writeFileSync(at('versions.map'), 'V_1 { };\nV_2 { global: limit; plain; local: *; } V_1;\n')
      const flags = ['-shared', '-fPIC', `-Wl,--version-script=${at('versions.map')}`]
      execFileSync(process.env['CC'] ?? 'cc', [...flags, '-o', library, at('versions.c')])
    })

    test('is called in that version, also in another process', async () => {
      expect(bind('old', { 'limit@V_1': { by: 'plain' }, 'gone@V_1': {} })).toMatchObject({ code: 0 })
      const old = await load('old')
      expect([old['limit'](2), old['gone'](), old['plain']()]).toEqual([20, 3, 4])
      const isolated = await load('old', '?isolated')
      await using _ = await Library.isolate(isolated['library'] as NativeModule, { workers: 1 })
      expect([isolated['limit'](2), isolated['gone'](), isolated['plain']()]).toEqual([20, 3, 4])
      expect(() => isolated['library'].link('limit@V_9', {})).toThrow(LoadError)
      expect(isolated['library'].has('gone@V_1')).toBe(true)
    })

    test('has the newest version without one, and is not bound if it has old versions only', async () => {
      const { stderr } = bind('new', { 'limit@V_2': { rename: 'newest' } })
      expect(stderr).toContain('2 functions in')
      const bound = await load('new')
      expect([bound['newest'](2), Object.keys(bound)]).toEqual([40, ['library', 'newest', 'plain']])
      const { library: module } = bound as { library: NativeModule }
      expect(['gone', 'gone@V_1', 'gone@V_2', 'limit@V_1'].map((name) => module.has(name))).toEqual([
        false,
        true,
        false,
        true,
      ])
    })

    test('must have a version that the library exports', async () => {
      const { code, stderr } = bind('wrong', { 'limit@V_3': {} })
      expect([code, stderr]).toEqual([
        1,
        expect.stringContaining(
          'functions.limit@V_3 names a symbol that is not exported in the version V_3 by libversions.so\n',
        ),
      ])
      expect(stderr).toContain('objdump -T')
      // The library has changed since.
      const { library: module } = (await load('old')) as { library: NativeModule }
      expect(() => module.link('limit@V_3', { result: 'int32', parameters: ['int32'] })).toThrow(
        /libversions\.so must export limit@V_3, which the header declares[^]*objdump -T/,
      )
    })
  })
