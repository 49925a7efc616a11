import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { isSanitized } from '@tenon/config/sanitizer'
import { compileCrashes, runCrash } from './crash-program.ts'
import { runTenonHere } from './run-tenon-here.ts'

const root = mkdtempSync(join(tmpdir(), 'tenon-cli-report-'))
let directory: string
let count = 0

beforeEach(() => {
  directory = join(root, `${count++}`)
  mkdirSync(directory)
})
afterAll(() => rmSync(root, { recursive: true, force: true }))

/** The report of a crash. */
interface Report {
  readonly call: object
  readonly frames: readonly object[]
}

const report = async (...args: string[]): Promise<string> => {
  const { code, stdout, stderr } = await runTenonHere(['report', ...args], directory)
  expect([code, stderr]).toEqual([0, ''])
  return stdout
}

describe.runIf(process.platform === 'linux' && !isSanitized)('tenon report', { timeout: 60_000 }, () => {
  let library: string
  let file: string
  beforeAll(async () => {
    const folder = join(root, 'first')
    mkdirSync(folder)
    library = compileCrashes(root)
    await runCrash(
      library,
      `Library.open(path).kernel('fault_kernel')(tensor('f32', [1, 1]), tensor('i32', []), { which: 0 })`,
      {
        TENON_CRASH_REPORT: folder,
      },
    )
    file = join(folder, readdirSync(folder)[0]!)
  }, 60_000)

  test('has no names if the library is another one, and has them from a directory with files of the same build ID', async () => {
    const copy = join(directory, 'copy.json')
    const elsewhere = join(directory, 'elsewhere')
    const text = readFileSync(file, 'utf8')
    const buildId = /"library": "[^"]*libfaults\.so", .*?"buildId": "(\w+)"/.exec(text)![1]!
    // As on another machine, where the file does not exist, or is another one.
    writeFileSync(copy, text.replaceAll(library, '/nowhere/libfaults.so'))
    expect(await report(copy)).toMatch(/\n {2}at \? \(libfaults\.so\+/)
    mkdirSync(elsewhere)
    copyFileSync(library, join(elsewhere, 'libfaults.so'))
    expect(await report(copy, '--directory', elsewhere)).toContain('at leaf libfaults.so.c:')
    compileCrashes(elsewhere, '\nint different;')
    expect(await report(copy, '--directory', elsewhere)).toMatch(/\n {2}at \? \(libfaults\.so\+/)
    const byId = join(elsewhere, '.build-id', buildId.slice(0, 2))
    mkdirSync(byId, { recursive: true })
    copyFileSync(library, join(byId, `${buildId.slice(2)}.debug`))
    const { frames, sentence, call } = JSON.parse(await report(copy, '--json', '--directory', elsewhere)) as {
      sentence: string
      call: object
      frames: { function?: string; buildId?: string }[]
    }
    expect(sentence).toMatch(/^SIGSEGV writing at address 0x4, a null pointer \+ 4 in leaf \(libfaults\.so\.c:\d+\)$/)
    expect(frames[0]).toMatchObject({ function: 'leaf', buildId })
    expect(call).toMatchObject({ kernel: 'fault_kernel', types: ['float32[1, 1]', 'int32[]'] })
  })

  test('refuses what no crash has written', async () => {
    const content = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown> & Report
    const changed = join(directory, 'changed.json')
    const refusal = async (value: unknown): Promise<string> => {
      writeFileSync(changed, typeof value === 'string' ? value : JSON.stringify(value))
      const { code, stdout, stderr } = await runTenonHere(['report', changed], directory)
      expect([code, stdout]).toEqual([1, ''])
      return stderr.split('\n')[0]!
    }
    expect(await refusal('{')).toMatch(/the report must be JSON/)
    expect(await refusal([])).toMatch(/the report must be an object/)
    expect(await refusal({})).toMatch(/the report must be the format tenon-crash in version 1/)
    expect(await refusal({ ...content, frames: 4 })).toMatch(/frames must be a list of at most 64/)
    expect(await refusal({ ...content, frames: Array(65).fill(content.frames[0]) })).toMatch(
      /frames must be a list of at most 64/,
    )
    expect(await refusal({ ...content, frames: [null] })).toMatch(/frames\[0\] must be an object/)
    for (const [key, value] of [
      ['pc', '0x1g'],
      ['exact', 1],
      ['library', 'relative.so'],
      ['library', '/a\0b'],
      ['offset', 4],
      ['buildId', '../../etc'],
      ['identity', ''],
    ] as const)
      expect(await refusal({ ...content, frames: [{ ...content.frames[0], [key]: value }] })).toContain(
        `frames[0].${key} must be`,
      )
    for (const [key, value] of [
      ['kernel', '\u001b[2J'],
      ['kernel', 'k'.repeat(8169)],
      ['convention', 4],
      ['types', 'float32'],
      ['types', [4]],
      ['stack', ['\u009b']],
      ['stack', Array(8169).fill('')],
    ] as const)
      expect(await refusal({ ...content, call: { ...content.call, [key]: value } })).toContain(`call.${key}`)
    for (const [key, value] of [
      ['signal', '\u001b[2J'],
      ['address', 'x'],
      ['access', 'x'],
      ['stackOverflow', 'no'],
      ['exception', ' '],
      ['thread', '\n'],
      ['time', 1e300],
      ['process', -1],
      ['threadId', 0.5],
      ['tenon', ''],
      ['node', null],
      ['call', null],
    ] as const)
      expect(await refusal({ ...content, [key]: value })).toContain(`${key} must be`)
    expect(await refusal(' '.repeat((1 << 20) + 1))).toMatch(/must have at most 1048576 bytes/)
    symlinkSync('/dev/zero', join(directory, 'device'))
    expect((await runTenonHere(['report', 'device'], directory)).stderr).toMatch(/is not a file/)
    expect((await runTenonHere(['report', 'none'], directory)).stderr).toMatch(/there is no such file/)
  })

  test(
    'prints a report whose members were exchanged at random, or says which one is wrong',
    { timeout: 240_000 },
    async () => {
      const content = JSON.parse(readFileSync(file, 'utf8')) as unknown
      const changed = join(directory, 'changed.json')
      let printed = 0
      for (let round = 0; round < 300; round++) {
        writeFileSync(changed, JSON.stringify(mutate(content, random(round))))
        const { code, stdout, stderr } = await runTenonHere(['report', changed], directory)
        if (code === 0) printed++
        else expect([code, stdout, stderr]).toEqual([1, '', expect.stringMatching(/^tenon report: .* must be /)])
        expect(`${stdout}${stderr}`).not.toMatch(/[^\P{Cc}\n]/u)
      }
      expect(printed).toBeGreaterThan(10)
      expect(printed).toBeLessThan(290)
    },
  )
})

/** Numbers from 0 to 1 that are the same for a seed. */
function random(seed: number): () => number {
  let state = seed * 2_654_435_761 + 1
  return () => (state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0) / 2 ** 32
}

const STRANGE: readonly unknown[] = [
  null,
  '',
  0,
  -1,
  1e308,
  [],
  {},
  true,
  '0x0',
  '\u001b]0;x\u0007',
  'a'.repeat(5000),
  '0xffffffffffffffff',
]

/** Replaces one value of a document by another one, or removes it. */
function mutate(value: unknown, next: () => number): unknown {
  if (typeof value !== 'object' || value === null || next() < 0.1) return STRANGE[Math.floor(next() * STRANGE.length)]
  const entries = Object.entries(value)
  if (entries.length === 0) return STRANGE[0]
  const chosen = Math.floor(next() * entries.length)
  const [key, old] = entries[chosen]!
  const isRemoved = next() < 0.1
  if (Array.isArray(value)) return isRemoved ? value.toSpliced(chosen, 1) : value.with(chosen, mutate(old, next))
  const { [key]: _, ...rest } = value as Record<string, unknown>
  return isRemoved ? rest : { ...rest, [key]: mutate(old, next) }
}
