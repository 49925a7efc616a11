import type * as FileSystem from 'node:fs'
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest'
import { NativeError } from '../src/errors/kinds.ts'
import { MappedFile } from '../src/memory/mapped-file.ts'
import { coreFunctions, coreLibrary } from '../src/native/core-library.ts'
import { addressOf } from '../src/native/native-memory.ts'

/** The limit that the system sets for a process, which is read before the first mapping. */
const system = vi.hoisted(() => ({ mostMappings: '65530' }))

vi.mock('node:fs', async (importOriginal) => {
  const fs = await importOriginal<typeof FileSystem>()
  const readFileSync: typeof fs.readFileSync = ((path: string, ...rest: []) =>
    path === '/proc/sys/vm/max_map_count'
      ? system.mostMappings
      : fs.readFileSync(path, ...rest)) as typeof fs.readFileSync
  return { ...fs, readFileSync }
})

/** The mappings of the process, and their bytes. */
function totals(): bigint[] {
  const out = new BigUint64Array(2)
  coreFunctions().tn_mapping_totals(addressOf(out), addressOf(out) + 8)
  return [...out]
}

describe.runIf(process.platform === 'linux')('a mapped file', () => {
  const directory = mkdtempSync(join(tmpdir(), 'tenon-mapped-'))
  const path = join(directory, 'file')
  writeFileSync(path, 'tenon'.padEnd(5000, '.'))
  const descriptor = openSync(path, 'r+')
  afterAll(() => {
    closeSync(descriptor)
    rmSync(directory, { recursive: true })
  })
  afterEach(() => vi.restoreAllMocks())

  const map = (): MappedFile => MappedFile.open(path, descriptor, { byteSize: 5000, isShared: true })
  const room = 3
  system.mostMappings = String(2 * (Number(totals()[0]) + room))

  test('is refused when the process has half of the mappings that the system allows', () => {
    const before = totals()
    const mapped = Array.from({ length: room }, map)
    const full = totals()
    expect(full[0]).toBe(before[0]! + BigInt(room))
    expect(map).toThrow(NativeError)
    expect(map).toThrow(`the process has ${full[0]} mappings`)
    expect(totals()).toEqual(full)
    mapped.pop()!.close()
    mapped.push(map())
    expect(map).toThrow(NativeError)
    for (const one of mapped) one.close()
    expect(totals()).toEqual(before)
  })

  test('is unmapped if the runtime refuses a buffer over it', () => {
    const before = totals()
    const bufferOver = vi.spyOn(coreLibrary().driver, 'bufferOver')
    for (let i = 0; i < 2 * room; i++) {
      bufferOver.mockImplementationOnce(() => {
        throw new Error('external buffers are not supported')
      })
      expect(map).toThrow(/no buffer over native memory can be made: external buffers are not supported/)
      expect(totals()).toEqual(before)
    }
    const mapped = map()
    expect(Buffer.from(mapped.buffer).toString('latin1', 0, 5)).toBe('tenon')
    mapped.close()
    expect(totals()).toEqual(before)
  })

  test('is not counted if the system refuses it', () => {
    const before = totals()
    expect(() => MappedFile.open(path, descriptor, { byteSize: 5000, byteOffset: 1 })).toThrow(NativeError)
    expect(() => MappedFile.open(path, descriptor, { byteSize: 2 ** 52 })).toThrow(NativeError)
    expect(() => MappedFile.open(path, -1, { byteSize: 5000 })).toThrow(NativeError)
    expect(totals()).toEqual(before)
  })
})
