import { UsageError } from '../cli/usage-error.ts'

/** The sizes with which a kernel is measured, by the names of axes. */
export type Sizes = Readonly<Record<string, number>>

/** The largest number of points of one command. Each takes at least the time of `--time`. */
const MOST_POINTS = 100

/** The factor between the sizes of a range. */
const STEP = 4

const SUFFIXES: ReadonlyMap<string, number> = new Map([
  ['', 1],
  ['k', 1e3],
  ['M', 1e6],
  ['G', 1e9],
  ['Ki', 2 ** 10],
  ['Mi', 2 ** 20],
  ['Gi', 2 ** 30],
])

const hint = 'Write for example --size n=4096, --size n=1k,8k,64k or --size n=1k..1M.'

/**
 * Reads the values of `--size`, each of which has the sizes of one axis.
 *
 * @returns every combination of the sizes, the last axis varying fastest
 * @throws {UsageError} if a value is not `name=sizes`, or there are too many combinations
 */
export function parseSizes(texts: readonly string[]): Sizes[] {
  const axes = new Map<string, number[]>()
  for (const text of texts) {
    const [, name, sizes] = /^(\.\.\.\w*|\w+)=(.+)$/.exec(text) ?? []
    if (name === undefined || sizes === undefined)
      throw new UsageError(`--size must be name=sizes, got ${text || 'nothing'}`, hint)
    if (axes.has(name)) throw new UsageError(`--size ${name} is given more than once`, hint)
    axes.set(name, [...new Set(sizes.split(',').flatMap((part) => parseRange(part, text)))])
  }
  const count = [...axes.values()].reduce((product, sizes) => product * sizes.length, 1)
  if (count > MOST_POINTS)
    throw new UsageError(`--size must have at most ${MOST_POINTS} combinations of sizes, got ${count}`)
  return [...axes].reduce<Sizes[]>(
    (points, [name, sizes]) => points.flatMap((point) => sizes.map((size) => ({ ...point, [name]: size }))),
    [{}],
  )
}

/** Reads `4096` or `1k..1M`, whose sizes are four times as large as the one before, up to the last. */
function parseRange(part: string, text: string): number[] {
  const [first, last, ...rest] = part.split('..').map((size) => parseSize(size, text))
  if (last === undefined) return [first!]
  if (rest.length > 0 || last < first!)
    throw new UsageError(`--size ${text} must have a range such as 1k..1M, got ${part}`, hint)
  if (first === 0) throw new UsageError(`--size ${text} must have a range that starts at 1 or more, got ${part}`, hint)
  const sizes: number[] = []
  for (let size = first!; size < last; size *= STEP) sizes.push(size)
  return [...sizes, last]
}

function parseSize(size: string, text: string): number {
  const [, digits, suffix = ''] = /^(\d+(?:\.\d+)?)([kMG]i?|Ki)?$/.exec(size) ?? []
  const value = Number(digits) * (SUFFIXES.get(suffix) ?? Number.NaN)
  if (Number.isSafeInteger(value)) return value
  throw new UsageError(
    `--size ${text} must have whole numbers such as 4096, 1k, 1M or 1Ki, got ${size || 'nothing'}`,
    hint,
  )
}
