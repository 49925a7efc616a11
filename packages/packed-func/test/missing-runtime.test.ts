import { sourceFlags } from '@tenon/config/package-flags'
import { copyFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { LoadError } from '@tenon/core'
import { runScript, type ScriptResult } from '@tenon/core/testing'
import { missingSymbols, readableName } from '../src/functions/missing-runtime.ts'
import { Module } from '../src/index.ts'
import { host } from '../src/native/host.ts'
import { compileLibrary } from './compile.ts'
import { thrownBy } from './support.ts'

/** A library that needs functions of C++, by their mangled names. */
function needing(path: string, symbols: readonly string[], flags: readonly string[] = []): string {
  const lines = symbols.map((symbol, i) => `extern void f${i}(void) __asm__("${symbol}");`)
  const uses = symbols.map((_, i) => `f${i}`).join(', ')
  return compileLibrary(path, `${lines.join('\n')}\nvoid (*const used[])(void) = { ${uses} };\n`, flags)
}

const PARSE = '_ZN3tvm3ffi4json14ParseNotThere1ERKNS0_6StringEPS2_'
const STRINGIFY = '_ZN3tvm3ffi4json18StringifyNotThere1ERKNS0_3AnyENS0_8OptionalIivEE'
const VTABLE = '_ZTVN3tvm3ffi17ModuleObjNotThereE'
const OTHER = '_Z9not_thereN3tvm3ffi6StringE'
const { ffiPath } = host()

const root = fileURLToPath(new URL('..', import.meta.url))

function openIn(environment: Record<string, string>, body = ''): Promise<ScriptResult> {
  return runScript(
    `import { NativeLibrary } from '@tenon/core'
     import { getGlobal } from '@tenon/packed-func'
     import { host } from ${JSON.stringify(new URL('../src/native/host.ts', import.meta.url).href)}
     try { ${body}; console.log(host().ffiPath, getGlobal('ffi.String')('x')) } catch (error) { console.log(error.name, error.sentence) }`,
    { cwd: root, env: environment, nodeOptions: [...sourceFlags, '--no-warnings'] },
  )
}

if (process.platform !== 'win32') {
  describe('a library that needs functions of the C++ runtime', () => {
    it('is a LoadError that names the first function and the number of the others', () => {
      const path = needing('libneeds.so', [PARSE, STRINGIFY, VTABLE])
      const error = thrownBy(() => Module.open(path)) as LoadError
      expect(error).toBeInstanceOf(LoadError)
      const named = /needs (\S+|vtable for \S+) and 2 more/.exec(error.sentence)?.[1]
      expect([PARSE, STRINGIFY, VTABLE].map(readableName)).toContain(named)
      expect(error.sentence).toBe(
        `${path} needs ${named} and 2 more of tvm-ffi's C++ runtime, which the tvm-ffi library ${ffiPath} does not export`,
      )
      expect(error.hint).toBe(
        'Run pip install apache-tvm-ffi, and set TENON_TVM_FFI_LIBRARY to the file that "tvm-ffi-config --libfiles" prints, before packed functions are first used.',
      )
      expect(error.cause).toBeInstanceOf(Error)
    })

    it('names one function alone, and the tvm-ffi library beside it or in its search path', () => {
      const beside = needing('beside/libneeds.so', [PARSE])
      copyFileSync(ffiPath, join(dirname(beside), 'libtvm_ffi.so'))
      const error = thrownBy(() => Module.open(beside)) as LoadError
      expect(error.sentence).toBe(
        `${beside} needs tvm::ffi::json::ParseNotThere1 of tvm-ffi's C++ runtime, which the tvm-ffi library ${ffiPath} does not export`,
      )
      const set = `Set TENON_TVM_FFI_LIBRARY to ${join(dirname(beside), 'libtvm_ffi.so')} before packed functions are first used.`
      expect(error.hint).toBe(set)
      if (process.platform !== 'linux') return
      const far = needing('far/libneeds.so', [PARSE], ['-Wl,-rpath,$ORIGIN/../beside'])
      expect((thrownBy(() => Module.open(far)) as LoadError).hint).toBe(set)
    })

    it('keeps the error of a library that lacks other functions, or fails for another reason', () => {
      const path = needing('libother.so', [OTHER])
      const error = thrownBy(() => Module.open(path)) as LoadError
      expect(error).toBeInstanceOf(LoadError)
      expect(error.sentence).not.toContain('C++ runtime')
      expect(missingSymbols(path, ffiPath)).toEqual([])
      expect(missingSymbols('/nowhere/lib.so', ffiPath)).toEqual([])
    })

    it('reads the names of functions, classes and templates', () => {
      expect(readableName(PARSE)).toBe('tvm::ffi::json::ParseNotThere1')
      expect(readableName(VTABLE)).toBe('vtable for tvm::ffi::ModuleObjNotThere')
      expect(readableName('__ZNKR3tvm3ffi5ArrayINS0_3AnyEvE4sizeEv')).toBe('tvm::ffi::Array')
      expect(readableName('_ZN9999tvm')).toBe('tvm')
      expect(readableName('nothing')).toBe('nothing')
    })
  })

  describe('the tvm-ffi library of a process', () => {
    it('is that of this package, or the one that TENON_TVM_FFI_LIBRARY names', async () => {
      const copy = compileLibrary('unused.so', '').replace('unused.so', 'libtvm_ffi.so')
      copyFileSync(ffiPath, copy)
      const own = (await openIn({ TENON_TVM_FFI_LIBRARY: '' })).stdout
      expect(own).toMatch(/libtvm_ffi\.\w+ x/)
      expect((await openIn({ TENON_TVM_FFI_LIBRARY: copy })).stdout).toBe(`${copy} x\n`)
      expect((await openIn({ TENON_TVM_FFI_LIBRARY: copy, TENON_IGNORE_ENVIRONMENT: '1' })).stdout).toBe(own)
    })

    it('is one that the process has loaded already, even if the variable names another', async () => {
      const copy = compileLibrary('loaded/unused.so', '').replace('unused.so', 'libtvm_ffi.so')
      copyFileSync(ffiPath, copy)
      const body = `NativeLibrary.open(${JSON.stringify(copy)})`
      expect((await openIn({ TENON_TVM_FFI_LIBRARY: '/nowhere/libtvm_ffi.so' }, body)).stdout).toBe(`${copy} x\n`)
    })

    it('must have an absolute path', async () => {
      const { stdout } = await openIn({ TENON_TVM_FFI_LIBRARY: './libtvm_ffi.so' })
      expect(stdout).toBe('LoadError TENON_TVM_FFI_LIBRARY must be an absolute path, got ./libtvm_ffi.so\n')
    })
  })
}
