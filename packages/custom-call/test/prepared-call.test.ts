import {
  AlignmentError,
  ArgumentError,
  gcAllocator,
  NativeLibrary,
  ReadOnlyError,
  ScopeClosedError,
  ScopeHeldError,
  Segment,
  tensor,
  tensorType,
  type Tensor,
} from '@tenon/core'
import {
  Callback,
  callsInProgress,
  coreLibrary,
  globalGate,
  ManagedLifetime,
  Block,
  READ_ONLY,
  type Gate,
} from '@tenon/core/internal'
import { customCall, f32, InvalidArgumentError, s32, s64, typedHandler, type PreparedCall } from '@tenon/custom-call'
import { afterEach, describe, expect, test } from 'vitest'
import { filled, kernels, liveObjects } from './kernels.ts'

/** Memory that is closed by hand. */
class Memory extends ManagedLifetime {
  protected override get label(): string {
    return 'the test memory'
  }
  protected override release(): void {}

  /** Makes a tensor in memory that this lifetime owns. */
  tensor(shape: readonly number[]): Tensor {
    const { block, base, byteSize } = gcAllocator.allocate(4 * shape.reduce((a, b) => a * b, 1), 64)
    const mine = new Block(this.gate, block.view, block.bytes, block.address)
    return tensor('float32', shape, new Segment(mine, base, byteSize, 0))
  }
}

function readOnly(of: Tensor): Tensor {
  const { block, base, byteSize } = of.segment
  return tensor(of.dtype, of.shape, new Segment(block, base, byteSize, READ_ONLY))
}

const saxpy = typedHandler(kernels, 'saxpy')
const prepareSaxpy = (alignment?: number): PreparedCall =>
  saxpy.prepare({
    operands: [f32([4]), f32([4])],
    results: [f32([4])],
    attrs: { a: f32(2) },
    ...(alignment === undefined ? {} : { alignment }),
  })

const [x, y] = [filled([4], (i) => i), filled([4], () => 1)]

afterEach(() => expect(callsInProgress.depth).toBe(0))

describe('a prepared call', () => {
  test('runs repeatedly with other tensors', () => {
    const call = prepareSaxpy()
    expect(call.operandTypes).toStrictEqual([f32([4]), f32([4])])
    expect(call.resultTypes).toStrictEqual([f32([4])])
    for (let i = 0; i < 3; i++) {
      const out = tensor('f32', [4])
      call.run([filled([4], (k) => k + i), y], [out])
      expect(out.toArray()).toStrictEqual([0, 1, 2, 3].map((k) => 2 * (k + i) + 1))
    }
    call.close()
  })

  test('runs in place', () => {
    const call = prepareSaxpy()
    const both = filled([4], (i) => i)
    call.run([both, both], [both])
    expect(both.toArray()).toStrictEqual([0, 3, 6, 9])
    call.close()
  })

  test('closes once, and refuses to run afterwards', () => {
    const call = prepareSaxpy()
    call.close()
    expect(() => call.close()).toThrow(ScopeClosedError)
    expect(() => call.run([x, y], [tensor('f32', [4])])).toThrow(/the prepared call of saxpy is closed already/)
    expect(() => call.bind([x, y], [tensor('f32', [4])])).toThrow(ScopeClosedError)
    call[Symbol.dispose]()
  })

  test('requires the counts and types that it was prepared for', () => {
    const call = prepareSaxpy()
    const out = tensor('f32', [4])
    expect(() => call.run([x], [out])).toThrow(/saxpy is prepared for 2 operands and 1 results, got 1 and 1/)
    expect(() => call.run([x, y], [])).toThrow(/got 2 and 0/)
    expect(() => call.run(null as never, undefined as never)).toThrow(/got null and undefined/)
    expect(() => call.run([x, tensor('f32', [2, 2])], [out])).toThrow(
      /operand 1 of saxpy must be float32\[4\], got float32\[2, 2\]/,
    )
    expect(() => call.run([x, tensor('f64', [4])], [out])).toThrow(
      /operand 1 of saxpy must be float32\[4\], got float64\[4\]/,
    )
    expect(() => call.run([x, y], [tensor('f32', [5])])).toThrow(
      /result 0 of saxpy must be float32\[4\], got float32\[5\]/,
    )
    for (const wrong of [null, undefined, {}, [1, 2, 3, 4]]) {
      expect(() => call.run([wrong as never, y], [out])).toThrow(ArgumentError)
      expect(() => call.run([x, y], [wrong as never])).toThrow(/result 0 of saxpy must be a tensor of float32\[4\]/)
    }
    call.close()
  })

  test('throws ReadOnlyError for a result in read-only memory, which is unchanged', async () => {
    const call = prepareSaxpy()
    const constant = readOnly(filled([4], () => 5))
    const out = tensor('f32', [4])
    call.run([constant, y], [out])
    expect(out.toArray()).toStrictEqual([11, 11, 11, 11])
    expect(() => call.run([x, y], [constant])).toThrow(ReadOnlyError)
    expect(() => call.bind([x, y], [constant])).toThrow(ReadOnlyError)
    await expect(call.runAsync([x, y], [constant])).rejects.toThrow(ReadOnlyError)
    expect(constant.toArray()).toStrictEqual([5, 5, 5, 5])
    call.close()
  })

  test('refuses device memory', () => {
    const call = prepareSaxpy()
    const onDevice = tensor('f32', [4], x.segment, { device: { type: 2, id: 0 } })
    expect(() => call.run([onDevice, y], [tensor('f32', [4])])).toThrow(/operand 0 of saxpy must be on the CPU/)
    call.close()
  })

  test('throws AlignmentError for memory with less than the prepared alignment', () => {
    const call = prepareSaxpy(64)
    const shifted = tensor('f32', [4], gcAllocator.allocate(32, 64).asSlice(4, 16))
    expect(() => call.run([shifted, y], [tensor('f32', [4])])).toThrow(AlignmentError)
    expect(() => call.run([x, y], [shifted])).toThrow(/result 0 of saxpy must start at a multiple of 64 bytes/)
    call.close()
    const lenient = prepareSaxpy()
    lenient.run([shifted, y], [shifted])
    expect(shifted.toArray()).toStrictEqual([1, 1, 1, 1])
    lenient.close()
    expect(() => prepareSaxpy(3)).toThrow(ArgumentError)
  })

  test('accepts empty tensors', () => {
    const call = saxpy.prepare({ operands: [f32([0]), f32([0])], results: [f32([0])], attrs: { a: f32(2) } })
    const empty = tensor('f32', [0])
    call.run([tensor('f32', [0]), tensor('f32', [0])], [empty])
    expect(empty.toArray()).toStrictEqual([])
    call.close()
  })

  test('can run again after a failure', () => {
    const call = saxpy.prepare({ operands: [f32([4]), f32([2])], results: [f32([4])], attrs: { a: f32(2) } })
    const before = liveObjects()
    for (let i = 0; i < 3; i++) {
      expect(() => call.run([x, tensor('f32', [2])], [tensor('f32', [4])])).toThrow(InvalidArgumentError)
    }
    expect(liveObjects()).toStrictEqual(before)
    call.close()
  })
})

describe('prepare() refuses types that XLA cannot describe', () => {
  test.each<[string, unknown, RegExp]>([
    ['strides', tensorType('f32', [2, 2], { strides: [1, 2] }), /must be row-major.*strides \[1, 2\]/],
    ['packed elements', tensorType('int4', [8], { packing: 'packed' }), /must have a byte for each element/],
    ['a shape', [4], /operand 0\[0\] of saxpy must be the type of a tensor, got 4[\s\S]*f32\(\[2, 4\]\)/],
    ['nothing', undefined, /operand 0 of saxpy must be the type/],
  ])('%s', (_, type, message) => expect(() => saxpy.prepare({ operands: [type as never] })).toThrow(message))

  test('operands that are not an array', () => {
    expect(() => saxpy.prepare({ operands: f32([4]) as never })).toThrow(/operands of saxpy must be an array of types/)
    expect(() => saxpy.prepare({ results: null as never })).toThrow(
      /results of saxpy must be an array of types, got null/,
    )
  })
})

describe('a prepared call and lifetimes', () => {
  test('run() refuses closed memory, and holds nothing afterwards', () => {
    const call = prepareSaxpy()
    const [dead, alive] = [new Memory(), new Memory()]
    const [ofDead, ofAlive] = [dead.tensor([4]), alive.tensor([4])]
    dead.close()
    expect(() => call.run([ofAlive, ofDead], [x])).toThrow(ScopeClosedError)
    expect(() => call.run([ofAlive, y], [ofDead])).toThrow(ScopeClosedError)
    expect(() => call.bind([ofAlive, ofDead], [x])).toThrow(ScopeClosedError)
    alive.close()
    call.close()
  })

  test('a bound call keeps its memory, its call and its library open until it is closed', () => {
    const memory = new Memory()
    const call = prepareSaxpy()
    const holds = kernels.gate.holds
    const out = memory.tensor([4])
    const bound = call.bind([memory.tensor([4]), y], [out])
    bound.run()
    expect(out.toArray()).toStrictEqual([1, 1, 1, 1])
    expect(() => memory.close()).toThrow(ScopeHeldError)
    expect(() => call.close()).toThrow(/the prepared call of saxpy cannot be closed: it is used by 1 hold/)
    expect(kernels.gate.holds).toBe(holds + 1)
    bound.close()
    expect(() => bound.run()).toThrow(/the bound call of saxpy is closed already/)
    expect(() => bound.close()).toThrow(ScopeClosedError)
    bound[Symbol.dispose]()
    memory.close()
    call.close()
    expect(kernels.gate.holds).toBe(holds)
  })

  test('bind() throws in a close action of the memory, which a bound call could outlive', () => {
    const memory = new Memory()
    const mine = memory.tensor([4])
    const call = prepareSaxpy()
    const before = globalGate.holds
    memory.addCloseAction(() => expect(() => call.bind([mine, y], [tensor('f32', [4])])).toThrow(ScopeClosedError))
    memory.close()
    expect([memory.gate.holds, call.gate.holds, globalGate.holds]).toEqual([0, 0, before])
    call.close()
  })

  test('run() refuses memory whose buffer was transferred, as an operand and as a result', () => {
    const call = prepareSaxpy()
    const out = tensor('f32', [4])
    const gone = tensor('f32', [4])
    ;(gone.view().buffer as ArrayBuffer).transfer()
    y.view()
    call.run([x, y], [out])
    expect(() => call.run([gone, y], [out])).toThrow(ScopeClosedError)
    expect(() => call.run([x, y], [gone])).toThrow(/was detached through its buffer/)
    expect(() => call.bind([gone, y], [out])).toThrow(ScopeClosedError)
    call.close()
  })

  test('bound calls and runs do not disturb each other', () => {
    const call = prepareSaxpy()
    const [a, b, c] = [tensor('f32', [4]), tensor('f32', [4]), tensor('f32', [4])]
    const first = call.bind([x, y], [a])
    const second = call.bind([y, y], [b])
    call.run([y, x], [c])
    first.run()
    second.run()
    expect([a, b, c].map((t) => t.toArray())).toStrictEqual([
      [1, 3, 5, 7],
      [3, 3, 3, 3],
      [2, 3, 4, 5],
    ])
    first.close()
    second.close()
    call.close()
  })
})

describe('while a kernel runs', () => {
  const core = NativeLibrary.open(coreLibrary().path)
  const invoke = core.symbol('tn_callback_invoke')
  const handler = typedHandler(kernels, 'call_function')

  /** Runs `body` inside a call with `operand`, and returns the error that it throws. */
  function inside(operand: Tensor, body: (call: PreparedCall) => void): unknown {
    let thrown: unknown
    const callback = new Callback(() => {
      try {
        body(call)
      } catch (error) {
        thrown = error
      }
    })
    const call = handler.prepare({
      operands: [operand],
      results: [s32([])],
      attrs: { argument: s64(callback.address), function: s64(invoke) },
    })
    const status = tensor('s32', [])
    call.run([operand], [status])
    expect(status.toArray()).toStrictEqual([0])
    call.close()
    callback.release()
    return thrown
  }

  test('the tensors of a run are held even if the arrays of the caller change', () => {
    const memory = new Memory()
    const operands = [memory.tensor([4])]
    const results = [tensor('s32', [])]
    let error: unknown
    const callback = new Callback(() => {
      operands.length = 0
      results[0] = operands[0] = tensor('s32', [])
      try {
        memory.close()
      } catch (thrown) {
        error = thrown
      }
    })
    const attrs = { argument: s64(callback.address), function: s64(invoke) }
    const call = handler.prepare({ operands, results, attrs })
    call.run(operands, results)
    expect(error).toBeInstanceOf(ScopeHeldError)
    expect((error as ScopeHeldError).details).toMatchObject({ holds: 0, calls: 1 })
    memory.close()
    expect(call.list.slice(2)).toStrictEqual([call, call])
    call.close()
    callback.release()
  })

  test('closing its operands, the call or the library throws ScopeHeldError', () => {
    const memory = new Memory()
    const operand = memory.tensor([4])
    expect(inside(operand, () => memory.close())).toBeInstanceOf(ScopeHeldError)
    expect(inside(operand, () => kernels.close())).toBeInstanceOf(ScopeHeldError)
    expect(inside(operand, (call) => call.close())).toBeInstanceOf(ScopeHeldError)
    expect((inside(operand, () => memory.close()) as Error).message).toMatch(
      /the test memory cannot be closed: it is used by calls in progress/,
    )
    memory.close()
  })

  test('other memory can be closed', () => {
    const [used, other] = [new Memory(), new Memory()]
    const operand = used.tensor([4])
    expect(inside(operand, () => other.close())).toBeUndefined()
    used.close()
  })

  test('the call cannot run inside itself, but another call can', () => {
    const operand = tensor('f32', [4])
    const status = tensor('s32', [])
    expect((inside(operand, (call) => call.run([operand], [status])) as Error).message).toMatch(
      /call_function is running: a prepared call cannot run inside itself/,
    )
    const other = prepareSaxpy()
    expect(inside(operand, () => other.run([x, y], [operand]))).toBeUndefined()
    expect(operand.toArray()).toStrictEqual([1, 3, 5, 7])
    other.close()
  })

  test('a call as a function can be called inside itself', () => {
    const callFunction = customCall(kernels, 'call_function')
    const order: string[] = []
    const again = (depth: number): void => {
      const callback = new Callback(() => {
        order.push(`in ${depth}`)
        if (depth < 3) again(depth + 1)
      })
      const attrs = { argument: s64(callback.address), function: s64(invoke) }
      callFunction([], { results: [s32([])], attrs })
      callback.release()
      order.push(`out ${depth}`)
    }
    again(1)
    expect(order).toStrictEqual(['in 1', 'in 2', 'in 3', 'out 3', 'out 2', 'out 1'])
  })

  test('a bound call cannot run inside itself', () => {
    const out = tensor('s32', [])
    let error: unknown
    const callback = new Callback(() => {
      try {
        bound.run()
      } catch (thrown) {
        error = thrown
      }
    })
    const call = handler.prepare({ results: [out], attrs: { argument: s64(callback.address), function: s64(invoke) } })
    const bound = call.bind([], [out])
    bound.run()
    expect((error as Error).message).toMatch(/call_function is running/)
    bound.close()
    call.close()
    callback.release()
  })
})

test('a kernel that writes out of bounds damages only the neighbouring memory', () => {
  const block = gcAllocator.allocate(64, 64)
  const call = typedHandler(kernels, 'write_out_of_bounds').prepare({
    results: [tensorType('u8', [8])],
    attrs: { before: s64(2), after: s64(3) },
  })
  call.run([], [tensor('u8', [8], block.asSlice(16, 8))])
  call.close()
  const bytes = Buffer.from(block.view().buffer, block.view().byteOffset, 64)
  expect(bytes.indexOf(0xee)).toBe(14)
  expect(bytes.lastIndexOf(0xee)).toBe(26)
  expect(bytes.subarray(16, 24).every((byte) => byte === 0x11)).toBe(true)
})

test('the gate of garbage-collected memory counts no calls', () => {
  const gate: Gate = globalGate
  const before = gate.holds
  const call = prepareSaxpy()
  call.run([x, y], [tensor('f32', [4])])
  call.close()
  expect(gate.holds).toBe(before)
})
