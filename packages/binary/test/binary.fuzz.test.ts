import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { BinaryFormatError } from '../src/binary-format-error.ts'
import { memorySource } from './memory-source.ts'
import { parseLdSoCache } from '../src/search/ld-so-cache.ts'
import { parseBinary } from '../src/read-binary.ts'
import { parseHiddenFunctions } from '../src/read-hidden-functions.ts'
import { parseTextConstants } from '../src/read-text-constants.ts'
import { elfImage, fatImage, machOImage, machOTextImage, peImage, peTextImage } from './binary-images.ts'

const seconds = Number(process.env['TENON_FUZZ_SECONDS'] ?? 0)
const budget: fc.Parameters<unknown> =
  seconds > 0 ? { numRuns: Number.MAX_SAFE_INTEGER, interruptAfterTimeLimit: seconds * 90 } : { numRuns: 2000 }
const timeout = 30_000 + seconds * 1000

/** One write into an image. Headers matter most; the values are those that break size and offset arithmetic. */
const mutation = fc.record({
  position: fc.oneof({ weight: 3, arbitrary: fc.nat(0x400) }, { weight: 1, arbitrary: fc.nat(0x10000) }),
  width: fc.constantFrom(1, 2, 4, 8),
  value: fc.oneof(
    fc.constantFrom(
      0n,
      1n,
      0x7fn,
      0xffn,
      0x7fffn,
      0xffffn,
      0x7fffffffn,
      0x80000000n,
      0xffffffffn,
      2n ** 53n,
      2n ** 64n - 1n,
    ),
    fc.bigInt(0n, 0x700n),
    fc.bigInt(0n, 2n ** 64n - 1n),
  ),
})

function mutate(image: Buffer, mutations: readonly { position: number; width: number; value: bigint }[]): Buffer {
  const bytes = Buffer.from(image)
  for (const { position, width, value } of mutations) {
    for (let index = 0; index < width; index += 1) {
      bytes[(position + index) % bytes.length] = Number((value >> BigInt(8 * index)) & 0xffn)
    }
  }
  return bytes
}

/** What was read must not be more than the bytes can hold: no table is read twice over. */
function checkResult(bytes: Buffer): void {
  try {
    const source = memorySource(bytes)
    const info = parseBinary(source)
    const text = [...info.exports, ...info.imports].reduce((sum, symbol) => sum + symbol.name.length, 0)
    expect(text).toBeLessThanOrEqual(2 * (16 * bytes.length + 65_536))
    expect(info.exports.length + info.imports.length).toBeLessThanOrEqual(bytes.length)
    expect(parseHiddenFunctions(source).length).toBeLessThanOrEqual(bytes.length)
    const constants = parseTextConstants(source, info.exports)
    expect(constants.length).toBe(info.exports.length)
    const read = constants.filter((constant) => typeof constant === 'string')
    expect(read.reduce((sum, constant) => sum + constant.length, 0)).toBeLessThanOrEqual(16 * bytes.length + 65_536)
    for (const constant of constants)
      if (typeof constant !== 'string') expect(constant).toBeInstanceOf(BinaryFormatError)
  } catch (error) {
    expect(error).toBeInstanceOf(BinaryFormatError)
  }
}

const images: [name: string, image: Buffer][] = [
  ['ELF 64', elfImage({ bits: 64, littleEndian: true, machine: 62 })],
  ['ELF 32 big-endian', elfImage({ bits: 32, littleEndian: false, machine: 8 })],
  ['Mach-O', machOImage()],
  ['fat Mach-O', fatImage([{ cpuType: 0xc, bytes: machOImage(0xc) }])],
  ['PE 64', peImage(64)],
  ['PE 32', peImage(32)],
  ['Mach-O with a constant', machOTextImage()],
  ['PE 64 with a constant', peTextImage(64)],
]

let directory: string
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'tenon-fuzz-'))
})
afterAll(() => rmSync(directory, { recursive: true }))

test.each(images)(
  '%s with mutated bytes gives a result or a BinaryFormatError',
  (_name, image) => {
    fc.assert(
      fc.property(fc.array(mutation, { minLength: 1, maxLength: 6 }), (mutations) =>
        checkResult(mutate(image, mutations)),
      ),
      budget,
    )
  },
  timeout,
)

if (process.platform === 'linux')
  test(
    'a compiled library with versions and a GNU hash table, mutated',
    () => {
      const path = join(directory, 'fuzz.so')
      writeFileSync(
        `${path}.c`,
        '#include <stdio.h>\nint answer(int x) { puts("x"); return x; }\nint table[4] = {1};\nconst char text[] = "(x: f32[n]) -> (y: f32[n])";',
      )
      execFileSync(process.env['CC'] ?? 'cc', [
        '-shared',
        '-fPIC',
        '-Wl,--hash-style=gnu',
        '-o',
        path,
        `${path}.c`,
        '-lm',
      ])
      const image = readFileSync(path)
      fc.assert(
        fc.property(fc.array(mutation, { minLength: 1, maxLength: 6 }), (mutations) =>
          checkResult(mutate(image, mutations)),
        ),
        budget,
      )
    },
    timeout,
  )

test(
  'random bytes behind every magic',
  () => {
    const magics = ['7f454c46', 'feedface', 'feedfacf', 'cefaedfe', 'cffaedfe', 'cafebabe', 'cafebabf', '4d5a', '']
    fc.assert(
      fc.property(fc.constantFrom(...magics), fc.uint8Array({ maxLength: 4096 }), (magic, rest) =>
        checkResult(Buffer.concat([Buffer.from(magic, 'hex'), rest])),
      ),
      budget,
    )
  },
  timeout,
)

test(
  'a mutated loader cache',
  () => {
    const cache = Buffer.alloc(256)
    cache.write('glibc-ld.so.cache1.1')
    cache.writeUInt32LE(2, 20)
    cache.writeUInt32LE(200, 52)
    cache.writeUInt32LE(210, 56)
    fc.assert(
      fc.property(fc.array(mutation, { minLength: 1, maxLength: 6 }), (mutations) => {
        try {
          expect(parseLdSoCache(memorySource(mutate(cache, mutations))).size).toBeLessThanOrEqual(cache.length)
        } catch (error) {
          expect(error).toBeInstanceOf(BinaryFormatError)
        }
      }),
      budget,
    )
  },
  timeout,
)
