/**
 * `pnpm bench:serve` measures the servers of this package in turns with bare echo servers and a server of FastAPI, each in a process of its
 * own, and prints a table. `docs/benchmarks.md` explains the results.
 *
 * - `--filter http` runs only the comparisons whose names contain the word.
 * - `--starts 3` is how often the servers of a row are started anew, `--rounds 2` the number of its measurements after each start, and
 *   `--seconds 1` their duration.
 * - `--output FILE` writes the result as JSON, which `publish.ts` brings into the documentation.
 */
import { describeMachine } from '@tenon/bench'
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { comparisonsOf } from './comparisons.ts'
import { checkGoals } from './goals.ts'
import { measure } from './measure.ts'
import { findFastapi } from './processes.ts'
import type { Result, Row } from './result.ts'

const { values: options } = parseArgs({
  options: {
    filter: { type: 'string', default: '' },
    starts: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '2' },
    seconds: { type: 'string', default: '1' },
    output: { type: 'string' },
  },
})
const print = (line: string): void => void process.stdout.write(`${line}\n`)
const duration = {
  starts: Number(options.starts),
  rounds: Number(options.rounds),
  seconds: Number(options.seconds),
}

const machine = describeMachine()
const fastapi = findFastapi()
if ('missing' in fastapi) {
  print(`The server of FastAPI is left out: ${fastapi.missing}. On Debian, install it with:`)
  print('  apt-get install python3-fastapi python3-uvicorn python3-httptools python3-uvloop python3-numpy\n')
}

function printRows(rows: readonly Row[]): void {
  let title = ''
  for (const { comparison, clients, rate, server, processor, requestsPerSecond, p50, p99, ratios } of rows) {
    const load = rate === undefined ? 'as many requests as possible' : `${rate} requests a second`
    const head = `${comparison}, ${clients} clients, ${load}`
    if (head !== title)
      print(`\n${head}\n${'server'.padEnd(42)}CPU us       (x)     req/s   (x)    p50 ms   p99 ms   (x)`)
    title = head
    const fields = [
      processor.median.toFixed(0).padStart(6),
      `${ratios.processor.median.toFixed(2)} (${ratios.processor.low.toFixed(2)}-${ratios.processor.high.toFixed(2)})`.padStart(
        17,
      ),
      requestsPerSecond.median.toFixed(0).padStart(7),
      ratios.requestsPerSecond.median.toFixed(2).padStart(6),
      p50.median.toFixed(2).padStart(8),
      p99.median.toFixed(2).padStart(8),
      ratios.p99.median.toFixed(2).padStart(6),
    ]
    print(`${server.padEnd(40)}${fields.join(' ')}`)
  }
}

const rows: Row[] = []
for (const [name, open] of Object.entries(comparisonsOf('versions' in fastapi))) {
  if (!name.includes(options.filter)) continue
  const found = await measure(open, duration)
  printRows(found)
  rows.push(...found)
}
const goals = checkGoals(rows)
print('')
for (const { name, ratio, limit, isMet } of goals) {
  print(`${isMet ? 'met   ' : 'missed'}  ${name}: ${ratio.toFixed(2)}, ${limit}`)
}
if (options.output !== undefined) {
  const result: Result = {
    date: new Date().toISOString().slice(0, 10),
    node: process.version,
    machine,
    fastapi: 'versions' in fastapi ? fastapi.versions : fastapi.missing,
    ...duration,
    rows,
    goals,
  }
  writeFileSync(options.output, `${JSON.stringify(result, undefined, 2)}\n`)
}
