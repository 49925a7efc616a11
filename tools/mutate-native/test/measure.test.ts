import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { type LoadedPackage, runCommand } from '@tenon/build/internal'
import { expect, onTestFinished, test } from 'vitest'

import { findConfinement } from '../src/confinement.ts'
import { findMutants } from '../src/find-mutants.ts'
import { measureMutants } from '../src/measure.ts'
import { mutantKey } from '../src/mutant.ts'
import { figuresBy, type Outcome, percentKilled, printReport } from '../src/report.ts'
import { Results } from '../src/results.ts'
import { buildScratch } from '../src/scratch.ts'
import { hashWithIncludes, readSource } from '../src/sources.ts'
import { loadParser } from '../src/syntax.ts'
import { listTestFiles } from '../src/test-files.ts'

const core = join(import.meta.dirname, '../../../packages/core')

const library = `
#if defined(NEVER)
void other(void) { nothing(); }
#endif
int limit(int value, int most);
int limit(int value, int most) {
  if (value > most) return most;
  return value;
}
int wait_for(volatile int *count);
int wait_for(volatile int *count) {
  while (*count > 0) *count -= 1;
  return 0;
}
const char *end_of(const char *from, int size);
const char *end_of(const char *from, int size) { return from + size; }
int unused(int a);
int unused(int a) { return a - 1; }
`

const tests = `
#include "check.h"
int limit(int value, int most);
int wait_for(volatile int *count);
const char *end_of(const char *from, int size);
TEST(values_are_limited) {
  CHECK(limit(1, 2) == 1);
  CHECK(limit(5, 2) == 2);
}
TEST(counts_end) {
  volatile int count = 3;
  CHECK(wait_for(&count) == 0 && count == 0);
}
TEST(ends_are_found) { CHECK(end_of("ab", 1)[0] == 'b'); }
`

/** A package with one library, and tests of most of its functions. */
function writePackage(): LoadedPackage {
  const directory = mkdtempSync(join(tmpdir(), 'tenon-mutants-test-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  for (const folder of ['csrc/base', 'csrc/test/base']) mkdirSync(join(directory, folder), { recursive: true })
  writeFileSync(join(directory, 'csrc/base/a.c'), library)
  writeFileSync(join(directory, 'csrc/test/base/a_test.c'), tests)
  for (const file of ['main.c', 'check.h']) cpSync(join(core, 'csrc/test', file), join(directory, 'csrc/test', file))
  const sources = ['csrc/test/*.c', 'csrc/test/base/*.c', 'csrc/base/*.c']
  return {
    directory,
    name: 'mutated',
    version: '1.0.0',
    native: { targets: [{ name: 'mutated_test', kind: 'test', sources, includes: ['csrc/test'] }] },
  }
}

const expected = {
  'limit: value > most -> 1': 'killed',
  'limit: value > most -> 0': 'killed',
  'limit: value > most -> value >= most': 'survived',
  'wait_for: *count > 0 -> 0': 'killed',
  'wait_for: *count > 0 -> *count >= 0': 'killed',
  'wait_for: *count -= 1; -> nothing': 'timeout',
  'wait_for: *count -= 1 -> *count += 1': 'timeout',
  'wait_for: 1 -> 0': 'timeout',
  'wait_for: 0 -> 1': 'killed',
  'end_of: from + size -> from - size': 'killed',
  'unused: a - 1 -> a + 1': 'not covered',
  'unused: 1 -> 0': 'not covered',
}

test.runIf(process.platform === 'linux')(
  'mutants of a small library have the results that its tests cause',
  async () => {
    const parse = await loadParser()
    const pkg = writePackage()
    const file = 'csrc/base/a.c'
    const mutants = findMutants(file, readSource(pkg, file), parse).map((mutant, index) => ({
      ...mutant,
      number: index + 1,
    }))
    const scratch = await buildScratch(pkg, join(pkg.directory, 'scratch'), mutants)
    const place = { directory: scratch.pkg.directory, confinement: await findConfinement() }
    const found = await listTestFiles(scratch.programs, place)
    expect(found.map((each) => each.file)).toEqual(['csrc/test/base/a_test.c'])

    const measure = async (end = Number.POSITIVE_INFINITY): Promise<{ outcomes: Outcome[]; tried: number }> => {
      const outcomes: Outcome[] = []
      let tried = 0
      await measureMutants({
        mutants: scratch.mutants,
        tests: found,
        place,
        results: new Results(join(pkg.directory, 'results.json')),
        hashOfFile: hashWithIncludes(pkg),
        end,
        jobs: 2,
        leastLimitMs: 2000,
        onResult: (mutant, { status, by }, isNew) => {
          outcomes.push({ mutant, status, by })
          tried += Number(isNew)
        },
      })
      return { outcomes, tried }
    }

    const first = await measure()
    const statuses = first.outcomes.map(({ mutant, status }) => [mutantKey(mutant).slice(file.length + 1), status])
    // The mutant of the code for another system does not compile.
    expect(Object.fromEntries(statuses)).toEqual(expected)
    expect(first.tried).toBe(Object.keys(expected).length)

    // Results stay until a source or a test changes.
    expect((await measure()).tried).toBe(0)

    writeFileSync(join(pkg.directory, 'csrc/test/check.h'), `${readSource(pkg, 'csrc/test/check.h')}\n/* changed */\n`)
    // Nothing that runs the code of `unused()` has changed. Without time, nothing else has a result.
    const late = await measure(0)
    expect(late.outcomes.map(({ status }) => status)).toEqual(['not covered', 'not covered'])
    expect(late.tried).toBe(0)
    expect((await measure()).tried).toBe(Object.keys(expected).length - 2)

    const figures = figuresBy(first.outcomes, () => 'base')
    expect(figures).toMatchObject([{ killed: 6, timeout: 3, survived: 1, notCovered: 2, notMeasured: 0 }])
    expect(percentKilled(figures[0]!)).toBe(75)
    const report = printReport(
      { command: 'pnpm mutate:native', commit: 'b531fea4c', date: '2026-12-01' },
      first.outcomes,
    )
    expect(report).toContain('7 limit: value > most -> value >= most')
    expect(report).toContain('(not covered)')
    expect(report).not.toContain(tmpdir())
  },
)

test.runIf(process.platform === 'linux')(
  'a mutant runs in a namespace of processes, in which it finds no other',
  async () => {
    const [file, ...args] = await findConfinement()
    const { stdout } = await runCommand(file!, [...args, 'sh', '-c', 'echo $$'])
    expect(stdout).toBe('1\n')
  },
)
