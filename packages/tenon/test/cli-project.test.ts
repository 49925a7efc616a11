import { spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { adding, install, makeProject, projectFiles } from './kernel-project.ts'
import { type Finished, runTenon } from './run-tenon.ts'
import { runTenonHere } from './run-tenon-here.ts'

const slow = { timeout: 120_000 }
const root = fileURLToPath(new URL('../../..', import.meta.url))

function emptyDirectory(): string {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'tenon-author-')))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

function project(...args: Parameters<typeof projectFiles>): string {
  const directory = makeProject(projectFiles(...args))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

const run = (cwd: string, ...args: string[]): Finished => runTenon(args, { cwd })

describe('a new package of kernels', () => {
  let workspace: string
  let directory: string
  let made: Finished
  const edit = (file: string, from: string, to: string): void => {
    const text = readFileSync(join(directory, file), 'utf8')
    expect(text).toContain(from)
    writeFileSync(join(directory, file), text.replace(from, to))
  }
  beforeAll(() => {
    workspace = realpathSync(mkdtempSync(join(tmpdir(), 'tenon-new-')))
    install(workspace)
    mkdirSync(join(workspace, 'node_modules/@types'))
    symlinkSync(join(root, 'node_modules/@types/node'), join(workspace, 'node_modules/@types/node'))
    directory = join(workspace, 'my-kernels')
    made = run(workspace, 'new', 'kernel', 'my-kernels')
  })
  afterAll(() => rmSync(workspace, { recursive: true, force: true }))

  test('is made by tenon new kernel, which says what to do next', () => {
    const { code, stdout, stderr } = made
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain('my-kernels/src/silu.c\n')
    expect(stdout).toContain('next: cd my-kernels && npm install && npx tenon build && npx tenon test\n')
    const again = run(workspace, 'new', 'kernel', 'my-kernels')
    expect(again.code).toBe(1)
    expect(again.stderr).toMatch(/must be empty or absent, but contains .*\nhint: Choose another name\./)
  })

  test('--json prints its folder and its files', () => {
    const { code, stdout, stderr } = run(workspace, 'new', 'kernel', '@me/others', '--json')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const { name, directory: folder, files } = JSON.parse(stdout) as Record<string, unknown>
    expect({ name, folder }).toEqual({ name: '@me/others', folder: join(workspace, 'others') })
    expect(files).toContain('src/silu.c')
  })

  test('is built, once', slow, () => {
    expect(run(directory, 'build')).toEqual({
      code: 0,
      stdout: 'build/release/libmy_kernels.so\ndist/index.js\ndist/index.d.ts\n',
      stderr: '',
    })
    expect(run(directory, 'build').stdout).toBe(
      'build/release/libmy_kernels.so (up to date)\ndist/index.js\ndist/index.d.ts\n',
    )
  })

  test('has types with which its own test compiles', slow, () => {
    const compiler = join(root, 'node_modules/typescript/bin/tsc')
    const { code, stdout } = runProgram(compiler, directory)
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
  })

  test('passes its test, and fails it after a change of the formula', slow, () => {
    const first = run(directory, 'test')
    expect({ code: first.code, stderr: first.stderr }).toEqual({ code: 0, stderr: '' })
    expect(first.stdout).toContain('silu multiplies each element with its logistic function')
    edit('src/silu.c', 'expf(-beta * from[i])', 'expf(beta * from[i])')
    const second = run(directory, 'test')
    expect(second.code).toBe(1)
    expect(second.stderr).toContain('tests of my-kernels failed')
    edit('src/silu.c', 'expf(beta * from[i])', 'expf(-beta * from[i])')
  })

  if (process.platform === 'linux') {
    test('finds writes past the end of a result and of an array with the variant asan', slow, () => {
      expect(run(directory, 'test', '--variant', 'asan').code).toBe(0)
      edit('src/silu.c', 'i < count', 'i <= count')
      const result = run(directory, 'test', '--variant', 'asan')
      expect(result.code).toBe(1)
      expect(result.stdout).toMatch(/silu wrote \d bytes? behind y/)
      edit('src/silu.c', 'i <= count', 'i < count')
      edit('src/silu.c', '  float *to', '  volatile float copy[2];\n  copy[count] = 0;\n  float *to')
      const array = run(directory, 'test', '--variant', 'asan')
      expect(array.code).toBe(1)
      expect(array.stdout + array.stderr).toMatch(/silu\.c:\d+(?::\d+)?: runtime error: index|stack-buffer-overflow/)
      edit('src/silu.c', '  volatile float copy[2];\n  copy[count] = 0;\n', '')
    })
  }

  test('says what is wrong in a signature, and which library is missing', slow, () => {
    edit('src/silu.c', '(x: f32[...s]) ->', '(x: f32[...s] ->')
    const { code, stderr } = run(directory, 'build')
    expect(code).toBe(1)
    expect(stderr).toContain('the signature of silu cannot be read: ')
    expect(stderr).toContain('hint: Correct the text of its TN_KERNEL or TN_SIGNATURE.')
    edit('src/silu.c', '(x: f32[...s] ->', '(x: f32[...s]) ->')
    edit('tenon.config.ts', `, libraries: ['m']`, '')
    edit('src/silu.c', 'expf(', 'erff(')
    expect(run(directory, 'build').stderr).toMatch(/hint: Add the library .* such as m for those of math\.h/)
    edit('src/silu.c', 'erff(', 'expf(')
    edit('tenon.config.ts', `sources: ['src/*.c']`, `sources: ['src/*.c'], libraries: ['m']`)
  })

  test('shows the warnings of the compiler, and stops at errors with the line', slow, () => {
    edit('src/silu.c', '  float *to', '  int unused;\n  float *to')
    const warned = run(directory, 'build')
    expect(warned.code).toBe(0)
    expect(warned.stderr).toContain('src/silu.c:')
    expect(warned.stderr).toContain('unused')
    edit('src/silu.c', '  int unused;\n', '  int unused\n')
    const failed = run(directory, 'build')
    expect(failed.code).toBe(1)
    expect(failed.stderr).toMatch(/src\/silu\.c:\d+:\d+: error: /)
    edit('src/silu.c', '  int unused\n', '')
  })
})

function runProgram(script: string, cwd: string): { code: number | null; stdout: string } {
  const { status, stdout } = spawnSync(process.execPath, [script], { cwd, encoding: 'utf8' })
  return { code: status, stdout }
}

describe('tenon build', () => {
  test('prints one JSON document with --json', slow, () => {
    const directory = project()
    const { code, stdout, stderr } = run(directory, 'build', '--json')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(JSON.parse(stdout)).toEqual({
      name: '@me/adders',
      version: '1.2.3',
      platforms: [
        {
          name: expect.stringMatching(/^linux-\w+-gnu$/) as string,
          variant: 'release',
          libraries: [{ name: 'adders', path: join(directory, 'build/release/libadders.so'), rebuilt: true }],
        },
      ],
      module: ['dist/index.js', 'dist/index.d.ts'],
    })
  })

  test('builds another variant beside the release build, which the module opens', slow, () => {
    const directory = project()
    expect(run(directory, 'build', '--variant', 'debug')).toMatchObject({ code: 0, stderr: '' })
    for (const variant of ['debug', 'release'])
      expect(existsSync(join(directory, `build/${variant}/libadders.so`))).toBe(true)
  })

  test('refuses two kernels of the same name, and a package without kernels', slow, () => {
    const two = project(
      {},
      '{ libraries: [{ name: "a", sources: ["src/one.c"] }, { name: "b", sources: ["src/one.c"] }] }',
    )
    expect(run(two, 'build')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('a and b both export add_one') as string,
    })
    const directory = project()
    for (const name of ['one', 'two']) writeFileSync(join(directory, `src/${name}.c`), 'extern int x;\n')
    expect(run(directory, 'build')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('Add a TN_SIGNATURE') as string,
    })
  })

  test.for<[args: string[], message: string]>([
    [['--target', 'linux'], '--target must be all or one of linux-x64-gnu, linux-arm64-gnu'],
    [['--variant', 'tsan'], '--variant must be one of release, debug, asan, got tsan'],
    [['--watch', '--json'], '--watch cannot be combined with --json'],
    [['--watch', '--target', 'all'], '--watch cannot be combined with --target'],
  ])('refuses %j', async ([args, message]) => {
    expect(await runTenonHere(['build', ...args], project())).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(message) as string,
    })
  })

  test('says what is missing in a folder that is no package of kernels', () => {
    const { code, stderr } = run(emptyDirectory(), 'build')
    expect(code).toBe(1)
    expect(stderr).toMatch(
      /has no tenon\.config\.ts\.\nhint: Run the command in the folder of a package of kernels, or make one/,
    )
  })
})

describe('tenon test', () => {
  test('runs programs in C, and shows why one failed', slow, () => {
    const directory = project(
      {},
      `{ libraries: [{ name: "adders", sources: ["src/*.c"] }],
         tests: [{ name: "good", sources: ["test/good.c"], uses: ["adders"] }, { name: "bad", sources: ["test/bad.c"] }] }`,
    )
    mkdirSync(join(directory, 'test'))
    const good = `void add_one(void *out, const void **in);
int main(void) { float x[4] = {1}, y[4]; const void *in[] = {x}; add_one(y, in); return y[0] == 2 ? 0 : 1; }`
    writeFileSync(join(directory, 'test/good.c'), good)
    writeFileSync(join(directory, 'test/bad.c'), '#include <stdio.h>\nint main(void) { puts("7 is not 8"); return 3; }')
    const { code, stdout, stderr } = run(directory, 'test')
    expect(code).toBe(1)
    expect(stdout).toBe('ok - good\nnot ok - bad: ended by exit code 3\n7 is not 8\n')
    expect(stderr).toContain('tests of @me/adders failed')
    writeFileSync(join(directory, 'test/one.test.js'), '')
    const printed = run(directory, 'test', '--json')
    expect(printed.code).toBe(1)
    expect(JSON.parse(printed.stdout)).toEqual({
      name: '@me/adders',
      variant: 'release',
      ok: false,
      programs: [
        { name: 'good', ok: true },
        { name: 'bad', ok: false, message: 'ended by exit code 3\n7 is not 8' },
      ],
      files: ['test/one.test.js'],
    })
    expect(printed.stderr).toContain('not ok - bad: ended by exit code 3\n7 is not 8\n')
    expect(printed.stderr).toMatch(/pass 1$/m)
  })

  test('refuses a package without tests', slow, () => {
    expect(run(project(), 'test')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/has no tests\.\nhint: Add test\/NAME\.test\.ts/) as string,
    })
  })
})

describe('the module of a checkout', () => {
  const use = (directory: string, environment: NodeJS.ProcessEnv = {}): Finished => {
    writeFileSync(
      join(directory, 'use.js'),
      `import { tensor } from 'tenon'; import { add_one } from './dist/index.js'
console.log(add_one(tensor('f32', [4], [1, 2, 3, 4])).toArray()[0])`,
    )
    const { status, stdout, stderr } = spawnSync(process.execPath, ['use.js'], {
      cwd: directory,
      env: { ...process.env, ...environment },
      encoding: 'utf8',
    })
    return { code: status, stdout, stderr }
  }

  test('opens the variant of TENON_BUILD_VARIANT, or the release build', slow, () => {
    const directory = project()
    run(directory, 'build', '--variant', 'debug')
    rmSync(join(directory, 'build/debug'), { recursive: true })
    expect(use(directory).stdout).toBe('2\n')
    const missing = use(directory, { TENON_BUILD_VARIANT: 'debug' })
    expect(missing.code).toBe(1)
    expect(missing.stderr).toContain(`build/debug/libadders.so has not been built`)
    expect(missing.stderr).toContain(`Run npx tenon build --variant debug in ${directory}.`)
    expect(use(directory, { TENON_BUILD_VARIANT: '../x' }).stderr).toContain(
      'TENON_BUILD_VARIANT must be one of release, debug, asan, got ../x',
    )
  })

  test('ignores what a watcher that was killed has left', slow, () => {
    const directory = project()
    run(directory, 'build')
    mkdirSync(join(directory, 'build/watch'))
    const left = { pid: 2147483646, libraries: { adders: '1/libadders.so' } }
    writeFileSync(join(directory, 'build/watch/current.json'), JSON.stringify(left))
    expect(use(directory).stdout).toBe('2\n')
    writeFileSync(join(directory, 'build/watch/current.json'), '{')
    expect(use(directory).stdout).toBe('2\n')
  })

  test('keeps its declarations as they are if nothing has changed', slow, () => {
    const directory = project()
    run(directory, 'build')
    const before = statSync(join(directory, 'dist/index.d.ts')).mtimeMs
    writeFileSync(join(directory, 'src/one.c'), adding('add_one', 5))
    run(directory, 'build')
    expect(statSync(join(directory, 'dist/index.d.ts')).mtimeMs).toBe(before)
    expect(use(directory).stdout).toBe('6\n')
  })
})

test('the commands need @tenon/build, and say how to install it', () => {
  const directory = emptyDirectory()
  // A copy of the command, beside which the package is not installed.
  const program = join(directory, 'node_modules/tenon/dist/cli.cjs')
  cpSync(fileURLToPath(new URL('../dist', import.meta.url)), join(program, '..'), { recursive: true })
  cpSync(fileURLToPath(new URL('../package.json', import.meta.url)), join(program, '../../package.json'))
  mkdirSync(join(directory, 'node_modules/@tenon'))
  for (const name of [
    'core',
    'custom-call',
    'packed-func',
    'pools',
    'isolate',
    'nnapi',
    'binary',
    'scope',
    'tstring',
    'tensorflow',
    'arrow',
    'weights',
  ])
    symlinkSync(join(root, 'packages', name), join(directory, 'node_modules/@tenon', name))
  const start = (cwd: string, command: readonly string[]): { status: number | null; stderr: string } =>
    spawnSync(process.execPath, [program, ...command], {
      cwd,
      env: { ...process.env, NODE_PATH: '' },
      encoding: 'utf8',
    })
  for (const command of [['build'], ['test'], ['pack'], ['publish'], ['new', 'kernel', 'x']]) {
    const { status, stderr } = start(directory, command)
    expect({ command, status }).toEqual({ command, status: 2 })
    expect(stderr).toContain(`tenon ${command[0]} needs @tenon/build, which is not installed`)
    // npx would run the tenon of this project again.
    expect(stderr).toContain('hint: Install it: npm install --save-dev @tenon/build')
  }
  expect(start(emptyDirectory(), ['new', 'kernel', 'x']).stderr).toContain(
    'hint: Run npx -p tenon -p @tenon/build tenon new kernel NAME.',
  )
})
