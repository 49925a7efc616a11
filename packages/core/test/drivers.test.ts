import { packageFlags } from '@tenon/config/package-flags'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { runScript } from '@tenon/core/testing'
import { fixturePath } from './fixture.ts'

const cwd = fileURLToPath(new URL('..', import.meta.url))

/** Calls in every way that there is, and prints what comes back. */
const script = `
  import { driverInfo, NativeLibrary } from '@tenon/core'
  import { Callback, functionAt, makeStub } from '@tenon/core/internal'
  const fixture = NativeLibrary.open(${JSON.stringify(fixturePath('core_fixture'))})
  const address = (name) => Number(fixture.symbol(name))
  const stub = makeStub(
    { result: 'int32', parameters: ['int32'] },
    (complete) => (x) => complete(x + 1),
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
