/**
 * The processor time of one inference in the server, beside a bare echo of the same bytes, interleaved: `node --conditions=@tenon/source
 * bench/http.ts`. Both servers run in processes of their own. Prints microseconds of each round, and the median of the ratios.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { Agent, request as httpRequest } from 'node:http'
import { join } from 'node:path'

const ROUNDS = 7

/** The processor time of a process in microseconds. `/proc` counts it in hundredths of a second. */
function processorTime({ pid }: ChildProcess): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
  return 10_000 * (Number(fields[11]) + Number(fields[12]))
}

async function start(kind: string): Promise<{ child: ChildProcess; port: number }> {
  const child = fork(join(import.meta.dirname, 'servers.ts'), [kind])
  const [port] = (await once(child, 'message')) as [number]
  return { child, port }
}

function send(agent: Agent, port: number, body: Buffer, headers: Record<string, string>): Promise<void> {
  return new Promise((resolve, reject) => {
    const path = '/v2/models/identity/infer'
    const request = httpRequest({ agent, host: '127.0.0.1', port, method: 'POST', path, headers }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`status ${response.statusCode}`))
      response.resume().on('end', resolve)
    })
    request.on('error', reject)
    request.end(body)
  })
}

/** Sends requests on some connections, and returns the processor time that the server took for each. */
async function measure(
  server: { child: ChildProcess; port: number },
  agent: Agent,
  connections: number,
  count: number,
  body: Buffer,
  headers: Record<string, string>,
): Promise<number> {
  const before = processorTime(server.child)
  let left = count
  const work = async (): Promise<void> => {
    while (left-- > 0) await send(agent, server.port, body, headers)
  }
  await Promise.all(Array.from({ length: connections }, work))
  return (processorTime(server.child) - before) / count
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1]!

const servers = { echo: await start('echo'), infer: await start('infer') }
for (const [name, byteSize, connections, count] of [
  ['4 KiB', 4096, 32, 8000],
  ['1 MiB', 2 ** 20, 8, 400],
] as const) {
  const json = Buffer.from(
    JSON.stringify({
      inputs: [{ name: 'x', datatype: 'FP32', shape: [byteSize / 4], parameters: { binary_data_size: byteSize } }],
      parameters: { binary_data_output: true },
    }),
  )
  const body = Buffer.concat([json, Buffer.alloc(byteSize)])
  const headers = { 'inference-header-content-length': String(json.length), 'content-length': String(body.length) }
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  const rounds: { echo: number; infer: number }[] = []
  for (let round = 0; round <= ROUNDS; round++) {
    const echo = await measure(servers.echo, agent, connections, count, body, headers)
    const infer = await measure(servers.infer, agent, connections, count, body, headers)
    // The first round compiles the code.
    if (round > 0) rounds.push({ echo, infer })
  }
  agent.destroy()
  const ratios = rounds.map(({ echo, infer }) => infer / echo)
  const [least, most] = [Math.min(...ratios), Math.max(...ratios)]
  const [echo, infer] = [median(rounds.map((one) => one.echo)), median(rounds.map((one) => one.infer))]
  process.stdout.write(
    `${name}: echo ${echo.toFixed(0)} us, infer ${infer.toFixed(0)} us, ratio ${median(ratios).toFixed(2)} (${least.toFixed(2)} to ${most.toFixed(2)})\n`,
  )
}
for (const { child } of Object.values(servers)) child.kill()
