import fc from 'fast-check'
import { expect, test } from 'vitest'
import { TenonError } from '@tenon/core'
import { type ArrowColumn, importBatch } from '@tenon/arrow'
import { StringTensor } from '@tenon/tstring'
import { Arena, build, type Built } from './arena.ts'
import { counts } from './peer.ts'

const seconds = Number(process.env['TENON_FUZZ_SECONDS'] ?? 0)
const budget: fc.Parameters<unknown> =
  seconds > 0
    ? { numRuns: Number.MAX_SAFE_INTEGER, interruptAfterTimeLimit: seconds * 1000 }
    : { numRuns: Number(process.env['TENON_FUZZ_RUNS'] ?? 3000) }

const arena = new Arena()
const ROWS = 6

/** The shape of a column: its format, and its children. */
interface Shape {
  readonly format: string
  readonly children: readonly Shape[]
}

const bitmap = (): Uint8Array => Uint8Array.of(0b1101_1011, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)
const MOST = 8 * ROWS
const offsets = Int32Array.from({ length: MOST + 1 }, (_, i) => 3 * i)

/** The buffers of each format with `rows` elements. */
function buffersOf(format: string, rows: number): ArrayBufferView[] {
  if (format === 'n') return []
  if (format === '+s' || format.startsWith('+w')) return [bitmap()]
  if (format === '+l') return [bitmap(), Int32Array.from({ length: rows + 1 }, (_, i) => Math.min(i, 2))]
  if (format === 'u')
    return [bitmap(), Int32Array.from({ length: rows + 1 }, (_, i) => offsets[i]!), Buffer.alloc(3 * MOST, 'ab')]
  if (format === 'U')
    return [
      bitmap(),
      BigInt64Array.from({ length: rows + 1 }, (_, i) => BigInt(offsets[i]!)),
      Buffer.alloc(3 * MOST, 'ab'),
    ]
  if (format === 'vu') {
    const views = Int32Array.from({ length: 4 * rows }, (_, i) => [20, 0, 0, 5][i % 4]!)
    return [bitmap(), views, Buffer.alloc(64, 'z'), BigInt64Array.of(64n)]
  }
  return [bitmap(), new Uint8Array(16 * rows)]
}

const leaf = fc
  .constantFrom('n', 'b', 'c', 'S', 'i', 'l', 'g', 'u', 'U', 'vu', 'w:3', 'd:38,2', 'tsu:')
  .map((format): Shape => ({ format, children: [] }))
const shape = fc.letrec<{ any: Shape }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    leaf,
    fc.array(tie('any'), { maxLength: 3 }).map((children) => ({ format: '+s', children })),
    tie('any').map((child) => ({ format: '+w:2', children: [child] })),
    tie('any').map((child) => ({ format: '+l', children: [child] })),
  ),
})).any

function make({ format, children }: Shape, rows: number, all: Built[]): Built {
  const below = format === '+w:2' ? 2 * rows : rows
  // Deeper lists are too short, and refused.
  const built = children.map((child) => make(child, Math.min(below, MOST), all))
  const own = build(arena, format, rows, buffersOf(format, rows), built)
  all.push(own)
  return own
}

/** Sizes that are wrong by a little, of which all memory is in the arena, and sizes that no memory has. */
const numbers = [
  0,
  1,
  -1,
  2,
  5,
  7,
  100,
  1000,
  -(2n ** 31n),
  2n ** 52n,
  2n ** 53n,
  2n ** 62n,
  2n ** 63n - 1n,
  -(2n ** 63n),
]
const wildPointers = [0n, 1n, 4095n, 2n ** 48n, 2n ** 56n, 2n ** 63n, 2n ** 64n - 8n]

/** A change: a struct, one of its words, and the new value, each by its place in a list. */
const change = fc.record({
  struct: fc.nat(),
  isSchema: fc.boolean(),
  word: fc.nat(8),
  value: fc.nat(),
  other: fc.nat(),
  byte: fc.nat(7),
})

/** Pointers become null, or one that no memory has, or that of another struct or text; numbers become any. */
function mutate(
  all: readonly Built[],
  { struct, isSchema, word, value, other, byte }: typeof change extends fc.Arbitrary<infer T> ? T : never,
): void {
  const own = all[struct % all.length]!
  const target = all[other % all.length]!
  const at = isSchema ? own.schema : own.array
  const pointer = (inside: bigint): bigint =>
    [...wildPointers, inside, inside + BigInt(byte)][value % (wildPointers.length + 2)]!
  const number = numbers[value % numbers.length]!
  // A pointer may lead into the middle of a text, which is then another format. Sizes stay within the arena.
  const texts = ['', 'q', '+s', '+w:999', 'u', 'l', 'd:', '+ud:0,1', 'w:99', 'w:2147483648', 'vz', '+vl']
  if (isSchema) {
    const ownPointer = word === 0 ? arena.text(texts[other % texts.length]!) : arena.address(target.schema)
    const list = arena.list([arena.address(target.schema)])
    if (word === 2) arena.set(at, 2, arena.address(arena.words([number, number])))
    else if (word === 3 || word === 4) arena.set(at, word, number)
    else if (word < 7) arena.set(at, word, pointer(word === 5 ? list : ownPointer))
    return
  }
  if (word < 5) arena.set(at, word, number)
  else if (word === 5) {
    // The list of buffers has other sizes, and its first words are addresses of the arena.
    const inside = arena.list(Array.from({ length: 4 }, () => pointer(arena.zeros)))
    arena.set(at, 5, pointer(inside))
  } else if (word < 8) {
    const list = arena.list([arena.address(target.array)])
    arena.set(at, word, pointer(word === 6 ? list : arena.address(target.array)))
  }
}

/** Uses a column in every way. Each fails with an error of Tenon, or works. */
function use(column: ArrowColumn): void {
  const attempt = (run: () => unknown): void => {
    try {
      run()
    } catch (error) {
      if (!(error instanceof TenonError)) throw error
    }
  }
  attempt(() => column.nullCount)
  attempt(() => column.validity())
  attempt(() => column.tensor())
  attempt(() => column.tensor({ copy: true }).toArray())
  attempt(() => expect(column.strings()).toBeInstanceOf(StringTensor))
  attempt(() => column.strings().toArray())
  attempt(() => column.strings({ copy: true }).toArray())
  attempt(() => column.offsets())
  column.children.forEach(use)
  if (column.dictionary !== undefined) use(column.dictionary)
}

test(
  'structs that lie are refused with an error of Tenon, or read inside of what they state, and released once',
  { timeout: 60_000 + 1000 * seconds },
  () => {
    let [runs, refused] = [0, 0]
    fc.assert(
      fc.property(shape, fc.array(change, { maxLength: 4 }), (made, changes) => {
        arena.reset()
        const all: Built[] = []
        const root = make(made, ROWS, all)
        for (const one of changes) mutate(all, one)
        const before = counts()
        runs++
        try {
          const batch = importBatch(arena.address(root.schema), arena.address(root.array))
          batch.columns.forEach(use)
          batch.close()
        } catch (error) {
          if (!(error instanceof TenonError)) throw error
          refused++
        }
        const after = counts()
        expect([after.schemas - before.schemas, after.arrays - before.arrays]).toEqual([1, 1])
      }),
      budget,
    )
    // Both ends are reached.
    expect(refused).toBeGreaterThan(runs / 10)
    expect(refused).toBeLessThan(runs)
    if (seconds > 0) process.stderr.write(`${runs} structs, of which ${refused} were refused\n`)
  },
)
