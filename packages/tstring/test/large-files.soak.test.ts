import { closeSync, ftruncateSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { devNull, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { StringTensor } from '../src/index.ts'
import { readBytes, writeBytes } from '../src/memory/file-bytes.ts'

const directory = mkdtempSync(join(tmpdir(), 'tstring-'))
afterAll(() => rmSync(directory, { recursive: true }))
const path = join(directory, 'large')

describe('files larger than 2 GiB', () => {
  it('are read and written in parts', () => {
    const bytes = Buffer.from(Uint8Array.from({ length: 10_000 }, (_, i) => i * 7))
    writeFileSync(path, bytes)
    for (const atOnce of [1, 4095, 5000, 10_000, 20_000]) {
      const from = openSync(path, 'r')
      expect(Buffer.from(readBytes(from, bytes.length, atOnce))).toEqual(bytes)
      closeSync(from)
      const to = openSync(path, 'w')
      writeBytes(to, bytes, atOnce)
      closeSync(to)
      expect(readFileSync(path)).toEqual(bytes)
    }
    const cut = openSync(path, 'r')
    expect(readBytes(cut, 20_000, 4096).length).toBe(10_000)
    closeSync(cut)
  })

  it('are written by export()', () => {
    const zeros = StringTensor.ofSegment(new Uint8Array(2 ** 31 + 4096), { layout: 'tf', shape: [1] })
    const nowhere = openSync(devNull, 'w')
    expect(() => zeros.export(nowhere)).not.toThrow()
    closeSync(nowhere)
  })

  // Reading 2 GiB takes seconds.
  if (process.env['TENON_SOAK'] === '1')
    it('are read by open()', { timeout: 120_000 }, () => {
      const descriptor = openSync(path, 'w')
      ftruncateSync(descriptor, 3 * 2 ** 30)
      closeSync(descriptor)
      const options = { layout: 'legacy', shape: [3], validate: 'lenient' } as const
      for (const mode of ['map', 'read'] as const) {
        using tensor = StringTensor.open(path, { ...options, mode })
        expect(tensor.toArray()).toEqual(['', '', ''])
      }
    })
})
