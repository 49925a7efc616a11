import { expect, test } from 'vitest'
import { type Axes, lines } from '../src/benchmark/draw.ts'

const axes: Axes = {
  x: 'size',
  y: 'time',
  xText: (value) => `${value} B`,
  series: [
    {
      name: 'a < b',
      points: [
        [1, 10],
        [10, 100],
        [100, 1000],
      ],
    },
    {
      name: 'c & d',
      points: [
        [1, 20, 10, 40],
        [100, 500, 400, 600],
      ],
    },
  ],
}

/** The places of the polylines with more than one point: those of the series, in the order of drawing. */
const polylines = (svg: string): [x: number, y: number][][] =>
  [...svg.matchAll(/<polyline points="([^"]+)"/g)].map(([, places]) =>
    places!.split(' ').map((place) => place.split(',').map(Number) as [number, number]),
  )

test('lines() places points by their logarithms, larger values further right and up', () => {
  const [, first] = polylines(lines('title', axes))
  const [[x0, y0], [x1, y1], [x2, y2]] = first as [[number, number], [number, number], [number, number]]
  expect(x1 - x0).toBeCloseTo(x2 - x1)
  expect(y0 - y1).toBeCloseTo(y1 - y2)
  expect(x1).toBeGreaterThan(x0)
  expect(y1).toBeLessThan(y0)
})

test('lines() names the axes, their ticks and the series, and escapes them', () => {
  const svg = lines('A & B', axes)
  for (const text of ['A &amp; B', 'size', 'time', '10 B', '1,000', 'a &lt; b', 'c &amp; d'])
    expect(svg).toContain(`>${text}</text>`)
})

test('lines() says in words what it shows, for readers who do not see it', () => {
  const svg = lines('title', axes)
  expect(svg).toContain('role="img"')
  expect(svg).toContain('<title>title</title>')
  expect(svg).toContain(
    '<desc>Across: size. Upwards: time. a &lt; b: 1 B: 10, 10 B: 100, 100 B: 1,000. c &amp; d: 1 B: 20, 100 B: 500.</desc>',
  )
})

test('lines() draws the quartiles of the points that have them', () => {
  const spreads = lines('title', axes).match(/<line [^>]*opacity[^>]*>/g)!
  expect(spreads).toHaveLength(2)
  const [x1, y1, x2, y2] = ['x1', 'y1', 'x2', 'y2'].map((name) =>
    Number(new RegExp(`${name}="([^"]+)"`).exec(spreads[0]!)![1]),
  )
  expect(x1).toBe(x2)
  expect(y2).toBeLessThan(y1!)
})

test('lines() keeps all that it draws inside the picture, with ten series as well', () => {
  const series = Array.from({ length: 10 }, (_, i) => ({
    name: `${i}`,
    points: [
      [1, i + 1],
      [3, 10 ** i],
    ] as const,
  }))
  const svg = lines('title', { x: 'x', y: 'y', series })
  const height = Number(/height="(\d+)"/.exec(svg)![1])
  for (const [x, y] of polylines(svg).flat()) {
    expect(x).toBeGreaterThanOrEqual(0)
    expect(x).toBeLessThanOrEqual(760)
    expect(y).toBeGreaterThanOrEqual(0)
    expect(y).toBeLessThanOrEqual(height)
  }
  // A colour and a mark together occur once in the lines and once in the legend.
  const looks = [...svg.matchAll(/d="([^"]+)" fill="([^"]+)"/g)].map(([, mark, colour]) => `${mark} ${colour}`)
  expect(new Set(looks).size).toBe(10)
})
