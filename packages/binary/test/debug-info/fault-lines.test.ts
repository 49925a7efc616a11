import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { compileFaults, splitDebugFile, writeFaultSources } from './build-faults.ts'
import { compareWithAddr2line } from './compare-lines.ts'

let directory: string
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'tenon-faults-'))
  writeFaultSources(directory)
})
afterAll(() => rmSync(directory, { recursive: true }))

if (process.platform === 'linux') {
  describe('every instruction has the functions, files and lines that addr2line prints', () => {
    test.each([
      ['faults.c', ['-g', '-O0', '-gdwarf-4']],
      ['faults.c', ['-g', '-O2', '-gdwarf-5', '-gz']],
      ['staticFunctions.cc', ['-g', '-O2', '-gdwarf-5']],
      ['inlined.cc', ['-g', '-O3', '-gdwarf-4']],
      ['templates.cc', ['-g', '-O1', '-gdwarf-5']],
      ['namespaces.cc', ['-g', '-O2', '-gdwarf-4', '-gz']],
      ['lambdas.cc', ['-g', '-O3', '-gdwarf-5', '-ffunction-sections']],
    ])('of %s with %j', async (source, flags) => {
      const { same, unknown, excused, wrong } = compareWithAddr2line(await compileFaults(directory, source, flags))
      expect(wrong).toEqual([])
      expect(same).toBeGreaterThan(50)
      expect(unknown).toBeLessThan((same + excused) / 10)
    })

    test('of a stripped library with a separate debug file', async () => {
      const path = await compileFaults(directory, 'faults.c', ['-g', '-O2', '-DSTRIPPED'])
      const { same, wrong } = compareWithAddr2line(path, await splitDebugFile(path))
      expect(wrong).toEqual([])
      expect(same).toBeGreaterThan(50)
    })
  })
}
