import {
  ArgumentError,
  gcAllocator,
  NativeLibrary,
  ReadOnlyError,
  ScopeClosedError,
  tensor,
  type Tensor,
} from '@tenon/core'
import { callsInProgress } from '@tenon/core/internal'
import { customCall, f32, PreparedCall, targetCall, typedHandler, TypedHandler } from '@tenon/custom-call'
import { kernelLibrary } from '@tenon/kernels'
import { NativeScope } from '@tenon/scope'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { kernels, thrownBy } from './kernels.ts'

// The list of operands of a function is used by one call after the other.

const eps = f32(1e-5)
const SIGNATURE = '(x: f32[..., d]) -> (y: f32[..., d]); eps: f32'

type Call = (x: Tensor, y: Tensor, given?: number) => unknown

/** The two forms of calls as functions, each of which keeps frames of its own. */
const forms: Readonly<Record<string, (library: NativeLibrary) => Call>> = {
  'customCall()': (library) => {
    const rmsNorm = customCall(library, 'rms_norm')
    return (x, y, given = 1e-5) => rmsNorm([x], { results: [y], attrs: { eps: f32(given) } })
  },
  'targetCall()': (library) => {
    const rmsNorm = targetCall(SIGNATURE, typedHandler(library, 'rms_norm'))
    return (x, into, given = 1e-5) => rmsNorm(x as never, { eps: given }, { into } as never)
  },
}

const filled = (rows: number, allocator?: NativeScope): Tensor =>
  tensor('f32', [rows, 4], new Float32Array(4 * rows).fill(3), allocator === undefined ? {} : { allocator })

function expectOnes(y: Tensor): void {
  for (const value of y.toArray() as number[]) expect(value).toBeCloseTo(1, 4)
}

afterEach(() => {
  vi.restoreAllMocks()
  expect(callsInProgress.depth).toBe(0)
})

describe.each(Object.entries(forms))('%s with results that are given', (_, open) => {
  test('finds the frame of each call, whatever the order of the shapes', () => {
    const prepare = vi.spyOn(TypedHandler.prototype, 'prepare')
    const call = open(kernels)
    const shapes = [1, 2, 3, 4, 5].map((rows) => ({ x: filled(rows), y: tensor('f32', [rows, 4]) }))
    const orders = [
      [0, 1, 2, 3, 4],
      [0, 0, 0],
      [4, 3, 2, 1, 0],
      [2, 2, 4, 4, 0, 2],
      [0, 1, 2, 3, 4, 0, 1, 1, 1, 3],
    ]
    for (let round = 0; round < 3; round++) {
      for (const i of orders.flat()) {
        const { x, y } = shapes[i]!
        y.view().fill(0)
        expect(call(x, y)).toBe(y)
        expectOnes(y)
      }
    }
    expect(prepare).toHaveBeenCalledTimes(1)
    call(shapes[0]!.x, shapes[0]!.y, 1e-6)
    expect(prepare).toHaveBeenCalledTimes(2)
  })

  test('says what is wrong with a tensor that its frame cannot have, and runs again', () => {
    const call = open(kernels)
    const [x, y] = [filled(2), tensor('f32', [2, 4])]
    call(x, y)
    const scope = NativeScope.ofConfined()
    const closed = filled(2, scope)
    scope.close()
    using shared = NativeScope.ofConfined()
    const readOnly = tensor('f32', [2, 4], shared.allocate(32).asReadOnly())
    const wrong: [Tensor, Tensor, new (...args: never[]) => Error][] = [
      [closed, y, ScopeClosedError],
      [x, closed, ScopeClosedError],
      [x, readOnly, ReadOnlyError],
      [new Proxy(x, {}), y, ArgumentError],
      [x, new Proxy(y, {}), ArgumentError],
      [1 as never, y, ArgumentError],
      [x, null as never, ArgumentError],
    ]
    for (const [operand, result, kind] of wrong) {
      expect(thrownBy(() => call(operand, result))).toBeInstanceOf(kind)
      y.view().fill(0)
      call(x, y)
      expectOnes(y)
    }
  })

  test('holds the tensors during the run alone', () => {
    const call = open(kernels)
    for (const rows of [2, 2, 3, 2, 3, 3]) {
      const scope = NativeScope.ofConfined()
      call(filled(rows, scope), tensor('f32', [rows, 4], undefined, { allocator: scope }))
      expect(() => scope.close()).not.toThrow()
    }
  })

  test('keeps no tensor after the run, or after a miss', async () => {
    const call = open(kernels)
    const collected: number[] = []
    const registry = new FinalizationRegistry<number>((held) => void collected.push(held))
    const run = (rows: number, place: number): void => {
      const y = tensor('f32', [rows, 4])
      registry.register(y, place)
      call(filled(rows), y)
    }
    for (const [place, rows] of [2, 2, 3, 2, 3].entries()) run(rows, place)
    await expect.poll(() => (globalThis.gc?.(), collected.length)).toBe(5)
  })

  test('refuses calls once the library is closed', () => {
    const library = NativeLibrary.open(kernelLibrary('kernels'))
    const call = open(library)
    const [x, y] = [filled(2), tensor('f32', [2, 4])]
    call(x, y)
    library.close()
    expect(thrownBy(() => call(x, y))).toBeInstanceOf(ScopeClosedError)
  })
})

describe('arrays of customCall() that run code while they are read', () => {
  const withGetter = (read: () => unknown): never => {
    const array = [undefined]
    Object.defineProperty(array, '0', { get: read, enumerable: true, configurable: true })
    return array as never
  }
  const [x, y] = [filled(2), tensor('f32', [2, 4])]

  test('are read once, whatever their types', () => {
    const rmsNorm = customCall(kernels, 'rms_norm')
    rmsNorm([x], { results: [y], attrs: { eps } })
    const other = filled(3)
    const into = tensor('f32', [3, 4])
    const read = vi.fn<() => unknown>()
    for (const [operand, result] of [
      [x, y],
      [other, into],
      [x, y],
    ]) {
      read.mockReturnValueOnce(operand).mockReturnValueOnce(result)
      rmsNorm(withGetter(read), { results: withGetter(read), attrs: { eps } })
      expectOnes(result!)
      ;(result!.view() as Float32Array).fill(0)
    }
    expect(read).toHaveBeenCalledTimes(6)
  })

  test('may call the function again', () => {
    const rmsNorm = customCall(kernels, 'rms_norm')
    const run = (operands: never): unknown => rmsNorm(operands, { results: [y], attrs: { eps } })
    run([x] as never)
    const prepare = vi.spyOn(TypedHandler.prototype, 'prepare')
    const inner = tensor('f32', [2, 4])
    run(
      withGetter(() => {
        rmsNorm([x], { results: [inner], attrs: { eps } })
        return x
      }),
    )
    expectOnes(inner)
    expectOnes(y)
    run([x] as never)
    expect(prepare).not.toHaveBeenCalled()
  })

  test('may throw, after which the frame serves the next call', () => {
    const rmsNorm = customCall(kernels, 'rms_norm')
    const run = (operands: never): unknown => rmsNorm(operands, { results: [y], attrs: { eps } })
    run([x] as never)
    const prepare = vi.spyOn(TypedHandler.prototype, 'prepare')
    const mine = new Error('mine')
    const throwing = withGetter(() => {
      throw mine
    })
    expect(thrownBy(() => run(throwing))).toBe(mine)
    run([x] as never)
    expect(prepare).not.toHaveBeenCalled()
  })

  test('may close the library, which closes the frames', () => {
    const close = vi.spyOn(PreparedCall.prototype, 'close')
    const library = NativeLibrary.open(kernelLibrary('kernels'))
    const rmsNorm = customCall(library, 'rms_norm')
    rmsNorm([x], { results: [y], attrs: { eps } })
    const closing = withGetter(() => {
      library.close()
      return x
    })
    expect(thrownBy(() => rmsNorm(closing, { results: [y], attrs: { eps } }))).toBeInstanceOf(ScopeClosedError)
    expect(close).toHaveBeenCalled()
  })
})

describe('results of customCall() that the call makes', () => {
  const x = filled(2)

  test('are in the frame of their type, whatever the order of types and tensors', () => {
    const prepare = vi.spyOn(TypedHandler.prototype, 'prepare')
    const rmsNorm = customCall(kernels, 'rms_norm')
    const operands = [1, 2, 3].map((rows) => filled(rows))
    for (let round = 0; round < 3; round++) {
      for (const i of [0, 0, 1, 2, 0, 1, 2, 2, 0]) {
        const operand = operands[i]!
        const y = tensor('f32', operand.shape)
        for (const spec of [y, operand.type, operand.type, y]) {
          const made = rmsNorm([operand], { results: [spec], attrs: { eps } })
          expectOnes(made)
          expect(made === y).toBe(spec === y)
          y.view().fill(0)
        }
      }
    }
    expect(prepare).toHaveBeenCalledTimes(1)
  })

  test('of a type that the frame does not have are refused, or change its sizes or get a frame of their own', () => {
    const prepare = vi.spyOn(TypedHandler.prototype, 'prepare')
    const rmsNorm = customCall(kernels, 'rms_norm')
    for (let i = 0; i < 2; i++) rmsNorm([x], { results: [x.type], attrs: { eps } })
    expect(thrownBy(() => rmsNorm([x], { results: ['f32' as never], attrs: { eps } }))).toBeInstanceOf(ArgumentError)
    expectOnes(rmsNorm([filled(3)], { results: [f32([3, 4])], attrs: { eps } }))
    expectOnes(rmsNorm([x], { results: [x.type], attrs: { eps } }))
    expect(prepare).toHaveBeenCalledTimes(1)
    expectOnes(rmsNorm([tensor('f32', [4], [1, 1, 1, 1])], { results: [f32([4])], attrs: { eps } }))
    expect(prepare).toHaveBeenCalledTimes(2)
  })
})

type Allocating = (allocator?: object) => Tensor

/** The two forms of calls, and the frames that they need if an allocator calls the function again. The types of a kernel's results are those of its frame. */
const allocatingForms: readonly [string, number, (library: NativeLibrary, x: Tensor) => Allocating][] = [
  [
    'customCall()',
    1,
    (library, x) => {
      const rmsNorm = customCall(library, 'rms_norm')
      return (allocator) => rmsNorm([x], { results: [x.type], attrs: { eps }, ...allocator })
    },
  ],
  [
    'targetCall()',
    2,
    (library, x) => {
      const rmsNorm = targetCall(SIGNATURE, typedHandler(library, 'rms_norm'))
      return (allocator) => rmsNorm(x as never, { eps: 1e-5 }, (allocator ?? {}) as never) as Tensor
    },
  ],
]

test.each(allocatingForms)(
  'an allocator of %s may call the function again, throw, or close the library',
  (_, frames, open) => {
    const library = NativeLibrary.open(kernelLibrary('kernels'))
    const prepare = vi.spyOn(TypedHandler.prototype, 'prepare')
    const close = vi.spyOn(PreparedCall.prototype, 'close')
    const call = open(library, filled(2))
    let allocating = (): void => {}
    const allocator = {
      allocate: (byteSize: number, alignment: number) => {
        allocating()
        return gcAllocator.allocate(byteSize, alignment)
      },
    }
    const run = (): Tensor => call({ allocator })
    for (let i = 0; i < 2; i++) expectOnes(run())
    expect(prepare).toHaveBeenCalledTimes(1)
    let inner: Tensor | undefined
    allocating = () => (inner = call())
    expectOnes(run())
    expectOnes(inner!)
    expect(prepare).toHaveBeenCalledTimes(frames)
    const mine = new Error('mine')
    allocating = () => {
      throw mine
    }
    expect(thrownBy(run)).toBe(mine)
    allocating = () => {}
    expectOnes(run())
    expect(prepare).toHaveBeenCalledTimes(frames)
    allocating = () => library.close()
    expect(thrownBy(run)).toBeInstanceOf(ScopeClosedError)
    expect(close).toHaveBeenCalledTimes(frames)
  },
)
