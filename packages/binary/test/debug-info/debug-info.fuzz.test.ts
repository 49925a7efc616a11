import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { compileFaults, writeFaultSources } from './build-faults.ts'
import { areasOf, changed, codeOf, HOSTILE_VALUES, lookUp, WIDTHS } from './damage.ts'

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

const change = fc.record({
  area: fc.nat(31),
  position: fc.nat(),
  value: fc.oneof(fc.constantFrom(...HOSTILE_VALUES), fc.nat(255)),
  width: fc.constantFrom(...WIDTHS),
})

if (process.platform === 'linux')
  test.each([
    ['a library of -gdwarf-4', ['-g', '-O2', '-gdwarf-4']],
    ['a library of -gdwarf-5', ['-g', '-O2', '-gdwarf-5']],
    ['a library of -gz', ['-g', '-O2', '-gdwarf-5', '-gz']],
    ['a file of units of -gsplit-dwarf', ['-g', '-O2', '-gdwarf-5', '-gsplit-dwarf']],
  ])(
    '%s with changed bytes gives frames, nothing, or a BinaryFormatError, within time and memory',
    async (_name, flags) => {
      const library = await compileFaults(directory, 'faults.c', flags)
      const code = codeOf(library)
      const split = readdirSync(directory).find((name) => name.endsWith('.dwo'))
      // The library refers to the file of units, so that one is changed in place.
      const original = split === undefined ? library : join(directory, split)
      const path = split === undefined ? join(directory, 'changed.so') : original
      const image = readFileSync(original)
      const areas = areasOf(original, image.length)
      let slowest = 0
      fc.assert(
        fc.property(fc.array(change, { minLength: 1, maxLength: 5 }), (changes) => {
          writeFileSync(path, changed(image, areas, changes))
          const begin = performance.now()
          expect(lookUp(split === undefined ? path : library, code)).toBeLessThan(400_000)
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
