import {
  ArgumentError,
  parseSignature,
  ReadOnlyError,
  ScopeClosedError,
  ScopeHeldError,
  tensor,
  type Tensor,
} from '@tenon/core'
import { callsInProgress } from '@tenon/core/internal'
import {
  f32,
  FunctionTarget,
  hostFunction,
  ApiVersion,
  PreparedCall,
  ptr,
  targetCall,
  typedHandler,
  TypedHandler,
  type Kernel,
} from '@tenon/custom-call'
import { NativeScope } from '@tenon/scope'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { kernels, liveObjects, thrownBy } from './kernels.ts'

afterEach(() => {
  vi.restoreAllMocks()
  expect(callsInProgress.depth).toBe(0)
  expect(liveObjects()).toStrictEqual({ errors: 0, futures: 0 })
})

const SOFTMAX = '(x: f32[..., c]) -> (y: f32[..., c]); temperature: f32 = 1'
const MATMUL = '(a: T[..., m, k], b: T[..., k, n], bias?: T[n]) -> (c: T[..., m, n]); where T in f32|f64'
const TOPK = '(x: f32[..., n]) -> (values: f32[..., k], indices: s32[..., k]); k: s64; where 1 <= k, k <= n'

const kernel = <Result = Tensor>(name: string, text: string, frames = 8): Kernel<Result> =>
  targetCall<Result>(parseSignature(name, text), typedHandler(kernels, name), { frames })

/** Makes a kernel of a TypeScript function. */
function written<Result = Tensor>(
  text: string,
  run: (operands: readonly Tensor[], results: readonly Tensor[], attributes: Record<string, unknown>) => void,
): Kernel<Result> & Disposable {
  const signature = parseSignature('written', text)
  const target = FunctionTarget.open('written', signature, run as never)
  const made = targetCall<Result>(signature, target.handler)
  return Object.assign(made, { [Symbol.dispose]: () => target.close() })
}

const sum = (values: readonly unknown[]): number => values.reduce<number>((all, one) => all + Number(one), 0)

describe('operands', () => {
  const a = tensor([
    [1, 2],
    [3, 4],
  ])

  test('optional operands may be omitted from the end, and the rest operand is an array', () => {
    const matmul = kernel('matmul', MATMUL)
    expect(matmul(a, a).toArray()).toEqual([7, 10, 15, 22])
    expect(matmul(a, a, tensor([1, 1])).toArray()).toEqual([8, 11, 16, 23])
    expect(matmul(a, a, undefined, { alignment: 4 }).toArray()).toEqual([7, 10, 15, 22])
    expect(() => matmul(a)).toThrow(/matmul takes 2 to 3 operands \(a, b, bias\), got 1/)
    expect(() => matmul(a, a, a, a)).toThrow(/matmul takes 2 to 3 operands \(a, b, bias\), got 4/)
    using total = written('(first: f32[n], second?: f32[n], ...more: f32[n]) -> (y: f32[n])', (operands, [y]) => {
      const out = y!.view() as Float32Array
      out.forEach((_, i) => (out[i] = sum(operands.map((one) => one.toArray()[i]))))
    })
    const x = tensor([1, 2])
    expect(total(x).toArray()).toEqual([1, 2])
    expect(total(x, x).toArray()).toEqual([2, 4])
    expect(total(x, x, []).toArray()).toEqual([2, 4])
    expect(total(x, x, [x, x, x]).toArray()).toEqual([5, 10])
    expect(() => total(x, undefined, [x])).toThrow(/second of written must be given, because more is given/)
    expect(() => total(x, x, [x, tensor([1])])).toThrow(/more\[1\] of written must be float32\[n\], got float32\[1\]/)
    expect(() => total(x, x, [5 as never])).toThrow(/more\[0\] of written must be a tensor of float32\[n\], got 5/)
  })

  test('an operand that is not a tensor, or that does not fit, is named', () => {
    const matmul = kernel('matmul', MATMUL)
    expect(() => matmul(a, tensor([[1, 2, 3, 4]]))).toThrow(
      /b of matmul must be T\[\.\.\., k, n\], got float32\[1, 4\]: a has k = 2, not 1/,
    )
    expect(() => matmul(a, [[1]] as never)).toThrow(/b of matmul must be a tensor of T\[\.\.\., k, n\], got/)
    expect(() => matmul(a, new Proxy(a, {}))).toThrow(/b of matmul must be a tensor .*, got a Proxy/)
    expect(() => matmul(a, a, { temperature: 1 })).toThrow(/must not have the option "temperature"/)
    expect(() => kernel('softmax', SOFTMAX)(a, {}, {}, {})).toThrow(/softmax takes at most 3 arguments, got 4/)
  })
})

describe('attributes', () => {
  test('are plain values with the types of the signature', () => {
    const seen: unknown[] = []
    const text =
      '() -> (); a: f32, b: s64, c: pred, d: string, e: f32[], f: enum("fast", "exact"), g: dtype, h: bytes, i: { x: s32, y: f64 = 2 }, j?: u8, k: c64'
    using call = written<undefined>(text, (_, __, attributes) => seen.push(attributes))
    const attributes = {
      a: 0.5,
      b: 7,
      c: true,
      d: 'é',
      e: [1, 2],
      f: 'exact',
      g: 'f32',
      h: new Uint8Array([255]),
      i: { x: 3 },
      k: [1, -2],
    }
    expect(call(attributes)).toBeUndefined()
    expect(seen[0]).toEqual({
      a: 0.5,
      b: 7n,
      c: true,
      d: 'é',
      e: new Float32Array([1, 2]),
      f: 'exact',
      g: 11,
      h: new Uint8Array([255]),
      i: { x: 3, y: 2 },
      j: undefined,
      k: [1, -2],
    })
    call({ ...attributes, a: f32(0.5), e: new Float32Array([1, 2]), j: 9, b: 7n })
    expect(seen[1]).toEqual({ ...(seen[0] as object), j: 9 })
    const wrong = (change: object): unknown => thrownBy(() => call({ ...attributes, ...change }))
    for (const change of [
      { a: '1' },
      { b: 1.5 },
      { b: 2n ** 63n },
      { c: 1 },
      { f: 'slow' },
      { g: 'f23' },
      { i: {} },
      { i: { x: 1, z: 1 } },
      { l: 1 },
      { a: undefined },
    ]) {
      expect(wrong(change)).toBeInstanceOf(ArgumentError)
    }
    expect(seen).toHaveLength(2)
    expect(() => call(undefined)).toThrow(/a of written must be f32, got no value/)
    expect(() => call(5 as never)).toThrow(/the attributes of written must be an object of attributes, got 5/)
    expect((wrong({ A: 1 }) as ArgumentError).hint).toMatch(/^Did you mean a/)
  })

  test('each attribute and option is read once', () => {
    const reads: string[] = []
    const counting = <Value extends object>(values: Value): Value =>
      Object.defineProperties(
        {},
        Object.fromEntries(
          Object.entries(values).map(([name, value]) => [
            name,
            { enumerable: true, get: () => (reads.push(name), value) as unknown },
          ]),
        ),
      ) as Value
    const softmax = kernel('softmax', SOFTMAX)
    const x = tensor([1, 2])
    const into = tensor('f32', [2])
    for (let i = 0; i < 3; i++) {
      reads.length = 0
      softmax(x, counting({ temperature: i }), counting({ into, alignment: 8 }))
      expect(reads.toSorted()).toEqual(['alignment', 'into', 'temperature'])
    }
  })

  test('equal values in other objects find the frame, and other bits do not', () => {
    const prepare = vi.spyOn(TypedHandler.prototype, 'prepare')
    const softmax = kernel('softmax', SOFTMAX)
    const x = tensor([1, 2])
    for (const temperature of [1, 2, 1, 2, f32(2), f32(2)]) softmax(x, { temperature })
    expect(prepare).toHaveBeenCalledTimes(3)
    softmax(x, {})
    softmax(x)
    softmax(x, { temperature: Number.NaN })
    softmax(x, { temperature: Number.NaN })
    expect(prepare).toHaveBeenCalledTimes(5)
    using seen = written<undefined>('() -> (); a: f32[], b: { c: f32 }', () => {})
    prepare.mockClear()
    const list = [1, 2]
    for (let i = 0; i < 4; i++) seen({ a: list, b: { c: 1 } })
    for (let i = 0; i < 4; i++) seen({ a: new Float32Array([1, 2]), b: { c: 1 } })
    expect(prepare).toHaveBeenCalledTimes(2)
    list[0] = 5
    seen({ a: list, b: { c: 1 } })
    seen({ a: [5, 2], b: { c: -0 } })
    seen({ a: [5, 2], b: { c: 0 } })
    expect(prepare).toHaveBeenCalledTimes(5)
  })

  test('a tensor or segment as an attribute keeps no frame and holds nothing after the call', () => {
    const close = vi.spyOn(PreparedCall.prototype, 'close')
    using call = written<undefined>('() -> (); at: pointer', () => {})
    const scope = NativeScope.ofConfined()
    const memory = scope.allocate(16)
    call({ at: memory })
    call({ at: tensor('u8', [16], memory) })
    call({ at: ptr(memory) })
    expect(close).toHaveBeenCalledTimes(3)
    const prepared = call.prepare([], { at: memory })
    expect(() => scope.close()).toThrow(ScopeHeldError)
    prepared.close()
    scope.close()
    expect(() => call({ at: memory })).toThrow(ScopeClosedError)
  })
})

describe('results', () => {
  const x = tensor([3, 1, 2])

  test('several results are an object by name, and into takes some of them', async () => {
    const topk = kernel<{ values: Tensor; indices: Tensor }>('topk', TOPK)
    const { values, indices } = topk(x, { k: 2 })
    expect([values.toArray(), indices.toArray()]).toEqual([
      [3, 2],
      [0, 2],
    ])
    const into = { values: tensor('f32', [1]) }
    const other = topk(x, { k: 1 }, { into })
    expect(other.values).toBe(into.values)
    expect(other.indices.toArray()).toEqual([0])
    const later = await topk.async(x, { k: 1 }, { into })
    expect([later.values === into.values, later.indices.toArray()]).toEqual([true, [0]])
    expect(() => topk(x, { k: 2 }, { into })).toThrow(/values of topk must be float32\[\.\.\., k\], got float32\[1\]/)
    expect(() => topk(x, { k: 2 }, { into: values })).toThrow(
      /into of topk must be an object of tensors by the names of the results/,
    )
    expect((thrownBy(() => topk(x, { k: 2 }, { into: { valeus: values } })) as ArgumentError).hint).toContain('values')
    expect(() => topk(x, { k: 2 }, { into: { values: 5 as never } })).toThrow(/values of topk must be a tensor, got 5/)
    expect(() => topk(x, { k: 9 })).toThrow(/topk requires k <= n, got k = 9 and n = 3/)
  })

  test('the types of results are inferred once for a frame', () => {
    const prepare = vi.spyOn(TypedHandler.prototype, 'prepare')
    const softmax = kernel('softmax', SOFTMAX)
    for (let i = 0; i < 5; i++) expect(softmax(x).shape).toEqual([3])
    expect(prepare).toHaveBeenCalledTimes(1)
    expect(softmax(x)).not.toBe(softmax(x))
  })

  test('a result that the call does not determine must be passed, also after a call that has passed it', () => {
    using call = written('(x: f32[n]) -> (y: f32[?])', () => {})
    expect(() => call(x)).toThrow(/y of written must be given/)
    expect(call(x, { results: f32([7]) }).shape).toEqual([7])
    const into = tensor('f32', [2])
    expect(call(x, { into })).toBe(into)
    expect(() => call(x)).toThrow(/y of written must be given/)
  })

  test('are allocated by the allocator and aligned', () => {
    const softmax = kernel('softmax', SOFTMAX)
    using scope = NativeScope.ofConfined()
    const aligned = tensor('f32', [3], scope.allocate(12, 128))
    const y = softmax(aligned, {}, { allocator: scope, alignment: 128 })
    expect(y.address % 128).toBe(0)
    expect(() => softmax(x, {}, { allocator: { allocate: () => 5 as never } })).toThrow(ArgumentError)
    expect(softmax(x).shape).toEqual([3])
  })

  test('an allocator that calls the kernel gets another frame', () => {
    const softmax = kernel('softmax', SOFTMAX)
    const seen: number[] = []
    const allocator = {
      allocate: (byteSize: number, alignment?: number) => {
        seen.push(softmax(x).shape[0]!)
        return NativeScope.ofShared().allocate(byteSize, alignment)
      },
    }
    for (let i = 0; i < 3; i++) expect(sum(softmax(x, {}, { allocator }).toArray())).toBeCloseTo(1)
    expect(seen).toEqual([3, 3, 3])
  })
})

describe('memory that operands and results share', () => {
  const increment = (_: readonly Tensor[], [y]: readonly Tensor[]): void => {
    const out = y!.view() as Float32Array
    out.forEach((value, i) => (out[i] = value + 1))
  }

  test('without @donated the operand is copied into the result', async () => {
    using call = written('(x: f32[n]) -> (y: f32[n] @alias(x))', increment)
    const x = tensor([1, 2])
    for (let i = 0; i < 3; i++) expect(call(x).toArray()).toEqual([2, 3])
    const into = tensor('f32', [2])
    expect(call(x, { into })).toBe(into)
    expect([into.toArray(), x.toArray()]).toEqual([
      [2, 3],
      [1, 2],
    ])
    expect(call(x, { into: x })).toBe(x)
    expect(x.toArray()).toEqual([2, 3])
    expect(() => call(x, { into: tensor('f32', [3]) })).toThrow(
      /y of written must be float32\[n\], got float32\[3\]: x has n = 2, not 3/,
    )
  })

  test('with @donated the tensor of the caller is overwritten and returned', () => {
    using call = written('(x: f32[n] @donated) -> (y: f32[n] @alias(x))', increment)
    const x = tensor([1, 2])
    for (let i = 0; i < 3; i++) expect(call(x)).toBe(x)
    expect(x.toArray()).toEqual([4, 5])
    expect(() => call(x, { into: tensor('f32', [2]) })).toThrow(/must be in the memory of their operands/)
    expect(call(x, { into: x })).toBe(x)
    using scope = NativeScope.ofConfined()
    const readOnly = tensor('f32', [2], scope.allocate(8).asReadOnly())
    expect(() => call(readOnly)).toThrow(ReadOnlyError)
  })

  test('memory that is closed or read-only is not copied, and a read-only result is unchanged', async () => {
    using call = written('(x: f32[n]) -> (y: f32[n] @alias(x))', increment)
    const scope = NativeScope.ofConfined()
    const x = tensor('f32', [2], scope.allocate(8))
    const y = tensor('f32', [2], scope.allocate(8).asReadOnly())
    call(x)
    expect(() => call(tensor([1, 2]), { into: y })).toThrow(ReadOnlyError)
    expect(() => call(y, { into: y })).toThrow(ReadOnlyError)
    await expect(call.async(tensor([1, 2]), { into: y })).rejects.toThrow(ReadOnlyError)
    expect(y.toArray()).toEqual([0, 0])
    expect(call(y).toArray()).toEqual([1, 1])
    scope.close()
    expect(() => call(x)).toThrow(ScopeClosedError)
    expect(call(tensor([1, 2])).toArray()).toEqual([2, 3])
  })

  test('temporaries belong to the call, and callers do not see tokens', () => {
    const seen: string[] = []
    using call = written('(x: f32[n]) -> (y: f32[n]); temps (scratch: f32[2*n, 3])', (_, results) => {
      seen.push(results.map(({ type }) => String(type)).join())
    })
    const y = call(tensor([1, 2]))
    expect([y.shape, seen]).toEqual([[2], ['float32[2],float32[4, 3]']])
    const ordered = targetCall(
      parseSignature('add', '(before: token, b: f32[m], c: f32[n]) -> (a: f32[n], after: token)'),
      typedHandler(kernels, 'broadcast_add'),
    )
    const [b, c] = [tensor('f32', [2], [1, 2]), tensor('f32', [2], [3, 4])]
    // The handler counts the tokens, which it does not take.
    expect(String(thrownBy(() => ordered(b, c)))).toMatch(/args|arguments|rets/i)
  })
})

describe('targetCall()', () => {
  test('keeps 1 to 64 frames', () => {
    const prepare = vi.spyOn(TypedHandler.prototype, 'prepare')
    const one = kernel('softmax', SOFTMAX, 1)
    for (let i = 0; i < 4; i++) one(tensor('f32', Array<number>(1 + (i % 2)).fill(1)))
    expect(prepare).toHaveBeenCalledTimes(4)
    const many = kernel('softmax', SOFTMAX, 64)
    for (let i = 0; i < 128; i++) many(tensor('f32', Array<number>(1 + (i % 64)).fill(1)))
    expect(prepare).toHaveBeenCalledTimes(4 + 64)
    for (const frames of [0, 65, 1.5, '8', Number.NaN]) {
      expect(() => kernel('softmax', SOFTMAX, frames as number)).toThrow(/frames must be a whole number from 1 to 64/)
    }
  })

  test('calls untyped functions, with the opaque string as an attribute', () => {
    const add = targetCall(
      parseSignature('add', '(b: f32[m], c: f32[n]) -> (a: f32[n])', { convention: 'host' }),
      hostFunction(kernels, 'do_custom_call'),
    )
    const [b, c] = [tensor('f32', [128]), tensor('f32', [2048], new Float32Array(2048).fill(2))]
    expect(add(b, c).toArray()[0]).toBe(2)
    const options = { apiVersion: ApiVersion.STATUS_RETURNING_UNIFIED } as const
    const host = hostFunction(kernels, 'do_custom_call')
    expect(() => targetCall(parseSignature('add', '() -> (); a: f32'), host)).toThrow(/must not have attributes/)
    const unified = hostFunction(kernels, 'do_custom_call', options)
    expect(targetCall(parseSignature('add', '() -> (); opaque: bytes'), unified).signature.name).toBe('add')
  })

  test('has prepare(), which checks the types', () => {
    const matmul = kernel('matmul', MATMUL)
    using call = matmul.prepare([f32([2, 3]), f32([3, 4])])
    expect(call.resultTypes).toEqual([f32([2, 4])])
    expect(() => matmul.prepare([f32([2, 3]), f32([2, 4])])).toThrow(/b of matmul must be/)
    expect(() => matmul.prepare(5 as never)).toThrow(/the operands of matmul must be an array of types or tensors/)
    call.close()
  })

  test.each([undefined, null, 5, {}, [], { operands: [] }])('refuses %j as a signature', (wrong) => {
    expect(() => targetCall(wrong as never, typedHandler(kernels, 'softmax'))).toThrow(ArgumentError)
  })
})
