/**
 * `node packages/pools/bench/plot.ts` draws the latency of a round trip against the size of the payload, for every transport,
 * into `latency.svg` beside this file, and prints the medians as a table. What is measured is what is built.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openChildProcess, openSocket, openWorker } from './node-transports.ts'
import { openBare, openDoorbell, openPools, type Transport } from './round-trip.ts'

const KIB = 1024
const sizes = [4, 64, 1024, 16_384, 65_536].map((kib) => kib * KIB)

interface Line {
  readonly name: string
  readonly colour: string
  readonly open: (byteSize: number) => Promise<Transport>
  /** Whether the payload is copied in before each round trip. */
  readonly copies: boolean
}

const asynchronous = async (byteSize: number): Promise<Transport> => {
  const transport = await openPools(byteSize)
  return { ...transport, call: transport.callAsync }
}

const asText = (byteSize: number): Promise<Transport> => openChildProcess(byteSize, 'json')

const lines: readonly Line[] = [
  { name: 'child_process, base64 in JSON', colour: '#67001f', open: asText, copies: false },
  { name: 'child_process, advanced', colour: '#b2182b', open: openChildProcess, copies: false },
  { name: 'net, bytes', colour: '#d6604d', open: openSocket, copies: false },
  { name: 'pools: write, then run', colour: '#4393c3', open: openPools, copies: true },
  { name: 'pools: runAsync', colour: '#1b7837', open: asynchronous, copies: false },
  { name: 'net, doorbell', colour: '#a6dba0', open: openDoorbell, copies: false },
  { name: 'pools: run', colour: '#2166ac', open: openPools, copies: false },
  { name: 'koffi, seqpacket', colour: '#92c5de', open: openBare, copies: false },
  { name: 'worker, Atomics.wait', colour: '#bababa', open: openWorker, copies: false },
]

/** The median of round trips, in microseconds: at least five of them, for half a second. */
async function measure({ open, copies }: Line, byteSize: number): Promise<number> {
  const transport = await open(byteSize)
  const call = copies ? transport.callWithCopy : transport.call
  const samples: number[] = []
  const end = performance.now() + 500
  await call()
  while (samples.length < 5 || performance.now() < end) {
    const start = performance.now()
    const answer = call()
    if (answer instanceof Promise) await answer
    samples.push(1000 * (performance.now() - start))
  }
  await transport.close()
  return samples.toSorted((a, b) => a - b)[samples.length >> 1]!
}

const sizeName = (byteSize: number): string =>
  byteSize < 2 ** 20 ? `${byteSize / KIB} KiB` : `${byteSize / 2 ** 20} MiB`
const timeName = (us: number): string => (us < 1000 ? `${us} µs` : us < 1e6 ? `${us / 1000} ms` : `${us / 1e6} s`)

const [width, height, left, top] = [760, 440, 80, 30]
const x = (byteSize: number): number =>
  left + ((width - left - 240) * Math.log2(byteSize / sizes[0]!)) / Math.log2(sizes.at(-1)! / sizes[0]!)
const decades = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000]
const y = (us: number): number => height - 40 - ((height - top - 40) * Math.log10(us)) / 6

function draw(medians: readonly (readonly number[])[]): string {
  const text = (at: string, content: string): string => `<text ${at}>${content}</text>`
  const grid = decades.flatMap((us) => [
    `<line x1="${left}" x2="${x(sizes.at(-1)!)}" y1="${y(us)}" y2="${y(us)}" stroke="#ddd"/>`,
    text(`x="${left - 8}" y="${y(us) + 4}" text-anchor="end"`, timeName(us)),
  ])
  const axis = sizes.map((size) => text(`x="${x(size)}" y="${height - 18}" text-anchor="middle"`, sizeName(size)))
  // Names stand beside the ends of their lines, moved apart where those are close.
  const ends = medians.map((line, i) => ({ i, at: y(line.at(-1)!) })).toSorted((a, b) => a.at - b.at)
  let free = 0
  const labels = ends.map(({ i, at }) => {
    free = Math.max(at, free + 16)
    return text(`x="${x(sizes.at(-1)!) + 10}" y="${free + 4}" fill="${lines[i]!.colour}"`, lines[i]!.name)
  })
  const paths = medians.map((line, i) => {
    const points = line.map((us, k) => `${x(sizes[k]!).toFixed(1)},${y(us).toFixed(1)}`).join(' ')
    return `<polyline points="${points}" fill="none" stroke="${lines[i]!.colour}" stroke-width="2"/>`
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" font-family="sans-serif" font-size="13">`,
    `<rect width="${width}" height="${height}" fill="white"/>`,
    ...grid,
    ...axis,
    ...paths,
    ...labels,
    '</svg>',
    '',
  ].join('\n')
}

const timeOf = (us: number): string =>
  us < 10 ? us.toFixed(1) : Math.round(us).toLocaleString('en').replaceAll(',', ' ')

process.stdout.write(`| ${''.padEnd(30)} | ${sizes.map(sizeName).join(' | ')} |\n`)
const medians: number[][] = []
for (const line of lines) {
  const found: number[] = []
  for (const size of sizes) found.push(await measure(line, size))
  medians.push(found)
  process.stdout.write(`| ${line.name.padEnd(30)} | ${found.map(timeOf).join(' | ')} |\n`)
}
writeFileSync(join(import.meta.dirname, 'latency.svg'), draw(medians))
