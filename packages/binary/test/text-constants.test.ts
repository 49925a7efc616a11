import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { BinaryFormatError } from '../src/binary-format-error.ts'
import { parseBinary, readBinary } from '../src/read-binary.ts'
import { parseTextConstants, readTextConstants } from '../src/read-text-constants.ts'
import { elfImage, fatImage, machOTextImage, peTextImage, textAt } from './binary-images.ts'
import { memorySource } from './memory-source.ts'

let directory: string
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'tenon-constants-'))
})
afterAll(() => rmSync(directory, { recursive: true }))

/** The text of an export, or the sentence of the error. */
function textOf(bytes: Buffer, name: string): string {
  const source = memorySource(bytes)
  const [text] = parseTextConstants(
    source,
    parseBinary(source).exports.filter((symbol) => symbol.name === name),
  )
  return typeof text === 'string' ? text : text!.sentence
}

const readText = (path: string, name: string): string | BinaryFormatError | undefined =>
  readTextConstants(
    path,
    readBinary(path).exports.filter((symbol) => symbol.name === name),
  )[0]

describe('the text of an exported constant is read from the file', () => {
  test.each([
    ['64 bits', { bits: 64, littleEndian: true, machine: 62 }],
    ['32 bits, big-endian', { bits: 32, littleEndian: false, machine: 8 }],
  ] as const)('of an ELF file of %s, up to its size or its NUL', (_name, options) => {
    const image = elfImage(options)
    image.write('(x: f32[n]) -> (y: f32[n]) -- é\0behind the end', 0x80)
    expect(textOf(image, 'table')).toBe('(x: f32[n]) -> (y: f32[n]) -- é')
    image.fill('a', 0x80, 0x80 + 64)
    image.write('b', 0x80 + 64)
    expect(textOf(image, 'table')).toBe('a'.repeat(64))
  })

  test.each([
    ['Mach-O', machOTextImage()],
    ['PE of 64 bits', peTextImage(64)],
    ['PE of 32 bits', peTextImage(32)],
  ] as const)('of a %s file, up to its NUL', (_name, image) => {
    expect(textOf(image, 'answer')).toBe('')
    image.write('(x: f32[n]) -> (y: f32[n])\0x', textAt)
    expect(textOf(image, 'answer')).toBe('(x: f32[n]) -> (y: f32[n])')
  })

  test('of a file for several processors, in the part for this one', () => {
    const parts = [0xc, 0x1000007, 0x100000c].map((cpuType) => ({ cpuType, bytes: machOTextImage(cpuType) }))
    const texts = ['arm', 'x64', 'arm64']
    texts.forEach((text, index) => parts[index]!.bytes.write(text, textAt))
    expect(textOf(fatImage(parts), 'answer')).toBe(texts.includes(process.arch) ? process.arch : 'arm')
  })

  test('of an ELF file that does not record the size, up to its NUL', () => {
    const image = elfImage({ bits: 64, littleEndian: true, machine: 62 })
    image.writeBigUInt64LE(0n, 0x300 + 3 * 24 + 16)
    image.write('text\0x', 0x80)
    expect(textOf(image, 'table')).toBe('text')
  })

  test('a function, an address without bytes, invalid UTF-8 and a text that does not end are refused with a reason', () => {
    const elf = (): Buffer => elfImage({ bits: 64, littleEndian: true, machine: 62 })
    expect(textOf(elf(), 'answer')).toBe('answer must be a constant, got a function')
    const table = 0x300 + 3 * 24
    const moved = elf()
    moved.writeBigUInt64LE(0x600n, table + 8)
    expect(textOf(moved, 'table')).toBe(
      "the constant table is at address 0x600, which is outside of the file's segments",
    )
    moved.writeBigUInt64LE(2n ** 64n - 1n, table + 8)
    expect(textOf(moved, 'table')).toContain("outside of the file's segments")
    const long = elf()
    long.writeBigUInt64LE(0x581n, table + 16)
    expect(textOf(long, 'table')).toBe('the constant table has 1409 bytes, but its segment has 1408 left')
    long.writeBigUInt64LE(2n ** 64n - 1n, table + 16)
    expect(textOf(long, 'table')).toContain('but its segment has 1408 left')
    const invalid = elf()
    invalid.writeUInt8(0xff, 0x80)
    expect(textOf(invalid, 'table')).toBe('the text of table must be valid UTF-8')
    const endless = machOTextImage()
    endless.fill('a', textAt)
    expect(textOf(endless, 'answer')).toBe('the constant answer does not end within its segment')
    const outside = peTextImage()
    outside.fill('a', textAt)
    expect(textOf(outside, 'answer')).toBe('the constant answer does not end within its segment')
  })

  test('symbols that share their bytes cannot make more text than a multiple of the file', () => {
    const image = elfImage({ bits: 64, littleEndian: true, machine: 62 })
    image.fill('a', 0x80, 0x80 + 64)
    const source = memorySource(image)
    const symbol = parseBinary(source).exports.find(({ name }) => name === 'table')
    const texts = parseTextConstants(
      source,
      Array.from({ length: 3000 }, () => symbol!),
    )
    expect(texts.filter((text) => typeof text === 'string').length).toBe(Math.floor((16 * 0x600 + 65_536) / 64))
    expect((texts.at(-1) as BinaryFormatError).sentence).toBe('the constants are far larger in total than the file')
  })

  test('a file with more than 1024 segments is refused', () => {
    const image = Buffer.concat([elfImage({ bits: 64, littleEndian: true, machine: 62 }), Buffer.alloc(2000 * 56)])
    image.writeBigUInt64LE(0x600n, 32)
    image.writeUInt16LE(2000, 56)
    for (let index = 0; index < 2000; index += 1) image.writeUInt32LE(1, 0x600 + index * 56)
    const symbol = { name: 'x', kind: 'object', address: 0n, weak: false } as const
    expect(() => parseTextConstants(memorySource(image), [symbol])).toThrow('at most 1024 segments, not 2000')
  })

  test.each([undefined, null, 'x', [null], [{}], [{ address: 1 }]])('%j is refused as the symbols', (symbols) => {
    expect(() => readTextConstants(process.execPath, symbols as never)).toThrow('symbols must be an array of exports')
  })

  test('the errors of a file name its path', () => {
    const path = join(directory, 'text.so')
    writeFileSync(path, 'hello\n')
    const symbol = { name: 'x', kind: 'object', address: 0n, weak: false } as const
    expect(() => readTextConstants(path, [symbol])).toThrow(`cannot read ${path}: the file is not a shared library`)
    expect(() => readTextConstants(join(directory, 'absent.so'), [symbol])).toThrow(/ENOENT/)
  })
})

const installed = (command: string): boolean => spawnSync(command, ['--version']).status === 0
const include = fileURLToPath(new URL('../../core/include', import.meta.url))
const text = '(x: f32[..., c]) -> (y: f32[..., c]); temperature: f32 = 1 -- Softmax over the last axis, é.'
const header = `#include <tenon/signature.h>\n`
const kernel = `
#ifdef __cplusplus
extern "C"
#endif
int softmax(void *frame);
int softmax(void *frame) { return frame != 0; }
TN_SIGNATURE(softmax, "(x: f32[..., c]) -> (y: f32[..., c]); temperature: f32 = 1 "
                      "-- Softmax over the last axis, é.");
`
const warnings = ['-pedantic', '-Wall', '-Wextra', '-Werror', '-I', include]

function build(command: string, file: string, source: string, ...flags: string[]): string {
  const input = join(directory, file)
  writeFileSync(input, source)
  execFileSync(command, [...warnings, '-o', `${input}.so`, input, ...flags])
  return `${input}.so`
}

const compilers: readonly (readonly [command: string, standard: string, file: string])[] = [
  ['gcc', 'c99', 'kernel.c'],
  ['gcc', 'c17', 'kernel.c'],
  ['clang', 'c11', 'kernel.c'],
  ['g++', 'c++17', 'kernel.cc'],
  ['clang++', 'c++17', 'kernel.cc'],
]
const forms = {
  plain: [],
  stripped: ['-s'],
  'hidden visibility': ['-fvisibility=hidden'],
  'link-time optimisation': ['-O2', '-flto'],
  'removed sections': ['-ffunction-sections', '-fdata-sections', '-Wl,--gc-sections'],
} as const

if (process.platform === 'linux')
  describe('TN_SIGNATURE() exports the text', () => {
    const found = compilers.filter(([command]) => installed(command))
    const cases = found.flatMap(([command, standard, file]) =>
      Object.entries(forms).map(([form, flags]) => [command, standard, form, file, flags] as const),
    )

    test('gcc and g++ are installed', () => {
      expect(found.map(([command]) => command)).toEqual(expect.arrayContaining(['gcc', 'g++']))
    })

    test.each(cases)('%s %s, %s', (command, standard, _form, file, flags) => {
      const path = build(command, file, header + kernel, `-std=${standard}`, '-shared', '-fPIC', ...flags)
      expect(readText(path, 'softmax__tn_signature')).toBe(text)
    })

    test('in a namespace, twice in one file, and for another processor of 32 bits', () => {
      const source = `${header}namespace kernels {${kernel}}\nTN_SIGNATURE(other, "() -> (y: f32)");`
      const path = build('g++', 'namespace.cc', source, '-shared', '-fPIC')
      expect(readText(path, 'softmax__tn_signature')).toBe(text)
      expect(readText(path, 'other__tn_signature')).toBe('() -> (y: f32)')
      if (process.arch !== 'x64') return
      const narrow = build('gcc', 'narrow.c', header + kernel, '-shared', '-fPIC', '-m32', '-nostdlib')
      expect(readText(narrow, 'softmax__tn_signature')).toBe(text)
    })

    if (installed('x86_64-w64-mingw32-gcc'))
      test.each(Object.entries(forms))('MinGW, %s', (_form, flags) => {
        const path = build('x86_64-w64-mingw32-gcc', 'kernel.c', header + kernel, '-shared', ...flags)
        expect(readBinary(path).format).toBe('pe')
        expect(readText(path, 'softmax__tn_signature')).toBe(text)
      })

    if (installed('clang'))
      test.each(['arm64-apple-macos11', 'x86_64-apple-macos11'])('clang for %s', (target) => {
        const source = header + kernel
        const path = build('clang', `${target}.c`, source, `--target=${target}`, '-ffreestanding', '-c')
        expect(readBinary(path).format).toBe('mach-o')
        expect(readText(path, 'softmax__tn_signature')).toBe(text)
      })
  })

if (process.platform === 'linux')
  test('memory that is zero at first, the longest text and a longer one', () => {
    const source = `
      const char zero[16];
      const char longest[65537] = {[0 ... 65535] = 'a'};
      const char longer[65538] = {[0 ... 65536] = 'a'};
      char changed[] = "text";
      __thread char local[] = "text";
    `
    const path = join(directory, 'limits.so')
    writeFileSync(`${path}.c`, source)
    execFileSync('gcc', ['-shared', '-fPIC', '-fno-zero-initialized-in-bss', '-o', path, `${path}.c`])
    expect(readText(path, 'zero')).toBe('')
    expect(readText(path, 'changed')).toBe('text')
    expect(readText(path, 'longest')).toBe('a'.repeat(65_536))
    expect(String(readText(path, 'longer'))).toContain('longer must have at most 65536 bytes')
    expect(String(readText(path, 'local'))).toContain('local must be a constant, got another kind of symbol')
    writeFileSync(`${path}.c`, 'char zero[65536 * 4]; int one = 1;')
    execFileSync('gcc', ['-shared', '-fPIC', '-o', path, `${path}.c`])
    expect(String(readText(path, 'zero'))).toContain('outside of the file')
  })
