import { packageEntry, packageFlags } from '@tenon/config/package-flags'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { driverInfo } from '@tenon/core'
import { runScript } from '@tenon/core/testing'
import { depthLimitOf, stackOfMainThread } from '../src/native/depth-limit.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const entry = JSON.stringify(packageEntry(new URL('..', import.meta.url)))

/** Prints how often a function has run when its recursion through native code failed, and the error, three times. */
const PROGRAM = `
  const { packedFunc } = await import(${entry})
  const wide = (n, a, b, c, d, e) => (n === 0 ? recurse(0, a + b + c + d + e) : wide(n - 1, a + 1, b + 2, c + 3, d + 4, e + 5))
  let runs = 0
  let frames = 0
  const recurse = packedFunc((n) => { runs++; return frames === 0 ? recurse(n + 1) : wide(frames, 1, 2, 3, 4, 5) })
  const attempt = () => {
    runs = 0
    try { recurse(0) } catch (error) { console.log(runs, error.name, error.sentence, error.hint.slice(0, 17)) }
  }
  attempt()
  attempt()
  frames = 200
  attempt()
  frames = 0
  attempt()
  console.log(packedFunc((x) => x + 1)(41))
`

const WORKER = `
  import { Worker } from 'node:worker_threads'
  const url = new URL('data:text/javascript,' + encodeURIComponent(PROGRAM))
  new Worker(url, { resourceLimits: LIMITS })
`

async function linesOf(script: string, ...options: string[]): Promise<string[]> {
  const nodeOptions = [...packageFlags, '--no-warnings', ...options]
  const { code, signal, stdout, stderr } = await runScript(script, { cwd: root, nodeOptions })
  expect({ code, signal, stderr }).toEqual({ code: 0, signal: null, stderr: '' })
  return stdout.trim().split('\n')
}

const nested = (limit: number): string =>
  `${limit} RecursionError calls between JavaScript and native code are nested more than ${limit} deep Nest fewer calls,`

/** The frames of the program fill the stack of JavaScript before the limit is reached. */
const full =
  /^\d+ RecursionError calls between JavaScript and native code are nested too deeply for the stack Nest fewer calls,$/

/** The lines, with a word for the one of the program's frames. */
const summaryOf = (lines: readonly string[], limit: number): string[] =>
  lines.map((line) => (full.test(line) && Number.parseInt(line, 10) < limit ? 'full' : line))

const reached = (limit: number): string[] => [nested(limit), nested(limit), 'full', nested(limit), '42']

const { kind } = driverInfo()

/** A limit of the Node-API driver, or of koffi, whose calls take more of the stack. */
const either = (limit: number, koffi: number): number => (kind === 'koffi' ? koffi : limit)

/** The sizes of V8's stack in KiB, and the limits. The stack of the system is 8 MiB, and 1 MiB on Windows. */
const sizes: (readonly [size: number, limit: number])[] = [
  [984, either(182, 128)],
  [1968, either(428, 214)],
  [3936, either(920, 460)],
  [7800, either(1000, 943)],
]
if (process.platform === 'win32') sizes.length = 1

describe('calls between JavaScript and native code', () => {
  it.each(sizes)('can be nested as deep as the stack of V8 allows: %d KiB', async (size, limit) => {
    expect(summaryOf(await linesOf(PROGRAM, ...(size === 984 ? [] : [`--stack-size=${size}`])), limit)).toEqual(
      reached(limit),
    )
  })

  it.each([
    ['{ stackSizeMb: 1 }', either(192, 128)],
    ['{}', either(960, 480)],
    ['{ stackSizeMb: 4 }', either(960, 480)],
    ['{ stackSizeMb: 16 }', 1000],
  ])('can be nested as deep as the stack of a worker allows: %s', async (limits, limit) => {
    const script = WORKER.replace('PROGRAM', () => JSON.stringify(PROGRAM)).replace('LIMITS', limits)
    const lines = await linesOf(script)
    // Through koffi, even the least limit needs more than 1 MiB.
    const isTooSmall = kind === 'koffi' && limits === '{ stackSizeMb: 1 }'
    expect(summaryOf(lines, limit)).toEqual(isTooSmall ? ['full', 'full', 'full', 'full', '42'] : reached(limit))
  })

  it('the limit is at least 128 and at most 1000', () => {
    const limits = (driver: typeof kind): number[] =>
      [0, 512, 767, 768, 984, 4256, 2 ** 20].map((stack) => depthLimitOf(stack, driver))
    expect(limits('node-api')).toEqual([128, 128, 128, 128, 182, 1000, 1000])
    expect(limits('koffi')).toEqual([128, 128, 128, 128, 128, 500, 1000])
  })

  it('reads the size of the stack from the arguments of Node.js', () => {
    expect(stackOfMainThread([])).toBe(984)
    expect(stackOfMainThread(['--stack-size=100', '--stack_size=2000'])).toBe(2000)
    expect(stackOfMainThread(['--stack-size', '1234', '--no-warnings'])).toBe(1234)
    expect(stackOfMainThread(['--stack-size=', '--stack-size', 'x', '--stack-trace-limit=9'])).toBe(984)
  })
})
