import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { BinaryFormatError } from '../../src/binary-format-error.ts'
import { DebugInfo } from '../../src/debug-info/debug-info.ts'
import { compileFaults, writeFaultSources } from './build-faults.ts'

const seconds = Number(process.env['TENON_FUZZ_SECONDS'] ?? 0)
const budget: fc.Parameters<unknown> =
  seconds > 0 ? { numRuns: Number.MAX_SAFE_INTEGER, interruptAfterTimeLimit: seconds * 300 } : { numRuns: 300 }
const timeout = 60_000 + seconds * 1000

let directory: string
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'tenon-fuzz-debug-'))
  writeFaultSources(directory)
})
afterAll(() => rmSync(directory, { recursive: true }))

/** Writes into one of the sections with debug information, a table of symbols, or anywhere. The values are those that break arithmetic. */
const change = fc.record({
  area: fc.nat(31),
  position: fc.nat(),
  value: fc.oneof(
    fc.constantFrom(0, 1, 0x7f, 0x80, 0xff, 0xffff, 0x7fffffff, 0x80000000, 0xfffffff0, 0xffffffff),
    fc.nat(255),
  ),
  width: fc.constantFrom(1, 1, 2, 4, 8),
})

/** The sections of the file that the changes go to, by offset and size. */
function areasOf(path: string): [offset: number, byteSize: number][] {
  const text = execFileSync('readelf', ['-SW', path], { encoding: 'utf8' })
  const found = [...text.matchAll(/ (\.debug_\w+|\.symtab|\.strtab|\.shstrtab|\.gnu_debuglink) +\w+ +\w+ (\w+) (\w+)/g)]
  return found.map(([, , offset, byteSize]) => [Number.parseInt(offset!, 16), Number.parseInt(byteSize!, 16)])
}

if (process.platform === 'linux')
  test.each([
    ['-gdwarf-4', ['-g', '-O2', '-gdwarf-4']],
    ['-gdwarf-5', ['-g', '-O2', '-gdwarf-5']],
    ['-gz', ['-g', '-O2', '-gdwarf-5', '-gz']],
  ])(
    'a library of %s with changed bytes gives frames, nothing, or a BinaryFormatError, within time and memory',
    async (_name, flags) => {
      const path = await compileFaults(directory, 'faults.c', flags)
      const image = readFileSync(path)
      const areas: [number, number][] = [...areasOf(path), [0, 64], [image.length - 64 * 36, 64 * 36]]
      const { start, size } = textOf(path)
      const changed = join(directory, 'changed.so')
      let slowest = 0
      fc.assert(
        fc.property(fc.array(change, { minLength: 1, maxLength: 5 }), (changes) => {
          const bytes = Buffer.from(image)
          for (const { area, position, value, width } of changes) {
            const [offset, byteSize] = areas[area % areas.length]!
            for (let index = 0; index < width; index += 1) {
              bytes[(offset + (position % byteSize) + index) % bytes.length] =
                Math.floor(value / 256 ** (index % 4)) & 255
            }
          }
          writeFileSync(changed, bytes)
          const begin = performance.now()
          lookUp(changed, start, size)
          slowest = Math.max(slowest, performance.now() - begin)
        }),
        budget,
      )
      expect(process.memoryUsage().rss).toBeLessThan(512 * 2 ** 20)
      if (seconds > 0)
        console.log(
          `the slowest file took ${Math.round(slowest)} ms, and the process has ${Math.round(process.memoryUsage().rss / 2 ** 20)} MiB`,
        )
    },
    timeout,
  )

function lookUp(path: string, start: number, size: number): void {
  try {
    const info = DebugInfo.open(path)
    try {
      for (let at = 0; at < size; at += Math.ceil(size / 8)) {
        for (const frame of info.locate(start + at)) {
          expect((frame.function ?? '').length + (frame.file ?? '').length).toBeLessThan(400_000)
        }
      }
    } finally {
      info.close()
    }
  } catch (error) {
    expect(error).toBeInstanceOf(BinaryFormatError)
  }
}

function textOf(path: string): { readonly start: number; readonly size: number } {
  const [, start, size] = / \.text +PROGBITS +(\w+) \w+ (\w+)/.exec(
    execFileSync('readelf', ['-SW', path], { encoding: 'utf8' }),
  )!
  return { start: Number.parseInt(start!, 16), size: Number.parseInt(size!, 16) }
}
