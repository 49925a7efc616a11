import { afterAll, describe, expect, it } from 'vitest'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { kernelLibrary } from '@tenon/kernels'
import { Module, type PackedFuncError, registerGlobal } from '../src/index.ts'
import { isOwnLibrary, thrownBy } from './support.ts'

const generations = [
  ...(isOwnLibrary ? [['to 0.20', 'packed_embedded_legacy'] as const, ['0.21', 'packed_embedded_021'] as const] : []),
  ['0.22 to 0.25', 'packed_embedded_022'] as const,
  ['0.26', 'packed_embedded_026'] as const,
]

describe.each(generations)('a library of TVM %s with a module inside', (_, name) => {
  it('imports the module', () => {
    const lib = Module.open(kernelLibrary(name))
    expect(lib.entry()).toBe(40)
    expect(lib.entry(2)).toBe(42)
    expect(lib.get('add_setting')(3)).toBe(43)
    expect(lib.get('number')()).toBe(40)
    expect(lib.tryGet('number', { imports: false })).toBeUndefined()
  })
})

const directory = mkdtempSync(join(tmpdir(), 'tenon-embedded-'))
afterAll(() => rmSync(directory, { recursive: true }))
let copies = 0

/** A copy of a library with changed bytes. */
function changed(name: string, replace: (bytes: Buffer) => void): string {
  const bytes = readFileSync(kernelLibrary(name))
  replace(bytes)
  const path = join(directory, `${copies++}.so`)
  writeFileSync(path, bytes)
  return path
}

/** The offset of the kind in the library's bytes. */
function kindPlace(bytes: Buffer): number {
  return bytes.indexOf(Buffer.concat([Buffer.from([8, 0, 0, 0, 0, 0, 0, 0]), Buffer.from('settings')])) + 8
}

/** Writes a number at an offset from the size of the kind. */
function atKind(bytes: Buffer, offset: number, value: bigint): void {
  bytes.writeBigUInt64LE(value, kindPlace(bytes) - 8 + offset)
}

const loadedFrom = (path: string): PackedFuncError => thrownBy(() => Module.open(path)) as PackedFuncError

if (isOwnLibrary)
  describe('modules inside a library', () => {
    it.each([
      ['packed_embedded_026', 'the size of a kind', 0, 2n ** 62n],
      ['packed_embedded_026', 'the size of its bytes', 16, 10_000n],
      ['packed_embedded_026', 'a column that does not exist', -20, 2n],
      ['packed_embedded_026', 'a row after the columns', -36, 9n],
      ['packed_embedded_026', 'no rows', -60, 1n],
      ['packed_embedded_legacy', 'the size of a kind', 0, 2n ** 62n],
      ['packed_embedded_legacy', 'more entries than there are', -20, 4n],
      ['packed_embedded_legacy', 'a column that does not exist', 84, 7n],
    ])('%s: %s is refused', (name, _, offset, value) => {
      const error = loadedFrom(changed(name, (bytes) => atKind(bytes, offset, value)))
      expect([error.kind, error.sentence]).toEqual(['ValueError', 'the modules inside the library are malformed'])
    })

    it.each([
      [
        'packed_embedded_026',
        'Library binary was created using {unheard!} but a loader of that name is not registered.',
      ],
      ['packed_embedded_legacy', 'Binary was created using {unheard!} but a loader of that name is not registered'],
    ])('%s: an error names a kind without a loader', (name, sentence) => {
      const error = loadedFrom(changed(name, (bytes) => void bytes.write('unheard!', kindPlace(bytes))))
      expect([error.kind, error.sentence]).toEqual(['RuntimeError', expect.stringContaining(sentence)])
    })

    it.each([
      ['packed_embedded_026', 'ffi.Module.load_from_bytes.notmodul'],
      ['packed_embedded_legacy', 'runtime.module.loadbinary_notmodul'],
    ])('%s: an error names a loader that does not return a module', (name, global) => {
      registerGlobal(global, () => 3, { override: true }).close()
      const error = loadedFrom(changed(name, (bytes) => void bytes.write('notmodul', kindPlace(bytes))))
      expect([error.kind, error.sentence]).toEqual(['TypeError', `${global} must return a module, it returned \`int\``])
    })
  })

it('a TypeScript function can load a module inside a library', () => {
  let heard: unknown
  registerGlobal(
    'ffi.Module.load_from_bytes.elsewher',
    (bytes: Uint8Array) => {
      heard = bytes
      return Module.open(kernelLibrary('packed'))
    },
    { override: true },
  ).close()
  const path = changed('packed_embedded_026', (bytes) => void bytes.write('elsewher', kindPlace(bytes)))
  const lib = Module.open(path)
  expect(heard).toEqual(new Uint8Array([40, 0, 0, 0, 0, 0, 0, 0]))
  expect(lib.get('sum')(1, 2)).toBe(3)
})
