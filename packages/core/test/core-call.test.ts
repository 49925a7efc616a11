import { packageFlags } from '@tenon/config/package-flags'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { NativeLibrary } from '@tenon/core'
import { addressOf, coreFunctions, coreLibrary, lastError, words } from '@tenon/core/internal'
import { runScript } from '@tenon/core/testing'
import { FUNCTIONS } from '../src/generated/functions.ts'
import { STATUS } from '../src/generated/status.ts'
import { type CResult, MAXIMUM_CORE_PARAMETERS } from '../src/native/core-call.ts'
import { fixturePath } from './fixture.ts'

const fixture = NativeLibrary.open(fixturePath('core_fixture'))
const bind = (name: string, result: CResult) => coreLibrary().bindCore(Number(fixture.symbol(name)), result)

describe('a function of the core', () => {
  test('takes and returns integers of every size', () => {
    const int64 = bind('fixture_int64', 'int64_t')
    for (const value of [0, 1, -1, 2 ** 31, -(2 ** 31) - 1, 2 ** 32, -(2 ** 32), 2 ** 53 - 1, 1 - 2 ** 53]) {
      expect(int64(value)).toBe(value)
    }
    for (const value of [2n ** 63n - 1n, -(2n ** 63n), 2n ** 53n, -(2n ** 53n)]) expect(int64(value)).toBe(value)
    expect(int64(5n)).toBe(5)
    const uint64 = bind('fixture_uint64', 'uint64_t')
    for (const value of [0, 2 ** 32 - 1, 2 ** 47, 2 ** 53 - 1, 2n ** 53n, 2n ** 64n - 1n])
      expect(uint64(value)).toBe(value)
    for (const value of [0, -1, 2 ** 31 - 1, -(2 ** 31)]) expect(bind('fixture_int32', 'int32_t')(value)).toBe(value)
    for (const value of [0, 1, 2 ** 32 - 1]) expect(bind('fixture_uint32', 'uint32_t')(value)).toBe(value)
    // Only the lowest byte is defined. Functions without optimization do not extend the sign.
    expect((Number(bind('fixture_int8', 'int32_t')(-128)) << 24) >> 24).toBe(-128)
    expect(bind('fixture_int32', 'void')(1)).toBeUndefined()
  })

  test('has at most as many parameters as its frame has room for', () => {
    const counts = Object.values(FUNCTIONS).flatMap((table) => Object.values(table).map(([, { length }]) => length))
    expect(Math.max(...counts)).toBe(MAXIMUM_CORE_PARAMETERS)
  })

  test('gets all parameters, those on the stack too', () => {
    const libc = NativeLibrary.ofProcess()
    const [text, format] = [Buffer.alloc(64), Buffer.from('%ld %ld %ld %ld\0')]
    const print = coreLibrary().bindCore(Number(libc.symbol('snprintf')), 'int32_t')
    expect(print(addressOf(text), text.length, addressOf(format), 1, -2, 2 ** 40, -(2 ** 40))).toBe(33)
    expect(text.toString('latin1', 0, 33)).toBe('1 -2 1099511627776 -1099511627776')
  })

  test('leaves the frame of a call that is being filled in as it is', () => {
    coreFunctions().tn_page_size()
    words.fill(0x5a5a5a5a)
    coreFunctions().tn_memory_copy(addressOf(Buffer.alloc(8)), addressOf(Buffer.alloc(8)), 8)
    expect(lastError()).toBeTypeOf('string')
    expect(words.every((word) => word === 0x5a5a5a5a)).toBe(true)
  })

  test('returns TN_EXCEPTION, with the text, if it throws a C++ exception', () => {
    const library = NativeLibrary.open('libstdc++.so.6')
    const throws = coreLibrary().bindCore(Number(library.symbol('__cxa_throw_bad_array_new_length')), 'int32_t')
    for (let i = 0; i < 3; i++) {
      expect(throws()).toBe(STATUS.EXCEPTION.value)
      expect(lastError()).toContain('bad_array_new_length')
    }
  })

  test('can be called by a callback that it calls', () => {
    const script = `
      import { addressOf, Callback, coreFunctions } from '@tenon/core/internal'
      const [from, to] = [Buffer.from('12345678'), Buffer.alloc(8)]
      const core = coreFunctions()
      const callback = new Callback(() => core.tn_memory_copy(addressOf(to), addressOf(from), 8))
      console.log(core.tn_callback_invoke(callback.address, 0, 0), to.toString())
    `
    return expect(run(script)).resolves.toMatchObject({ code: 0, stdout: '0 12345678\n', stderr: '' })
  })
})

const run = (script: string, env: Record<string, string> = {}) =>
  runScript(script, {
    cwd: fileURLToPath(new URL('..', import.meta.url)),
    env,
    nodeOptions: [...packageFlags, '--no-warnings'],
  })

/** Uses everything that needs more of the runtime than JavaScript, and prints whether koffi is in the process. */
const everything = `
  import { openSync, readFileSync } from 'node:fs'
  import { driverInfo, NativeLibrary, processAllocator } from '@tenon/core'
  import { Callback, libraryFunctions, makeStub, MappedFile, pollReadable } from '@tenon/core/internal'
  const fixture = NativeLibrary.open(${JSON.stringify(fixturePath('core_fixture'))})
  const call = fixture.function('fixture_call_function', { result: 'int32', parameters: ['uint64', 'int32'] })
  const stub = makeStub({ result: 'int32', parameters: ['int32'] }, (x) => x + 1, {}, 'the result')
  new Callback(() => {}).release()
  processAllocator.allocate(16)
  MappedFile.open('a file', openSync('package.json'), { byteSize: 16 }).close()
  libraryFunctions('tenon_nnapi')
  pollReadable(process.stderr.fd, () => {}).close()
  console.log(call(stub.address, 41), await call.async(stub.address, 42), driverInfo().kind)
  console.log(/koffi[.]node/.test(readFileSync('/proc/self/maps', 'utf8')))
`

describe.runIf(process.platform === 'linux')('koffi', () => {
  test('is not loaded where tenon.node is', async () => {
    expect(await run(everything, { TENON_DRIVER: '' })).toMatchObject({ stdout: '42 43 node-api\nfalse\n', stderr: '' })
  })

  test('is loaded for TENON_DRIVER=koffi', async () => {
    expect(await run(everything, { TENON_DRIVER: 'koffi' })).toMatchObject({
      stdout: '42 43 koffi\ntrue\n',
      stderr: '',
    })
  })
})
