import { tensor } from '@tenon/core'
import { LAYOUTS } from '@tenon/core/internal'
import { batch, f32, FunctionTarget, TargetRegistry } from '@tenon/custom-call'
import { MemorySegment, ResourceScope } from '@tenon/scope'
import { upcallStub } from '@tenon/scope/linker'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { filled } from './kernels.ts'

const scope = ResourceScope.ofConfined()

type UpcallFunction = Parameters<typeof upcallStub>[0]

/** Makes an untyped function that is a stub, which the core cannot distinguish from a kernel that calls TypeScript. */
const addressOfStub = (run: UpcallFunction): bigint =>
  upcallStub(run, { parameters: ['pointer', 'pointer'] }, scope).address

/** The memory that a pointer in native memory refers to. */
const pointerAt = (segment: MemorySegment, offset: number, byteSize: number): MemorySegment =>
  MemorySegment.ofAddress(segment.getUint64(offset)).reinterpret(byteSize)

/** The size of an `XLA_FFI_CallFrame`, and the offset of its stage. */
const [FRAME_SIZE, STAGE] = [176, 32]

describe('upcall stubs in custom calls', () => {
  const registry = new TargetRegistry()
  afterEach(() => {
    registry.unregister('kernel')
  })
  afterAll(() => scope.close())

  const prepare = (run: UpcallFunction) =>
    registry.registerUntyped('kernel', addressOfStub(run)).prepare({ operands: [f32([2])], results: [f32([2])] })
  const [x, y] = [filled([2], (i) => i + 1), tensor('f32', [2])]

  test('the error of a stub is thrown by the call, also by bound calls and batches', () => {
    const error = new Error('from a stub')
    let fails = true
    using call = prepare(() => {
      if (fails) throw error
    })
    using bound = call.bind([x], [y])
    using steps = batch([{ call, operands: [x], results: [y] }])
    const forms = [() => call.run([x], [y]), () => bound.run(), () => steps.run()]
    for (const run of forms) expect(run).toThrow(error)
    fails = false
    for (const run of forms) run()
  })

  test('a stub makes other calls, which use the same frame', () => {
    const type = { operands: [f32([2])], results: [f32([2])] } as const
    using target = FunctionTarget.open('double', '(x: f32[2]) -> (y: f32[2])', ([from], [to]) => {
      for (const i of [0, 1]) to.segment.view().setFloat32(4 * i, 2 * from.segment.view().getFloat32(4 * i, true), true)
    })
    using inner = target.handler.prepare(type)
    using boundInner = inner.bind([x], [y])
    let depth = 0
    using call = prepare((out: MemorySegment, operands: MemorySegment) => {
      inner.run([x], [y])
      boundInner.run()
      // The arguments were read from the frame before the calls of this function overwrote it.
      const operand = pointerAt(operands.reinterpret(8), 0, 8)
      for (const at of [0, 4]) out.reinterpret(8).setFloat32(at, depth + operand.getFloat32(at))
      depth++
    })
    const z = tensor('f32', [2])
    call.run([x], [z])
    call.run([x], [z])
    expect([...y.toArray(), ...z.toArray()]).toEqual([2, 4, 2, 3])
  })

  test('TypeScript runs on its own stack below native code, 50 calls deep', () => {
    const calls = Array.from({ length: 50 }, (_, level) => {
      const handler = registry.registerUntyped(
        `level ${level}`,
        addressOfStub(() => descend(level + 1)),
      )
      return handler.prepare({ operands: [x], results: [y] })
    })
    const useStack = (frames: number): number => (frames === 0 ? 0 : 1 + useStack(frames - 1))
    let deepest = 0
    const descend = (level: number): void => {
      deepest = level
      useStack(20)
      if (level < 50) calls[level]!.run([x], [y])
    }
    descend(0)
    expect(deepest).toBe(50)
    for (const call of calls) call.close()
  })

  test('the metadata, instantiate and execute stages of a handler can run TypeScript', () => {
    const stages: number[] = []
    const useStack = (frames: number): number => (frames === 0 ? 0 : 1 + useStack(frames - 1))
    const signature = { result: 'uint64', parameters: ['pointer'] } as const
    const run = (frame: MemorySegment): bigint => {
      useStack(1000)
      const view = frame.reinterpret(FRAME_SIZE)
      if (view.getUint64(8) === 0n) {
        stages.push(view.getInt32(STAGE))
        return 0n
      }
      stages.push(-1)
      const metadata = pointerAt(pointerAt(view, 8, 32), 24, LAYOUTS.tn_xla_metadata_t.size)
      const version = LAYOUTS.tn_xla_metadata_t.offsets.api_version
      metadata.setInt32(version + LAYOUTS.tn_xla_api_version_t.offsets.major_version, 0)
      metadata.setInt32(version + LAYOUTS.tn_xla_api_version_t.offsets.minor_version, 1)
      return 0n
    }
    const handler = upcallStub(run, signature, scope).address
    const typed = registry.registerTyped('kernel', { instantiate: handler, execute: handler })
    using call = typed.prepare({ operands: [x], results: [y] })
    call.run([x], [y])
    expect(stages.filter((stage) => stage !== -1)).toEqual([0, 3])
    expect(stages[0]).toBe(-1)
  })

  test('a handler that is dead returns its refused result', () => {
    const own = ResourceScope.ofConfined()
    let runs = 0
    const stub = upcallStub(() => void runs++, { parameters: ['pointer', 'pointer'] }, own)
    using call = registry.registerUntyped('kernel', stub.address).prepare({ operands: [x], results: [y] })
    call.run([x], [y])
    own.close()
    call.run([x], [y])
    expect(runs).toBe(1)
  })

  test('a stub that is called by an asynchronous run relays to this thread', async () => {
    let runs = 0
    using call = prepare(() => void runs++)
    await Promise.all(Array.from({ length: 20 }, () => call.runAsync([x], [tensor('f32', [2])])))
    expect(runs).toBe(20)
  })
})
