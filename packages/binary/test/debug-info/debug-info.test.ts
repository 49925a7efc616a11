import { execFileSync, spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DebugInfo } from '../../src/debug-info/debug-info.ts'
import { readBinary } from '../../src/read-binary.ts'
import { machOImage, peImage } from '../binary-images.ts'

const source = `static int deep(int *p) {
  return *p;
}
static inline __attribute__((always_inline)) int twice(int *p) {
  return deep(p) * 2;
}
int kernel(int *p) {
  return twice(p) + 1;
}
__asm__(".section .text.assembly,\\"ax\\"\\n.globl unsized\\nunsized:\\nnop\\nnop\\n.type sized, @function\\nsized:\\nnop\\nnop\\n.size sized, 2\\n.text");
`

let directory: string
let library: string
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'tenon-debug-'))
  writeFileSync(join(directory, 'deep.c'), source)
  if (process.platform === 'linux') library = compile('library', ['-g'])
})
afterAll(() => rmSync(directory, { recursive: true }))

function compile(name: string, flags: readonly string[]): string {
  const path = join(directory, `${name}.so`)
  const args = ['-shared', '-fPIC', '-O1', '-fno-inline', '-Wl,--build-id', '-o', path, 'deep.c', ...flags]
  execFileSync(process.env['CC'] ?? 'cc', args, { cwd: directory })
  return path
}

/** The address of a function, from the symbols of the library with all of them. */
function addressOf(name: string): number {
  const line = execFileSync('nm', [library], { encoding: 'utf8' })
    .split('\n')
    .find((one) => one.endsWith(` ${name}`))
  return Number.parseInt(line!, 16)
}

function objcopy(name: string, flags: readonly string[], from: string = library): string {
  const path = join(directory, name)
  execFileSync('objcopy', [...flags, from, path])
  return path
}

/** The function and the line of the first instruction of `deep()`. */
function deepIn(path: string, options: Parameters<typeof DebugInfo.open>[1] = {}): string {
  const info = DebugInfo.open(path, options)
  try {
    const [frame] = info.locate(addressOf('deep'))
    return frame === undefined ? `nothing: ${info.limitation}` : `${frame.function} ${frame.file}:${frame.line}`
  } finally {
    info.close()
  }
}

const deep = (): string => `deep ${directory}/deep.c:2`

if (process.platform === 'linux') {
  describe('DebugInfo', () => {
    test('lists the functions that are inlined at an address, innermost first, with the lines of their calls', () => {
      using info = DebugInfo.open(library)
      const start = addressOf('kernel')
      const all = Array.from({ length: 16 }, (_, offset) => info.locate(BigInt(start + offset)))
      const frames = all.find(({ length }) => length === 2) ?? []
      expect(frames.map(({ function: name, line, inlined }) => [name, line, inlined])).toEqual([
        ['twice', 5, true],
        ['kernel', 8, false],
      ])
      expect(frames[0]!.file).toBe(join(directory, 'deep.c'))
      expect(frames[0]!.column).toBeGreaterThan(0)
      expect(info.limitation).toBeUndefined()
      expect(info.buildId).toBe(readBinary(library).buildId)
    })

    test('has the symbols of static functions, and those of exported functions in a stripped library', () => {
      using info = DebugInfo.open(library)
      expect(info.symbol(addressOf('deep') + 1)).toEqual({ name: 'deep', offset: 1 })
      using stripped = DebugInfo.open(objcopy('stripped.so', ['--strip-all']))
      expect(stripped.symbol(addressOf('kernel') + 2)).toEqual({ name: 'kernel', offset: 2 })
      expect(stripped.symbol(addressOf('deep'))).toBeUndefined()
      expect(stripped.locate(addressOf('deep'))).toEqual([])
      expect(stripped.limitation).toBe('the file has no debug information; compile it with -g')
      expect(stripped.locate(addressOf('kernel'))).toEqual([
        {
          function: 'kernel',
          linkageName: 'kernel',
          file: undefined,
          line: undefined,
          column: undefined,
          inlined: false,
        },
      ])
    })

    test('a symbol without a size reaches to the next symbol, and one with a size to its end', () => {
      using info = DebugInfo.open(library)
      expect(info.symbol(addressOf('unsized') + 1)).toEqual({ name: 'unsized', offset: 1 })
      expect(info.symbol(addressOf('sized'))).toEqual({ name: 'sized', offset: 0 })
      expect(info.symbol(addressOf('sized') + 2)?.name).not.toBe('sized')
      expect(info.symbol(addressOf('sized') + 2)?.name).not.toBe('unsized')
    })

    test('addresses outside of the file, negative ones and fractions give nothing', () => {
      using info = DebugInfo.open(library)
      for (const address of [0, 2 ** 40, -1, 1.5, Number.NaN, -1n, 2n ** 64n]) {
        expect(info.locate(address)).toEqual([])
        expect(info.symbol(address)).toBeUndefined()
      }
    })
  })

  describe('the debug information is found', () => {
    test.each([
      ['compressed with zlib', ['--compress-debug-sections=zlib']],
      ['compressed as older compilers do', ['--compress-debug-sections=zlib-gnu']],
    ])('if it is %s', (name, flags) => {
      expect(deepIn(objcopy(`${name}.so`, flags))).toBe(deep())
    })

    const canCompress = spawnSync('objcopy', ['--help'], { encoding: 'utf8' }).stdout.includes('zstd')
    if (canCompress && 'zstdDecompressSync' in process.getBuiltinModule('node:zlib'))
      test('if it is compressed with Zstandard', () => {
        expect(deepIn(objcopy('zstd.so', ['--compress-debug-sections=zstd']))).toBe(deep())
      })

    test('in the directory of build IDs', () => {
      const stripped = objcopy('by-id.so', ['--strip-all'])
      const { buildId } = readBinary(library)
      const debugPath = join(directory, 'debug/.build-id', buildId!.slice(0, 2), `${buildId!.slice(2)}.debug`)
      mkdirSync(dirname(debugPath), { recursive: true })
      execFileSync('objcopy', ['--only-keep-debug', library, debugPath])
      expect(deepIn(stripped)).toMatch(/^nothing/)
      expect(deepIn(stripped, { directories: [join(directory, 'debug')] })).toBe(deep())
    })

    test('by the link of the file, if the build ID or the checksum is right', () => {
      const debugPath = objcopy('linked.debug', ['--only-keep-debug'])
      const link = `--add-gnu-debuglink=${debugPath}`
      expect(deepIn(objcopy('linked.so', ['--strip-all', link]))).toBe(deep())
      const anonymous = objcopy('anonymous.so', ['--strip-all', link, '--remove-section=.note.gnu.build-id'])
      expect(deepIn(anonymous)).toBe(deep())
      mkdirSync(join(directory, 'elsewhere'), { recursive: true })
      copyFileSync(debugPath, join(directory, 'elsewhere/linked.debug'))
      writeFileSync(debugPath, Buffer.concat([readFileSync(debugPath), Buffer.from([0])]))
      expect(deepIn(objcopy('again.so', ['--strip-all'], join(directory, 'linked.so')))).toBe(deep())
      expect(deepIn(anonymous)).toMatch(/^nothing/)
      expect(deepIn(anonymous, { directories: [join(directory, 'elsewhere')] })).toBe(deep())
    })
  })

  test('a file with another build ID is refused, unless a debug file has the wanted one', () => {
    const path = compile('replaced', ['-g'])
    const { buildId } = readBinary(path)
    copyFileSync(compile('other', ['-g', '-DOTHER', '-O0']), path)
    expect(() => DebugInfo.open(path, { buildId: buildId! })).toThrow(`must have the build ID ${buildId}, got`)
    const debugPath = join(directory, 'kept/.build-id', buildId!.slice(0, 2), `${buildId!.slice(2)}.debug`)
    mkdirSync(dirname(debugPath), { recursive: true })
    copyFileSync(library, debugPath)
    expect(readBinary(library).buildId).toBe(buildId)
    expect(deepIn(path, { buildId: buildId!.toUpperCase(), directories: [join(directory, 'kept')] })).toBe(deep())
    expect(() => DebugInfo.open(join(directory, 'missing.so'), { buildId: buildId! })).toThrow('ENOENT')
  })

  test('an object file that is not linked gives nothing', () => {
    const path = join(directory, 'deep.o')
    execFileSync(process.env['CC'] ?? 'cc', ['-g', '-c', '-o', path, 'deep.c'], { cwd: directory })
    using info = DebugInfo.open(path)
    expect(info.locate(0)).toEqual([])
    expect(info.limitation).toBe('the file is not linked, so it has no addresses')
  })

  test('compressed sections that claim to be larger than the limit are not expanded', () => {
    const path = objcopy('bomb.so', ['--compress-debug-sections=zlib'])
    const bytes = readFileSync(path)
    // The compression header of .debug_info has the type 1, a reserved word, and the size.
    const { offset } = sectionOf(path, '.debug_info')
    expect(bytes.readUInt32LE(offset)).toBe(1)
    bytes.writeBigUInt64LE(2n ** 40n, offset + 8)
    writeFileSync(path, bytes)
    using info = DebugInfo.open(path)
    expect(info.locate(addressOf('deep'))).toEqual([
      { function: 'deep', linkageName: 'deep', file: undefined, line: undefined, column: undefined, inlined: false },
    ])
    expect(info.limitation).toMatch(
      /^the debug information is damaged: the \.debug_info of \d+ bytes cannot expand to 1099511627776$/,
    )
  })
}

function sectionOf(path: string, name: string): { readonly offset: number } {
  const line = execFileSync('readelf', ['-SW', path], { encoding: 'utf8' })
    .split('\n')
    .find((one) => one.includes(` ${name} `))
  return { offset: Number.parseInt(line!.split(name)[1]!.trim().split(/\s+/)[2]!, 16) }
}

test.each([
  ['Mach-O', machOImage()],
  ['PE', peImage(64)],
])('a %s file gives nothing, and says so', (format, image) => {
  const path = join(directory, `image-${format}`)
  writeFileSync(path, image)
  using info = DebugInfo.open(path)
  expect(info.locate(0x1000)).toEqual([])
  expect(info.symbol(0x1000)).toBeUndefined()
  expect(info.limitation).toBe(`symbols and lines of ${format} files are not read`)
})

test('other files are refused with the path', () => {
  const path = join(directory, 'text')
  writeFileSync(path, 'hello')
  expect(() => DebugInfo.open(path)).toThrow(`cannot read ${path}: the file is not a shared library, but a text file`)
})
