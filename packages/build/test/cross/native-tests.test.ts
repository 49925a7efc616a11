import { join } from 'node:path'

import { describe, expect, test } from 'vitest'

import { loadPackage } from '../../src/load-package.ts'
import { findPlatform } from '../../src/platform.ts'
import { buildTests, runTestPrograms } from '../../src/run-tests.ts'
import { runners } from './runners.ts'

const core = join(import.meta.dirname, '../../../core')

describe.each(runners)('the C tests of the core for $name', ({ name, find }) => {
  const runner = find()
  test(typeof runner === 'string' ? 'are built' : 'are built, and pass', async () => {
    const pkg = await loadPackage(core)
    const programs = await buildTests(pkg, { variant: 'release', platform: findPlatform(name), portable: true })
    expect(programs.map(({ target }) => target.name)).toContain('core_test')
    if (typeof runner === 'string') {
      process.stdout.write(`${name}: the C tests were built and NOT run, because ${runner}\n`)
      return
    }
    const { passed, tests } = await runTestPrograms(pkg, programs, runner)
    expect(tests.filter(({ ok }) => !ok)).toEqual([])
    expect(passed).toBeGreaterThan(200)
    process.stdout.write(`${name}: ${passed} C tests passed\n`)
  })
})
