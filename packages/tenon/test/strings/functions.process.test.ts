import { ScopeHeldError, tensor, type Tensor } from '@tenon/core'
import { liveCallbacks } from '@tenon/core/internal'
import {
  batch,
  FunctionTarget,
  InvalidArgumentError,
  targetCall,
  UnimplementedError,
  UnknownError,
  type Kernel,
  type XlaError,
} from '@tenon/custom-call'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { NativeScope } from '../../src/entries/scope.ts'
import { StringTensor } from '../../src/entries/tstring.ts'
import { Library } from '../../src/index.ts'
import { errorOf } from '../isolated.ts'
import { compileKernels, sizesOf, TEXTS, twiceOf } from './library.ts'

const path = compileKernels()
let library: Library
beforeAll(() => {
  library = Library.open(path)
})
afterAll(() => library.close())
afterEach(() => expect(liveCallbacks()).toBe(0))

type Strings = readonly StringTensor[]
type Run = (operands: Strings, results: Strings) => void

const signature = '(text: string[...shape]) -> (out: string[...shape])'
const open = (run: Run, text: string = signature): FunctionTarget => FunctionTarget.open('mine', text, run as never)
const call = (target: FunctionTarget, text: string = signature): Kernel<unknown> =>
  targetCall(text, target.handler) as unknown as Kernel<unknown>

/** Writes each string twice. */
const twice: Run = ([text], [out]) => {
  for (let i = 0; i < text!.length; i++) out!.set(i, text!.get(i) + text!.get(i))
}

const words = StringTensor.from(TEXTS)

/** Calls a function by a kernel in C, with memory of the kernel or with that of the call. */
function byKernel(target: FunctionTarget, own: boolean, text: StringTensor = words): StringTensor {
  const passOn = library.kernel('pass_on') as unknown as Kernel<unknown>
  return passOn(text, { handler: target.address, own }) as StringTensor
}

describe('a function in TypeScript that is a target', () => {
  test('gets operands as StringTensors, and writes strings of any length to results', async () => {
    using target = open(twice)
    for (const storage of ['arena', 'packed', 'malloc'] as const) {
      using own = StringTensor.from(TEXTS, { storage })
      const out = call(target)(own) as StringTensor
      expect(out).toBeInstanceOf(StringTensor)
      expect(out.toArray()).toEqual(twiceOf(TEXTS))
    }
    const slice = StringTensor.from(['x'.repeat(40), ...TEXTS], { storage: 'packed' }).slice(1)
    expect((call(target)(slice) as StringTensor).toArray()).toEqual(twiceOf(TEXTS))
    expect(await errorOf(() => call(target).async(words))).toMatchObject({ codeName: 'UNAVAILABLE' })
  })

  test.each(['tf', 'rfc16', 'rfc24', 'legacy', 'tflite'] as const)('gets operands of the layout %s', (layout) => {
    const text = `(text: string<${layout}>[a, b]) -> (sizes: s32[a, b])`
    let seen: StringTensor | undefined
    using target = open(([strings], [sizes]) => {
      seen = strings
      ;((sizes as unknown as Tensor).view() as Int32Array).set(sizesOf(strings!.toArray()))
    }, text)
    const own = StringTensor.from(TEXTS, { layout, shape: [2, 3] })
    expect((call(target, text)(own) as Tensor).toArray().flat()).toEqual(sizesOf(TEXTS))
    expect([seen!.layout, seen!.shape]).toEqual([layout, [2, 3]])
  })

  test.each(['tf', 'rfc16', 'rfc24'] as const)('writes results of the layout %s', (layout) => {
    const text = `(text: string[n]) -> (out: string<${layout}>[n], size: s32)`
    using target = open(([from], [out, size]) => {
      twice([from!], [out!])
      ;((size as unknown as Tensor).view() as Int32Array)[0] = from!.length
    }, text)
    const made = call(target, text)(words) as { out: StringTensor; size: Tensor }
    expect([made.out.layout, made.out.toArray(), made.size.toArray()]).toEqual([layout, twiceOf(TEXTS), [6]])
  })

  test('runs in prepared calls, bound calls and batches', () => {
    const text = '(text: string[n]) -> (sizes: s32[n])'
    using target = open(([from], [sizes]) => (sizes as unknown as Tensor).set(sizesOf(from!.toArray())), text)
    using prepared = call(target, text).prepare([words])
    const outs = [tensor('s32', [6]), tensor('s32', [6]), tensor('s32', [6])]
    prepared.run([words], [outs[0]!])
    using bound = prepared.bind([words], [outs[1]!])
    bound.run()
    using many = batch([{ call: prepared, operands: [words], results: [outs[2]!] }])
    many.run()
    for (const out of outs) expect(out.toArray()).toEqual(sizesOf(TEXTS))
  })

  test.each([false, true])('is called by a kernel in C, with memory of the kernel: %s', (own) => {
    using target = open(twice)
    for (const storage of ['arena', 'packed', 'malloc'] as const) {
      using text = StringTensor.from(TEXTS, { storage })
      expect(byKernel(target, own, text).toArray()).toEqual(twiceOf(TEXTS))
    }
  })

  test('may keep its tensors, which are copies', () => {
    const kept: StringTensor[] = []
    using target = open(([text], [out]) => {
      twice([text!], [out!])
      kept.push(text!, out!)
    })
    for (const own of [false, true]) {
      const made = byKernel(target, own)
      kept[1]!.set(4, 'another string that is longer than its struct')
      expect(made.toArray()).toEqual(twiceOf(TEXTS))
      expect(kept[0]!.toArray()).toEqual(TEXTS)
      kept.length = 0
    }
  })

  test('reads the strings that the operand had at the call', () => {
    const changing = StringTensor.from(['a string that is longer than its struct'])
    using target = open(([text], [out]) => {
      // A VIEW of memory that does not exist.
      changing.segment.view().setBigUint64(8, 0xdead_0000n, true)
      out!.set(0, text!.get(0))
    })
    expect((call(target)(changing) as StringTensor).toArray()).toEqual(['a string that is longer than its struct'])
  })

  test('leaves results that it does not set as empty strings', () => {
    using target = open(() => {})
    expect(byKernel(target, true).toArray()).toEqual(TEXTS.map(() => ''))
    expect((call(target)(StringTensor.from([])) as StringTensor).toArray()).toEqual([])
  })
})

describe('a call of such a function fails', () => {
  const fails = async (run: Run): Promise<XlaError> => {
    using target = open(run)
    return (await errorOf(() => call(target)(words))) as XlaError
  }

  test('if the function throws, or returns a promise', async () => {
    const error = await fails(([, ,], [out]) => {
      out!.set(0, 'a string that is longer than its struct')
      throw new RangeError('no luck')
    })
    expect(error).toBeInstanceOf(UnknownError)
    expect(error.cause).toBeInstanceOf(RangeError)
    expect(await fails(async () => {})).toBeInstanceOf(UnimplementedError)
  })

  test('if the function damages a result', async () => {
    const damaged = await fails((_, [out]) => out!.segment.view().setBigUint64(0, (23n << 2n) | 0n, true))
    expect(damaged.message).toContain('out of mine must have valid strings')
    const wild = await fails((_, [out]) => {
      out!.set(0, 'a string that is longer than its struct')
      out!.segment.view().setBigUint64(8, 0xdead_0000n, true)
    })
    expect(wild.message).toContain('out of mine must have valid strings')
  })

  test('if another result is damaged, and the strings before it are freed', async () => {
    const text = '(text: string[n]) -> (a: string[n], b: string[n])'
    using target = open(([from], [a, b]) => {
      twice([from!], [a!])
      b!.segment.view().setUint8(0, 0xff)
    }, text)
    expect((await errorOf(() => call(target, text)(words))).message).toContain('b of mine must have valid strings')
  })

  test('if native code passes buffers that are not strings', async () => {
    const text = '(text: string<tf>[n]) -> (sizes: s32[1])'
    const passBytes = library.kernel('pass_bytes') as unknown as Kernel<unknown>
    const pass = async (bytes: Tensor, own: string = text): Promise<Error> => {
      using target = open(([strings], [sizes]) => (sizes as unknown as Tensor).set([strings!.length]), own)
      return errorOf(() => passBytes(bytes, { handler: target.address }))
    }
    for (const shape of [[2, 16], [48]]) {
      const error = await pass(tensor('u8', shape))
      expect(error).toBeInstanceOf(InvalidArgumentError)
      expect(error.message).toContain('its elements are uint8, not strings')
    }
    const offset = tensor('u8', [1, 24], new Uint8Array(24))
    offset.block.view.setUint32(offset.base, (9 << 2) | 2, true)
    offset.block.view.setUint32(offset.base + 4, 1 << 20, true)
    expect((await pass(offset)).message).toContain('text of mine must have valid strings')
    const legacy = await pass(tensor('u8', [17]), '(text: string<legacy>[n]) -> (sizes: s32[1])')
    expect(legacy.message).toContain('the number of strings of text of mine is not known')
    const lite = '(text: string<tflite>[n]) -> (sizes: s32[1])'
    using target = open(([strings], [sizes]) => (sizes as unknown as Tensor).set([strings!.length]), lite)
    const { segment } = StringTensor.from(TEXTS, { layout: 'tflite' })
    const made = passBytes(tensor('u8', [segment.byteSize], segment), { handler: target.address }) as Tensor
    expect(made.toArray()).toEqual([6])
    expect((await pass(tensor('u8', [12], new Uint8Array(12).fill(0x7f)), lite)).message).toContain('valid strings')
    expect((await pass(tensor('u8', [2]), lite)).message).toContain('mine')
  })
})

test('memory of operands and the target cannot be closed while the function runs', () => {
  const scope = NativeScope.ofConfined()
  const own = StringTensor.from(TEXTS, { allocator: scope })
  const errors: unknown[] = []
  const target = open(([text], [out]) => {
    for (const one of [scope, target]) {
      try {
        one.close()
      } catch (error) {
        errors.push(error)
      }
    }
    twice([text!], [out!])
  })
  expect((call(target)(own) as StringTensor).toArray()).toEqual(twiceOf(TEXTS))
  expect(errors.map((error) => error instanceof ScopeHeldError)).toEqual([true, true])
  target.close()
  scope.close()
})

test('calls leave no blocks of malloc', async () => {
  const bytes = (): number => {
    globalThis.gc!()
    return Number((library.kernel('allocated') as unknown as () => Tensor)().toArray())
  }
  const large = StringTensor.from(['x'.repeat(1 << 20)], { storage: 'packed' })
  using good = open(twice)
  using bad = open(([text], [out]) => {
    twice([text!], [out!])
    throw new Error('no luck')
  })
  const round = async (): Promise<void> => {
    call(good)(large)
    byKernel(good, true, large)
    await errorOf(() => call(bad)(large))
    await errorOf(() => byKernel(bad, true, large))
  }
  await round()
  const before = bytes()
  for (let i = 0; i < 20; i++) await round()
  // A block of two MiB that each round left would be 40 MiB.
  expect((bytes() - before) / 2 ** 20).toBeLessThan(20)
})
