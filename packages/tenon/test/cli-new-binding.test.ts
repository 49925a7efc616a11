import { spawn, spawnSync } from 'node:child_process'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { hostPlatformName } from '@tenon/binary'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { adding, install } from './kernel-project.ts'
import { type Finished, runTenon, tenonProgram } from './run-tenon.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const slow = { timeout: 120_000 }
const here = hostPlatformName()

/** A folder in which the packages of this repository are installed. */
function makeWorkspace(): string {
  const workspace = realpathSync(mkdtempSync(join(tmpdir(), 'tenon-binding-')))
  install(workspace)
  symlinkSync(join(root, 'packages/bind'), join(workspace, 'node_modules/@tenon/bind'))
  mkdirSync(join(workspace, 'node_modules/@types'))
  symlinkSync(join(root, 'node_modules/@types/node'), join(workspace, 'node_modules/@types/node'))
  return workspace
}

/** Copies the packages that `tenon pack` has written to where npm installs them. */
function installPacked(workspace: string, directory: string): void {
  const packed = join(directory, 'dist/npm')
  for (const folder of readdirSync(packed)) {
    const { name } = JSON.parse(readFileSync(join(packed, folder, 'package.json'), 'utf8')) as { name: string }
    cpSync(join(packed, folder), join(workspace, 'node_modules', name), { recursive: true })
  }
}

function runProgram(workspace: string, text: string): { code: number | null; stdout: string; stderr: string } {
  writeFileSync(join(workspace, 'use.mjs'), text)
  const { status, stdout, stderr } = spawnSync(process.execPath, ['use.mjs'], { cwd: workspace, encoding: 'utf8' })
  return { code: status, stdout, stderr }
}

describe('a new package that binds a C library', () => {
  let workspace: string
  let directory: string
  let made: Finished

  beforeAll(() => {
    workspace = makeWorkspace()
    directory = join(workspace, 'my-counters')
    made = runTenon(['new', 'binding', '@me/my-counters'], { cwd: workspace })
  })
  afterAll(() => rmSync(workspace, { recursive: true, force: true }))

  const edit = (file: string, from: string, to: string): void => {
    const text = readFileSync(join(directory, file), 'utf8')
    expect(text).toContain(from)
    writeFileSync(join(directory, file), text.replace(from, to))
  }
  const run = (...args: string[]): Finished => runTenon(args, { cwd: directory })

  test('is made by tenon new binding, which says what to do next', () => {
    expect({ code: made.code, stderr: made.stderr }).toEqual({ code: 0, stderr: '' })
    expect(made.stdout).toContain('my-counters/src/counter.h\n')
    expect(made.stdout).toContain('next: cd my-counters && npm install && npx tenon build && npx tenon test\n')
    expect(runTenon(['new', 'bindings', 'x'], { cwd: workspace })).toMatchObject({ code: 2 })
  })

  test('is built with its module, and passes its test, which imports it by its name', slow, () => {
    expect(run('build')).toEqual({
      code: 0,
      stdout: 'build/release/libmy_counters.so\ndist/index.js\ndist/index.d.ts\n',
      stderr: '5 functions, 1 handle\n',
    })
    const { code, stdout } = run('test')
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('a counter adds up') as string })
  })

  test('has types with which its test compiles', slow, () => {
    const compiler = join(root, 'node_modules/typescript/bin/tsc')
    const { status, stdout } = spawnSync(process.execPath, [compiler], { cwd: directory, encoding: 'utf8' })
    expect({ status, stdout }).toEqual({ status: 0, stdout: '' })
  })

  test('lists the declarations that are not in its module', slow, () => {
    edit('src/counter.h', '#endif', '#define COUNTER_NEXT(x) ((x) + 1)\n#endif')
    expect(run('build', '--report')).toEqual({
      code: 0,
      stdout: 'counter.h:22 COUNTER_NEXT: function-like macro: annotate its types\n',
      stderr: '5 functions, 1 handle; 1 not bound (--report lists them)\n',
    })
    edit('src/counter.h', '#define COUNTER_NEXT(x) ((x) + 1)\n', '')
    expect(run('build', '--report', '--json')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(
        '--report needs a binding in tenon.config.ts, and no --target and --json',
      ) as string,
    })
  })

  test('is packed with a package for its platform, published, and works where both are installed', slow, () => {
    expect(run('pack')).toMatchObject({ code: 0, stderr: expect.stringContaining('5 functions, 1 handle\n') as string })
    expect(run('publish', '--dry-run')).toMatchObject({
      code: 0,
      stdout: `@me/my-counters-${here}@0.1.0: 4 files, checked\n@me/my-counters@0.1.0: 4 files, checked\n`,
    })
    installPacked(workspace, directory)
    const use = `import * as counters from '@me/my-counters'
const counter = counters.counter_open(2)
counters.counter_add(counter, 2)
console.log(counters.counter_value(counter))`
    expect(runProgram(workspace, use)).toEqual({ code: 0, stdout: '2\n', stderr: '' })
    // The module is imported before its library is needed.
    rmSync(join(workspace, `node_modules/@me/my-counters-${here}`), { recursive: true })
    const { code, stdout, stderr } = runProgram(
      workspace,
      use.replace('const counter', "console.log('imported')\nconst counter"),
    )
    expect({ code, stdout }).toEqual({ code: 1, stdout: 'imported\n' })
    expect(stderr).toContain(`no platform package of @me/my-counters is installed`)
  })

  test('is bound again while tenon build --watch runs, and programs of node --watch start again', slow, async () => {
    writeFileSync(
      join(directory, 'use.mjs'),
      `import * as counters from '@me/my-counters'
const counter = counters.counter_open(9)
counters.counter_add(counter, 2)
console.log('value', counters.counter_value(counter), typeof counters.counter_more)
setInterval(() => {}, 1000)`,
    )
    const start = (...args: string[]): (() => string) => {
      const child = spawn(process.execPath, args, { cwd: directory })
      let output = ''
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (data: Buffer) => (output += data.toString()))
      onTestFinished(() => void child.kill())
      return () => output
    }
    const prints = (output: () => string, text: string): Promise<void> =>
      expect.poll(output, { timeout: 20_000 }).toContain(text)
    const watcher = start(tenonProgram, 'build', '--watch')
    await prints(watcher, 'build/watch/1/libmy_counters.so')
    const program = start('--watch', 'use.mjs')
    await prints(program, 'value 2 undefined')
    edit('src/counter.c', 'value += amount', 'value += 2 * amount')
    await prints(program, 'value 4 undefined')
    edit('bind.json', '"tenon": 1', '"tenon": 2')
    await prints(watcher, 'the annotation tenon must be 1, got 2')
    edit('bind.json', '"tenon": 2', '"tenon": 1')
    await prints(watcher, 'as before')
    edit('src/counter.c', 'int counter_value', 'int counter_more(void) { return 1; }\nint counter_value')
    edit('src/counter.h', '#endif', 'int counter_more(void);\n#endif')
    await prints(program, 'value 4 function')
  })

  test('names the kernels of its libraries, which its module does not export', slow, () => {
    writeFileSync(join(directory, 'src/add.c'), adding('add_one', 1))
    expect(run('build').stderr).toContain(
      'left out, because the package exports the functions of its binding, and no kernels: add_one\n',
    )
    rmSync(join(directory, 'src/add.c'))
  })

  test('says what is wrong in a header and in annotations', slow, () => {
    edit('src/counter.h', 'int counter_add(', 'int counter_add((')
    expect(run('build')).toMatchObject({ code: 1, stderr: expect.stringContaining('counter.h:11') as string })
    edit('src/counter.h', 'int counter_add((', 'int counter_add(')
    edit('bind.json', '"counter_add"', '"counter_ad"')
    expect(run('build')).toMatchObject({ code: 1, stderr: expect.stringContaining('counter_add') as string })
    edit('bind.json', '"counter_ad"', '"counter_add"')
  })
})

describe('a package that binds a library of the system', () => {
  test('has no platform packages, and a module that names the library of its system', slow, () => {
    const workspace = makeWorkspace()
    onTestFinished(() => rmSync(workspace, { recursive: true, force: true }))
    const directory = join(workspace, 'my-math')
    const write = (path: string, text: string): void => {
      mkdirSync(join(directory, path, '..'), { recursive: true })
      writeFileSync(join(directory, path), text)
    }
    write('package.json', '{ "name": "my-math", "version": "1.0.0", "type": "module" }')
    write('README.md', '# My math\n')
    write('include/my-math.h', 'double floor(double x);\ndouble not_there(double x);\n')
    write(
      'tenon.config.ts',
      `export default {
  binding: { headers: ['my-math.h'], includes: ['include'], systemLibraries: ['linux=libm.so.6', 'darwin=libm.dylib'] },
}\n`,
    )
    const run = (...args: string[]): Finished => runTenon(args, { cwd: directory })
    expect(run('build')).toEqual({
      code: 0,
      stdout: 'dist/index.js\ndist/index.d.ts\n',
      stderr: '1 function; 1 not bound (--report lists them)\n',
    })
    expect(run('pack')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^dist\/npm\/my-math {2}.* kB\n$/) as string,
    })
    expect(run('publish', '--dry-run')).toMatchObject({
      code: 0,
      stdout: 'my-math@1.0.0: 4 files, checked\n',
      stderr: '',
    })
    const manifest = JSON.parse(readFileSync(join(directory, 'dist/npm/my-math/package.json'), 'utf8')) as object
    expect(manifest).not.toHaveProperty('optionalDependencies')
    installPacked(workspace, directory)
    const use = `import { floor, library } from 'my-math'\nconsole.log(floor(3.5), String(library))`
    expect(runProgram(workspace, use)).toMatchObject({ code: 0, stdout: '3 NativeModule of libm.so.6\n' })
  })
})
