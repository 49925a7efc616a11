import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { ArgumentError, ScopeClosedError, tensor } from '../src/index.ts'
import { watch } from '../src/entries/build.ts'
import type { Library } from '../src/library.ts'
import { expect, onTestFinished, test } from 'vitest'
import { makeProject } from './kernel-project.ts'
import { tenonProgram } from './run-tenon.ts'

/** A kernel that waits until an operand is not zero, and then returns a number. */
const answering = (answer: number): string => `#include <tenon/kernel.h>
#include <time.h>
TN_KERNEL(answer, "(flag: s32[1]) -> (y: f32[1])") {
  const tn_xla_buffer_t *flag = tn_xla_arg(in, 0, TN_XLA_S32, 1), *y = tn_xla_ret(in, 0, TN_XLA_F32, 1);
  if (!tn_xla_complete(in)) return;
  while (*(volatile const int32_t *)flag->data == 0) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  *(float *)y->data = ${answer};
}
`

const config = `export default { libraries: [{ name: 'answers', sources: ['src/*.c'] }] }`

function newProject(): { directory: string; edit(answer: number | string): void } {
  const directory = makeProject({
    'package.json': '{ "name": "answers", "version": "1.0.0", "type": "module", "exports": "./dist/index.js" }',
    'tenon.config.ts': config,
    'src/answer.c': answering(1),
  })
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const edit = (answer: number | string): void =>
    writeFileSync(join(directory, 'src/answer.c'), typeof answer === 'string' ? answer : answering(answer))
  return { directory, edit }
}

const slow = { timeout: 120_000 }
const go = tensor('s32', [1], [1])

test(
  'watch() loads the new library, and calls in flight end with the old one, which is then closed',
  slow,
  async () => {
    const { directory, edit } = newProject()
    const loads: Library[] = []
    const errors: unknown[] = []
    const watching = watch(join(directory, 'tenon.config.ts'), (library) => void loads.push(library), {
      onError: (error) => void errors.push(error),
    })
    onTestFinished(() => watching.close())
    const loaded = (count: number): Promise<void> => expect.poll(() => loads.length).toBe(count)

    await loaded(1)
    const flag = tensor('s32', [1], [0])
    const first = loads[0]!.kernel('answer')
    const inFlight = first.async(flag)
    edit(2)
    await loaded(2)
    expect(loads[1]!.kernel('answer')(go).toArray()).toEqual([2])
    ;(flag.view() as Int32Array)[0] = 1
    expect((await inFlight).toArray()).toEqual([1])
    await expect.poll(() => loads[0]!.native.isAlive).toBe(false)
    expect(() => first(go)).toThrow(ScopeClosedError)

    edit('this is no C')
    await expect.poll(() => errors.length).toBe(1)
    expect(String(errors[0])).toContain('src/answer.c:1')
    expect(loads[1]!.kernel('answer')(go).toArray()).toEqual([2])
    edit(3)
    await loaded(3)
    expect(loads[2]!.kernel('answer')(go).toArray()).toEqual([3])
    watching.close()
    expect(loads.map(({ native }) => native.isAlive)).toEqual([false, false, false])
  },
)

test('what onLoad throws is an error, and the old library stays open', slow, async () => {
  const { directory, edit } = newProject()
  const loads: Library[] = []
  const errors: unknown[] = []
  const onLoad = (library: Library, name: string): void => {
    loads.push(library)
    if (loads.length === 2) throw new Error(`no ${name}`)
  }
  using _ = watch(directory, onLoad, { variant: 'debug', onError: (error) => void errors.push(error) })
  await expect.poll(() => loads.length).toBe(1)
  edit(2)
  await expect.poll(() => errors).toEqual([new Error('no answers')])
  expect(loads.map(({ native }) => native.isAlive)).toEqual([true, false])
})

test('watch() refuses wrong arguments', () => {
  const nothing = (): void => {}
  expect(() => watch(1 as never, nothing)).toThrow(ArgumentError)
  expect(() => watch('x', 1 as never)).toThrow('onLoad must be a function, got 1')
  expect(() => watch('x', nothing, { variant: 'fast' as never })).toThrow('variant must be one of release, debug, asan')
  expect(() => watch('x', nothing, { onerror: nothing } as never)).toThrow('onError')
})

/** A process whose lines are read one by one. */
function start(
  program: readonly string[],
  cwd: string,
): { child: ChildProcessWithoutNullStreams; line(): Promise<string> } {
  const child = spawn(process.execPath, program, { cwd })
  onTestFinished(() => void child.kill())
  child.stderr.pipe(process.stderr)
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  return { child, line: async () => String((await lines.next()).value) }
}

/** A program that calls the kernel of the package for each line of its input, and keeps one call in flight for "hold". */
const user = `import { createInterface } from 'node:readline'
import { tensor } from 'tenon'
import { answer } from 'answers'
const go = tensor('s32', [1], [1])
const flag = tensor('s32', [1], [0])
let held
for await (const line of createInterface(process.stdin)) {
  if (line === 'hold') held = answer.async(flag)
  if (line === 'release') {
    flag.view()[0] = 1
    console.log((await held).toArray()[0])
  } else console.log(answer(go).toArray()[0])
}
`

test(
  'a process that uses the module has the new kernel in its next call while tenon build --watch runs',
  slow,
  async () => {
    const { directory, edit } = newProject()
    const builder = start([tenonProgram, 'build', '--watch'], directory)
    expect(await builder.line()).toMatch(/build\/watch\/1\/libanswers\.so$/)
    writeFileSync(join(directory, 'user.js'), user)
    const program = start(['user.js'], directory)
    const ask = (line: string): Promise<string> => {
      program.child.stdin.write(`${line}\n`)
      return program.line()
    }
    expect(await ask('hold')).toBe('1')
    edit(2)
    expect(await builder.line()).toMatch(/build\/watch\/2\/libanswers\.so$/)
    expect(await ask('call')).toBe('2')
    expect(await ask('release')).toBe('1')
    for (const answer of [3, 4, 5]) {
      edit(answer)
      await builder.line()
      expect(await ask('call')).toBe(String(answer))
    }
    edit(answering(6).replace('(flag', '((flag'))
    await expect.poll(() => existsSync(join(directory, 'build/watch/6'))).toBe(true)
    expect(await ask('call')).toBe('5')
    builder.child.kill('SIGINT')
    await new Promise((resolve) => builder.child.on('close', resolve))
    expect(builder.child.exitCode).toBe(0)
    expect(await ask('call')).toBe('5')
  },
)

test('a process that started before tenon build --watch finds it', slow, async () => {
  const { directory, edit } = newProject()
  await new Promise((resolve) =>
    spawn(process.execPath, [tenonProgram, 'build'], { cwd: directory }).on('close', resolve),
  )
  writeFileSync(join(directory, 'user.js'), user)
  const program = start(['user.js'], directory)
  program.child.stdin.write('call\n')
  expect(await program.line()).toBe('1')
  const builder = start([tenonProgram, 'build', '--watch'], directory)
  await builder.line()
  edit(2)
  await builder.line()
  const ask = (): Promise<string> => {
    program.child.stdin.write('call\n')
    return program.line()
  }
  await expect.poll(ask).toBe('2')
})
