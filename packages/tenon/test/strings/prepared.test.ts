import { gcAllocator, tensor, type Segment, type StringTensorLike, type Tensor } from '@tenon/core'
import { batch } from '@tenon/custom-call'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { NativeScope } from '../../src/entries/scope.ts'
import { StringTensor } from '../../src/entries/tstring.ts'
import { Library, type Kernel } from '../../src/index.ts'
import { compileKernels, sizesOf, TEXTS } from './library.ts'

const path = compileKernels()
let library: Library
beforeAll(() => {
  library = Library.open(path)
})
afterAll(() => library.close())

const kernel = (name: string): Kernel<unknown> => library.kernel(name) as unknown as Kernel<unknown>
const ints = (count: number): Tensor<'int32'> => tensor('s32', [count])

/** The kernel of a layout, its operand for texts, and the numbers that it writes. */
interface Case {
  readonly name: string
  readonly make: (texts: readonly string[]) => StringTensor
  readonly expected: (words: StringTensor, texts: readonly string[]) => number[]
}

const heads = ({ segment, length }: StringTensor): number[] =>
  Array.from({ length }, (_, i) => segment.view().getUint8(24 * i) >> 2)

const cases: Readonly<Record<string, Case>> = {
  tf: { name: 'sizes', make: (texts) => StringTensor.from(texts), expected: (_, texts) => sizesOf(texts) },
  rfc24: { name: 'heads24', make: (texts) => StringTensor.from(texts, { layout: 'rfc24' }), expected: heads },
  tflite: {
    name: 'lite',
    make: (texts) => StringTensor.from(texts, { layout: 'tflite', shape: [1, texts.length] }),
    expected: ({ segment }, { length }) => [length, segment.byteSize],
  },
}

describe.each(Object.entries(cases))('a prepared call with strings in the layout %s', (layout, own) => {
  const others = TEXTS.map((text) => `${text}!`)
  const words = own.make(TEXTS)
  const [first, second] = [own.expected(words, TEXTS), own.expected(own.make(others), others)]

  test('runs on this thread and on others, with other strings in each run', async () => {
    using call = kernel(own.name).prepare([words])
    const out = ints(first.length)
    call.run([words], [out])
    expect(out.toArray()).toEqual(first)
    call.run([own.make(others)], [out])
    expect(out.toArray()).toEqual(second)
    await call.runAsync([words], [out])
    expect(out.toArray()).toEqual(first)
    const outs = [ints(first.length), ints(first.length)]
    await Promise.all([call.runAsync([own.make(others)], [outs[0]!]), call.runAsync([words], [outs[1]!])])
    expect(outs.map((one) => one.toArray())).toEqual([second, first])
  })

  test('is bound to a tensor, whose strings are those of each run', async () => {
    using call = kernel(own.name).prepare([words])
    const [bound, out] = [own.make(TEXTS), ints(first.length)]
    using fixed = call.bind([bound], [out])
    fixed.run()
    expect(out.toArray()).toEqual(first)
    if (layout !== 'tflite') for (const [i, text] of others.entries()) bound.set(i, text)
    const expected = layout === 'tflite' ? first : second
    out.view().fill(0)
    fixed.run()
    expect(out.toArray()).toEqual(expected)
    out.view().fill(0)
    await fixed.runAsync()
    expect(out.toArray()).toEqual(expected)
  })

  test('runs in a batch', async () => {
    using call = kernel(own.name).prepare([words])
    const outs = [ints(first.length), ints(first.length)]
    using steps = batch([
      { call, operands: [words], results: [outs[0]!] },
      { call, operands: [own.make(others)], results: [outs[1]!] },
    ])
    steps.run()
    expect(outs.map((one) => one.toArray())).toEqual([first, second])
    for (const out of outs) out.view().fill(0)
    await steps.runAsync()
    expect(outs.map((one) => one.toArray())).toEqual([first, second])
  })

  test('refuses strings of another layout or shape, numbers, and closed memory', async () => {
    using call = kernel(own.name).prepare([words])
    const out = ints(first.length)
    const scope = NativeScope.ofConfined()
    const closed = StringTensor.from(TEXTS, { allocator: scope }).to(layout as 'tf', { allocator: scope })
    const shaped =
      layout === 'tflite' ? StringTensor.ofSegment(closed.segment, { layout, shape: [1, TEXTS.length] }) : closed
    using bound = call.bind([shaped], [out])
    expect(() => scope.close()).toThrow('cannot be closed')
    bound.close()
    scope.close()
    const rows: [StringTensorLike, string][] = [
      [StringTensor.from(TEXTS, { layout: 'rfc16' }), 'text of'],
      [own.make(['one']), 'text of'],
      [tensor('u8', [TEXTS.length, 24]) as never, 'must be a string tensor'],
      [shaped, 'closed'],
    ]
    for (const [operand, message] of rows) {
      expect(() => call.run([operand], [out])).toThrow(message)
      expect(() => call.bind([operand], [out])).toThrow(message)
      await expect(call.runAsync([operand], [out])).rejects.toThrow(message)
    }
    call.run([words], [out])
    expect(out.toArray()).toEqual(first)
  })

  test('refuses elements that were damaged between two runs', async () => {
    const texts = ['a', 'b']
    const good = own.make(texts)
    const { byteSize } = good.segment
    const segment: Segment = gcAllocator.allocate(byteSize, 64)
    segment.block.bytes.set(
      good.segment.block.bytes.subarray(good.segment.base, good.segment.base + byteSize),
      segment.base,
    )
    const forged = { layout: good.layout, shape: good.shape, segment }
    using call = kernel(own.name).prepare([forged])
    const out = ints(2)
    using bound = call.bind([forged], [out])
    using steps = batch([{ call, operands: [forged], results: [out] }])
    bound.run()
    // An address in a struct, and an offset behind the buffer.
    if (layout === 'tflite') segment.view().setUint32(4, 0x7fff_0000, true)
    else {
      segment.view().setUint8(0, layout === 'tf' ? (16 << 2) | 3 : (16 << 2) | 1)
      segment.view().setBigUint64(8, 0x1000n, true)
    }
    const message = 'must have valid strings'
    expect(() => call.run([forged], [out])).toThrow(message)
    await expect(call.runAsync([forged], [out])).rejects.toThrow(message)
    expect(() => bound.run()).toThrow(message)
    await expect(bound.runAsync()).rejects.toThrow(message)
    expect(() => steps.run()).toThrow(message)
    await expect(steps.runAsync()).rejects.toThrow(message)
    if (layout === 'tflite') segment.view().setUint32(4, good.segment.view().getUint32(4, true), true)
    else for (const at of [0, 8]) segment.view().setBigUint64(at, good.segment.view().getBigUint64(at, true), true)
    bound.run()
    steps.run()
    expect(out.toArray()).toEqual(own.expected(good, texts))
  })
})

test('reading the operands of a bound call cannot run or close it', () => {
  let action = (): void => {}
  const words = StringTensor.from(['a'])
  const operand = {
    layout: 'tf' as const,
    segment: words.segment,
    get shape() {
      action()
      return [1]
    },
  }
  using call = kernel('sizes').prepare([words])
  const out = ints(1)
  using bound = call.bind([operand], [out])
  action = () => bound.run()
  expect(() => bound.run()).toThrow('is running')
  action = () => bound.close()
  expect(() => bound.run()).toThrow('closed')
})

test('strings that are damaged while other operands of a batch are read are refused', () => {
  let action = (): void => {}
  const bytes = Uint8Array.of(1 << 2, 97, ...new Array<number>(22).fill(0))
  const { segment } = tensor('u8', [1, 24], bytes)
  const first = { layout: 'tf' as const, shape: [1], segment }
  const second = {
    layout: 'tf' as const,
    segment: StringTensor.from(['b']).segment,
    get shape() {
      action()
      return [1]
    },
  }
  using call = kernel('sizes').prepare([first])
  using steps = batch([
    { call, operands: [first], results: [ints(1)] },
    { call, operands: [second], results: [ints(1)] },
  ])
  steps.run()
  action = () => steps.run()
  expect(() => steps.run()).toThrow('is running')
  action = () => {
    segment.view().setUint8(0, (16 << 2) | 3)
    segment.view().setBigUint64(8, 0x1000n, true)
  }
  expect(() => steps.run()).toThrow('must have valid strings')
})
