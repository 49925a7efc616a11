import { TenonError } from '@tenon/core'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { Callback, liveCallbacks } from '../src/callbacks/callback.ts'
import { STATUS } from '../src/generated/status.ts'
import { driverInfo } from '../src/native/call/driver-info.ts'
import { addFunction, removeFunction } from '../src/native/call/functions.ts'
import { makeStub } from '../src/native/call/stubs.ts'
import { coreFunctions } from '../src/native/core-library.ts'

afterEach(() => vi.restoreAllMocks())

/** The id of the next function that native code can enter. It is the same again once all later functions are freed. */
function nextId(): number {
  const id = addFunction(() => {})
  removeFunction(id)
  return id
}

const stub = (): unknown => makeStub({ result: 'int32', parameters: [] }, () => 0, {}, 'the result')

describe.each(['OUT_OF_MEMORY', 'CLOSED', 'INVALID_ARGUMENT'] as const)('a function of TypeScript', (status) => {
  const counters = (): unknown => [nextId(), liveCallbacks(), driverInfo().stubs]

  test(`does not keep its id if a stub of it is refused with ${status}`, () => {
    const create = vi.spyOn(coreFunctions(), 'tn_stub_create').mockReturnValue(STATUS[status].value)
    const before = counters()
    for (let i = 0; i < 3; i++) {
      expect(stub).toThrow(TenonError)
      expect(counters()).toEqual(before)
    }
    expect(create).toHaveBeenCalledTimes(3)
  })

  test(`does not keep its id if a callback of it is refused with ${status}`, () => {
    const create = vi.spyOn(coreFunctions(), 'tn_callback_create').mockReturnValue(STATUS[status].value)
    const before = counters()
    for (let i = 0; i < 3; i++) {
      expect(() => new Callback(() => {})).toThrow(TenonError)
      expect(counters()).toEqual(before)
    }
    expect(create).toHaveBeenCalledTimes(3)
  })
})

test('a stub whose refused result is not valid is not made', () => {
  const before = [nextId(), driverInfo().stubs]
  for (const refusedResult of [0.5, 2 ** 40, 'text' as never]) {
    const make = (): unknown => makeStub({ result: 'int32', parameters: [] }, () => 0, { refusedResult }, 'the result')
    expect(make).toThrow(TenonError)
    expect([nextId(), driverInfo().stubs]).toEqual(before)
  }
})
