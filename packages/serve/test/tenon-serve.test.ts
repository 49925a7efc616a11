import { eventually } from '@tenon/config/eventually'
import { Client, credentials } from '@grpc/grpc-js'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { describe, expect, onTestFinished, test } from 'vitest'
import { faulty, libfaulty, makeRepository } from './make-repository.ts'
import { input } from './support.ts'
import { runTenonServe, startTenonServe } from './tenon-serve.ts'

/** Starts the command, and waits until it listens. */
async function start(
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<{ child: ChildProcess; url: string; lines: string[] }> {
  const child = startTenonServe(args, env)
  onTestFinished(() => void child.kill('SIGKILL'))
  const lines: string[] = []
  const url = await new Promise<string>((resolve, reject) => {
    child.stderr!.on('data', (chunk: Buffer) => {
      lines.push(...chunk.toString().trim().split('\n'))
      const listening = lines.find((line) => line.includes('"listening"'))
      if (listening !== undefined) resolve((JSON.parse(listening) as { http: string }).http)
    })
    child.once('exit', (code) => reject(new Error(`ended with ${code}: ${lines.join('\n')}`)))
  })
  return { child, url, lines }
}

const infer = async (url: string, model: string): Promise<[status: number, json: unknown]> => {
  const body = JSON.stringify({ inputs: [input('x', 'FP32', [4], [1, 2, 3, 4])] })
  const reply = await fetch(`${url}/v2/models/${model}/infer`, { method: 'POST', body })
  return [reply.status, await reply.json()]
}

const messagesOf = (lines: readonly string[]): string[] =>
  lines.map((line) => (JSON.parse(line) as { message: string }).message)

/** The arguments for free ports. */
const FREE = ['--http-port', '0', '--no-grpc']

describe('tenon serve', { timeout: 60_000 }, () => {
  test('answers until SIGTERM, finishes what runs, and ends with 0', async () => {
    const directory = makeRepository({
      'double/model.json': faulty(0),
      'double/1/libfaulty.so': { copy: libfaulty },
      'crash/model.json': faulty(1),
      'crash/1/libfaulty.so': { copy: libfaulty },
      'sleep/model.json': faulty(29, { instances: 2 }),
      'sleep/1/libfaulty.so': { copy: libfaulty },
    })
    const { child, url, lines } = await start([directory, '--http-port', '0', '--grpc-port', '0'])
    expect(await infer(url, 'double')).toMatchObject([200, { outputs: [{ data: [2, 4, 6, 8] }] }])
    const { grpc } = JSON.parse(lines.find((line) => line.includes('"listening"'))!) as { grpc: string }
    const client = new Client(grpc, credentials.createInsecure())
    onTestFinished(() => client.close())
    await promisify(client.waitForReady.bind(client))(Date.now() + 5000)
    expect((await infer(url, 'crash'))[0]).toBe(500)
    expect((await infer(url, 'double'))[0]).toBe(200)
    const running = Array.from({ length: 20 }, () => infer(url, 'sleep'))
    await infer(url, 'double')
    child.kill('SIGTERM')
    const [code] = (await once(child, 'exit')) as [number]
    const statuses = (await Promise.all(running)).map(([status]) => status)
    expect([code, new Set(statuses)]).toEqual([0, new Set([200])])
    expect(messagesOf(lines).at(-1)).toBe('drained')
  })

  test('what is not done at the end of the drain ends with 4, and a second signal with 130', async () => {
    const directory = makeRepository({ 'hang/model.json': faulty(8), 'hang/1/libfaulty.so': { copy: libfaulty } })
    for (const [signals, wanted] of [
      [1, 4],
      [2, 130],
    ] as const) {
      const { child, url, lines } = await start([directory, ...FREE, '--drain-timeout', '1s'])
      const lost = infer(url, 'hang').catch(() => 'lost')
      while (!(await fetch(`${url}/v2/models/hang/stats`).then((reply) => reply.text())).includes('hang')) continue
      await sleep(200)
      const exit = once(child, 'exit') as Promise<[number]>
      for (let i = 0; i < signals; i++) {
        child.kill('SIGTERM')
        // Signals of one kind that arrive together are one signal.
        await eventually(() => expect(messagesOf(lines)).toContain('draining'))
      }
      const [code] = await exit
      expect([code, await lost]).toEqual([wanted, 'lost'])
      // Also lines of a process that ends at once are written.
      await eventually(() => expect(messagesOf(lines).at(-1)).toBe(wanted === 4 ? 'not drained' : 'interrupted'))
    }
  })

  test('ends with 3 when the processes of all models crash again and again', async () => {
    const directory = makeRepository({ 'crash/model.json': faulty(1), 'crash/1/libfaulty.so': { copy: libfaulty } })
    const { child, url, lines } = await start([directory, ...FREE])
    const exit = once(child, 'exit') as Promise<[number]>
    const isRunning = (): boolean => child.exitCode === null
    while (isRunning()) {
      // A restart waits longer after each crash.
      await infer(url, 'crash').catch(() => undefined)
      await sleep(50)
    }
    expect(await exit).toEqual([3, null])
    expect(messagesOf(lines).at(-1)).toBe('the processes of all models crash again and again')
  })

  test('serves the folder of one model, under the name of the environment, the flag or the folder', async () => {
    const directory = makeRepository({ 'one/model.json': faulty(0), 'one/1/libfaulty.so': { copy: libfaulty } })
    const folder = join(directory, 'one')
    for (const [name, args, env] of [
      ['one', [], {}],
      ['flag', ['--model-name', 'flag'], {}],
      ['service', ['--model-name', 'flag'], { INFERENCE_SERVICE_NAME: 'service' }],
    ] as const) {
      const { child, url } = await start([folder, ...FREE, ...args], env)
      expect((await infer(url, name))[0]).toBe(200)
      child.kill('SIGTERM')
      expect(await once(child, 'exit')).toEqual([0, null])
    }
  })

  test('takes the port of the environment, unless a flag says otherwise', async () => {
    const directory = makeRepository({ 'one/model.json': faulty(0), 'one/1/libfaulty.so': { copy: libfaulty } })
    const env = { PORT: 'none' }
    const { child } = await start([directory, ...FREE], env)
    child.kill('SIGTERM')
    expect(await once(child, 'exit')).toEqual([0, null])
    const wrong = await runTenonServe(directory, '--no-grpc', env)
    expect(wrong.code).toBe(2)
    expect(wrong.stderr).toContain('PORT of the environment must be a port from 0 to 65535, got none')
  })

  test('the flags of shared memory, origins and sizes reach the server', async () => {
    const directory = makeRepository({ 'one/model.json': faulty(0), 'one/1/libfaulty.so': { copy: libfaulty } })
    const limits = [
      '--allow-client-shm',
      'mine-',
      '--allow-origin',
      'https://example.org',
      '--max-request-bytes',
      '1KiB',
    ]
    const { url } = await start([directory, ...FREE, ...limits, '--max-in-flight-bytes', '1MiB'])
    expect(await (await fetch(`${url}/v2`)).json()).toMatchObject({
      extensions: expect.arrayContaining(['system_shared_memory']) as unknown,
    })
    const page = { headers: { origin: 'https://example.org' } }
    expect((await fetch(`${url}/v2`, page)).headers.get('access-control-allow-origin')).toBe('https://example.org')
    const large = await fetch(`${url}/v2/models/one/infer`, { method: 'POST', body: ' '.repeat(1025) })
    expect(large.status).toBe(413)
  })

  test('ends with 1 if an address is in use, and says which', async () => {
    const directory = makeRepository({ 'one/model.json': faulty(0), 'one/1/libfaulty.so': { copy: libfaulty } })
    const { url, lines } = await start([directory, '--http-port', '0', '--grpc-port', '0'])
    const { grpc } = JSON.parse(lines.find((line) => line.includes('"listening"'))!) as { grpc: string }
    const { host, port } = new URL(url)
    for (const [address, ...args] of [
      [host, '--http-port', port, '--no-grpc'],
      [grpc, '--http-port', '0', '--grpc-port', grpc.split(':')[1]!],
      [host, '--http-port', '0', '--no-grpc', '--monitoring-port', port],
    ] as const) {
      const { code, stderr } = await runTenonServe(directory, ...args)
      expect([code, stderr]).toEqual([1, expect.stringContaining(`the address ${address} is in use`)])
    }
  })

  test.each(['--drain-delay', '--drain-timeout', '--request-timeout'])(
    '%s needs a unit, because a number could mean seconds',
    async (flag) => {
      const { code, stderr } = await runTenonServe(makeRepository({}), flag, '5')
      expect([code, stderr]).toEqual([
        2,
        expect.stringMatching(
          `${flag} must be a duration with a unit, such as .*, got 5\nhint: .*the units us, ms, s, min, h`,
        ),
      ])
    },
  )

  test('ends with 1 for an address that is not one of this machine, and names the flags', async () => {
    const directory = makeRepository({ 'one/model.json': faulty(0), 'one/1/libfaulty.so': { copy: libfaulty } })
    for (const ports of [
      ['--http-port', '0', '--no-grpc'],
      ['--http-port', '0', '--grpc-port', '0'],
    ]) {
      const { code, stderr } = await runTenonServe(directory, '--host', '192.0.2.1', ...ports)
      expect([code, stderr]).toEqual([
        1,
        expect.stringMatching(/the address 192\.0\.2\.1(:0)? is not one of this machine\nhint: .*--host/),
      ])
    }
    const { code, stderr } = await runTenonServe(directory, '--host', 'nowhere.invalid', '--no-grpc')
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/no address for the name nowhere\.invalid\nhint: .*--host/),
    ])
  })

  test('waits for requests without an end with a drain timeout of inf', async () => {
    const directory = makeRepository({ 'sleep/model.json': faulty(29), 'sleep/1/libfaulty.so': { copy: libfaulty } })
    const { child, url, lines } = await start([directory, ...FREE, '--drain-timeout', 'inf'])
    const running = Array.from({ length: 40 }, () => infer(url, 'sleep'))
    await Promise.race(running)
    child.kill('SIGTERM')
    expect(await once(child, 'exit')).toEqual([0, null])
    expect(new Set((await Promise.all(running)).map(([status]) => status))).toEqual(new Set([200]))
    expect(messagesOf(lines).at(-1)).toBe('drained')
  })

  test('ends with 1 for a model that cannot be loaded, and with 2 for a wrong command line', async () => {
    const directory = makeRepository({ 'a/model.json': '{' })
    const run = async (...args: string[]): Promise<[code: number | null, stderr: string]> => {
      const { code, stderr } = await runTenonServe(...args)
      return [code, stderr]
    }
    expect(await run(directory)).toEqual([1, expect.stringContaining('must be JSON')])
    expect(await run()).toEqual([2, expect.stringContaining('folder')])
    for (const [flag, value] of [
      ['--http-port', 'x'],
      ['--grpc-port', '65536'],
      ['--model-control', 'some'],
      ['--drain-delay', 'soon'],
      ['--max-request-bytes', '-1'],
    ] as const) {
      expect(await run(directory, `${flag}=${value}`)).toEqual([2, expect.stringContaining(flag)])
    }
    expect(await run(directory, '--what')).toEqual([2, expect.stringContaining('--what')])
    expect(existsSync(directory)).toBe(true)
  })
})
