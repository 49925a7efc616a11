import { describe, expect, it } from 'vitest'
import { kernelLibrary } from '@tenon/kernels'
import { AttributeError, getGlobal, Module, type PackedFuncError } from '../src/index.ts'
import { compileLibrary } from './compile.ts'
import { isOwnLibrary, live, thrownBy } from './support.ts'

const load = (name: string): Module => Module.open(kernelLibrary(name))

describe('a module', () => {
  it('lists its imports, and removes them', () => {
    const use = (): void => {
      const [outer, inner, other] = [load('packed'), load('packed_tvm_022'), load('packed_sources')]
      expect(outer.imports).toEqual([])
      outer.import(inner)
      outer.import(other)
      const imports = outer.imports
      expect(imports.map((each) => each instanceof Module)).toEqual([true, true])
      expect(imports[0]!.has('add_one')).toBe(inner.has('add_one'))
      for (const each of imports) each.close()
      outer.clearImports()
      expect(outer.imports).toEqual([])
      for (const each of [outer, inner, other]) each.close()
    }
    use() // Functions that are looked up once are kept.
    const before = live()
    use()
    expect(live()).toEqual(before)
  })

  it('says what it can do, and that a library has no source and cannot be written', () => {
    const module = load('packed')
    // Other tvm-ffi libraries can also save a library as bytes.
    expect(module.propertyMask & 2).toBe(2)
    expect(module.writeFormats).toEqual([])
    expect([module.source(), module.source('cuda')]).toEqual(['', ''])
    const error = thrownBy(() => module.writeToFile('out.o', 'o')) as PackedFuncError
    expect([error.kind, error.sentence]).toEqual(['RuntimeError', 'Module[library] does not support WriteToFile'])
    expect(() => module.source(1 as never)).toThrow('format must be a string')
    expect(() => module.writeToFile('', 'o')).toThrow('path must be')
    module.close()
    expect(() => module.imports).toThrow('closed already')
    expect(() => module.propertyMask).toThrow('closed already')
  })

  it('names the functions of its file, if it is a library', () => {
    expect(load('packed').functionNames).toEqual(expect.arrayContaining(['sum', 'echo', 'add_one']))
    expect(load('packed').functionNames!.every((name) => load('packed').has(name))).toBe(true)
    expect((getGlobal('ffi.SystemLib')() as Module).functionNames).toBeUndefined()
    if (isOwnLibrary) expect(load('packed_legacy_c').functionNames).toBeUndefined()
  })
})

const LEGACY = `
  #define KERNEL(name) int name(void *args, int *codes, int count, void *result, int *code, void *resource)
  __attribute__((visibility("default"))) KERNEL(NAME) { *(long long *)result = count; *code = 0; return 0; }
`
const legacy = (file: string, name: string, more = ''): string =>
  compileLibrary(file, LEGACY.replace('NAME', name) + more)

if (isOwnLibrary && process.platform !== 'win32')
  describe('a library of TVM to 0.20', () => {
    it('that has an entry and no name of tvm-ffi is recognised', () => {
      const path = legacy('libentry.so', '__tvm_main__')
      expect(Module.open(path).entry(1, 2, 3)).toBe(3)
      expect(Module.open(path, { legacy: true }).entry(1)).toBe(1)
      expect(Module.open(path, { legacy: false }).tryGet('main')).toBeUndefined()
      expect(() => Module.open(path, { legacy: 1 as never })).toThrow('legacy must be a boolean')
    })

    it('is not assumed if the library exports or imports names of tvm-ffi', () => {
      const exporting = legacy('libexports.so', '__tvm_main__', 'int __tvm_ffi_other(void) { return 0; }')
      expect(Module.open(exporting).tryGet('main')).toBeUndefined()
      const importing = legacy(
        'libimports.so',
        '__tvm_main__',
        'int TVMFFIObjectDecRef(void *); int f(void *o) { return TVMFFIObjectDecRef(o); }',
      )
      expect(Module.open(importing).tryGet('main')).toBeUndefined()
    })

    it('is suggested for a plain function that get() does not find', () => {
      const path = legacy('libplain.so', 'default_function')
      const error = thrownBy(() => Module.open(path).get('default_function')) as AttributeError
      expect(error).toBeInstanceOf(AttributeError)
      expect(error.sentence).toBe("Module has no function 'default_function'")
      expect(error.hint).toBe(
        'The library exports a plain function of this name. If TVM to 0.20 compiled it, open it with { legacy: true }.',
      )
      expect(Module.open(path, { legacy: true }).get('default_function')(1, 2)).toBe(2)
      const similar = thrownBy(() => Module.open(path).get('default_functoin')) as AttributeError
      expect(similar.hint).toContain('default_function')
    })
  })
