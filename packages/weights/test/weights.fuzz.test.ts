import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AlignmentError } from '@tenon/core'
import { ResourceScope } from '@tenon/scope'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { openGguf, openSafetensors, readNpz, WeightsFormatError, type WeightsFile } from '../src/index.ts'
import { mappingCount } from './mappings.ts'
import { fixture, ggufBytes, ggufTensor, ggufValue, safetensorsBytes, text, uint32, uint64 } from './support.ts'
import { zipBytes } from './zip-bytes.ts'

/** The files of each format: a thousand by default, more with `TENON_FUZZ_FILES`, and as many as the time allows in `pnpm fuzz`. */
const seconds = Number(process.env['TENON_FUZZ_SECONDS'] ?? 0)
const files = Number(process.env['TENON_FUZZ_FILES'] ?? 1000)
const budget: fc.Parameters<unknown> =
  seconds > 0
    ? { numRuns: Number.MAX_SAFE_INTEGER, interruptAfterTimeLimit: seconds * 300 }
    : { numRuns: files, seed: files === 1000 ? 41 : Date.now() & 0x7fffffff }
const timeout = 60_000 + seconds * 1000 + files * 10

const directory = mkdtempSync(join(tmpdir(), 'tenon-weights-fuzz-'))
afterAll(() => rmSync(directory, { recursive: true }))

const LIMIT = 2 ** 20

/** Opens a file, and uses each of its tensors. Only errors of the format are expected, and of tensors that are not aligned. */
function expectChecked(bytes: Buffer, open: (path: string, scope: ResourceScope) => WeightsFile): boolean {
  const path = join(directory, 'x.bin')
  writeFileSync(path, bytes)
  const before = mappingCount()
  const scope = ResourceScope.ofConfined()
  try {
    const file = open(path, scope)
    let end = 0
    for (const name of file.names) {
      try {
        const { byteOffset, byteSize, shape } = file.entry(name)
        expect(byteOffset + byteSize).toBeLessThanOrEqual(Math.max(bytes.length, LIMIT))
        expect(shape.every((size) => Number.isSafeInteger(size) && size >= 0)).toBe(true)
        end = Math.max(end, byteOffset + byteSize)
        const x = file.tensor(name)
        expect(x.type.byteSize).toBeLessThanOrEqual(LIMIT)
        if (x.type.elementCount > 0) x.at(...x.shape.map(() => -1))
      } catch (error) {
        if (!(error instanceof AlignmentError) && !(error instanceof WeightsFormatError)) throw error
      }
    }
    return true
  } catch (error) {
    expect(error).toBeInstanceOf(WeightsFormatError)
    expect((error as WeightsFormatError).details['byteOffset']).toBeGreaterThanOrEqual(0)
    return false
  } finally {
    scope.close()
    expect(mappingCount()).toBe(before)
  }
}

/** Numbers at which sizes and offsets overflow. */
const edges: readonly bigint[] = [
  0n,
  1n,
  2n,
  7n,
  31n,
  32n,
  33n,
  127n,
  128n,
  255n,
  256n,
  65535n,
  65536n,
  2n ** 31n - 1n,
  2n ** 31n,
  2n ** 32n - 1n,
  2n ** 32n,
  2n ** 53n - 1n,
  2n ** 53n,
  2n ** 61n,
  2n ** 63n - 1n,
  2n ** 63n,
  2n ** 64n - 32n,
  2n ** 64n - 1n,
]

type Change = readonly [kind: 'byte' | 'edge32' | 'edge64' | 'cut' | 'copy' | 'insert', at: number, value: number]

const change: fc.Arbitrary<Change> = fc.tuple(
  fc.constantFrom('byte', 'byte', 'edge32', 'edge64', 'cut', 'copy', 'insert'),
  fc.nat(),
  fc.nat(0xff),
)

function changed(image: Buffer, changes: readonly Change[]): Buffer {
  let bytes = Buffer.from(image)
  for (const [kind, place, value] of changes) {
    const at = bytes.length === 0 ? 0 : place % bytes.length
    const edge = edges[value % edges.length]!
    if (kind === 'byte' && bytes.length > 0) bytes[at] = value
    else if (kind === 'edge32' && at + 4 <= bytes.length) bytes.writeUInt32LE(Number(BigInt.asUintN(32, edge)), at)
    else if (kind === 'edge64' && at + 8 <= bytes.length) bytes.writeBigUInt64LE(edge, at)
    else if (kind === 'cut' && value % 8 === 0) bytes = bytes.subarray(0, at)
    else if (kind === 'copy') bytes.copyWithin(at, (at * 7 + value) % (bytes.length + 1))
    else if (kind === 'insert' && value % 4 === 0)
      bytes = Buffer.concat([bytes.subarray(0, at), Buffer.alloc(value), bytes.subarray(at)])
  }
  return bytes
}

/** Runs a format on changed images, most of which have the changes in their header, and expects that some are still valid. */
function expectChecks(
  images: readonly Buffer[],
  made: fc.Arbitrary<Buffer>,
  open: Parameters<typeof expectChecked>[1],
): void {
  let [valid, refused] = [0, 0]
  const changedImage = fc
    .tuple(fc.constantFrom(...images), fc.array(change, { maxLength: 6 }))
    .map(([image, changes]) => changed(image, changes))
  fc.assert(
    fc.property(fc.oneof(changedImage, made), (bytes) => {
      if (expectChecked(bytes, open)) valid++
      else refused++
    }),
    budget,
  )
  expect(valid).toBeGreaterThan(0)
  expect(refused).toBeGreaterThan(0)
}

const name = fc.constantFrom(
  'a',
  'b',
  '__proto__',
  'constructor',
  '',
  'ü',
  '\ud800',
  '__metadata__',
  'a'.repeat(70_000),
)
const size = fc.oneof(fc.nat(9), fc.constantFrom(-1, 1.5, 2 ** 31, 2 ** 32, 2 ** 52, 2 ** 53, 1e300, null, '1', [1]))

test('a hostile safetensors file is read, or refused with its place', { timeout }, () => {
  const tensorInfo = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record(
        {
          dtype: fc.constantFrom('U8', 'F32', 'F4', 'F6_E2M3', 'BF16', 'X', 5),
          shape: fc.oneof(
            fc.array(size, { maxLength: 4 }),
            fc.constant([0]),
            fc.constant('x'),
            fc.constant(new Array(70).fill(1)),
          ),
          data_offsets: fc.oneof(fc.tuple(fc.nat(40), fc.nat(40)), fc.array(size, { maxLength: 3 })),
          more: fc.constant(1),
        },
        { requiredKeys: [] },
      ),
    },
    { weight: 1, arbitrary: fc.anything() },
  )
  const header = fc.array(fc.tuple(name, tensorInfo), { maxLength: 5 }).map((entries) => {
    const parts = entries.map(
      ([key, value]) =>
        `${JSON.stringify(key)}:${JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? 0 : part)) ?? 'null'}`,
    )
    return `{${parts.join()}}`
  })
  /** Entries without holes, of which one can be wrong. */
  const filled = fc.array(fc.tuple(name, fc.nat(20)), { maxLength: 5 }).map((entries) => {
    let end = 0
    const parts = entries.map(([key, length]) => {
      const start = end
      end += length
      return `${JSON.stringify(key)}:{"dtype":"U8","shape":[${length}],"data_offsets":[${start},${end}]}`
    })
    return safetensorsBytes(`{${parts.join()}}`, end)
  })
  const made = fc.oneof(
    filled,
    fc
      .tuple(header, fc.nat(40), fc.option(fc.bigInt(0n, 2n ** 64n - 1n)))
      .map(([json, data, length]) => safetensorsBytes(json, data, length ?? undefined)),
  )
  expectChecks(
    [readFileSync(fixture('types.safetensors')), readFileSync(fixture('shard-00001-of-00002.safetensors'))],
    made,
    openSafetensors,
  )
})

test('a hostile GGUF file is read, or refused with its place', { timeout }, () => {
  const edge = fc.oneof(fc.nat(70).map(BigInt), fc.constantFrom(...edges))
  const tensorInfo = fc
    .tuple(name, fc.array(edge, { maxLength: 6 }), fc.oneof(fc.constantFrom(0, 1, 2, 8, 24, 30), fc.nat(45)), edge)
    .map(([key, sizes, type, offset]) => ggufTensor(key, sizes, type, offset))
  const value = fc
    .tuple(name, fc.nat(13), fc.nat(13), edge, fc.uint8Array({ maxLength: 40 }))
    .map(([key, type, element, length, bytes]) =>
      ggufValue(key, type, uint32(element), uint64(length), Buffer.from(bytes)),
    )
  const alignment = fc
    .tuple(fc.constantFrom(4, 4, 5), fc.oneof(fc.constantFrom(1, 8, 32, 64), fc.nat(70)))
    .map(([type, bytes]) => ggufValue('general.alignment', type, uint32(bytes)))
  const made = fc
    .tuple(
      fc.array(
        fc.oneof(
          value,
          alignment,
          name.map((key) => ggufValue(key, 8, text('x'))),
        ),
        { maxLength: 3 },
      ),
      fc.array(tensorInfo, { maxLength: 3 }),
      fc.nat(200),
      fc.option(fc.tuple(edge, edge), { freq: 9, nil: undefined }),
    )
    .map(([values, tensors, data, counts]) =>
      ggufBytes({ values, tensors, data: Buffer.alloc(data), ...(counts === undefined ? {} : { counts }) }),
    )
  expectChecks([readFileSync(fixture('types.gguf'))], made, openGguf)
})

test('a hostile .npz archive is read, or refused with its place', { timeout }, () => {
  const array = readFileSync(fixture('float32.npy'))
  const part = fc.record(
    {
      name: fc.oneof(
        name.map((key) => `${key}.npy`),
        name,
      ),
      bytes: fc.oneof(
        fc.constant(array),
        fc
          .tuple(fc.constant(array), fc.array(change, { maxLength: 3 }))
          .map(([image, changes]) => changed(image, changes)),
      ),
      isDeflated: fc.boolean(),
      zip64: fc.boolean(),
      extra: fc.uint8Array({ maxLength: 64 }),
      crc: fc.option(fc.nat(), { freq: 9, nil: undefined }),
      byteSize: fc.option(fc.oneof(fc.nat(300), fc.constantFrom(2 ** 31, 2 ** 32 - 1)), { freq: 9, nil: undefined }),
      flags: fc.constantFrom(1 << 11, 1 << 11, 0, 1),
    },
    { requiredKeys: ['name', 'bytes'] },
  )
  const made = fc
    .tuple(fc.array(part, { maxLength: 3 }), fc.boolean(), fc.array(change, { maxLength: 2 }))
    .map(([parts, zip64, changes]) => changed(zipBytes(parts as Parameters<typeof zipBytes>[0], { zip64 }), changes))
  const images = ['stored.npz', 'deflated.npz'].map((file) => readFileSync(fixture(file)))
  expectChecks(images, made, (path, scope) => readNpz(path, scope, { limit: LIMIT }))
})
