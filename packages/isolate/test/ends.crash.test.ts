import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { isRunning } from './support.ts'

const fixture = fileURLToPath(new URL('./fixtures/isolate.js', import.meta.url))

/** Runs the fixture. @param act called some ms after its first line, with what it has said */
async function run(
  mode: string,
  act: (child: ChildProcess, said: string) => void = () => {},
  delay = 50,
): Promise<{ lines: string[]; code: number | null }> {
  const child = spawn(process.execPath, [fixture, mode], { stdio: ['ignore', 'pipe', 'inherit'] })
  let text = ''
  child.stdout.setEncoding('utf8')
  child.stdout.on('data', (part: string) => (text += part))
  child.stdout.once('data', () => setTimeout(() => act(child, text), delay))
  const [code] = (await once(child, 'close')) as [number | null]
  return { lines: text.trim().split('\n'), code }
}

async function expectEnded(line: string): Promise<void> {
  const processes = line.split(' ').map(Number)
  expect(processes).toHaveLength(2)
  for (const process of processes) {
    expect(process).toBeGreaterThan(0)
    await expect.poll(() => isRunning(process)).toBe(false)
  }
}

test.each(['exit', 'exit while it runs', 'natural'])('workers end with their client: %s', async (mode) => {
  const { lines, code } = await run(mode)
  expect(code).toBe(0)
  await expectEnded(lines[0]!)
})

test('a pending call keeps the process alive until it is answered', async () => {
  const { lines, code } = await run('waits')
  expect(code).toBe(0)
  expect(lines[1]).toBe('answered')
  await expectEnded(lines[0]!)
})

test('workers end when their client is killed while it waits for them', async () => {
  const { lines, code } = await run('hangs', (child) => child.kill('SIGKILL'))
  expect(code).toBeNull()
  await expectEnded(lines[0]!)
})

test('workers of a thread end with the thread, and leave nothing', async () => {
  const { lines, code } = await run('threads')
  expect(code).toBe(0)
  for (const line of lines.slice(0, 3)) await expectEnded(line)
  expect(lines[3]).toBe('left 0 0')
})

test.concurrent.for(['', ' in run()'])(
  'a worker ends a call itself when its client is stopped beyond the deadline%s',
  async (where) => {
    let left = 0
    const { lines, code } = await run(
      `misses a deadline${where}`,
      async (child, said) => {
        // child.kill() of Deno sends nothing more after the first signal.
        process.kill(child.pid!, 'SIGSTOP')
        const workers = said.trim().split(' ').map(Number)
        const running = (): number => workers.filter(isRunning).length
        const start = performance.now()
        // The client gets 5 s more than the deadline and the grace.
        while (running() === 2 && performance.now() - start < 20_000) await sleep(50)
        // The other worker has no call that is late.
        await sleep(1500)
        left = running()
        process.kill(child.pid!, 'SIGCONT')
        // The worker has the call by then, and its deadline has not passed.
      },
      1000,
    )
    expect(left).toBe(1)
    expect(code).toBe(0)
    expect(lines).toEqual([expect.any(String), 'KernelDeadlineError killed true', expect.any(String)])
  },
)
