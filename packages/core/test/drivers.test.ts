import { packageFlags } from '@tenon/config/package-flags'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import { runScript } from '@tenon/core/testing'
import { fixturePath } from './fixture.ts'
import { installCore, type InstalledCore } from './installed-core.ts'

const cwd = fileURLToPath(new URL('..', import.meta.url))

/** Calls in every way that there is, and prints what comes back. */
const script = `
  import { driverInfo, NativeLibrary } from '@tenon/core'
  import { Callback, functionAt, makeStub } from '@tenon/core/internal'
  const fixture = NativeLibrary.open(${JSON.stringify(fixturePath('core_fixture'))})
  const address = (name) => Number(fixture.symbol(name))
  const stub = makeStub(
    { result: 'int32', parameters: ['int32'] },
    (x) => x + 1,
    { foreignThread: 'wait' },
    'the result',
  )
  const callFunction = fixture.function('fixture_call_function', { result: 'int32', parameters: ['uint64', 'int32'] })
  const callback = new Callback(() => {})
  const { kind, reason } = driverInfo()
  console.log(
    kind,
    reason,
    fixture.function('fixture_float64', { result: 'float64', parameters: ['float64'] })(0.5),
    callFunction(stub.address, 41),
    await callFunction.async(stub.address, 42),
    functionAt(address('fixture_call'), 'int32', ['uint64', 'uint64', 'uint64'])(callback.address, 0, 0),
  )
  callback.release()
  stub.close()
`

describe('the driver of koffi', () => {
  test.each([
    ['node-api', 'node-api undefined 0.5 42 43 0\n'],
    ['koffi', 'koffi TENON_DRIVER is koffi 0.5 42 43 0\n'],
  ])('does what that of Node-API does (%s)', async (driver, expected) => {
    const { code, stdout, stderr } = await runScript(script, {
      cwd,
      env: { TENON_DRIVER: driver },
      nodeOptions: [...packageFlags, '--no-warnings'],
    })
    expect([code, stdout, stderr]).toEqual([0, expected, ''])
  })
})

describe('a published package without koffi', () => {
  const directory = mkdtempSync(join(tmpdir(), 'tenon-drivers-'))
  afterAll(() => rmSync(directory, { recursive: true }))

  const kind = `
    import { driverInfo } from '@tenon/core'
    try { console.log(driverInfo().kind) } catch (error) { console.log(error.name, error.sentence, '|', error.hint) }
  `

  async function kindWith(installed: InstalledCore, driver: string): Promise<string> {
    const env = { TENON_CORE_LIBRARY: '', TENON_VARIANT: '', TENON_DRIVER: driver }
    const { stdout, stderr } = await installed.run(kind, { env })
    expect(stderr).toBe('')
    return stdout.trim()
  }

  test('calls functions through Node-API', async () => {
    expect(await kindWith(installCore(directory), '')).toBe('node-api')
  })

  test('throws a LoadError for TENON_DRIVER=koffi, whose hint says how to install koffi', async () => {
    expect(await kindWith(installCore(directory), 'koffi')).toBe(
      'LoadError TENON_DRIVER is koffi, but koffi is not installed | ' +
        'Install koffi beside Tenon, for example with "npm install koffi", or remove TENON_DRIVER.',
    )
  })

  test('throws a LoadError with both reasons if tenon.node does not load either', async () => {
    const installed = installCore(directory)
    rmSync(join(installed.libraries, 'tenon.node'))
    const error = await kindWith(installed, '')
    expect(error).toContain('LoadError the native core of Tenon could not be loaded')
    expect(error).toContain('tenon.node')
    expect(error).toContain('(through koffi: koffi is not installed)')
  })

  test('calls functions through koffi once koffi is installed, if tenon.node does not load', async () => {
    const installed = installCore(directory, { withKoffi: true })
    expect(await kindWith(installed, '')).toBe('node-api')
    rmSync(join(installed.libraries, 'tenon.node'))
    expect(await kindWith(installed, '')).toBe('koffi')
  })
})
