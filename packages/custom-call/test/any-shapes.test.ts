import { ArgumentError, gcAllocator, NativeLibrary, ScopeClosedError, tensor, type Tensor } from '@tenon/core'
import {
  customCall,
  f32,
  FunctionTarget,
  hostCall,
  PreparedCall,
  s32,
  str,
  targetCall,
  temp,
  typedHandler,
  TypedHandler,
  u8,
} from '@tenon/custom-call'
import { kernelLibrary } from '@tenon/kernels'
import fc from 'fast-check'
import { afterEach, expect, test, vi } from 'vitest'
import { kernels, liveObjects } from './kernels.ts'
import { expectSeen, makeShapes, shapesIn, TEXT, type Shapes } from './shapes.ts'

// A function runs tensors of any sizes in one frame, whose dimensions are written before each run.

afterEach(() => {
  vi.restoreAllMocks()
  expect(liveObjects()).toStrictEqual({ errors: 0, futures: 0 })
})

/** Counts the calls that are prepared and closed. */
function countFrames(): () => [prepared: number, closed: number] {
  const prepare = vi.spyOn(TypedHandler.prototype, 'prepare')
  const close = vi.spyOn(PreparedCall.prototype, 'close')
  return () => [prepare.mock.calls.length, close.mock.calls.length]
}

const vector = (length: number, value = 1): Tensor => tensor('f32', [length], new Float32Array(length).fill(value))

test('a kernel gets the sizes of each call, and its results have those that a fresh frame would have', () => {
  const describe = targetCall(TEXT, typedHandler(kernels, 'describe_buffers'))
  const count = countFrames()
  fc.assert(
    fc.property(fc.array(shapesIn(12), { minLength: 1, maxLength: 40 }), (all) => {
      for (const shapes of all) expectSeen(shapes, describe(...makeShapes(shapes)) as never)
    }),
    { numRuns: 100 },
  )
  // One for each rank of the second operand.
  expect(count()).toStrictEqual([4, 0])
})

test('asynchronous calls of 64 shapes at once get their own sizes', async () => {
  const describe = targetCall(TEXT, typedHandler(kernels, 'describe_buffers'))
  for (let round = 0; round < 3; round++) {
    const all = Array.from({ length: 64 }, (_, i): Shapes => ({ a: i, b: (i + round) % 7, batch: [] }))
    const results = await Promise.all(all.map((shapes) => describe.async(...makeShapes(shapes))))
    results.forEach((result, i) => expectSeen(all[i]!, result as never))
  }
})

test('a call without a signature gets the sizes of each call', async () => {
  const describe = customCall(kernels, 'describe_buffers')
  const count = countFrames()
  for (let size = 0; size < 50; size++) {
    const x = tensor('f32', [size % 5, size])
    const [text] = [describe([x], { results: [u8([60])] }), await describe.async([x], { results: [u8([60])] })]
    expect(Buffer.from(text.view() as Uint8Array).toString()).toContain(`F32[${size % 5},${size}] -> U8[60]\0`)
  }
  expect(count()).toStrictEqual([1, 0])
})

test('sizes of 2^32 and more, and scalars, are written', () => {
  const describe = customCall(kernels, 'describe_buffers')
  const text = tensor('u8', [60])
  const scalar = tensor('s32', [])
  for (const size of [1, 2 ** 31, 2 ** 32 + 5, 2 ** 40, 3]) {
    describe([scalar, tensor('f32', [size, 0])], { results: [text] })
    expect(Buffer.from(text.view()).toString()).toContain(`S32[] F32[${size},0] -> U8[60]\0`)
  }
})

test('an untyped function runs any sizes in one frame', () => {
  const library = NativeLibrary.open(kernelLibrary('kernels_runtime'))
  const close = vi.spyOn(PreparedCall.prototype, 'close')
  const increment = hostCall(library, 'increment')
  const y = tensor('s32', [4])
  for (let rows = 1; rows < 40; rows++) {
    const x = tensor('s32', [rows, 4], new Int32Array(4 * rows).fill(rows))
    increment([x], { results: [y] })
    expect(y.toArray()[0]).toBe(rows + 1)
  }
  expect(close).not.toHaveBeenCalled()
  library.close()
  expect(close).toHaveBeenCalledTimes(1)
})

test.for(['nothing', 'dims', 'types', 'pointers', 'attributes', 'names', 'counts', 'zero pointers', 'head'])(
  'a kernel that writes to its frame does not change later calls of other sizes: %s',
  async (part) => {
    const write = customCall(NativeLibrary.open(kernelLibrary('write_frame')), 'write_frame')
    const attrs = { k: s32(5), part: str(part) }
    for (const length of [4, 5, 9, 4, 5, 6, 6]) {
      const x = vector(3 + length, 7)
      const y = vector(length)
      write([x], { results: [y], attrs })
      expect(y.toArray().slice(0, 4)).toStrictEqual([5, length, 0, 7])
      await write.async([x], { results: [y], attrs })
      expect(y.toArray().slice(0, 4)).toStrictEqual([5, length, 0, 7])
    }
  },
)

test('a call from inside a call of the same function has other sizes and another frame', () => {
  const seen: string[] = []
  using target = FunctionTarget.open('nested', '(x: f32[n]) -> (y: f32[n])', ([x], [y]) => {
    seen.push(`${x.type} ${y.type}`)
    if (x.type.shape[0]! > 1) call(vector(x.type.shape[0]! - 1))
    seen.push(`${x.type} ${y.type}`)
  })
  const call = targetCall('(x: f32[n]) -> (y: f32[n])', target.handler)
  for (let round = 0; round < 2; round++) {
    seen.length = 0
    call(vector(3))
    expect(seen).toStrictEqual([3, 2, 1, 1, 2, 3].map((n) => `float32[${n}] float32[${n}]`))
  }
})

test('an allocator that calls the function with other sizes does not change the sizes of its own call', async () => {
  const saxpy = targetCall('(x: f32[n], y: f32[n]) -> (z: f32[n]); a: f32', typedHandler(kernels, 'saxpy'))
  const inner: Promise<Tensor>[] = []
  const allocator = {
    allocate: (byteSize: number, alignment: number) => {
      expect(saxpy(vector(5), vector(5), { a: 2 }).toArray()).toStrictEqual([3, 3, 3, 3, 3])
      inner.push(saxpy.async(vector(7), vector(7), { a: 2 }))
      return gcAllocator.allocate(byteSize, alignment)
    },
  }
  for (let n = 1; n < 5; n++) {
    const expected = Array(n).fill(4)
    expect(saxpy(vector(n), vector(n), { a: 3 }, { allocator }).toArray()).toStrictEqual(expected)
    const later = saxpy.async(vector(n), vector(n), { a: 3 }, { allocator })
    expect((await later).toArray()).toStrictEqual(expected)
  }
  for (const z of await Promise.all(inner)) expect(z.toArray()).toStrictEqual(Array(7).fill(3))
})

test('an allocator that closes the library refuses the call, for a shape that is new and for one that is kept', () => {
  for (const isKept of [false, true]) {
    const library = NativeLibrary.open(kernelLibrary('kernels'))
    const saxpy = targetCall('(x: f32[n], y: f32[n]) -> (z: f32[n]); a: f32', typedHandler(library, 'saxpy'))
    for (const n of isKept ? [1, 2] : [1]) saxpy(vector(n), vector(n), { a: 3 })
    const allocator = {
      allocate: (byteSize: number, alignment: number) => {
        library.close()
        return gcAllocator.allocate(byteSize, alignment)
      },
    }
    expect(() => saxpy(vector(2), vector(2), { a: 3 }, { allocator })).toThrow(ScopeClosedError)
  }
})

test('sizes that contradict the signature are refused with the same error as in a fresh frame, and change nothing', () => {
  const text = '(a: f32[m, k], b: f32[k, n]) -> (c: f32[m, n], text: u8[200]); where m <= 4, n % 2 == 0'
  const open = (): ReturnType<typeof targetCall> =>
    targetCall(text as string, typedHandler(kernels, 'describe_buffers'))
  const kept = open() as (...args: Tensor[]) => { text: Tensor<'uint8'> }
  const wrong: [number[], number[]][] = [
    [
      [2, 3],
      [4, 2],
    ],
    [
      [5, 3],
      [3, 2],
    ],
    [
      [2, 3],
      [3, 3],
    ],
    [[2], [3, 2]],
  ]
  const expectRuns = (m: number): void =>
    expect(Buffer.from(kept(tensor('f32', [m, 3]), tensor('f32', [3, 2])).text.view()).toString()).toContain(
      `F32[${m},3] F32[3,2] -> F32[${m},2] U8[200]\0`,
    )
  expectRuns(1)
  for (const [i, [a, b]] of wrong.entries()) {
    const errors = [open(), kept].map((call) => {
      try {
        call(tensor('f32', a) as never, tensor('f32', b) as never)
      } catch (error) {
        return error
      }
      return undefined
    })
    expect(errors[0]).toBeInstanceOf(ArgumentError)
    expect(errors[1]).toStrictEqual(errors[0])
    expectRuns((i % 4) + 1)
  }
  expect(() => kept(tensor('f32', [1, 3]), tensor('f64', [3, 2]))).toThrow(/elements are float64/)
  expectRuns(2)
})

test('a result that is passed must have the size of the call', () => {
  const describe = targetCall('(x: f32[n]) -> (text: u8[n])', typedHandler(kernels, 'describe_buffers'))
  for (const n of [60, 70, 80]) {
    const into = tensor('u8', [n])
    expect(describe(vector(n), { into })).toBe(into)
    expect(Buffer.from(into.view()).toString()).toContain(`F32[${n}] -> U8[${n}]\0`)
    expect(() => describe(vector(n), { into: tensor('u8', [n + 1]) })).toThrow(ArgumentError)
  }
})

test('a result that shares the memory of an operand has its size', () => {
  const text = '(x: f32[n], y: f32[n]) -> (z: f32[n] @alias(y)); a: f32'
  const saxpy = targetCall(text, typedHandler(kernels, 'saxpy'))
  const count = countFrames()
  for (let n = 1; n < 20; n++) {
    const y = vector(n, 2)
    expect(saxpy(vector(n), y, { a: 3 }).toArray()).toStrictEqual(Array(n).fill(5))
    expect(y.toArray()).toStrictEqual(Array(n).fill(2))
  }
  expect(count()).toStrictEqual([1, 0])
})

test('calls with scratch, layouts or stages have frames for their sizes', () => {
  const count = countFrames()
  const handler = typedHandler(kernels, 'describe_buffers')
  const layouts = targetCall('(x: f32[m, n] @cm) -> (text: u8[90])', handler)
  for (const n of [2, 3, 4]) layouts(tensor('f32', [n, 2]))
  expect(count()).toStrictEqual([3, 0])
  const text = '(x: f32[n]) -> (y: f32[n]); k: s32, part: string; temps (t: f32[n])'
  const scratch = targetCall(text, typedHandler(NativeLibrary.open(kernelLibrary('write_frame')), 'write_frame'))
  for (const n of [4, 5, 6]) {
    expect(scratch(vector(n), { k: 5, part: 'nothing' }).toArray().slice(0, 4)).toStrictEqual([5, n, 3, 1])
  }
  expect(count()).toStrictEqual([6, 0])
  const prepared = handler.prepare({ operands: [f32([2])], results: [u8([90]), temp(f32([3]))] })
  expect(prepared.withTypes([f32([3]), u8([90])])).toBeUndefined()
  prepared.close()
})
