import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { install } from './kernel-project.ts'
import { type Finished, runTenon } from './run-tenon.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const slow = { timeout: 60_000 }

describe('a new package that binds a C library', () => {
  let workspace: string
  let directory: string
  let made: Finished

  beforeAll(() => {
    workspace = realpathSync(mkdtempSync(join(tmpdir(), 'tenon-binding-')))
    install(workspace)
    symlinkSync(join(root, 'packages/bind'), join(workspace, 'node_modules/@tenon/bind'))
    mkdirSync(join(workspace, 'node_modules/@types'))
    symlinkSync(join(root, 'node_modules/@types/node'), join(workspace, 'node_modules/@types/node'))
    directory = join(workspace, 'my-counters')
    made = runTenon(['new', 'binding', '@me/my-counters'], { cwd: workspace })
  })
  afterAll(() => rmSync(workspace, { recursive: true, force: true }))

  const edit = (file: string, from: string, to: string): void => {
    const text = readFileSync(join(directory, file), 'utf8')
    expect(text).toContain(from)
    writeFileSync(join(directory, file), text.replace(from, to))
  }

  /** The commands of a script of its package.json. */
  const script = (name: string): string => {
    const manifest = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as {
      scripts: Record<string, string>
    }
    return manifest.scripts[name]!
  }
  const compile = (): unknown => execFileSync('sh', ['-c', script('compile')], { cwd: directory })
  const bind = (...flags: string[]): Finished =>
    runTenon([...script('bind').split(' ').slice(1), ...flags], { cwd: directory })
  const runTests = (): { code: number | null; output: string } => {
    const { NODE_TEST_CONTEXT: _, ...env } = process.env
    const { status, stdout } = spawnSync(process.execPath, ['--test', 'test/counter.test.ts'], {
      cwd: directory,
      encoding: 'utf8',
      env,
    })
    return { code: status, output: stdout }
  }

  test('is made by tenon new binding, which says what to do next', () => {
    expect({ code: made.code, stderr: made.stderr }).toEqual({ code: 0, stderr: '' })
    expect(made.stdout).toContain('my-counters/src/counter.h\n')
    expect(made.stdout).toContain('next: cd my-counters && npm install && npm run build && npm test\n')
    expect(JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'))).toMatchObject({
      name: '@me/my-counters',
      files: ['dist'],
      os: [process.platform],
      cpu: [process.arch],
    })
    expect(runTenon(['new', 'bindings', 'x'], { cwd: workspace })).toMatchObject({ code: 2 })
  })

  test('is bound and passes its test, which imports it by its name', slow, () => {
    compile()
    expect(bind()).toMatchObject({ code: 0, stderr: expect.stringMatching(/^5 functions, 1 handle in/) as string })
    expect(runTests()).toMatchObject({ code: 0, output: expect.stringContaining('a counter adds up') as string })
  })

  test('has types with which its test compiles', slow, () => {
    const compiler = join(root, 'node_modules/typescript/bin/tsc')
    const { status, stdout } = spawnSync(process.execPath, [compiler], { cwd: directory, encoding: 'utf8' })
    expect({ status, stdout }).toEqual({ status: 0, stdout: '' })
  })

  test('is packed by npm with its library, and works where it is installed', slow, () => {
    const { status, stdout } = spawnSync('npm', ['pack', '--ignore-scripts', '--json'], {
      cwd: directory,
      encoding: 'utf8',
    })
    expect(status).toBe(0)
    const [packed] = JSON.parse(stdout) as [{ filename: string; files: { path: string }[] }]
    expect(packed.files.map(({ path }) => path)).toEqual([
      'README.md',
      'dist/index.d.ts',
      'dist/index.js',
      'dist/libmy_counters.so',
      'package.json',
    ])
    const installed = join(workspace, 'node_modules/@me/my-counters')
    for (const { path } of packed.files) {
      mkdirSync(dirname(join(installed, path)), { recursive: true })
      cpSync(join(directory, path), join(installed, path))
    }
    writeFileSync(
      join(workspace, 'use.mjs'),
      `import * as counters from '@me/my-counters'\nconst counter = counters.counter_open(2)\ncounters.counter_add(counter, 2)\nconsole.log(counters.counter_value(counter))`,
    )
    expect(spawnSync(process.execPath, ['use.mjs'], { cwd: workspace, encoding: 'utf8' }).stdout).toBe('2\n')
  })

  test('fails its check after a change of the header, and its test after a change of the library', slow, () => {
    edit('src/counter.h', 'int counter_value(', 'long counter_value(')
    expect(bind('--check')).toMatchObject({ code: 1, stdout: expect.stringContaining('~ counter_value') as string })
    edit('src/counter.h', 'long counter_value(', 'int counter_value(')
    expect(bind('--check').code).toBe(0)
    edit('src/counter.c', 'value += amount', 'value -= amount')
    compile()
    expect(runTests().code).toBe(1)
  })
})
