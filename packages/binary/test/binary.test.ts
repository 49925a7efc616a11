import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { BinaryFormatError } from '../src/binary-format-error.ts'
import { memorySource } from './memory-source.ts'
import { minimumGlibc } from '../src/elf/elf-versions.ts'
import { parseBinary, readBinary } from '../src/read-binary.ts'
import { parseHiddenFunctions, readHiddenFunctions } from '../src/read-hidden-functions.ts'
import { elfImage, fatImage, machOImage, peImage } from './binary-images.ts'

const linux = process.platform === 'linux'
const parse = (bytes: Uint8Array): ReturnType<typeof parseBinary> => parseBinary(memorySource(bytes))

let directory: string
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'tenon-binary-'))
})
afterAll(() => rmSync(directory, { recursive: true }))

function compile(name: string, source: string, ...flags: string[]): string {
  const [input, output] = [join(directory, `${name}.c`), join(directory, `${name}.so`)]
  writeFileSync(input, source)
  execFileSync(process.env['CC'] ?? 'cc', ['-shared', '-fPIC', '-o', output, input, ...flags])
  return output
}

describe('a hand-made ELF file', () => {
  test.each([
    { bits: 64, littleEndian: true, machine: 62, arch: 'x64' },
    { bits: 64, littleEndian: true, machine: 183, arch: 'arm64' },
    { bits: 64, littleEndian: false, machine: 22, arch: 's390x' },
    { bits: 32, littleEndian: true, machine: 40, arch: 'arm' },
    { bits: 32, littleEndian: false, machine: 8, arch: 'mips' },
    { bits: 64, littleEndian: true, machine: 0x9999, arch: 'unknown (machine 0x9999)' },
  ] as const)('$bits bits, little-endian $littleEndian, machine $machine', ({ arch, ...options }) => {
    const image = elfImage(options)
    // The hash table of 64-bit S/390 has words of 8 bytes.
    if (options.machine === 22) image.writeBigUInt64BE(5n, 0x508)
    expect(parse(image)).toEqual({
      format: 'elf',
      kind: 'shared',
      arch,
      architectures: [arch],
      bits: options.bits,
      endianness: options.littleEndian ? 'little' : 'big',
      soname: 'libself.so',
      needed: ['libneeded.so.1'],
      rpath: [],
      runpath: ['$ORIGIN/../lib', '/opt/lib'],
      stripped: true,
      exports: [
        { name: 'answer', kind: 'function', address: 0x40n, byteSize: 12, weak: false },
        { name: 'table', kind: 'object', address: 0x80n, byteSize: 64, weak: true },
      ],
      imports: [{ name: 'puts', weak: false }],
    })
  })
})

if (linux)
  describe('an ELF file of this system', () => {
    const source = `
    #include <stdio.h>
    #include <math.h>
    int answer(int x) { puts("hello"); return x + 1; }
    double root(double x) { return pow(x, 0.5); }
    int table[16] = {1};
    __thread int local;
    __attribute__((weak)) void spare(void) {}
    __attribute__((visibility("hidden"))) void hidden(void) {}
    static void internal(void) {}
    void *use(void) { return (void *)internal; }
  `

    test.each([['gnu'], ['sysv'], ['both']])('a compiled library with %s hash', (style) => {
      const path = compile(
        `hash-${style}`,
        source,
        `-Wl,--hash-style=${style},-soname,libhash.so.1,-rpath,$ORIGIN/x`,
        '-lm',
      )
      const info = readBinary(path)
      expect(info).toMatchObject({ format: 'elf', kind: 'shared', arch: process.arch, bits: 64, libc: 'glibc' })
      expect(info.soname).toBe('libhash.so.1')
      expect(info.needed).toContain('libm.so.6')
      expect([...info.rpath, ...info.runpath]).toEqual(['$ORIGIN/x'])
      expect(info.minimumGlibc).toMatch(/^2\.\d+/)
      const kinds = Object.fromEntries(info.exports.map((symbol) => [symbol.name, symbol.kind]))
      expect(kinds).toEqual({
        answer: 'function',
        root: 'function',
        use: 'function',
        spare: 'function',
        table: 'object',
        local: 'other',
      })
      expect(info.exports.find((symbol) => symbol.name === 'table')!.byteSize).toBe(64)
      expect(info.exports.find((symbol) => symbol.name === 'spare')!.weak).toBe(true)
      expect(info.imports.find((symbol) => symbol.name === 'pow')).toMatchObject({ library: 'libm.so.6', weak: false })

      // Without its section headers, the hash table alone counts the symbols.
      const bytes = readFileSync(path)
      bytes.writeBigUInt64LE(0n, 40)
      bytes.writeUInt16LE(0, 60)
      expect(parse(bytes)).toEqual({ ...info, stripped: true })
    })

    test('the build ID of a library is read, if it has one', () => {
      const path = compile('identified', source, '-Wl,--build-id=0x0123456789abcdef', '-lm')
      expect(readBinary(path).buildId).toBe('0123456789abcdef')
      expect(readBinary(compile('hashed', source, '-Wl,--build-id=sha1', '-lm')).buildId).toMatch(/^[0-9a-f]{40}$/)
      expect(readBinary(compile('unidentified', source, '-Wl,--build-id=none', '-lm'))).not.toHaveProperty('buildId')
      // Sizes that exceed the notes.
      const bytes = readFileSync(path)
      const at = bytes.indexOf('GNU\0\x01\x23\x45\x67', 'latin1')
      for (const field of [12, 8]) {
        const damaged = Buffer.from(bytes)
        damaged.writeUInt32LE(0xffffffff, at - field)
        expect(parse(damaged)).not.toHaveProperty('buildId')
      }
    })

    test('a library without exports and section headers is read', () => {
      const path = compile(
        'imports',
        '#include <stdio.h>\nstatic void f(void) { puts("x"); }\n__attribute__((constructor)) static void g(void) { f(); }',
        '-Wl,--hash-style=gnu',
      )
      const info = readBinary(path)
      expect(info.exports).toEqual([])
      expect(info.imports.map((symbol) => symbol.name)).toContain('puts')
      const bytes = readFileSync(path)
      bytes.writeBigUInt64LE(0n, 40)
      bytes.writeUInt16LE(0, 60)
      expect(parse(bytes)).toEqual({ ...info, stripped: true })
    })

    if (process.arch === 'x64')
      test('a 32-bit library is read', () => {
        const path = compile('bits32', 'int answer(void) { return 42; }', '-m32', '-nostdlib')
        expect(readBinary(path)).toMatchObject({
          arch: 'ia32',
          bits: 32,
          needed: [],
          exports: [{ name: 'answer', kind: 'function' }],
        })
        expect(readBinary(path).libc).toBeUndefined()
      })

    test('the exports of real libraries equal those that nm lists', () => {
      const names = ['libm.so.6', 'libstdc++.so.6', 'libc.so.6']
      const paths = names.map((name) => execFileSync('cc', ['-print-file-name=' + name], { encoding: 'utf8' }).trim())
      for (const path of paths) {
        // nm marks default versions with @@, others with @; A is for absolute symbols: the names of versions.
        const lines = execFileSync('nm', ['-D', '--defined-only', path], { encoding: 'utf8', maxBuffer: 1 << 26 })
          .split('\n')
          .filter((line) => line !== '' && !/^0+ A /.test(line))
          .map((line) => line.slice(19))
        const listed = lines.filter((line) => !/[^@]@[^@]/.test(line)).map((line) => line.replace(/@@.*/, ''))
        const { exports, versionedExports = [] } = readBinary(path)
        expect(exports.map((symbol) => symbol.name).toSorted()).toEqual(listed.toSorted())
        const versioned = lines.filter((line) => line.includes('@')).map((line) => line.replace('@@', '@'))
        expect(versioned.length).toBeGreaterThan(500)
        expect(versionedExports.toSorted()).toEqual(versioned.toSorted())
      }
    })

    test('functions that are static or hidden are listed, unless the library is stripped', () => {
      const path = compile('hidden', source, '-fvisibility=hidden', '-lm')
      expect(readBinary(path).exports).toEqual([])
      expect(readHiddenFunctions(path)).toEqual(expect.arrayContaining(['answer', 'hidden', 'internal', 'root', 'use']))
      expect(readHiddenFunctions(path)).not.toContain('table')
      expect(readHiddenFunctions(compile('stripped', source, '-fvisibility=hidden', '-s', '-lm'))).toEqual([])
      expect(() => readHiddenFunctions(directory)).toThrow(BinaryFormatError)
      expect(parseHiddenFunctions(memorySource(peImage()))).toEqual([])
    })

    test('a program is recognised as an executable', () => {
      const info = readBinary(process.execPath)
      expect(info.kind).toBe('executable')
      expect(info.interpreter).toMatch(/ld-/)
    })
  })

test('the minimum glibc considers only versions of glibc', () => {
  const of = (...versions: [library: string, version: string][]): string | undefined =>
    minimumGlibc(versions.map(([library, version]) => ({ library, version })))
  expect(of(['libc.so.6', 'GLIBC_2.2.5'], ['libm.so.6', 'GLIBC_2.29'], ['libc.so.6', 'GLIBC_2.4'])).toBe('2.29')
  expect(of(['libc.so.6', 'GLIBC_2.3'], ['libc.so.6', 'GLIBC_2.3.4'])).toBe('2.3.4')
  expect(of(['libc.so.6', 'GLIBC_2.14'], ['libc.so.6', 'GLIBC_ABI_DT_RELR'])).toBe('2.36')
  expect(of(['libc.so.6', 'GLIBC_PRIVATE'])).toBeUndefined()
  expect(of(['libgcc_s.so.1', 'GLIBC_2.0'])).toBeUndefined()
  expect(of(['ld-linux-x86-64.so.2', 'GLIBC_2.3'])).toBe('2.3')
})

describe('Mach-O', () => {
  const thin = {
    format: 'mach-o',
    kind: 'shared',
    arch: 'arm64',
    architectures: ['arm64'],
    bits: 64,
    endianness: 'little',
    soname: '@rpath/libself.dylib',
    needed: ['/usr/lib/libSystem.B.dylib'],
    rpath: ['@loader_path/lib'],
    runpath: [],
    minimumMacos: '11.3',
    signed: true,
    stripped: false,
    exports: [{ name: 'answer', kind: 'function', address: 0x3f40n, weak: true }],
    imports: [{ name: 'puts', weak: false, library: '/usr/lib/libSystem.B.dylib' }],
  }

  test('a file for one architecture is read', () => {
    expect(parse(machOImage())).toEqual(thin)
  })

  test('of several architectures the one of this process is described, else the first', () => {
    const parts = [
      { cpuType: 0xc, bytes: machOImage(0xc) },
      { cpuType: 0x1000007, bytes: machOImage(0x1000007) },
      { cpuType: 0x100000c, bytes: machOImage() },
    ]
    const architectures = ['arm', 'x64', 'arm64']
    expect(parse(fatImage(parts))).toEqual({ ...thin, arch: process.arch, architectures })
    expect(parse(fatImage(parts.slice(0, 1)))).toEqual({ ...thin, arch: 'arm', architectures: ['arm'] })
  })

  test('a Java class file is refused with a hint', () => {
    expect(() => parse(Buffer.from('cafebabe00000041', 'hex'))).toThrow(/1 to 32 of them, but names 65\n.*Java/)
  })
})

describe('PE', () => {
  test.each([
    [64, 'x64'],
    [32, 'ia32'],
  ] as const)('%i bits', (bits, arch) => {
    expect(parse(peImage(bits))).toEqual({
      format: 'pe',
      kind: 'shared',
      arch,
      architectures: [arch],
      bits,
      endianness: 'little',
      soname: 'self.dll',
      needed: ['ucrtbase.dll'],
      rpath: [],
      runpath: [],
      stripped: true,
      exports: [
        { name: 'answer', kind: 'function', address: 0x1300n, weak: false },
        { name: 'forward', kind: 'function', address: 0x10a0n, weak: false },
      ],
      imports: [
        { name: 'puts', weak: false, library: 'ucrtbase.dll' },
        { name: '#7', weak: false, library: 'ucrtbase.dll' },
        { name: 'later', weak: false, library: 'delayed.dll' },
      ],
    })
  })

  test('a program for MS-DOS is refused', () => {
    const bytes = peImage()
    bytes.write('NE\0\0', 0x80)
    expect(() => parse(bytes)).toThrow(/does not have a PE header/)
  })
})

describe('a file that is not a library', () => {
  if (linux)
    test('a pipe is refused without waiting for its writer', () => {
      const path = join(directory, 'pipe')
      execFileSync('mkfifo', [path])
      expect(() => readBinary(path)).toThrow(/not a shared library, but a special file/)
    })

  test.each([
    ['', 'an empty file'],
    ['#include <stdio.h>\nint x;\n', 'a text file (it begins with "#include <stdio.h>\\nint x")'],
    ['!<arch>\nlibc.o', 'a static library'],
    ['/* GNU ld script\n', 'a linker script'],
    ['\0asm\x01\0\0\0', 'a WebAssembly module'],
    ['PK\x03\x04....', 'a zip archive'],
    ['version https://git-lfs.github.com/spec/v1\n', 'a Git LFS pointer'],
    ['\x01\x02\xff\xfe', 'a file that begins with the bytes 01 02 ff fe'],
  ])('%j is %s', (text, name) => {
    const path = join(directory, 'none.so')
    writeFileSync(path, text, 'latin1')
    let thrown: unknown
    try {
      readBinary(path)
    } catch (error) {
      thrown = error
    }
    expect(thrown).toBeInstanceOf(BinaryFormatError)
    expect((thrown as BinaryFormatError).sentence).toContain(
      `cannot read ${path}: the file is not a shared library, but ${name}`,
    )
    expect((thrown as BinaryFormatError).hint).toBeTruthy()
  })

  test('a directory and a missing file are refused', () => {
    expect(() => readBinary(directory)).toThrow(BinaryFormatError)
    expect(() => readBinary(join(directory, 'absent.so'))).toThrow(/ENOENT/)
  })

  test('every truncation of every image is refused or read', () => {
    const images = [
      elfImage({ bits: 64, littleEndian: true, machine: 62 }),
      machOImage(),
      peImage(),
      fatImage([{ cpuType: 0xc, bytes: machOImage(0xc) }]),
    ]
    let refused = 0
    for (const image of images) {
      for (let length = 0; length < image.length; length += 1) {
        try {
          parse(image.subarray(0, length))
        } catch (error) {
          expect(error).toBeInstanceOf(BinaryFormatError)
          refused += 1
        }
      }
    }
    expect(refused).toBeGreaterThan(1000)
  })
})
