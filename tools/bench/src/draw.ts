import { axisOf, axisOver } from './axis.ts'

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

/** Distinct for readers who do not see all colours, and readable on light and on dark. */
const COLOURS = ['#888888', '#2f7fd0', '#d9822b', '#9a5bc0']
const WIDTH = 760

/** A circle, a square, a diamond and a triangle, which tell lines apart without their colours. */
const MARKS = [
  'M-4.5,0a4.5,4.5 0 1,0 9,0a4.5,4.5 0 1,0 -9,0z',
  'M-4,-4h8v8h-8z',
  'M0,-5.5l5.5,5.5l-5.5,5.5l-5.5,-5.5z',
  'M0,-5l5,9h-10z',
]

/** A card with a background of its own, so that it can be read in both themes of a page. */
function svg(height: number, title: string, parts: readonly string[]): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" font-family="system-ui, sans-serif" font-size="13">`,
    '<style>',
    ':root { --back: #ffffff; --text: #24292f; --grid: #d8dee4 }',
    '@media (prefers-color-scheme: dark) { :root { --back: #1b1f24; --text: #d0d7de; --grid: #3d444d } }',
    'text { fill: var(--text) } .back { fill: var(--back) } .grid { stroke: var(--grid) } .spread { stroke: var(--text) }',
    '</style>',
    `<title>${escape(title)}</title>`,
    `<rect class="back" width="${WIDTH}" height="${height}" rx="8"/>`,
    text(WIDTH / 2, 26, title, 'text-anchor="middle" font-weight="600" font-size="15"'),
    ...parts,
    '</svg>',
    '',
  ].join('\n')
}

const escape = (value: string): string => value.replaceAll('&', '&amp;').replaceAll('<', '&lt;')

const text = (x: number, y: number, content: string, attributes = ''): string =>
  `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" ${attributes}>${escape(content)}</text>`

const line = (x1: number, y1: number, x2: number, y2: number, attributes: string): string =>
  `<line x1="${x1.toFixed(1)}" y1="${y1.toFixed(1)}" x2="${x2.toFixed(1)}" y2="${y2.toFixed(1)}" ${attributes}/>`

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
  return svg(y - 10, title, parts)
}

/** Draws lines with a mark at each point. An axis is logarithmic if its values span a decade. */
export function lines(title: string, axes: Axes): string {
  const { x: xTitle, y: yTitle, series, xText = label, yText = label, note = '' } = axes
  const foot = 22 * series.length + (note === '' ? 0 : 20)
  const height = 400 + foot
  const [left, right, top, bottom] = [90, 40, 50, 90 + foot]
  const points = series.flatMap((one) => one.points)
  const xAxis = axisOver(points.map(([x]) => x))
  const yAxis = axisOf(points.flatMap(([, ...values]) => values))
  const atX = (x: number): number => left + (WIDTH - left - right) * xAxis.at(x)
  const atY = (y: number): number => height - bottom - (height - top - bottom) * yAxis.at(y)
  const middle = (top + height - bottom) / 2
  const parts = [
    `<desc>${escape(describe(axes, xText, yText))}</desc>`,
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
      const y = height - bottom + 68 + 22 * i
      return [
        ...curve(
          i,
          [[0, 0]],
          () => left + 14,
          () => y - 4,
        ),
        stroke(i, `${left},${y - 4} ${left + 28},${y - 4}`),
        text(left + 38, y, name),
      ]
    }),
  ]
  return svg(height, title, parts)
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
