import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { eventually, isRunning } from './support.ts'

const fixture = fileURLToPath(new URL('../fixtures/isolate.js', import.meta.url))

/** Runs the fixture. @param kill whether it is killed after its first line */
async function run(mode: string, kill = false): Promise<{ lines: string[]; code: number | null }> {
  const child = spawn(process.execPath, [fixture, mode], { stdio: ['ignore', 'pipe', 'inherit'] })
  let text = ''
  child.stdout.setEncoding('utf8')
  child.stdout.on('data', (part: string) => {
    text += part
    if (kill) setTimeout(() => child.kill('SIGKILL'), 50)
  })
  const [code] = (await once(child, 'close')) as [number | null]
  return { lines: text.trim().split('\n'), code }
}

async function expectEnded(line: string): Promise<void> {
  const processes = line.split(' ').map(Number)
  expect(processes).toHaveLength(2)
  for (const process of processes) {
    expect(process).toBeGreaterThan(0)
    await eventually(() => !isRunning(process))
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
  const { lines, code } = await run('hangs', true)
  expect(code).toBeNull()
  await expectEnded(lines[0]!)
})

test('workers of a thread end with the thread, and leave nothing', async () => {
  const { lines, code } = await run('threads')
  expect(code).toBe(0)
  for (const line of lines.slice(0, 3)) await expectEnded(line)
  expect(lines[3]).toBe('left 0 0')
})
