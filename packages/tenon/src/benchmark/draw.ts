import { axisOf, axisOver } from './axis.ts'
import { card, COLOURS, line, text, type Theme, WIDTH } from './svg.ts'

/** A place on a line, and the quartiles of its value. */
export type Point = readonly [x: number, y: number] | readonly [x: number, y: number, low: number, high: number]

/** A line with a name. */
export interface Series {
  readonly name: string
  readonly points: readonly Point[]
}

type Text = (value: number) => string

/** The content of a plot of {@link lines}: the titles of its axes, and its lines. */
export interface Axes {
  readonly x: string
  readonly y: string
  /** Writes a value of an axis; by default with commas between thousands. */
  readonly xText?: Text
  readonly yText?: Text
  readonly series: readonly Series[]
  /** A line at the foot: where and when it was measured. */
  readonly note?: string
  /** By default that of the reader. */
  readonly theme?: Theme
}

interface BarGroup {
  readonly title: string
  readonly bars: readonly {
    readonly name: string
    readonly value: number
    readonly low: number
    readonly high: number
  }[]
}

/** A circle, a square, a diamond and a triangle, which tell lines apart without their colours. */
const MARKS = [
  'M-4.5,0a4.5,4.5 0 1,0 9,0a4.5,4.5 0 1,0 -9,0z',
  'M-4,-4h8v8h-8z',
  'M0,-5.5l5.5,5.5l-5.5,5.5l-5.5,-5.5z',
  'M0,-5l5,9h-10z',
]

/** Writes 12500 as 12,500, and 0.25 as it is. */
const label = (value: number): string => (value >= 10 ? Math.round(value).toLocaleString('en') : String(value))

/** Draws horizontal bars in groups, each of which has a scale of its own. The thin lines are the middle half of the rounds. */
export function bars(title: string, groups: readonly BarGroup[]): string {
  const [left, right] = [210, 90]
  const parts: string[] = []
  let y = 56
  for (const { title: heading, bars: rows } of groups) {
    const most = Math.max(...rows.map(({ high }) => high))
    const at = (value: number): number => left + ((WIDTH - left - right) * value) / most
    parts.push(text(20, y, heading, 'font-weight="600"'))
    y += 14
    for (const [i, { name, value, low, high }] of rows.entries()) {
      parts.push(
        text(left - 10, y + 16, name, 'text-anchor="end"'),
        `<rect x="${left}" y="${y}" width="${(at(value) - left).toFixed(1)}" height="22" fill="${COLOURS[i % COLOURS.length]}"/>`,
        line(at(low), y + 11, at(high), y + 11, 'class="spread" stroke-width="2"'),
        text(Math.max(at(value), at(high)) + 8, y + 16, label(value)),
      )
      y += 30
    }
    y += 26
  }
  return card({ height: y - 10, title, parts })
}

/** Draws lines with a mark at each point. An axis is logarithmic if its values span a decade. */
export function lines(title: string, axes: Axes): string {
  const { x: xTitle, y: yTitle, series, xText = label, yText = label, note = '', theme = 'reader' } = axes
  const [left, right, top] = [90, 40, 50]
  const legend = legendPlaces(series, WIDTH - left - right)
  const bottom = 70 + 22 * (legend.at(-1)!.row + 1) + (note === '' ? 0 : 24)
  const height = top + 260 + bottom
  const points = series.flatMap((one) => one.points)
  const xAxis = axisOver(points.map(([x]) => x))
  const yAxis = axisOf(points.flatMap(([, ...values]) => values))
  const atX = (x: number): number => left + (WIDTH - left - right) * xAxis.at(x)
  const atY = (y: number): number => height - bottom - (height - top - bottom) * yAxis.at(y)
  const middle = (top + height - bottom) / 2
  const parts = [
    ...yAxis.ticks.flatMap((tick) => [
      line(left, atY(tick), WIDTH - right, atY(tick), 'class="grid"'),
      text(left - 8, atY(tick) + 4, yText(tick), 'text-anchor="end"'),
    ]),
    ...xAxis.ticks.map((x) => text(atX(x), height - bottom + 20, xText(x), 'text-anchor="middle"')),
    text((left + WIDTH - right) / 2, height - bottom + 42, xTitle, 'text-anchor="middle"'),
    text(24, middle, yTitle, `text-anchor="middle" transform="rotate(-90 24 ${middle})"`),
    text(WIDTH - 20, height - 14, note, 'text-anchor="end" font-size="11"'),
    // The first series is drawn last, so that no other one hides it.
    ...[...series.entries()].toReversed().flatMap(([i, { points: own }]) => curve(i, own, atX, atY)),
    ...series.flatMap(({ name }, i) => {
      const { row, offset } = legend[i]!
      const [x, y] = [left + offset, height - bottom + 72 + 22 * row]
      return [
        ...curve(
          i,
          [[0, 0]],
          () => x + 14,
          () => y - 4,
        ),
        stroke(i, `${x},${y - 4} ${x + 28},${y - 4}`),
        text(x + 38, y, name),
      ]
    }),
  ]
  return card({ height, title, description: describe(axes, xText, yText), theme, parts })
}

/** The places of the entries of a legend, in as few rows as fit into the width. */
function legendPlaces(series: readonly Series[], width: number): { readonly row: number; readonly offset: number }[] {
  let [row, offset] = [0, 0]
  return series.map(({ name }) => {
    // The mark and its distances take 62, and a letter takes 7.
    const needed = 62 + 7 * name.length
    if (offset > 0 && offset + needed > width) [row, offset] = [row + 1, 0]
    const place = { row, offset }
    offset += needed
    return place
  })
}

type Place = (value: number) => number

/** A line through the points, a mark at each, and a thin vertical line from its low to its high value. */
function curve(i: number, points: readonly Point[], atX: Place, atY: Place): string[] {
  const colour = COLOURS[i % COLOURS.length]!
  const places = points.map(([x, y]) => `${atX(x).toFixed(1)},${atY(y).toFixed(1)}`)
  return [
    ...(points.length > 1 ? [stroke(i, places.join(' '))] : []),
    ...points.flatMap(([x, , low, high]) =>
      low === undefined || high === undefined
        ? []
        : [line(atX(x), atY(low), atX(x), atY(high), `stroke="${colour}" stroke-width="1.5" opacity="0.7"`)],
    ),
    ...places.map(
      (place) =>
        `<path transform="translate(${place})" d="${MARKS[(i + Math.floor(i / COLOURS.length)) % MARKS.length]}" fill="${colour}"/>`,
    ),
  ]
}

const stroke = (i: number, places: string): string =>
  `<polyline points="${places}" fill="none" stroke="${COLOURS[i % COLOURS.length]}" stroke-width="2"/>`

/** Says in words what the lines show. */
function describe({ x, y, series }: Axes, xText: Text, yText: Text): string {
  const texts = series.map(({ name, points }) => {
    const values = points.map(([at, value]) => `${xText(at)}: ${yText(value)}`)
    return `${name}: ${values.join(', ')}.`
  })
  return `Across: ${x}. Upwards: ${y}. ${texts.join(' ')}`
}
