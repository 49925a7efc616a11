/** One axis of a plot. */
export interface Axis {
  readonly ticks: readonly number[]
  /** Returns the place of a value, from 0 at the start to 1 at the end of the axis. */
  readonly at: (value: number) => number
}

/** The most lines across a plot of a logarithmic axis with 1, 2 and 5 in each decade. */
const MOST_TICKS = 9

/** Returns an axis that covers the values: logarithmic if they span a decade, otherwise linear from zero. */
export function axisOf(values: readonly number[]): Axis {
  const [least, most] = [Math.min(...values), Math.max(...values)]
  if (!(least > 0 && most / least >= 10)) {
    const ticks = linearTicks(most)
    return { ticks, at: (value) => value / ticks.at(-1)! }
  }
  const fine = logarithmicTicks(least, most, [1, 2, 5])
  const ticks = fine.length > MOST_TICKS ? logarithmicTicks(least, most, [1]) : fine
  const [from, to] = [ticks[0]!, ticks.at(-1)!]
  return { ticks, at: (value) => Math.log(value / from) / Math.log(to / from) }
}

/** Returns an axis from the least to the largest of the values, with a tick at each: logarithmic if they span a decade. */
export function axisOver(values: readonly number[]): Axis {
  const ticks = [...new Set(values)].toSorted((a, b) => a - b)
  const [from, to] = [ticks[0]!, ticks.at(-1)!]
  if (from === to) return { ticks, at: () => 0.5 }
  if (from > 0 && to / from >= 10) return { ticks, at: (value) => Math.log(value / from) / Math.log(to / from) }
  return { ticks, at: (value) => (value - from) / (to - from) }
}

/** Steps of 1, 2 or 5 times a power of ten from zero to the largest value, of which there are three to six. */
function linearTicks(most: number): number[] {
  const power = 10 ** Math.floor(Math.log10(most > 0 ? most : 1))
  const step = [0.2, 0.5, 1, 2].map((factor) => factor * power).find((one) => most <= 5 * one)!
  return Array.from({ length: Math.max(1, Math.ceil(most / step)) + 1 }, (_, i) => Number((i * step).toPrecision(12)))
}

/** The given multiples of powers of ten, from the last that is not above the least value to the first that is not below the largest. */
function logarithmicTicks(least: number, most: number, multiples: readonly number[]): number[] {
  const [first, last] = [Math.floor(Math.log10(least)), Math.ceil(Math.log10(most))]
  const powers = Array.from({ length: last - first + 1 }, (_, i) => first + i)
  const all = powers.flatMap((power) => multiples.map((one) => Number(`${one}e${power}`)))
  const below = all.findLastIndex((tick) => tick <= least)
  return all.slice(below, all.findIndex((tick) => tick >= most) + 1)
}
