import { execFile, execFileSync } from 'node:child_process'
import { globSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { tensor } from '@tenon/core'
import { readBinary } from '@tenon/binary'
import { coreLibrary } from '@tenon/core/internal'
import { runScript } from '@tenon/core/testing'
import { testedNodes } from '@tenon/config/node-versions'
import { kernelLibrary } from '@tenon/kernels'
import { afterAll, describe, expect, test } from 'vitest'
import { root } from './reader.ts'
import { runTenon, tenonProgram } from './run-tenon.ts'

const page = readFileSync(join(root, 'docs/deployment.md'), 'utf8')
const directory = mkdtempSync(join(tmpdir(), 'tenon-deployment-'))
afterAll(() => rmSync(directory, { recursive: true }))

interface Manifest {
  readonly name: string
  readonly private?: boolean
  readonly engines?: { readonly node: string }
  readonly exports?: Readonly<Record<string, string | { readonly default: string }>>
}

/** The packages with modules, and their directories. */
const packages = globSync('packages/*/package.json', { cwd: root }).map((path) => ({
  at: join(root, dirname(path)),
  manifest: JSON.parse(readFileSync(join(root, path), 'utf8')) as Manifest,
}))

/** The built file of every entry. Programs are not entries. */
const entries = packages.flatMap(({ at, manifest }) =>
  Object.entries(manifest.exports ?? {}).flatMap(([entry, target]) =>
    typeof target === 'string' ? [] : [[`${manifest.name}${entry.slice(1)}`, join(at, target.default)] as const],
  ),
)

/** Runs Node.js with the versions of another runtime. */
function asRuntime(
  other: Readonly<Record<string, string>>,
  ...args: string[]
): Promise<{ code: number; stdout: string; stderr: string }> {
  const value = `{ ...process.versions, ...${JSON.stringify(other)} }`
  const versions = `Object.defineProperty(process, 'versions', { value: ${value} })`
  const preload = `data:text/javascript,${encodeURIComponent(versions)}`
  return promisify(execFile)(process.execPath, ['--import', preload, ...args]).then(
    (output) => ({ code: 0, ...output }),
    ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({ code, stdout, stderr }),
  )
}

const asNode = (version: string, ...args: string[]): ReturnType<typeof asRuntime> =>
  asRuntime({ node: version }, ...args)

/** Imports each entry, and prints its URL or the message of the error. */
const importEach = `for (const url of ${JSON.stringify(entries.map(([, path]) => pathToFileURL(path).href))})
  await import(url).then(() => console.log(url), ({ message }) => console.log(message))`

test.each([
  ['Bun', { bun: '1.3.99' }, '1.4', '1.3.99'],
  ['Bun', { bun: '0.9.0' }, '1.4', '0.9.0'],
  ['Deno', { deno: '2.8.3' }, '2.9', '2.8.3'],
  ['Deno', { deno: '1.99.0' }, '2.9', '1.99.0'],
])('%s with the version %o is refused by each entry in one sentence', async (name, other, oldest, version) => {
  const { stdout } = await asRuntime(other, '--input-type=module', '--eval', importEach)
  const sentence = `Tenon needs ${name} ${oldest} or later, got ${version}`
  expect(new Set(stdout.trim().split('\n'))).toEqual(new Set([sentence]))
})

describe('Node.js', () => {
  test('22.12 is needed by every package, and 22, 24 and 26 are tested', () => {
    expect(new Set(packages.map(({ manifest }) => manifest.engines?.node))).toEqual(new Set(['>=22.12']))
    expect(page).toContain(`22.12 or later; ${testedNodes.join(', ').replace(/, (\d+)$/, ' and $1')} are tested`)
  })

  test.each(['20.20.2', '18.0.0', '22.11.9'])('%s is refused by each entry in one sentence', async (version) => {
    const { stdout } = await asNode(version, '--input-type=module', '--eval', importEach)
    expect(new Set(stdout.trim().split('\n'))).toEqual(new Set([`Tenon needs Node.js 22.12 or later, got ${version}`]))
  })

  test('an older one is refused by the command with the sentence alone', async () => {
    expect(await asNode('20.20.2', tenonProgram, 'doctor')).toEqual({
      code: 1,
      stdout: '',
      stderr: 'Tenon needs Node.js 22.12 or later, got 20.20.2\n',
    })
    expect(await asNode('22.12.0', tenonProgram, '--version')).toMatchObject({ code: 0, stderr: '' })
  })
})

if (process.platform === 'linux') {
  test('the libraries need no others than Node.js does', () => {
    const built = dirname(coreLibrary().path)
    const shipped = readdirSync(built).filter((name) => /^(lib(tenon|tvm).*\.so|tenon\.node|tenon-host)$/.test(name))
    const own = new Set(shipped)
    const needed = shipped.flatMap((name) => readBinary(join(built, name)).needed).filter((name) => !own.has(name))
    const sanitizers = /^lib[atu]b?san\.so/
    const names = needed.filter((name) => !sanitizers.test(name)).map((name) => name.replace(/^(ld-linux).*/, '$1'))
    expect([...new Set(names)].toSorted()).toEqual(
      ['ld-linux', 'libc.so.6', 'libdl.so.2', 'libgcc_s.so.1', 'libm.so.6', 'libpthread.so.0', 'libstdc++.so.6'].filter(
        // glibc 2.34 has libdl and libpthread in libc.so.6, and a sanitizer has what others import from ld-linux.
        (name) => !/^(lib(dl|pthread)|ld-linux)/.test(name) || names.includes(name),
      ),
    )
  })
}

test('koffi loads without its install script, which this repository does not allow', async () => {
  expect(readFileSync(join(root, 'pnpm-workspace.yaml'), 'utf8')).toMatch(
    /^allowBuilds:\n(?: .*\n)*? {2}koffi: false$/m,
  )
  const source = `import { driverInfo } from '@tenon/core'; console.log(driverInfo().kind)`
  const { stdout } = await runScript(source, { cwd: join(root, 'packages/core'), env: { TENON_DRIVER: 'koffi' } })
  expect(stdout).toBe('koffi\n')
})

test('every entry of the umbrella can be loaded with require()', () => {
  // The entry of driver processes runs one.
  const names = entries.map(([name]) => name).filter((name) => /^tenon(\/(?!(?:pools|nnapi)\/driver)|$)/.test(name))
  expect(names.length).toBeGreaterThan(10)
  const source = `for (const name of ${JSON.stringify(names)}) if (Object.keys(require(name)).length === 0) throw new Error(name)`
  execFileSync(process.execPath, ['--input-type=commonjs', '--eval', source], { cwd: join(root, 'packages/tenon') })
})

test('a tensor cannot be posted to a worker', () => {
  expect(() => structuredClone(tensor([1, 2]))).toThrow('could not be cloned')
})

if (process.platform === 'linux') {
  test('shared memory without a name takes no room in /dev/shm', async () => {
    const source = `
      import { readdirSync, readlinkSync } from 'node:fs'
      import { SharedMemory } from 'tenon/pools'
      const before = readdirSync('/dev/shm').length
      const memory = SharedMemory.open()
      memory.allocate(4096)
      const links = readdirSync('/proc/self/fd').map((fd) => { try { return readlinkSync('/proc/self/fd/' + fd) } catch { return '' } })
      console.log(readdirSync('/dev/shm').length - before, links.some((link) => link.startsWith('/memfd:')))
      memory.close()`
    const { stdout, stderr } = await runScript(source, { cwd: join(root, 'packages/tenon') })
    expect([stdout, stderr]).toEqual(['0 true\n', ''])
  })
}

test('a program that may write to no file calls kernels', async () => {
  const source = `
    import { Library, tensor } from 'tenon'
    const softmax = Library.open(${JSON.stringify(kernelLibrary('softmax'))}).kernel('softmax')
    console.log(softmax(tensor([[1, 1]])).toArray().join(' '))
    try { (await import('node:fs')).writeFileSync(${JSON.stringify(join(directory, 'x'))}, '') } catch ({ code }) { console.log(code) }`
  const nodeOptions = ['--permission', '--allow-addons', '--allow-fs-read=*', '--no-warnings']
  const { stdout, stderr } = await runScript(source, { cwd: join(root, 'packages/tenon'), nodeOptions })
  expect([stdout, stderr]).toEqual(['0.5 0.5\nERR_ACCESS_DENIED\n', ''])
})

describe('packages that commands find from the working directory', () => {
  test.each([
    ['@tenon/build', ['build']],
    ['@tenon/serve', ['serve', '.']],
  ])('the command of %s runs that of the project in the working directory', (name, args) => {
    const project = mkdtempSync(join(directory, 'project-'))
    const found = join(project, 'node_modules', name)
    mkdirSync(found, { recursive: true })
    writeFileSync(
      join(found, 'package.json'),
      JSON.stringify({ name, version: '9.9.9', exports: { '.': './index.js', './internal': './index.js' } }),
    )
    writeFileSync(join(found, 'index.js'), `console.log('code of the project')\nprocess.exit(7)`)
    expect(runTenon(args, { cwd: project })).toMatchObject({ code: 7, stdout: 'code of the project\n' })
  })

  test('tenon build runs tenon.config.ts of the working directory', () => {
    const project = mkdtempSync(join(directory, 'project-'))
    writeFileSync(join(project, 'package.json'), '{ "name": "x", "version": "1.0.0", "type": "module" }')
    writeFileSync(join(project, 'tenon.config.js'), `console.log('code of the project')\nprocess.exit(7)`)
    expect(runTenon(['build'], { cwd: project })).toMatchObject({ code: 7, stdout: 'code of the project\n' })
  })
})

test('every variable that the sources read is on the page on deployment or in SECURITY.md', () => {
  const sources = globSync('packages/*/{src,csrc}/**/*.{ts,c}', {
    cwd: root,
    exclude: (name) => /fixture|test/.test(name),
  })
  const read = /(?:env(?:ironment)?(?:\.|\[')|[{,] ?|getenv\("|libraryOfEnvironment\(')(TENON_[A-Z_]+)(?=['":,} ])/g
  const variables = new Set(
    sources.flatMap((path) => [...readFileSync(join(root, path), 'utf8').matchAll(read)].map(([, name]) => name!)),
  )
  expect(variables).toContain('TENON_CACHE_DIR')
  const documented = page + readFileSync(join(root, 'SECURITY.md'), 'utf8')
  expect([...variables].filter((name) => !documented.includes(`\`${name}`))).toEqual([])
})

// Workers need Linux.
if (process.platform === 'linux')
  test('a program that may start no process starts no worker, and hints name the flags that are missing', async () => {
    const source = `
      import { Library, tensor } from 'tenon'
      try {
        await using library = await Library.isolate(${JSON.stringify(kernelLibrary('softmax'))})
        console.log(library.kernel('softmax')(tensor([[1, 1]])).toArray().join(' '))
      } catch ({ name, hint }) { console.log(name, hint) }`
    const run = async (...flags: string[]): Promise<string> => {
      const nodeOptions = ['--permission', '--allow-fs-read=*', '--no-warnings', ...flags]
      return (await runScript(source, { cwd: join(root, 'packages/tenon'), nodeOptions })).stdout
    }
    expect(await run('--allow-addons')).toBe('UnsupportedError Start Node.js with --allow-child-process.\n')
    expect(await run('--allow-addons', '--allow-child-process')).toBe('0.5 0.5\n')
    expect(await run('--allow-child-process')).toContain('LoadError Start Node.js with --allow-addons')
  })
