/**
 * Proves what a library and Tenon promise each other. The programs of this folder describe one library each. `checkPair()` checks the layouts
 * of tensors in both directions, or the lifetime with the number of the first argument, which has a process of its own, because it could
 * end it. It prints a line of JSON for each check.
 */
import assert from 'node:assert/strict'
import { setImmediate, setTimeout } from 'node:timers/promises'
import { ArgumentError, from, ScopeHeldError, type Tensor, tensor } from 'tenon'
import { NativeScope } from 'tenon/scope'

export const layouts = ['contiguous', 'transposed', 'sliced', 'reversed', 'no elements', '0-d'] as const
export type Layout = (typeof layouts)[number]

/** The elements of each layout, as nested arrays. */
export type Values = Readonly<Record<Layout, unknown>>

/** The words of the table in docs/cookbook/README.md. */
type Promised = 'in place' | 'reordered, in place' | '`copy: true`' | '`contiguous()`' | 'copied' | '–'

/** A cell of the table: the promise, and a check that throws if it does not hold. */
interface Cell {
  readonly promised: Promised
  check(layout: Layout, values: unknown): Promise<void> | void
}

type Awaitable<T> = T | Promise<T>
type OwnLayout = Exclude<Layout, 'reversed'>

/** A tensor of the library, and the array in which its elements are, with the first one at `first`. */
interface Given {
  readonly x: unknown
  readonly memory: ArrayBufferView | bigint
  readonly first?: number
}

/** A tensor of Tenon in the hands of the library: its elements as the library reads them, and their array or address. */
interface Taken {
  read(): Awaitable<unknown>
  readonly memory?: ArrayBufferView | bigint
  /** Makes the library release a tensor that holds the scope of the memory. */
  release?(): void
}

/** One side closes its memory while the other uses it. */
interface Lifetime {
  readonly closed: string
  /** The values that the other side has then. */
  readonly left: string
  check(): Awaitable<void>
}

export interface Pair {
  readonly dtype?: 'f32' | 'u8'
  /** Opens the scope of Tenon's memory, which is confined to the thread by default. */
  open?(): NativeScope
  readonly values: Values
  readonly toTenon: Readonly<Record<Layout, Cell>>
  /** Tenon has no tensors with negative strides, so none of them is reversed. */
  readonly fromTenon: Readonly<Record<OwnLayout, Cell>>
  readonly lifetimes: readonly Lifetime[]
  /** Further promises, by their names. */
  readonly others?: Readonly<Record<string, () => Awaitable<void>>>
}

/** The elements of tensors of two axes. */
export const matrix: Values = {
  contiguous: [[1, 2, 3], [4, 5, 6]], // prettier-ignore
  transposed: [[1, 4], [2, 5], [3, 6]], // prettier-ignore
  sliced: [[2, 3], [5, 6]], // prettier-ignore
  reversed: [[3, 2, 1], [6, 5, 4]], // prettier-ignore
  'no elements': [],
  '0-d': 5,
}

/** The elements of columns, which have one axis. */
export const column: Values = {
  contiguous: [1, 2, 3, 4, 5, 6],
  transposed: undefined,
  sliced: [2, 3, 4],
  reversed: [6, 5, 4, 3, 2, 1],
  'no elements': [],
  '0-d': 5,
}

/** Applies a function to each element of nested arrays. */
export const mapNested = (values: unknown, change: (value: number) => unknown): unknown =>
  Array.isArray(values) ? values.map((one) => mapNested(one, change)) : change(values as number)

/** The elements in row-major order. */
export const flat = (values: unknown): number[] => [values].flat(Infinity) as number[]

/** Nested arrays of elements in row-major order. */
export function nest(values: Iterable<number>, shape: readonly number[]): unknown {
  let items: unknown[] = [...values]
  for (const size of shape.slice(1).toReversed())
    items = Array.from({ length: size === 0 ? 0 : items.length / size }, (_, i) =>
      items.slice(i * size, (i + 1) * size),
    )
  return shape.length === 0 ? items[0] : items
}

/** The pixels of images: the elements of matrices in each channel. */
export const pixels = (channels: number): Values => {
  const repeated = (value: number): number[] => Array.from({ length: channels }, () => value)
  return Object.fromEntries(
    layouts.map((layout) => [layout, layout === '0-d' ? 5 : mapNested(matrix[layout], repeated)]),
  ) as unknown as Values
}

/** Returns what Tenon makes of a tensor of a library. */
export const adopted = (x: unknown, copy = false): Tensor => from(x as Float32Array, { copy }) as Tensor

export const addressOf = (memory: ArrayBufferView | bigint, first = 0): bigint =>
  typeof memory === 'bigint'
    ? memory
    : adopted(memory).segment.address + BigInt(first * (memory as Float32Array).BYTES_PER_ELEMENT)

/** Tenon uses the elements where the library has them. */
export const inPlace = (give: () => Awaitable<Given>, promised: Promised = 'in place'): Cell => ({
  promised,
  async check(_, values) {
    const { x, memory, first } = await give()
    const y = adopted(x)
    assert.deepEqual(y.toNested(), values)
    if (y.type.elementCount > 0) assert.equal(y.segment.address, addressOf(memory, first))
  },
})

/** The library has no strides, and reorders the elements into a tensor of its own, which Tenon uses in place. */
export const reordered = (give: () => Awaitable<Given>): Cell => inPlace(give, 'reordered, in place')

/** Tenon refuses to use the elements in place, and copies them if it is asked to. */
export const onRequest = (give: () => Awaitable<unknown>): Cell => ({
  promised: '`copy: true`',
  async check(_, values) {
    const x = await give()
    assert.throws(() => adopted(x), ArgumentError)
    assert.deepEqual(adopted(x, true).toNested(), values)
  },
})

/** The library copies the elements for each reader. */
export const copied = (give: () => Awaitable<unknown>): Cell => ({
  promised: 'copied',
  async check(_, values) {
    const x = await give()
    const [one, other] = [adopted(x), adopted(x)]
    assert.deepEqual(one.toNested(), values)
    if (one.type.elementCount > 0) assert.notEqual(one.segment.address, other.segment.address)
  },
})

/** One of the two does not have the layout, and says so. */
export const refused = (attempt: () => unknown, message: RegExp): Cell => ({
  promised: '–',
  check: () => assert.rejects(async () => void (await attempt()), message),
})

/** Makes a tensor of Tenon in memory of a scope, or of the garbage collector. */
function own(layout: OwnLayout, { values, dtype = 'f32' }: Pair, scope?: NativeScope): Tensor {
  const options = scope === undefined ? {} : { allocator: scope }
  if (layout === '0-d') return tensor(dtype, [], [5], options)
  const shape: number[] = []
  const isColumn = values.contiguous === column.contiguous
  const all = layout === 'transposed' && isColumn ? matrix.contiguous : values.contiguous
  for (let at: unknown = all; Array.isArray(at); at = at[0]) shape.push(at.length)
  if (layout === 'no elements') return tensor(dtype, [0, ...shape.slice(1)], [], options)
  const x = tensor(dtype, shape, flat(all), options)
  if (layout === 'contiguous') return x
  if (layout === 'transposed') return x.permute([1, 0, 2].slice(0, shape.length))
  return shape.length === 1 ? x.slice([1, 4]) : x.slice(null, [1, 3])
}

type Take = (x: Tensor) => Awaitable<Taken>

/** A cell of the other direction. @param check gets the tensor, and what its elements become when they are changed */
const taking = (promised: Promised, check: (x: Tensor, values: unknown, changed: unknown) => Promise<void>): Cell => ({
  promised,
  async check(layout, values) {
    const scope = openScope()
    const x = own(layout as OwnLayout, current, scope)
    if (values !== undefined) assert.deepEqual(x.toNested(), values)
    const changed = mapNested(values, (value) => (value === 255 ? 255 : value + 10))
    await check(x, values, changed)
    await closeReleased(scope)
  },
})

/** The library uses the elements where Tenon has them, and sees what Tenon writes. */
export const lent = (take: Take): Cell =>
  taking('in place', async (x, values, changed) => {
    const { read, memory, release } = await take(x)
    assert.deepEqual(await read(), values)
    if (x.type.elementCount > 0) {
      assert.equal(addressOf(memory!), x.segment.address)
      x.set(changed as never)
      assert.deepEqual(await read(), changed)
    }
    release?.()
  })

/** The library has no strides. Tenon refuses a view of the elements, and makes a row-major copy if it is asked to. */
export const afterCopy = (take: Take): Cell =>
  taking('`contiguous()`', async (x, values) => {
    assert.throws(() => x.view(), ArgumentError)
    assert.deepEqual(await (await take(x.contiguous())).read(), values)
  })

/** The library copies the elements. */
export const copiedBy = (take: Take): Cell =>
  taking('copied', async (x, values, changed) => {
    const { read } = await take(x)
    assert.deepEqual(await read(), values)
    if (x.type.elementCount === 0) return
    x.set(changed as never)
    assert.deepEqual(await read(), values)
  })

/** The library does not take a tensor of this layout. */
export const refusedBy = (take: Take, message: RegExp): Cell =>
  taking('–', (x) => assert.rejects(async () => void (await (await take(x)).read()), message))

/** Collects garbage, and overwrites freed memory, so that a use of it shows. */
export async function collect(): Promise<void> {
  for (let i = 0; i < 4; i++) {
    globalThis.gc!()
    await setImmediate()
    for (let j = 0; j < 64; j++) new Float32Array(2 ** (j % 16)).fill(NaN)
  }
}

/** The scope of a tensor that the library has is closed. @param check gets what the library has, and the memory was overwritten */
export const scopeClosed = (take: Take, left: string, check: (taken: Taken) => Awaitable<void>): Lifetime => ({
  closed: 'the scope of Tenon',
  left,
  async check() {
    const scope = openScope()
    const taken = await take(own('contiguous', current, scope))
    scope.close()
    await collect()
    await check(taken)
  },
})

/** The same while the tensor is pinned. */
export const pinnedScopeClosed = (take: Take): Lifetime => ({
  closed: 'the scope of a tensor that is pinned',
  left: '`ScopeHeldError`, the memory stays',
  async check() {
    const scope = openScope()
    const x = own('contiguous', current, scope)
    const pin = x.segment.pin()
    const { read } = await take(x)
    assert.throws(() => scope.close(), ScopeHeldError)
    await collect()
    assert.deepEqual(await read(), current.values.contiguous)
    pin.release()
    scope.close()
  },
})

/** Only the library refers to the memory. */
export const tensorCollected = (take: Take): Lifetime => ({
  closed: 'the tensor of Tenon is collected',
  left: 'the memory stays',
  async check() {
    const { read } = await take(own('contiguous', current))
    await collect()
    assert.deepEqual(await read(), current.values.contiguous)
  },
})

/** The pair that is checked. */
let current: Pair

const openScope = (): NativeScope => (current.open ?? NativeScope.ofConfined)()

/** Closes a scope as soon as the event loop has heard that the library has released its memory. @throws {ScopeHeldError} if it has not */
export async function closeReleased(scope: NativeScope): Promise<void> {
  for (let turn = 0; ; turn++) {
    try {
      scope.close()
      return
    } catch (error) {
      if (!(error instanceof ScopeHeldError) || turn === 1000) throw error
      await setTimeout(10)
    }
  }
}

/** Prints the result of a check. */
async function print(facts: object, check: () => Awaitable<void>): Promise<void> {
  let problem: string | undefined
  try {
    await check()
  } catch (error) {
    problem = String((error as Error).stack)
  }
  console.log(JSON.stringify({ ...facts, problem }))
}

export async function checkPair(pair: Pair): Promise<void> {
  current = pair
  const number = process.argv[2]
  if (number !== undefined) {
    const { closed, left, check } = pair.lifetimes[Number(number)]!
    return print({ closed, left }, check)
  }
  console.log(JSON.stringify({ lifetimes: pair.lifetimes.length }))
  for (const way of ['toTenon', 'fromTenon'] as const)
    for (const [layout, cell] of Object.entries(pair[way]) as [Layout, Cell][])
      await print({ way, layout, promised: cell.promised }, () => cell.check(layout, pair.values[layout]))
  for (const [other, check] of Object.entries(pair.others ?? {})) await print({ other }, check)
}
