import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { dtypeInfo, tensor, type DType, type Element, type Tensor } from '@tenon/core'
import type { SliceSpec } from '../src/types/tensor-views.ts'
import { fuzzBudget } from './fuzz-budget.ts'

const { property: runs, test: options } = fuzzBudget(6)

type Model = Element | readonly Model[]

/** A tensor as nested arrays, and its shape, which the arrays of an empty one do not have. */
interface Naive {
  readonly shape: readonly number[]
  readonly at: (index: readonly number[]) => Element
}

const nested = ({ shape, at }: Naive, index: readonly number[] = []): Model =>
  index.length === shape.length
    ? at(index)
    : Array.from({ length: shape[index.length]! }, (_, i) => nested({ shape, at }, [...index, i]))

const indicesOf = (shape: readonly number[]): number[][] =>
  shape.reduce<number[][]>(
    (all, size) => all.flatMap((index) => Array.from({ length: size }, (_, i) => [...index, i])),
    [[]],
  )

const elements = ({ shape, at }: Naive): Element[] => indicesOf(shape).map((index) => at(index))

const rowMajorIndex = (index: readonly number[], shape: readonly number[]): number =>
  index.reduce((sum, i, axis) => sum * shape[axis]! + i, 0)

const reshaped = (naive: Naive, shape: readonly number[]): Naive => {
  const flat = elements(naive)
  return { shape, at: (index) => flat[rowMajorIndex(index, shape)]! }
}

const elementArbitrary: Readonly<Record<string, fc.Arbitrary<Element>>> = {
  int4: fc.integer({ min: -8, max: 7 }),
  bool: fc.boolean(),
  complex64: fc
    .tuple(fc.integer(), fc.integer({ min: -99, max: 99 }))
    .map(([re, im]) => [Math.fround(re), im] as const),
  bfloat16: fc.integer({ min: -256, max: 256 }),
  float16: fc.integer({ min: -2048, max: 2048 }),
  float64: fc.double(),
  int64: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  uint8: fc.integer({ min: 0, max: 255 }),
}

const dtype = fc.constantFrom(...(Object.keys(elementArbitrary) as DType[]))
const shape = fc.array(fc.nat(4), { maxLength: 4 })

/** A row-major tensor with its model. */
const tensors: fc.Arbitrary<[Tensor, Naive]> = fc.tuple(dtype, shape).chain(([name, sizes]) => {
  const count = sizes.reduce((total, size) => total * size, 1)
  return fc
    .array(elementArbitrary[name]!, { minLength: count, maxLength: count })
    .map((values): [Tensor, Naive] => [
      tensor(name, sizes, values),
      { shape: sizes, at: (index) => values[rowMajorIndex(index, sizes)]! },
    ])
})

type Step = (x: Tensor, naive: Naive) => [Tensor, Naive]

const bound = fc.oneof(fc.constant(null), fc.constant(undefined), fc.integer({ min: -7, max: 7 }))
const spec: fc.Arbitrary<SliceSpec> = fc.oneof(
  fc.constant(null),
  fc.nat(99),
  fc.tuple(bound, bound),
  fc.tuple(bound, bound, fc.integer({ min: 1, max: 4 })),
)

const slice =
  (specs: readonly SliceSpec[]): Step =>
  (x, naive) => {
    const fitting = specs.slice(0, x.shape.length).map((one, axis) => {
      if (typeof one !== 'number') return one
      const size = x.shape[axis]!
      return size === 0 ? null : (one % (2 * size)) - size
    })
    // Array.prototype.slice and a filter by the step are the model of each axis.
    const kept = naive.shape.map((size, axis) => {
      const all = Array.from({ length: size }, (_, i) => i)
      const one = fitting[axis] ?? null
      if (one === null) return all
      if (typeof one === 'number') return all.at(one)!
      const [start, end, step = 1] = one
      return all.slice(start ?? 0, end ?? size).filter((_, i) => i % step === 0)
    })
    const view: Naive = {
      shape: kept.flatMap((indices) => (typeof indices === 'number' ? [] : indices.length)),
      at: (index) => {
        let next = 0
        return naive.at(kept.map((indices) => (typeof indices === 'number' ? indices : indices[index[next++]!]!)))
      },
    }
    return [x.slice(...fitting), view]
  }

const permute =
  (seeds: readonly number[]): Step =>
  (x, naive) => {
    const rank = x.shape.length
    const axes = Array.from({ length: rank }, (_, i) => i).toSorted((a, b) => (seeds[a] ?? 0) - (seeds[b] ?? 0))
    const view: Naive = {
      shape: axes.map((axis) => naive.shape[axis]!),
      at: (index) => naive.at(axes.map((_, axis) => index[axes.indexOf(axis)]!)),
    }
    return [x.permute(axes.map((axis, i) => ((seeds[i] ?? 0) % 2 === 0 ? axis : axis - rank))), view]
  }

const transpose: Step = (x, naive) => [
  x.transpose(),
  { shape: naive.shape.toReversed(), at: (index) => naive.at(index.toReversed()) },
]

const squeeze: Step = (x, naive) => {
  const kept = [...naive.shape.keys()].filter((axis) => naive.shape[axis] !== 1)
  const view: Naive = {
    shape: kept.map((axis) => naive.shape[axis]!),
    at: (index) => naive.at(naive.shape.map((_, axis) => (kept.includes(axis) ? index[kept.indexOf(axis)]! : 0))),
  }
  return [x.squeeze(), view]
}

const unsqueeze =
  (seed: number): Step =>
  (x, naive) => {
    const axis = seed % (naive.shape.length + 1)
    const view: Naive = { shape: naive.shape.toSpliced(axis, 0, 1), at: (index) => naive.at(index.toSpliced(axis, 1)) }
    return [x.unsqueeze(axis), view]
  }

/** To a shape of the same count. Strides may refuse it, and then a row-major copy is reshaped. */
const reshape =
  (seed: number): Step =>
  (x, naive) => {
    const { elementCount } = x.type
    const divisors = Array.from({ length: elementCount }, (_, i) => i + 1).filter((size) => elementCount % size === 0)
    const size = divisors[seed % Math.max(divisors.length, 1)]
    const sizes = size === undefined ? [0, seed % 5] : [size, elementCount / size]
    const wanted = seed % 2 === 0 && size !== undefined ? [size, -1] : sizes
    let view: Tensor
    try {
      view = x.reshape(wanted)
      expect(view.segment).toBe(x.segment)
    } catch (error) {
      expect(String(error)).toContain('contiguous()')
      view = x.contiguous().reshape(wanted)
    }
    return [view, reshaped(naive, sizes)]
  }

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.array(spec, { maxLength: 4 }).map(slice),
  fc.array(fc.nat(), { minLength: 4, maxLength: 6 }).map(permute),
  fc.constant(transpose),
  fc.constant(squeeze),
  fc.nat(9).map(unsqueeze),
  fc.nat(999).map(reshape),
)

describe('views against a model of nested arrays', () => {
  test('every sequence of views has the elements and the shape of the model', options, () => {
    fc.assert(
      fc.property(tensors, fc.array(step, { maxLength: 5 }), ([x, naive], steps) => {
        let [view, model] = [x, naive]
        for (const apply of steps) [view, model] = apply(view, model)
        expect(view.shape).toEqual(model.shape)
        expect(view.toNested()).toEqual(nested(model))
        expect(view.toArray()).toEqual(elements(model))
        for (const index of indicesOf(view.shape)) expect(view.at(...index)).toEqual(model.at(index))
        expect(view.contiguous().isContiguous).toBe(true)
        const copy = view.copy()
        expect([copy.isContiguous, copy.toArray()]).toEqual([true, elements(model)])
        expect(view.equals(copy)).toBe(true)
        if (view.shape.length > 0) expect([...view].map((row) => row.toNested())).toEqual(nested(model))
        expect(String(view)).toContain(`Tensor ${view.type} `)
      }),
      runs,
    )
  })

  test('what is set through a view is read through it, and nothing else changes', options, () => {
    fc.assert(
      fc.property(tensors, fc.array(step, { maxLength: 4 }), ([x, naive], steps) => {
        let [view, model] = [x, naive]
        // The element that the model reads is its place in the tensor.
        const places = indicesOf(naive.shape)
        const placed: Naive = { shape: naive.shape, at: (index) => rowMajorIndex(index, naive.shape) }
        let where: Naive = placed
        for (const apply of steps) {
          const before = view
          ;[view, model] = apply(view, model)
          where = apply(before, where)[1]
          if (view.block !== x.block) return
        }
        const before = x.toArray()
        const values = elements(where).map((place) => before[before.length - 1 - (place as number)]!)
        view.set(asNested(values, view.shape) as never)
        expect(view.toArray()).toEqual(values)
        const written = new Map(elements(where).map((place, i) => [place as number, values[i]!]))
        expect(x.toArray()).toEqual(places.map((_, place) => (written.has(place) ? written.get(place) : before[place])))
      }),
      runs,
    )
  })

  test('every layout has the same elements at the same indices', options, () => {
    fc.assert(
      fc.property(tensors, fc.array(fc.nat(), { minLength: 4, maxLength: 4 }), ([x, naive], seeds) => {
        const order = [...x.shape.keys()].toSorted((a, b) => seeds[a]! - seeds[b]!)
        const y = x.toLayout(order)
        expect([y.shape, y.toNested()]).toEqual([x.shape, nested(naive)])
        expect(y.permute(order).isContiguous).toBe(true)
        expect(y.toLayout(order)).toBe(y)
        expect(x.equals(y)).toBe(true)
      }),
      runs,
    )
  })
})

describe('packed elements against the same model', () => {
  const names = fc.constantFrom('int1', 'uint1', 'int2', 'int4', 'uint4', 'float4_e2m1fn')

  test('a view has the elements of the model, or is refused', options, () => {
    let [views, refused] = [0, 0]
    fc.assert(
      fc.property(
        names,
        fc.array(fc.integer({ min: 1, max: 5 }), { maxLength: 3 }),
        fc.nat(),
        step,
        (name, sizes, seed, apply) => {
          const count = sizes.reduce((total, size) => total * size, 1)
          const values = tensor('u8', [count])
            .toArray()
            .map((_, i) => (((seed >> (i % 31)) & 1) === 0 ? 0 : name === 'int1' ? -1 : 1))
          const x: Tensor = tensor<string>(name, sizes, values, { packing: 'packed' })
          const naive: Naive = { shape: sizes, at: (index) => values[rowMajorIndex(index, sizes)]! }
          let view: Tensor, model: Naive
          try {
            ;[view, model] = apply(x, naive)
          } catch (error) {
            refused++
            expect(String(error)).toMatch(/row-major|whole byte/)
            return
          }
          views++
          expect([view.shape, view.packing, view.toNested()]).toEqual([model.shape, 'packed', nested(model)])
          expect(view.copy().toArray()).toEqual(elements(model))
          // Only the elements of the view change.
          const placed: Naive = { shape: sizes, at: (index) => rowMajorIndex(index, sizes) }
          const places = elements(apply(x, placed)[1]) as number[]
          view.set(
            asNested(
              places.map((place) => values[count - 1 - place]!),
              view.shape,
            ) as never,
          )
          expect(x.toArray()).toEqual(values.map((value, i) => (places.includes(i) ? values[count - 1 - i]! : value)))
        },
      ),
      runs,
    )
    expect([views > 20, refused > 20]).toEqual([true, true])
  })
})

const asNested = (values: readonly Element[], sizes: readonly number[]): Model =>
  nested({ shape: sizes, at: (index) => values[rowMajorIndex(index, sizes)]! })

describe('literals', () => {
  test('the nested values of a tensor make the same tensor, packed or not', options, () => {
    fc.assert(
      fc.property(tensors, fc.boolean(), ([x], isPacked) => {
        // An axis of size 0 hides the axes behind it, and an array of numbers is a shape.
        fc.pre(!x.shape.slice(0, -1).includes(0))
        fc.pre(x.shape.length !== 1 || ['int64', 'bool', 'complex64'].includes(x.dtype))
        fc.pre(x.shape.length !== 1 || x.shape[0] !== 0)
        fc.pre(x.shape.length > 0 || x.dtype !== 'complex64')
        const packing = isPacked ? 'packed' : 'element'
        const y = tensor<string>(x.dtype, x.toNested() as number[][], undefined, { packing })
        expect([y.dtype, y.shape]).toEqual([x.dtype, x.shape])
        expect(y.equals(x)).toBe(true)
        expect(y.packing).toBe(dtypeInfo(x.dtype).bits < 8 ? packing : 'element')
      }),
      runs,
    )
  })

  test('any nest of values is a tensor or an ArgumentError', options, () => {
    const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
      tree: fc.oneof({ maxDepth: 5 }, fc.anything({ withBigInt: true }), fc.array(tie('tree'), { maxLength: 3 })),
    }))
    fc.assert(
      fc.property(tree, fc.constantFrom(undefined, 'f32', 's64', 'c64', 'int4'), (value, name) => {
        try {
          if (name === undefined) tensor(value as number[])
          else tensor(name, value as number[])
        } catch (error) {
          expect((error as { code?: string }).code).toMatch(/^TENON_(ARGUMENT|ALLOCATION)$/)
        }
      }),
      runs,
    )
  })
})
