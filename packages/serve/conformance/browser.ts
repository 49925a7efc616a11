/**
 * The command `pnpm test:browser`, which runs the client in Chromium: a page loads `dist/client.js` as it is, and calls a server of another
 * origin. CHROMIUM names the program; `chromium` is the default.
 */
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { tensor } from '@tenon/core'
import { StringTensor } from 'tenon/tstring'
import { report, reportMissing, type Outcome } from '@tenon/config/conformance'
import { createServer, defineModel } from '../src/index.ts'
import { double, echo } from '../test/models.ts'
import { count, endlessModel } from '../test/streams.ts'

const LONGEST = 60_000

const endless = endlessModel(1000)

const models = [
  double,
  echo('s64', 'echo_int64'),
  echo('string'),
  count,
  endless.model,
  // How many generators of the endless model have ended.
  defineModel({
    name: 'ended',
    signature: '(x: f32[1]) -> (y: s32[1])',
    run: () => tensor('s32', [1], [endless.ended]),
  }),
  defineModel({
    name: 'sum',
    signature: '(x: s32[1]) -> (y: s32[1])',
    sequence: { state: () => ({ total: 0 }) },
    run: ({ x }, { sequence: { state } }) => {
      state.total += (x.view() as Int32Array)[0]!
      return tensor('s32', [1], [state.total])
    },
  }),
  defineModel({
    name: 'slow',
    signature: '(x: f32[n]) -> (y: f32[n])',
    instances: 8,
    run: async ({ x }) => (await sleep(500), x),
  }),
  defineModel({
    name: 'trace',
    signature: '(x: f32[n]) -> (y: string[n])',
    run: (_, { traces }) => StringTensor.from([traces[0]?.traceparent ?? '']),
  }),
]

const files: Readonly<Record<string, readonly [type: string, path: string]>> = {
  '/page.js': ['text/javascript', join(import.meta.dirname, 'browser/page.js')],
  '/client.js': ['text/javascript', join(import.meta.dirname, '../dist/client.js')],
}

async function runPage(program: string): Promise<readonly Outcome[]> {
  let end: (outcomes: readonly Outcome[]) => void
  const ended = new Promise<readonly Outcome[]>((resolve) => (end = resolve))
  const site = createHttpServer((request, response) => {
    const { url = '' } = request
    const [path] = url.split('?') as [string]
    const file = files[path]
    if (file !== undefined) response.writeHead(200, { 'content-type': file[0] }).end(readFileSync(file[1]))
    else if (path === '/') {
      response.writeHead(200, { 'content-type': 'text/html' }).end('<script type="module" src="/page.js"></script>')
    } else if (path === '/outcomes') {
      let text = ''
      request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      request.on('end', () => {
        response.end()
        end(JSON.parse(text) as readonly Outcome[])
      })
    } else response.writeHead(404).end()
  })
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`
  const server = await createServer({ models, http: { port: 0, allowedOrigins: [origin] }, logError: () => {} })
  const other = await createServer({ models, http: { port: 0 }, logError: () => {} })
  const profile = mkdtempSync(join(tmpdir(), 'tenon-chromium-'))
  const page = `${origin}/?server=http://${server.httpAddress}&other=http://${other.httpAddress}`
  const flags = ['--headless=new', '--no-sandbox', '--disable-gpu', `--user-data-dir=${profile}`]
  const browser = spawn(program, [...flags, page], { stdio: ['ignore', 'ignore', 'ignore'] })
  const stop = new AbortController()
  try {
    const late = sleep(LONGEST, undefined, { signal: stop.signal }).then(() => {
      throw new Error(`the page did not end within ${LONGEST} ms`)
    })
    return await Promise.race([ended, late])
  } finally {
    stop.abort()
    browser.kill('SIGKILL')
    await new Promise((resolve) => browser.once('close', resolve))
    site.close().closeAllConnections()
    await Promise.all([server.closeAsync(), other.closeAsync()])
    rmSync(profile, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
  }
}

const program = process.env['CHROMIUM'] ?? 'chromium'
const found = spawnSync(program, ['--version'], { encoding: 'utf8' })
if (found.status !== 0) reportMissing('pnpm test:browser', [`${program}, a Chromium: set CHROMIUM to its path`])
else {
  process.stdout.write(`${found.stdout.trim()}\n`)
  const outcomes = await runPage(program)
  for (const { name, problem } of outcomes)
    process.stdout.write(`${problem === undefined ? 'passed' : 'FAILED'}  ${name}\n`)
  report(outcomes)
}
