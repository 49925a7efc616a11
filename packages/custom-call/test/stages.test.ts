import { tensor } from '@tenon/core'
import { coreFunctions } from '@tenon/core/internal'
import { registerType, s64, typedHandler, type HandlerSymbols, type PreparedCall } from '@tenon/custom-call'
import { describe, expect, test } from 'vitest'
import { kernels, liveObjects, thrownBy } from './kernels.ts'

const type = registerType(kernels, 'tenon_staged_log', { id: 'staged_log_id' })
const liveStates = (): number => Number(coreFunctions().tn_xla_live_states())

/** The log that the stages of a call write. */
class Log {
  readonly data = tensor('u8', [64])

  get text(): string {
    const bytes = Buffer.from(this.data.view() as Uint8Array)
    return bytes.toString('latin1', 4, 4 + bytes.readInt32LE())
  }
}

describe.each([1, 2, 3, 4])('the stages of a target of 0.%i', (minor) => {
  const name = `staged_v${minor}`
  const all: HandlerSymbols = {
    execute: name,
    instantiate: `${name}_instantiate`,
    prepare: `${name}_prepare`,
    initialize: `${name}_initialize`,
  }
  const prepare = (log: Log, symbols = all): PreparedCall =>
    typedHandler(kernels, symbols).prepare({ results: [s64([])], userData: [{ type, data: log.data }] })

  test('run in order, instantiate once and the others in each run', async () => {
    const log = new Log()
    const call = prepare(log)
    expect(log.text).toBe('')
    const sum = tensor('s64', [])
    call.run([], [sum])
    expect(log.text).toBe('pie')
    const bound = call.bind([], [sum])
    bound.run()
    await call.runAsync([], [sum])
    expect(log.text).toBe('piepiepie')
    bound.close()
    call.close()
  })

  test('2.9: have a state for the call, and from 0.3 on states for each run', () => {
    const before = liveStates()
    const call = prepare(new Log())
    const sum = tensor('s64', [])
    expect(liveStates() - before).toBe(1)
    for (let i = 0; i < 3; i++) {
      call.run([], [sum])
      expect(sum.toArray()).toStrictEqual([minor >= 3 ? 111n : 1n])
      expect(liveStates() - before).toBe(1)
    }
    call.close()
    expect(liveStates() - before).toBe(0)
  })

  test('have no state without a handler', () => {
    const log = new Log()
    using call = prepare(log, { execute: name, initialize: `${name}_initialize` })
    const error = thrownBy(() => call.run([], [tensor('s64', [])]))
    expect(error).toMatchObject({ codeName: 'NOT_FOUND', stage: 'execute' })
    expect(log.text).toBe('ie')
  })

  test('end the run when one fails, which the error names', () => {
    using call = typedHandler(kernels, all).prepare({ results: [s64([])] })
    expect(thrownBy(() => call.run([], [tensor('s64', [])]))).toMatchObject({ codeName: 'NOT_FOUND', stage: 'prepare' })
  })

  test('are known from the symbols of the handler', () => {
    expect(typedHandler(kernels, all).stages).toStrictEqual(['instantiate', 'prepare', 'initialize', 'execute'])
  })
})

test('nothing is left behind', () => expect(liveObjects()).toStrictEqual({ errors: 0, futures: 0 }))
