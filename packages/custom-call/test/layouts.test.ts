import { ArgumentError, parseSignature, tensor, tensorType, type Tensor } from '@tenon/core'
import type { ParameterLayout } from '@tenon/core/internal'
import {
  batch,
  f32,
  f64,
  FunctionTarget,
  s64,
  targetCall,
  typedHandler,
  type KernelCallOptions,
  type Layouts,
  type PreparedCall,
} from '@tenon/custom-call'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { kernels, thrownBy } from './kernels.ts'

const raw = typedHandler(kernels, 'raw_memory')
const x = tensor([
  [1, 2, 3],
  [4, 5, 6],
])
const columns = [1, 4, 2, 5, 3, 6]

/** Prepares a call that copies the memory of x into a result of six elements. */
const prepare = (layouts: Layouts | undefined, operand: Tensor = x): PreparedCall =>
  raw.prepare({ operands: [operand], results: [f32([6]), s64([4])], ...(layouts === undefined ? {} : { layouts }) })

interface Run {
  readonly memory: readonly unknown[]
  readonly isCopied: boolean
  readonly shape: readonly number[]
}

/** Runs the call, and returns the order of the elements that the kernel sees. */
function run(call: PreparedCall, operand: Tensor): Run {
  const [y, facts] = [tensor('f32', [6]), tensor('s64', [4])]
  call.run([operand], [y, facts])
  return readRun(operand, y, facts)
}

function readRun(operand: Tensor, y: Tensor, facts: Tensor): Run {
  const [address, , rows, cols] = facts.toArray().map(Number)
  return { memory: y.toArray(), isCopied: BigInt(address!) !== operand.segment.address, shape: [rows!, cols!] }
}

describe('layouts of operands', () => {
  test.each<[ParameterLayout | undefined, readonly number[]]>([
    ['cm', columns],
    [[1, 0], columns],
    [
      [0, 1],
      [1, 2, 3, 4, 5, 6],
    ],
    [undefined, [1, 2, 3, 4, 5, 6]],
  ])('%j is the order in memory, and the sizes of the frame stay logical', (layout, memory) => {
    using call = prepare({ operands: [layout] })
    expect(run(call, x)).toMatchObject({ memory, shape: [2, 3] })
  })

  test('lists the axes from major to minor, and cm exchanges the last two', () => {
    const cube = tensor('f32', [2, 3, 1], new Float32Array([0, 1, 2, 3, 4, 5]))
    const order = (layout: readonly number[] | 'cm'): readonly unknown[] => {
      using call = prepare({ operands: [layout] }, cube)
      return run(call, cube).memory
    }
    expect(order([1, 0, 2])).toStrictEqual([0, 3, 1, 4, 2, 5])
    expect(order([2, 1, 0])).toStrictEqual([0, 3, 1, 4, 2, 5])
    expect(order('cm')).toStrictEqual([0, 1, 2, 3, 4, 5])
  })

  test.each<[string, unknown, RegExp]>([
    ['an unknown name', { operands: ['rm'] }, /the layout of operand 0 of raw_memory/],
    ['a missing axis', { operands: [[0]] }, /each of the 2 axes once/],
    ['an axis twice', { operands: [[0, 0]] }, /each of the 2 axes once/],
    ['too many layouts', { operands: ['cm', 'cm'] }, /at most 1 layouts of operands, got 2/],
    ['too many layouts of results', { results: [undefined, undefined, 'cm'] }, /at most 2 layouts of results, got 3/],
    ['column-major for one axis', { results: ['cm'] }, /at least 2 axes/],
    ['no list', { operands: 'cm' }, /operands of the layouts of raw_memory must be an array/],
    ['an unknown option', { operand: ['cm'] }, /must not have the option "operand"/],
    ['a number', 5, /the layouts of raw_memory/],
  ])('%s is refused', (_, layouts, message) => {
    const refuse = (): unknown => prepare(layouts as Layouts)
    expect(refuse).toThrow(ArgumentError)
    expect(refuse).toThrow(message)
  })

  test('are read once', () => {
    let reads = 0
    const order = {
      get 0() {
        reads++
        return 'cm'
      },
      length: 1,
    }
    const layouts = { operands: Object.assign(Object.create(Array.prototype) as unknown[], {}) }
    Object.defineProperty(layouts, 'operands', { get: () => [...Array.from(order as ArrayLike<'cm'>)] })
    using call = prepare(layouts as never)
    expect(run(call, x).memory).toStrictEqual(columns)
    expect(reads).toBe(1)
  })
})

describe('an operand', () => {
  test('in the layout is passed as it is, and a row-major one is copied in each run', () => {
    using call = prepare({ operands: ['cm'] })
    const xColumns = x.toLayout('cm')
    expect(run(call, xColumns)).toStrictEqual({ memory: columns, isCopied: false, shape: [2, 3] })
    expect(run(call, x)).toStrictEqual({ memory: columns, isCopied: true, shape: [2, 3] })
    const other = tensor('f32', [2, 3], [6, 5, 4, 3, 2, 1])
    expect(run(call, other).memory).toStrictEqual([6, 3, 5, 2, 4, 1])
    expect(run(call, xColumns).isCopied).toBe(false)
  })

  test('is copied into the same memory in each run', () => {
    using call = prepare({ operands: ['cm'] })
    const addresses = [1, 2, 3].map(() => {
      const facts = tensor('s64', [4])
      call.run([x], [tensor('f32', [6]), facts])
      return facts.toArray()[0]
    })
    expect(new Set(addresses).size).toBe(1)
  })

  test('may be the example of its layout', () => {
    using call = prepare({ operands: ['cm'] }, x.toLayout('cm'))
    expect(run(call, x).memory).toStrictEqual(columns)
  })

  test('with other strides is refused', () => {
    using call = prepare({ operands: ['cm'] })
    const part = tensor('f32', [2, 6]).slice(null, [0, null, 2])
    expect(() => run(call, part)).toThrow(
      /operand 0 of raw_memory must be float32\[2, 3\] with strides \[1, 2\], got float32\[2, 3\] with strides \[6, 2\]/,
    )
    expect(() => prepare({ operands: ['cm'] }, part)).toThrow(
      /must be row-major or float32\[2, 3\] with strides \[1, 2\]/,
    )
    expect(() => prepare(undefined, x.toLayout('cm'))).toThrow(/must be row-major/)
  })

  test('is copied by a bound call in each run, because its values may have changed', async () => {
    using call = prepare({ operands: ['cm'] })
    const operand = x.copy()
    const [y, facts] = [tensor('f32', [6]), tensor('s64', [4])]
    using bound = call.bind([operand], [y, facts])
    bound.run()
    expect(readRun(operand, y, facts)).toMatchObject({ memory: columns, isCopied: true })
    operand.set([
      [6, 5, 4],
      [3, 2, 1],
    ])
    bound.run()
    expect(y.toArray()).toStrictEqual([6, 3, 5, 2, 4, 1])
    operand.set([
      [0, 0, 0],
      [1, 1, 1],
    ])
    await bound.runAsync()
    expect(y.toArray()).toStrictEqual([0, 1, 0, 1, 0, 1])
    using direct = call.bind([x.toLayout('cm')], [y, facts])
    direct.run()
    expect(y.toArray()).toStrictEqual(columns)
    expect(direct.frame.staged).toBeUndefined()
  })

  test('is copied by asynchronous runs into memory of their own', async () => {
    using call = prepare({ operands: ['cm'] })
    const runs = await Promise.all(
      Array.from({ length: 20 }, async (_, i) => {
        const operand = tensor('f32', [2, 3], new Float32Array(6).fill(i))
        const [y, facts] = [tensor('f32', [6]), tensor('s64', [4])]
        const done = call.runAsync([operand], [y, facts])
        // The operand was copied when the run began.
        operand.set([
          [-1, -1, -1],
          [-1, -1, -1],
        ])
        await done
        return y.toArray()
      }),
    )
    expect(runs).toStrictEqual(Array.from({ length: 20 }, (_, i) => Array(6).fill(i)))
  })

  test('is not copied by a batch', () => {
    using call = prepare({ operands: ['cm'] })
    const results = [tensor('f32', [6]), tensor('s64', [4])]
    expect(() => batch([{ call, operands: [x], results }])).toThrow(
      /the operands of raw_memory, call 0 of a batch, must have the layouts of the call/,
    )
    using steps = batch([{ call, operands: [x.toLayout('cm')], results }])
    steps.run()
    expect(results[0]!.toArray()).toStrictEqual(columns)
  })
})

test('the kernel sees the elements in the order of any layout', () => {
  const sizes = fc.array(fc.integer({ min: 0, max: 4 }), { minLength: 2, maxLength: 4 })
  const cases = sizes.chain((shape) =>
    fc.tuple(fc.constant(shape), fc.shuffledSubarray([...shape.keys()], { minLength: shape.length })),
  )
  fc.assert(
    fc.property(cases, ([shape, order]) => {
      const count = shape.reduce((product, size) => product * size, 1)
      const operand = tensor(
        'f32',
        shape,
        Float32Array.from({ length: count }, (_, i) => i),
      )
      const inMemory = operand.permute(order).toArray()
      const [y, facts] = [tensor('f32', [count], new Float32Array(count)), tensor('s64', [4])]
      using call = raw.prepare({ operands: [operand], results: [y, facts], layouts: { operands: [order] } })
      for (const one of [operand, operand.toLayout(order)]) {
        y.set(new Float32Array(count))
        call.run([one], [y, facts])
        expect(y.toArray()).toStrictEqual(inMemory)
      }
    }),
    { numRuns: 200 },
  )
})

describe('a result', () => {
  const square = f32([2, 3])
  const layouts: Layouts = { results: ['cm'] }

  test('must have its layout', () => {
    using call = raw.prepare({ operands: [x], results: [square, s64([4])], layouts })
    const y = tensor('f32', [2, 3]).toLayout('cm')
    call.run([x], [y, tensor('s64', [4])])
    // The kernel has copied 1 to 6 in the order of memory.
    expect(y.toNested()).toStrictEqual([
      [1, 3, 5],
      [2, 4, 6],
    ])
    expect(() => call.run([x], [tensor('f32', [2, 3]), tensor('s64', [4])])).toThrow(
      /result 0 of raw_memory must be float32\[2, 3\] with strides \[1, 2\], got float32\[2, 3\]/,
    )
  })

  test('is known by the prepared call', () => {
    using call = raw.prepare({ operands: [x], results: [square, s64([4])], layouts })
    expect(call.resultTypes[0]).toBe(tensorType('f32', [2, 3], { strides: [1, 2] }))
  })
})

test('a column-major factorization gets and returns columns', () => {
  const a = tensor('f64', [
    [4, 12, -16],
    [12, 37, -43],
    [-16, -43, 98],
  ])
  const l = tensor('f64', [3, 3]).toLayout('cm')
  const handler = typedHandler(kernels, 'cholesky')
  using call = handler.prepare({
    operands: [a],
    results: [f64([3, 3])],
    layouts: { operands: ['cm'], results: ['cm'] },
  })
  call.run([a], [l])
  expect(l.toNested()).toStrictEqual([
    [2, 0, 0],
    [6, 1, 0],
    [-8, 5, 3],
  ])
  expect(thrownBy(() => call.run([a], [tensor('f64', [3, 3])]))).toBeInstanceOf(ArgumentError)
})

describe('the layouts of a kernel with a signature', () => {
  const a = tensor('f64', [
    [4, 12, -16],
    [12, 37, -43],
    [-16, -43, 98],
  ])
  const factor = [
    [2, 0, 0],
    [6, 1, 0],
    [-8, 5, 3],
  ]
  const signature = parseSignature('cholesky', '(a: f64[n, n] @cm) -> (l: f64[n, n] @cm)', {
    convention: 'typed',
    source: 'option',
  })
  const cholesky = targetCall(signature, typedHandler(kernels, 'cholesky'))
  const copies = targetCall(
    parseSignature('raw_memory', '(x: f32[r, c]) -> (y: f32[r, c], facts: s64[4])', {
      convention: 'typed',
      source: 'option',
    }),
    raw,
  ) as unknown as (operand: Tensor, options?: KernelCallOptions) => { y: Tensor; facts: Tensor }

  test('@cm gives an operand and a result the layout', async () => {
    const l = cholesky(a)
    expect(l.toNested()).toStrictEqual(factor)
    expect(l.type).toBe(tensorType('f64', [3, 3], { strides: [1, 3] }))
    expect(cholesky(a.toLayout('cm')).equals(l)).toBe(true)
    expect((await cholesky.async(a)).equals(l)).toBe(true)
    using call = cholesky.prepare([a])
    const out = tensor('f64', [3, 3]).toLayout('cm')
    call.run([a], [out])
    expect(out.toNested()).toStrictEqual(factor)
  })

  test('a result is allocated in the layout, and into must have it', () => {
    const out = tensor('f64', [3, 3]).toLayout('cm')
    expect(cholesky(a, { into: out })).toBe(out)
    expect(out.toNested()).toStrictEqual(factor)
    expect(() => cholesky(a, { into: tensor('f64', [3, 3]) })).toThrow(
      /l of cholesky must be float64\[3, 3\] with strides \[1, 3\], got float64\[3, 3\]/,
    )
    expect(cholesky(a, { results: f64([3, 3]) }).strides).toStrictEqual([1, 3])
    const odd = tensor('f64', [3, 6]).slice(null, [0, null, 2])
    expect(() => cholesky(odd)).toThrow(/a of cholesky must be row-major or float64\[3, 3\] with strides \[1, 3\]/)
  })

  test('the options of a call name the tensors, and later calls do not keep the layouts', () => {
    for (let i = 0; i < 3; i++) {
      const plain = copies(x)
      expect([plain.y.strides, plain.y.toArray()]).toStrictEqual([undefined, [1, 2, 3, 4, 5, 6]])
      const { y, facts } = copies(x, { layouts: { operands: { x: 'cm' } } })
      expect(y.toArray()).toStrictEqual(columns)
      expect(readRun(x, y, facts).isCopied).toBe(true)
      const both = copies(x.toLayout('cm'), { layouts: { operands: { x: [1, 0] }, results: { y: 'cm' } } })
      expect(both.y.strides).toStrictEqual([1, 2])
      expect(both.y.equals(x)).toBe(true)
    }
  })

  test.each<[string, unknown, RegExp]>([
    ['an unknown name', { operands: { z: 'cm' } }, /does not have an operand named z/],
    ['a list', { operands: ['cm'] }, /must be an object of layouts by name/],
    ['another text', { operands: { x: 'rm' } }, /the layout of x of raw_memory must be 'cm' or an array of axes/],
    ['a missing axis', { results: { y: [0] } }, /each of the 2 axes once/],
  ])('%s is refused', (_, layouts, message) => {
    const refuse = (): unknown => copies(x, { layouts: layouts as never })
    expect(refuse).toThrow(ArgumentError)
    expect(refuse).toThrow(message)
  })

  test('an operand that its result overwrites is copied into the layout', () => {
    const overwrites = targetCall(
      parseSignature('cholesky', '(a: f64[n, n] @cm) -> (l: f64[n, n] @alias(a) @cm)', {
        convention: 'typed',
        source: 'option',
      }),
      typedHandler(kernels, 'cholesky'),
    )
    const before = a.copy()
    for (const operand of [a, a.toLayout('cm')]) expect(overwrites(operand).toNested()).toStrictEqual(factor)
    expect(a.equals(before)).toBe(true)
  })

  test('a TypeScript function gets tensors in the layouts, from JavaScript and from native code', () => {
    const seen: unknown[] = []
    const copy = parseSignature('copy', '(x: f32[r, c] @cm) -> (y: f32[r, c] @cm)', {
      convention: 'typed',
      source: 'option',
    })
    using target = new FunctionTarget('copy', copy, (operands: readonly Tensor[], results: readonly Tensor[]) => {
      const [operand, result] = [operands[0]!, results[0]!]
      seen.push([operand.strides, operand.toNested()])
      result.set(operand.toNested() as never)
    })
    const call = targetCall(copy, target.handler)
    for (const operand of [x, x.toLayout('cm')]) expect(call(operand).equals(x)).toBe(true)
    expect(seen).toStrictEqual([1, 2].map(() => [[1, 2], x.toNested()]))
  })
})
