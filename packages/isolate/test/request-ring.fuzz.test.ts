import { gcAllocator } from '@tenon/core'
import { CONSTANTS, LAYOUTS, type RemoteAnswer } from '@tenon/core/internal'
import fc from 'fast-check'
import { readdirSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { CommandMemory } from '../src/host/command-memory.ts'
import { Execution } from '../src/host/execution.ts'
import { RequestRing } from '../src/host/request-ring.ts'
import type { WorkerProcess } from '../src/host/worker-process.ts'
import { faultyKernel } from './faulty.ts'

const { offsets: SLOT } = LAYOUTS.tn_host_slot_t

/** A ring whose worker is the test. */
class Bench {
  readonly segment = gcAllocator.allocate(CONSTANTS.TN_HOST_COMMAND_SIZE)
  readonly view: DataView = this.segment.view()
  readonly memory = new CommandMemory(Number(this.segment.address))
  readonly answers: (RemoteAnswer | string)[] = []
  readonly ring: RequestRing
  readonly kernel = faultyKernel()
  waited: 'changed' | 'timed out' = 'timed out'

  constructor() {
    const wait = (): string => this.waited
    const process = {
      memory: this.memory,
      post() {},
      sendMemory() {},
      noteModules() {},
      exchange: wait,
      wait,
    } as unknown as WorkerProcess
    const owner = {
      clock: 0,
      greeted: () => {},
      loaded: () => {},
      ran: (execution: Execution, answer: RemoteAnswer) => {
        this.answers.push(answer)
        execution.resolve(answer)
      },
      callBack: (_: Execution, body: Uint8Array) => {
        this.answers.push(`function ${body.length}`)
        return Uint8Array.of(7)
      },
    }
    this.ring = new RequestRing(process, owner)
    // The start, the library, the kernel and a first call are answered, so that each later call is one request.
    const { slot: last } = this.run(0)
    for (let slot = 0; slot <= last; slot++) this.set(slot, 'state', CONSTANTS.TN_HOST_DONE)
    this.ring.collect(true)
    this.answers.length = 0
  }

  run(id: number, body?: Uint8Array): Execution {
    const call = {
      kernel: this.kernel,
      operands: [],
      read: () => 0,
      failure: () => new Error('failed'),
      ...(body === undefined ? {} : { body }),
    }
    const execution = new Execution(
      call,
      id,
      -1,
      { deadline: Infinity, isIdempotent: false, isAsync: false, isLoad: false, isWarmUp: false },
      0,
    )
    this.ring.add(execution)
    return execution
  }

  set(slot: number, field: keyof typeof SLOT, value: number): void {
    this.view.setUint32(CONSTANTS.TN_HOST_SLOTS_OFFSET + slot * CONSTANTS.TN_HOST_SLOT_SIZE + SLOT[field], value, true)
  }
}

describe('answers of a worker that cannot be trusted', () => {
  test('an answer with another id, a length that is too large, or a state that does not exist is a fault', () => {
    for (const [field, value] of [
      ['id', 5],
      ['length', CONSTANTS.TN_HOST_BODY_SIZE + 1],
      ['length', 2 ** 32 - 1],
    ] as const) {
      const bench = new Bench()
      const { slot } = bench.run(1)
      bench.set(slot, field, value)
      bench.set(slot, 'state', CONSTANTS.TN_HOST_DONE)
      expect(bench.ring.collect(true)).toContain('must have the id')
      expect(bench.answers).toEqual([])
    }
    for (const state of [CONSTANTS.TN_HOST_FREE, 5, 2 ** 32 - 1]) {
      const bench = new Bench()
      bench.set(bench.run(1).slot, 'state', state)
      expect(bench.ring.collect(true)).toBe(`the state of a slot must be a known one, got ${state}`)
    }
  })

  test('a later slot that is answered before an earlier one is a fault, and not a wait without end', () => {
    const bench = new Bench()
    bench.run(1)
    const { slot } = bench.run(2)
    bench.set(slot, 'state', CONSTANTS.TN_HOST_DONE)
    bench.waited = 'changed'
    bench.ring.exchange(slot, 1000)
    expect(bench.ring.collect(true)).toBe('answers must come in the order of the requests')
  })

  test.runIf(process.platform === 'linux')(
    'the end of a worker frees the memory of long requests, also of those that wait',
    () => {
      const descriptors = (): number => readdirSync('/proc/self/fd').length
      const bench = new Bench()
      const before = descriptors()
      // As many as there are slots, and three that wait.
      for (let id = 0; id < CONSTANTS.TN_HOST_SLOTS + 3; id++)
        bench.run(id, new Uint8Array(CONSTANTS.TN_HOST_BODY_SIZE + 1))
      expect(bench.ring.hasBacklog).toBe(true)
      expect(descriptors()).toBeGreaterThanOrEqual(before + CONSTANTS.TN_HOST_SLOTS)
      bench.ring.close()
      expect(descriptors()).toBe(before)
    },
  )

  test('a request that is no call cannot call functions', () => {
    const bench = new Bench()
    const { slot } = bench.run(1)
    bench.set(slot, 'state', CONSTANTS.TN_HOST_DONE)
    bench.ring.collect(true)
    bench.ring.forget(bench.kernel)
    bench.set(slot + 1, 'state', CONSTANTS.TN_HOST_CALLBACK)
    expect(bench.ring.collect(true)).toBe('only kernels can call functions')
  })

  test('a call that calls a function waits for its result', () => {
    const bench = new Bench()
    const { slot } = bench.run(1)
    bench.set(slot, 'length', 3)
    bench.set(slot, 'state', CONSTANTS.TN_HOST_CALLBACK)
    expect(bench.ring.collect(false)).toBeUndefined()
    expect(bench.answers).toEqual([])
    expect(bench.ring.collect(true)).toBeUndefined()
    expect(bench.answers).toEqual(['function 3'])
    expect(bench.memory.state(slot)).toBe(CONSTANTS.TN_HOST_RETURNED)
    expect(bench.ring.collect(true)).toBeUndefined()
    bench.set(slot, 'length', 2 ** 31)
    bench.set(slot, 'state', CONSTANTS.TN_HOST_CALLBACK)
    expect(bench.ring.collect(true)).toBe('a call of a function must have a valid length')
  })

  test('any words in any order end as answers or faults, and each call is answered at most once', () => {
    const word = fc.oneof(fc.integer({ min: 0, max: 8 }), fc.nat(2 ** 32 - 1), fc.constant(CONSTANTS.TN_HOST_DONE))
    const anyStep = fc.oneof(
      fc.record({ kind: fc.constant('run' as const) }),
      fc.record({ kind: fc.constant('collect' as const) }),
      fc.record({
        kind: fc.constant('slot' as const),
        slot: fc.nat(31),
        field: fc.constantFrom(...(Object.keys(SLOT) as (keyof typeof SLOT)[])),
        word,
      }),
      fc.record({ kind: fc.constant('word' as const), at: fc.nat(CONSTANTS.TN_HOST_COMMAND_SIZE / 4 - 1), word }),
      fc.record({ kind: fc.constant('honest' as const) }),
    )
    fc.assert(
      fc.property(fc.array(anyStep, { maxLength: 150 }), (steps) => {
        const bench = new Bench()
        const executions: Execution[] = []
        for (const step of steps) {
          if (step.kind === 'run') executions.push(bench.run(executions.length + 1))
          else if (step.kind === 'slot') bench.set(step.slot, step.field, step.word)
          else if (step.kind === 'word') bench.view.setUint32(step.at * 4, step.word, true)
          else if (step.kind === 'honest') {
            const oldest = bench.ring.oldest
            if (oldest !== undefined) bench.set(oldest.slot, 'state', CONSTANTS.TN_HOST_DONE)
          } else if (bench.ring.collect(true) !== undefined) break
        }
        const { answers } = bench
        expect(answers.filter((answer) => typeof answer !== 'string').length).toBeLessThanOrEqual(executions.length)
        for (const answer of answers) {
          if (typeof answer !== 'string') expect(answer.body.length).toBeLessThanOrEqual(CONSTANTS.TN_HOST_BODY_SIZE)
        }
        bench.ring.close()
      }),
      { numRuns: 300 },
    )
  })
})
