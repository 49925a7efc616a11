import { NativeError } from '@tenon/core'
import { batch, hostFunction, ResourceExhaustedError, s64, typedHandler, UnknownError } from '@tenon/custom-call'
import { ResourceScope } from '@tenon/scope'
import { Linker } from '@tenon/scope/linker'
import { afterEach, describe, expect, test } from 'vitest'
import { cppKernels, liveObjects, thrownBy } from './kernels.ts'

const LONG_TYPE = 'std::runtime_error'

/** Kernels that throw, with the text and the type of what they throw. */
const CASES: readonly [symbol: string, text: string, type: string][] = [
  ['throw_from_host_call', 'from a host call', 'std::runtime_error'],
  ['throw_string', 'a string', 'std::string'],
  ['throw_chars', 'some characters', 'const char*'],
  ['throw_null', 'null', 'const char*'],
  ['throw_parse_error', 'line 3 (of 5)', 'fixture::parse_error'],
  ['throw_reason', 'unknown', 'fixture::reason'],
  ['throw_bad_alloc', 'std::bad_alloc', 'std::bad_alloc'],
  ['throw_long_text', 'x'.repeat(959 - 3 - LONG_TYPE.length), LONG_TYPE],
]

afterEach(() => expect(liveObjects()).toStrictEqual({ errors: 0, futures: 0 }))

describe.each(CASES)('%s', (symbol, text, type) => {
  const words = text === type ? text : `${text} (${type})`
  const kind = type === 'std::bad_alloc' ? ResourceExhaustedError : UnknownError

  test('is an error of the custom call, with its text and its type', async () => {
    using call = hostFunction(cppKernels, symbol).prepare({})
    const error = thrownBy(() => call.run([], []))
    expect(error).toBeInstanceOf(kind)
    expect(error).toMatchObject({
      sentence: `${symbol} threw a C++ exception: ${words}`,
      details: { exception: true, exceptionType: type, text },
    })
    await expect(call.runAsync([], [])).rejects.toThrow(`${symbol} threw a C++ exception: ${words}`)
    const steps = batch([{ call, operands: [], results: [] }])
    expect(thrownBy(() => steps.run())).toMatchObject({ batchIndex: 0, details: { exceptionType: type, text } })
    steps.close()
  })

  test('is an error of a native function, with its text and its type', async () => {
    const run = cppKernels.function(symbol, { result: 'void' })
    expect(thrownBy(() => run())).toBeInstanceOf(NativeError)
    expect(() => run()).toThrow(`${symbol} threw a C++ exception: ${words}`)
    await expect(run.async()).rejects.toThrow(`${symbol} threw a C++ exception: ${words}`)
  })
})

test('a handler that runs out of memory fails with RESOURCE_EXHAUSTED', async () => {
  using call = typedHandler(cppKernels, 'run_out_of_memory').prepare({})
  const expected = { codeName: 'RESOURCE_EXHAUSTED', xlaCode: 8, details: { exceptionType: 'std::bad_alloc' } }
  const error = thrownBy(() => call.run([], []))
  expect(error).toBeInstanceOf(ResourceExhaustedError)
  expect(error).toMatchObject(expected)
  await expect(call.runAsync([], [])).rejects.toMatchObject(expected)
})

test('closing a call throws the exception of the deleter of its state', () => {
  const call = typedHandler(cppKernels, {
    execute: 'throwing_state',
    instantiate: 'throwing_state_instantiate',
  }).prepare({})
  call.run([], [])
  expect(() => call.close()).toThrow('throwing_state threw a C++ exception: from a deleter (std::runtime_error)')
  expect(call.isAlive).toBe(false)
})

test('the error of a stub is thrown by a run that a C++ exception ends afterwards', () => {
  const mine = new Error('mine')
  let throws = true
  const scope = ResourceScope.ofConfined()
  const stub = Linker.upcallStub(
    () => {
      if (throws) throw mine
    },
    { result: 'void', parameters: [] },
    scope,
  )
  const call = typedHandler(cppKernels, 'call_and_throw').prepare({ attrs: { function: s64(stub.address) } })
  const bound = call.bind([], [])
  const steps = batch([{ call, operands: [], results: [] }])
  for (const run of [(): void => call.run([], []), (): void => bound.run(), (): void => steps.run()]) {
    throws = true
    expect(thrownBy(run)).toBe(mine)
    throws = false
    expect(run).toThrow('threw a C++ exception: after the call (std::runtime_error)')
  }
  throws = true
  expect(thrownBy(() => call.run([], []))).toBe(mine)
  steps.close()
  bound.close()
  call.close()
  scope.close()
})
