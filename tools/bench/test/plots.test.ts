import { expect, test } from 'vitest'
import { drawPlots } from '../src/plots.ts'
import { resultOf, type RowSamples } from '../src/result.ts'
import type { PlotPlace, Unit } from '../src/suite.ts'

interface Options {
  readonly node?: string
  readonly unit?: Unit
}

/** A row whose own time is `time`, with a peer that takes twice as long. */
const row = (plot: PlotPlace | undefined, time: number, { node = '24.0.0', unit = 'ns' }: Options = {}) => {
  const samples: RowSamples = {
    package: '@tenon/x',
    name: `row at ${plot?.x}`,
    unit,
    bytes: 1,
    node,
    plot,
    ours: [time * 0.9, time, time * 1.1],
    peers: { koffi: [2 * time, 2 * time, 2 * time] },
  }
  return resultOf(samples)
}

const describe = (svg: string): string => /<desc>(.*)<\/desc>/.exec(svg)![1]!

test('drawPlots() draws the plots that have rows, with a line for each contestant', () => {
  const plots = drawPlots(
    [row({ name: 'latency', x: 2 ** 20 }, 50_000), row({ name: 'latency', x: 1024 }, 100), row(undefined, 7)],
    'today',
  )
  expect(plots[0]!.svg).toContain('>today</text>')
  expect(plots.map(({ name }) => name)).toEqual(['latency'])
  expect(describe(plots[0]!.svg)).toMatch(/koffi: 1 KiB: 200 ns, 1 MiB: 100 µs. Tenon: 1 KiB: 100 ns, 1 MiB: 50 µs.$/)
})

test('drawPlots() draws the calls of a second where an iteration has several', () => {
  const place = (x: number): PlotPlace => ({ name: 'workers', x, calls: 10, ours: 'isolated' })
  const [plot] = drawPlots([row(place(1), 1e6), row(place(2), 5e5)], '')
  expect(describe(plot!.svg)).toMatch(/koffi: 1: 5,000, 2: 10,000. isolated: 1: 10,000, 2: 20,000.$/)
})

test('drawPlots() has a line for each version of Node.js', () => {
  const place: PlotPlace = { name: 'arguments', x: 1 }
  const [plot] = drawPlots([row(place, 10), row(place, 20, { node: '26.0.0' })], 'today')
  expect(plot!.svg).toContain('>Tenon, Node.js 24.0.0</text>')
  expect(plot!.svg).toContain('>Tenon, Node.js 26.0.0</text>')
})

test('drawPlots() refuses rows whose unit is not ns', () => {
  const [plot, options]: [PlotPlace, Options] = [{ name: 'threads', x: 1 }, { unit: 'GB/s' }]
  expect(() => drawPlots([row(plot, 10, options)], '')).toThrow('a row of a plot must have the unit ns, got GB/s')
})
