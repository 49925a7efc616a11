import { ArgumentError, parseSignature, tensor, type Tensor } from '@tenon/core'
import { batch, customCall, f32, FunctionTarget, targetCall, typedHandler, type Kernel } from '@tenon/custom-call'
import { describe, expect, test } from 'vitest'
import { kernels } from './kernels.ts'

/** Claims 2^32 - 1 elements, so copying it takes all memory, and a loop over its holes takes minutes. */
const endless: never[] = []
endless.length = 2 ** 32 - 1

/** Runs a kernel of a TypeScript function, whose results get the number of the result, from 1 on. */
function withKernel(text: string, use: (call: Kernel<Record<string, unknown>>) => void): void {
  const signature = parseSignature('written', text)
  using target = FunctionTarget.open('written', signature, (_, results) =>
    results.forEach((one, i) => one!.set(new Float32Array(one!.type.elementCount).fill(i + 1))),
  )
  use(targetCall(signature, target.handler) as never)
}

describe('kernels of hostile input', () => {
  const x = tensor([1, 2])
  const square = tensor([
    [1, 2],
    [3, 4],
  ])

  test('arrays that claim billions of elements are refused at once', () => {
    const softmax = typedHandler(kernels, 'softmax')
    const types = { operands: [square], results: [square], attrs: { temperature: f32(1) } }
    withKernel('(x: f32[n], ...more: f32[n]) -> (y: f32[n], ...ys: f32[n])', (call) => {
      const uses: (() => unknown)[] = [
        () => call(x, endless),
        () => call(x, [], { into: { ys: endless } }),
        () => call(x, [], { results: { ys: endless } }),
        () => call(x, [], { layouts: { operands: { x: endless } } }),
        () => call(x, [], { resources: { userData: endless } }),
        () => call.prepare(endless),
        () => call.prepare([x, endless]),
        () => call.prepare([x], {}, { layouts: { results: { y: endless } } }),
        () => softmax.prepare({ ...types, operands: endless }),
        () => softmax.prepare({ ...types, layouts: { operands: endless } }),
        () => softmax.prepare({ ...types, layouts: { operands: [endless] } }),
        () => softmax.prepare({ ...types, aliases: endless }),
        () => softmax.prepare({ ...types, userData: endless }),
        () => batch(endless),
      ]
      for (const use of uses) expect(use).toThrow(ArgumentError)
    })
  })

  test('operands and results of customCall() that claim billions of elements are refused with their number', async () => {
    const add = customCall(kernels, 'broadcast_add')
    const y = tensor('f32', [2])
    const calls: [place: RegExp, operands: Tensor[], results: Tensor[]][] = [
      [/^operands must be an array of at most 1048576 tensors, got .*4294967295/, endless, [y]],
      [/^results must be an array of at most 1048576 tensors or types, got .*4294967295/, [x, x], endless],
    ]
    for (const [message, operands, results] of calls) {
      expect(() => add(operands, { results })).toThrow(ArgumentError)
      expect(() => add(operands, { results })).toThrow(message)
      await expect(add.async(operands, { results })).rejects.toThrow(message)
    }
  })

  test('an operand in the place of attributes is refused as one too many', () => {
    const rmsNorm = targetCall('(x: f32[..., d]) -> (y: f32[..., d]); eps: f32', typedHandler(kernels, 'rms_norm'))
    const call = rmsNorm as unknown as (...args: unknown[]) => unknown
    const text = 'rms_norm takes 1 operand (x), got 2'
    expect(() => call(x, x)).toThrow(text)
    expect(() => call(x, x, { eps: 1 })).toThrow(text)
    expect(() => call(x, 1)).toThrow('the attributes of rms_norm must be an object of attributes, got 1')
  })

  test('a kernel without attributes refuses an object for them, and says where its options are', () => {
    withKernel('(x: f32[n]) -> (y: f32[n])', (call) => {
      expect(() => call(x, {}, {})).toThrow(
        /written takes at most 2 arguments, got 3[^]*Pass the operands \(x\), then the options\. written has no attributes\./,
      )
    })
  })

  test('a hole in a rest operand is not a type', () => {
    withKernel('(x: f32[n], ...more: f32[n]) -> (y: f32[n])', (call) => {
      expect(() => call.prepare([x, [undefined as never]])).toThrow(
        /operand 1 of written: number 0 must be a tensor or a type, got undefined/,
      )
    })
  })

  test('a result behind an omitted one is refused, also by a frame that was kept for the other', () => {
    const y = (): Tensor => tensor('f32', [2])
    withKernel('(x: f32[n]) -> (a?: f32[n], ...b: f32[n])', (call) => {
      const refused = /a of written must be given, because b is given/
      expect(() => call(x, { into: { b: [y()] } })).toThrow(refused)
      expect((call(x, { into: { a: y() } })['a'] as Tensor).toArray()).toEqual([1, 1])
      expect(() => call(x, { into: { b: [y()] } })).toThrow(refused)
      expect(() => call(x, { results: { b: [x.type] } })).toThrow(refused)
      expect(() => call.prepare([x], {}, { results: { b: [x.type] } })).toThrow(refused)
      expect(Object.keys(call(x, { into: { a: y(), b: [y(), y()] } }))).toEqual(['a', 'b'])
      expect(call(x, { into: { b: [] } })['a']).toBeUndefined()
    })
  })

  test('a result in the memory of another operand is refused, over which an operand would be copied', () => {
    const [a, b] = [tensor([1, 2, 3]), tensor([4, 5, 6])]
    withKernel('(x: f32[n], y: f32[n]) -> (a: f32[n] @alias(x), b: f32[n] @alias(y))', (call) => {
      expect(() => call(a, b, { into: { a: b, b: a } })).toThrow(
        /a of written must not be in the memory of operand 1, because x is copied to it/,
      )
      const part = (t: Tensor): Tensor => t.slice([0, 2])
      expect(() => call(part(a), part(b), { into: { a: b.slice([1, 3]) } })).toThrow(/operand 1/)
      expect([a.toArray(), b.toArray()]).toEqual([
        [1, 2, 3],
        [4, 5, 6],
      ])
      call(a, b, { into: { a, b } })
      expect([a.toArray(), b.toArray()]).toEqual([
        [1, 1, 1],
        [2, 2, 2],
      ])
    })
  })

  test('names of Object.prototype are names of operands, results and attributes', () => {
    const text = '(constructor: f32[n]) -> (__proto__: f32[n], then: f32[n]); toString: f32 = 1, valueOf?: s32'
    withKernel(text, (call) => {
      const results = call(x, { toString: 2 } as never)
      expect(Object.keys(results)).toEqual(['__proto__', 'then'])
      expect(Object.getPrototypeOf(results)).toBe(Object.prototype)
      expect(() => call(x, { hasOwnProperty: 2 } as never)).toThrow(/does not have an attribute named hasOwnProperty/)
    })
  })
})
