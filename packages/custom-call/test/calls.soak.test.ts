import { readdirSync } from 'node:fs'
import { isSanitized } from '@tenon/config/sanitizer'
import { NativeLibrary, tensor, type Tensor } from '@tenon/core'
import { coreFunctions, liveCallbacks, liveHolds } from '@tenon/core/internal'
import {
  ApiVersion,
  batch,
  customCall,
  f32,
  FunctionTarget,
  hostFunction,
  pred,
  registerType,
  s32,
  s64,
  targetCall,
  typedHandler,
  XlaError,
  type PreparedCall,
} from '@tenon/custom-call'
import { kernelLibrary } from '@tenon/kernels'
import { NativeScope } from '@tenon/scope'
import { expect, test } from 'vitest'
import { cppKernels, filled, kernels, liveObjects } from './kernels.ts'

const MIB = 2 ** 20
const isSoak = process.env['TENON_SOAK'] === '1'
const CALLS = isSoak ? 1_000_000 : 20_000
/**
 * The growth of the process outside the heap that is allowed, in bytes. The engine warms up slowly, and AddressSanitizer keeps up
 * to 256 MiB of freed memory.
 */
const PROCESS_SLACK = (isSoak ? 16 : 64) * MIB + (isSanitized ? 512 * MIB : 0)
/** The growth of the heap that is allowed, in bytes. */
const HEAP_SLACK = 2 * MIB

const runtime = NativeLibrary.open(kernelLibrary('kernels_runtime'))
const liveStates = (): number => Number(coreFunctions().tn_xla_live_states())

/** Counts everything that a call could leave behind. */
function left(): Record<string, number> {
  return {
    ...liveObjects(),
    states: liveStates(),
    holds: liveHolds.count,
    callbacks: liveCallbacks(),
    descriptors: readdirSync('/proc/self/fd').length,
  }
}

function memory(): { heap: number; process: number } {
  globalThis.gc!()
  const { heapUsed, external, rss } = process.memoryUsage()
  return { heap: heapUsed + external, process: rss }
}

function fails(run: () => unknown): void {
  try {
    run()
  } catch (error) {
    if (error instanceof XlaError) return
    throw error
  }
  throw new Error('a call that must fail did not')
}

const x = filled([4], (i) => i)
const y = tensor('f32', [4])
const none: readonly Tensor[] = []

/** Rounds of calls, each of which closes what it opens. */
function makeSteps(): { readonly steps: readonly [count: number, run: () => void | Promise<void>][]; close(): void } {
  const both = [tensor('s32', [4])]
  const [one, most, sum] = [tensor('s32', [], [1]), tensor('s32', [], [2 ** 31 - 1]), tensor('s32', [])]
  const status = { apiVersion: ApiVersion.STATUS_RETURNING } as const
  const factor = tensor('f32', [1], [2])
  const type = registerType(kernels, 'tenon_factor', { id: 'factor_type_id', info: 'factor_type_info' })
  const shape = { operands: [x], results: [y] }
  const schema = '(x: f32[n]) -> (y: f32[n]); a: f32'
  const functions = {
    exact: FunctionTarget.open('exact', '(x: f32[4]) -> (y: f32[4])', () => {}),
    throwing: FunctionTarget.open('throwing', '(x: f32[4]) -> (y: f32[4])', () => {
      throw new Error('as it should')
    }),
    declared: FunctionTarget.open('declared', schema, () => {}),
  }
  const calls = {
    clip: typedHandler(kernels, 'clip_v1').prepare({ ...shape, attrs: { low: f32(0), high: f32(1) } }),
    failing: typedHandler(kernels, 'fail_with').prepare({ attrs: { code: s32(3), message: 'on purpose' } }),
    throwing: typedHandler(cppKernels, 'throw_v3').prepare({}),
    increment: hostFunction(runtime, 'increment').prepare({ operands: both, results: both }),
    add: hostFunction(runtime, 'checked_add', status).prepare({ operands: [one, one], results: [sum] }),
    scratch: typedHandler(kernels, 'reverse_in_scratch_v2').prepare({
      ...shape,
      hostScratch: true,
      attrs: { alignment: s64(16), forget: pred(true) },
    }),
    lent: typedHandler(kernels, 'lent_factor_v3').prepare({ ...shape, userData: [{ type, data: factor }] }),
    later: typedHandler(kernels, 'scale_later').prepare({ ...shape, attrs: { factor: f32(2) } }),
    delegate: typedHandler(kernels, 'delegate').prepare({
      ...shape,
      attrs: { handler: s64(functions.exact.address), elsewhere: pred(false) },
    }),
    exact: functions.exact.handler.prepare(shape),
    functionFailing: functions.throwing.handler.prepare(shape),
    declared: targetCall(schema, functions.declared.handler).prepare([x], { a: 1 }) as PreparedCall,
  }
  const bound = calls.clip.bind([x], [y])
  const mixed = batch([
    { call: calls.clip, operands: [x], results: [y] },
    { call: calls.increment, operands: both, results: both },
    { call: calls.failing, operands: none, results: none },
    { call: calls.clip, operands: [x], results: [y] },
  ])
  const rmsNorm = customCall(kernels, 'rms_norm')
  const counter = typedHandler(kernels, { execute: 'counter_v1', instantiate: 'counter_v1_instantiate' })
  const count = tensor('s64', [])
  const outputs = Array.from({ length: 32 }, () => [tensor('f32', [4])])
  return {
    steps: [
      [1, () => calls.clip.run([x], [y])],
      [1, () => bound.run()],
      [1, () => fails(() => calls.failing.run([], []))],
      [1, () => fails(() => calls.throwing.run([], []))],
      [1, () => calls.increment.run(both, both)],
      [1, () => calls.add.run([one, one], [sum])],
      [1, () => fails(() => calls.add.run([most, one], [sum]))],
      [1, () => calls.scratch.run([x], [y])],
      [1, () => calls.lent.run([x], [y])],
      [1, () => calls.exact.run([x], [y])],
      [1, () => fails(() => calls.functionFailing.run([x], [y]))],
      [1, () => calls.declared.run([x], [y])],
      [2, () => calls.delegate.run([x], [y])],
      [3, () => fails(() => mixed.run())],
      [
        2,
        () => {
          const scope = NativeScope.ofConfined()
          const matrix = tensor('f32', [1, 4], [1, 2, 3, 4], { allocator: scope })
          rmsNorm([matrix], { results: [f32([1, 4])], attrs: { eps: f32(0) }, allocator: scope })
          const made = counter.prepare({ results: [count], attrs: { start: s64(0) } })
          made.run([], [count])
          made.close()
          scope.close()
        },
      ],
      [32, async () => void (await Promise.all(outputs.map((output) => calls.clip.runAsync([x], output))))],
      [
        33,
        async () => {
          const runs = outputs.map((output) => calls.later.runAsync([x], output))
          runs.push(calls.failing.runAsync([], []))
          await Promise.allSettled(runs)
        },
      ],
    ],
    close(): void {
      bound.close()
      mixed.close()
      for (const call of Object.values(calls)) call.close()
      for (const target of Object.values(functions)) target.close()
    },
  }
}

test(
  `${CALLS} calls of every kind, failing ones among them, leave nothing behind`,
  { timeout: CALLS * 10 },
  async () => {
    const { steps, close } = makeSteps()
    const perRound = steps.reduce((sum, [count]) => sum + count, 0)
    const rounds = Math.ceil(CALLS / perRound)
    const run = async (from: number, to: number): Promise<void> => {
      for (let i = from; i < to; i++) {
        for (const [, step] of steps) {
          const later = step()
          if (later !== undefined) await later
        }
      }
    }
    const warm = Math.ceil(rounds / 4)
    await run(0, warm)
    const [before, memoryBefore] = [left(), memory()]
    await run(warm, rounds)
    const memoryAfter = memory()
    expect(left()).toStrictEqual(before)
    expect(memoryAfter.heap - memoryBefore.heap).toBeLessThan(HEAP_SLACK)
    expect(memoryAfter.process - memoryBefore.process).toBeLessThan(PROCESS_SLACK)
    close()
    const { errors, futures, states, holds, callbacks } = left()
    expect({ errors, futures, states, holds, callbacks }).toStrictEqual({
      errors: 0,
      futures: 0,
      states: 0,
      holds: 0,
      callbacks: 0,
    })
  },
)
