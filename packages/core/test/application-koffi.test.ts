/** Applications that use koffi themselves, in a process whose core uses koffi too. */
import { packageFlags } from '@tenon/config/package-flags'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { runScript } from '@tenon/core/testing'
import { fixturePath } from './fixture.ts'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Runs a script and parses what it prints. The functions `useTenon` and `useKoffi` call the same native function. */
async function run(source: string, driver: 'koffi' | 'node-api' = 'koffi'): Promise<unknown> {
  const fixture = JSON.stringify(fixturePath('core_fixture'))
  const prelude = `
    import { createRequire } from 'node:module'
    import { driverInfo, NativeLibrary } from '@tenon/core'
    import { makeStub } from '@tenon/core/internal'
    const require = createRequire(import.meta.url)
    const useTenon = () => {
      const call = NativeLibrary.open(${fixture}).function('fixture_call_function', { result: 'int32', parameters: ['uint64', 'int32'] })
      return call(makeStub({ result: 'int32', parameters: ['int32'] }, (x) => x + 1, {}, 'the result').address, 41)
    }
    const useKoffi = (koffi) => {
      const back = koffi.pointer(koffi.proto('int32_t (int32_t)'))
      const call = koffi.load(${fixture}).func('fixture_call_function', 'int32_t', [back, 'int32_t'])
      return call((x) => x + 2, 41)
    }
    const addons = () => new Set(process.report.getReport().sharedObjects.filter((path) => path.endsWith('koffi.node'))).size
    const print = (value) => console.log(JSON.stringify(value))
  `
  const options = { cwd: root, env: { TENON_DRIVER: driver }, nodeOptions: [...packageFlags, '--no-warnings'] }
  const { code, stdout, stderr } = await runScript(prelude + source, options)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return JSON.parse(stdout)
}

/** The stack of calls that the core asks of its koffi, in bytes. */
const STACK_SIZE = 8 * 2 ** 20

const require = createRequire(import.meta.url)
const { version } = require('koffi') as { version: string }
const { version: otherVersion } = require('koffi-of-application') as { version: string }

test('at another version, an application has an addon and settings of its own, and both work', async () => {
  expect(otherVersion).not.toBe(version)
  const script = `
    const own = require('koffi-of-application'), first = own.config().sync_stack_size
    const results = [useKoffi(own), useTenon(), useKoffi(own), useTenon()]
    print({
      results, driver: driverInfo().kind, addons: addons(), versions: [own.version, require('koffi').version],
      stacks: [own.config().sync_stack_size === first, require('koffi').config().sync_stack_size],
    })`
  expect(await run(script)).toEqual({
    results: [43, 42, 43, 42],
    driver: 'koffi',
    addons: 2,
    versions: [otherVersion, version],
    stacks: [true, STACK_SIZE],
  })
})

test('at the same version, it may have the same addon, and then the settings of the core', async () => {
  const script = `
    const results = [useTenon()], koffi = require('koffi')
    results.push(useKoffi(koffi), useTenon())
    print({ results, driver: driverInfo().kind, addons: addons(), stack: koffi.config().sync_stack_size })`
  expect(await run(script)).toEqual({ results: [42, 43, 42], driver: 'koffi', addons: 1, stack: STACK_SIZE })
})

test('at the same version, the settings of an application that loads a library first stay', async () => {
  const script = `
    const koffi = require('koffi')
    koffi.config({ sync_stack_size: 2 ** 20 })
    const results = [useKoffi(koffi), useTenon(), useKoffi(koffi)]
    print({ results, driver: driverInfo().kind, addons: addons(), stack: koffi.config().sync_stack_size })`
  expect(await run(script)).toEqual({ results: [43, 42, 43], driver: 'koffi', addons: 1, stack: 2 ** 20 })
})

test('where the core does not use koffi, only the addon of the application is in the process', async () => {
  const script = `
    const own = require('koffi-of-application')
    print({ results: [useTenon(), useKoffi(own), useTenon()], driver: driverInfo().kind, addons: addons() })`
  expect(await run(script, 'node-api')).toEqual({ results: [42, 43, 42], driver: 'node-api', addons: 1 })
})
