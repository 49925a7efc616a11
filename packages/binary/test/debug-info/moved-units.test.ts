import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DebugInfo } from '../../src/debug-info/debug-info.ts'
import { addressesOf, differences, framesOf, inlinedIn } from './all-frames.ts'
import { compileFaults, writeFaultSources } from './build-faults.ts'

let directory: string
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'tenon-moved-'))
})
afterAll(() => rmSync(directory, { recursive: true }))

/** A folder with the sources, in which the compiler runs. */
function makeFolder(): string {
  const folder = mkdtempSync(join(directory, 'sources-'))
  writeFaultSources(folder)
  return folder
}

const splitFileIn = (folder: string): string => readdirSync(folder).find((file) => file.endsWith('.dwo'))!

if (process.platform === 'linux') {
  describe('units in files of their own (-gsplit-dwarf)', () => {
    test.each([
      ['faults.c', ['-g', '-O2', '-gdwarf-4']],
      ['faults.c', ['-g', '-O2', '-gdwarf-5']],
      ['inlined.cc', ['-g', '-O1', '-gdwarf-5']],
      ['templates.cc', ['-g', '-O2', '-gdwarf-4', '-fdebug-types-section']],
      ['namespaces.cc', ['-g', '-O3', '-gdwarf-5', '-fdebug-types-section', '-gz']],
    ])('give the frames of the same code in one file: %s %j', async (source, flags) => {
      const folder = makeFolder()
      const expected = framesOf(await compileFaults(folder, source, flags))
      const got = framesOf(await compileFaults(folder, source, ['-gsplit-dwarf', ...flags]))
      expect(differences(got, expected)).toEqual([])
      expect(inlinedIn(expected)).toBeGreaterThan(10)
    })

    test('are found beside the library and in a directory, and no other unit is taken for them', async () => {
      const folder = makeFolder()
      const path = await compileFaults(folder, 'faults.c', ['-g', '-O2', '-gsplit-dwarf'])
      const expected = framesOf(path)
      const name = splitFileIn(folder)
      const [kept, beside] = [join(folder, 'kept'), join(folder, 'beside')]
      for (const made of [kept, beside]) mkdirSync(made)
      renameSync(join(folder, name), join(kept, name))
      expect(inlinedIn(framesOf(path))).toBe(0)
      expect(differences(framesOf(path, { directories: [kept] }), expected)).toEqual([])
      const moved = join(beside, 'library.so')
      renameSync(path, moved)
      renameSync(join(kept, name), join(beside, name))
      expect(differences(framesOf(moved), expected)).toEqual([])

      const other = await compileFaults(folder, 'faults.c', ['-g', '-O1', '-gsplit-dwarf'])
      expect(inlinedIn(framesOf(other))).toBeGreaterThan(0)
      renameSync(join(folder, splitFileIn(folder)), join(beside, name))
      expect(inlinedIn(framesOf(moved))).toBe(0)
    })

    test('that are damaged leave the lines, and limitation says so', async () => {
      const folder = makeFolder()
      const path = await compileFaults(folder, 'faults.c', ['-g', '-O2', '-gsplit-dwarf'])
      const expected = framesOf(path)
      const name = splitFileIn(folder)
      writeFileSync(join(folder, name), 'not a file of this kind')
      const lineOf = (text: string): string | undefined => /"line":(\d+)/.exec(text)?.[1]
      expect(framesOf(path).map(lineOf)).toEqual(expected.map(lineOf))
      using info = DebugInfo.open(path)
      const address = addressesOf(path).find((at) => info.locate(at)[0]?.line !== undefined)!
      expect(info.locate(address)).toHaveLength(1)
      expect(info.limitation).toBe(
        `the file ${path}-faults.dwo with the functions of this address was not found, so inlined functions are missing`,
      )
    })
  })

  // A package of its own in most distributions.
  if (spawnSync('dwz', ['--version'], { stdio: 'ignore' }).status === 0)
    describe('debug information that dwz has compressed', () => {
      test.each([
        ['within one file', []],
        ['with a file that two libraries share', ['-m', 'shared.debug']],
      ])('%s gives the same frames', async (_name, flags) => {
        const folder = makeFolder()
        const paths = await Promise.all(
          ['namespaces.cc', 'templates.cc'].map(async (source) =>
            compileFaults(folder, source, ['-g', '-O2', '-gdwarf-5']),
          ),
        )
        const expected = paths.map((path) => framesOf(path))
        execFileSync('dwz', [...flags, ...paths], { cwd: folder, stdio: 'ignore' })
        for (const [index, path] of paths.entries()) {
          expect(differences(framesOf(path), expected[index]!)).toEqual([])
          const sections = execFileSync('readelf', ['-SW', path], { encoding: 'utf8' })
          expect(sections.includes('.gnu_debugaltlink')).toBe(flags.length > 0)
        }
      })
    })
}
