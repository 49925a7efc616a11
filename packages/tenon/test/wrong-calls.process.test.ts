import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { kernelLibrary } from '@tenon/kernels'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { callCommand } from '../src/cli/call-command.ts'
import { reportFailure } from '../src/cli/failure.ts'
import { Library, NativeScope, ResourceScope, tensor, TenonError, writeNpy, type Tensor } from '../src/index.ts'

/** The lines that the command prints to stderr. */
const said = vi.hoisted((): string[] => [])
vi.mock(import('../src/cli/terminal.ts'), async (load) => ({
  ...(await load()),
  printTalk: (text) => void said.push(text),
}))

const path = kernelLibrary('kernels')
const directory = mkdtempSync(join(tmpdir(), 'tenon-wrong-calls-'))
const library = Library.open(path)
const closedScope = NativeScope.ofConfined()
const closedLibrary = Library.open(path)

/** The names that the calls below use. */
const values: Readonly<Record<string, unknown>> = {
  library,
  resources: ResourceScope.ofConfined(),
  scalar: tensor('f32', []),
  v: tensor([1, 2, 3]),
  x: tensor('f32', [2, 3], [1, 2, 3, 4, 5, 6]),
  y: tensor('f32', [2, 3]),
  m: tensor('f32', [3, 4]),
  d: tensor('f64', [2, 3]),
  i: tensor('s32', [2, 2]),
  square: tensor('f64', [4, 4]),
  cube: tensor('f32', [4, 2, 3]),
  closed: tensor('f32', [2, 3], undefined, { allocator: closedScope }),
  ofClosedLibrary: closedLibrary.kernel('softmax'),
  ...Object.fromEntries(
    [
      'softmax',
      'matmul',
      'saxpy',
      'topk',
      'optional_sum',
      'cholesky',
      'scale_shift',
      'weighted_sum',
      'do_custom_call',
    ].map((name) => [name, library.kernel(name)]),
  ),
}
closedScope.close()
closedLibrary.close()
for (const name of ['x', 'v', 'd']) writeNpy(join(directory, `${name}.npy`), values[name] as Tensor)
afterAll(() => rmSync(directory, { recursive: true }))

/** A call as a user writes it, or the arguments of `tenon call`; the message; and the hint. */
type Row = readonly [call: string, message: string, hint: string | undefined]

/** The rows of the table, in which blank lines separate calls, and commands begin with `$`. */
const rows = readFileSync(new URL('fixtures/wrong-calls.txt', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n\n')
  .map((block): Row => {
    const [call = '', ...lines] = block.split('\n')
    const texts = lines.map((line) => line.slice(2))
    const hint = texts.at(-1)?.startsWith('hint: ') === true ? texts.pop()!.slice('hint: '.length) : undefined
    return [call, texts.join('\n'), hint]
  })
const command = '$ tenon call libkernels.so '
const commands = rows
  .filter(([call]) => call.startsWith(command))
  .map(([call, ...texts]) => [call.slice(command.length), ...texts] as const)
const calls = rows.filter(([call]) => !call.startsWith('$'))

/** Replaces the paths of this machine by the names of the files. */
const withoutPaths = (text: string): string => text.replaceAll(path, 'libkernels.so').replaceAll(`${directory}/`, '')

describe('a wrong call of a kernel', () => {
  test.each(calls)('%s', (call, message, hint) => {
    let thrown: unknown
    try {
      new Function(...Object.keys(values), `return ${call}`)(...Object.values(values))
    } catch (error) {
      thrown = error
    }
    expect(thrown).toBeInstanceOf(TenonError)
    const error = thrown as TenonError
    expect([withoutPaths(error.sentence), error.hint]).toEqual([message, hint])
  })
})

describe('a wrong command: tenon call libkernels.so', () => {
  test.each(commands)('%s', (flags, message, hint) => {
    const args = flags.split(' ').map((one) => one.replace(/\b\w+\.npy/, (file) => join(directory, file)))
    said.length = 0
    try {
      callCommand.start([path, ...args]).run()
    } catch (error) {
      reportFailure(error, 'tenon call')
    }
    const [first, second] = said.map(withoutPaths)
    expect([first, second]).toEqual([`tenon call: ${message}`, hint === undefined ? undefined : `hint: ${hint}`])
  })
})

test('messages have one form for types, and instructions as hints', () => {
  expect([calls.length, commands.length]).toEqual([79, 38])
  for (const [, message, hint] of rows) {
    expect(message).not.toMatch(/\b(?:float|int|bool)\d*\[\d+,\d/)
    expect(message).not.toMatch(/\w: number \d|Infinity/)
    if (hint !== undefined) expect(hint).toMatch(/^[A-Z].*[.?]$/s)
  }
})
