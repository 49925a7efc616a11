import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import type { LoadError } from '@tenon/core'
import { coreLibrary, lastError, statusName } from '@tenon/core/internal'
import { runScript, type ScriptResult } from '@tenon/core/testing'
import { candidates, corePackage, libraryFileName } from '../src/native/locate.ts'
import { STATUS } from '../src/generated/status.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const directory = mkdtempSync(join(tmpdir(), 'tenon-core-'))
afterAll(() => rmSync(directory, { recursive: true }))

const run = (source: string, env: Record<string, string> = {}): Promise<ScriptResult> =>
  runScript(source, { cwd: root, env, nodeOptions: ['--conditions=@tenon/source', '--no-warnings'] })

const load = `
  import { coreLibrary } from '@tenon/core/internal'
  try { console.log(JSON.stringify({ path: coreLibrary().path })) }
  catch (error) { console.log(JSON.stringify({ name: error.name, sentence: error.sentence, hint: error.hint })) }
`

/** Another installed copy of this package, in another version. */
function secondCopy(version: string): { entry: string; library: string; directory: string } {
  const copy = mkdtempSync(join(directory, 'copy-'))
  cpSync(join(root, 'src'), join(copy, 'src'), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as object
  writeFileSync(join(copy, 'package.json'), JSON.stringify({ ...manifest, version }))
  // A checkout loads its build.
  writeFileSync(join(copy, 'native.targets.ts'), '')
  const built = dirname(coreLibrary().path)
  const variant = basename(built)
  cpSync(built, join(copy, 'build', variant), { recursive: true })
  const library = join(copy, 'build', variant, libraryFileName('tenon'))
  const bytes = readFileSync(library)
  const old = Buffer.from(`\0${coreLibrary().version}\0`)
  const at = bytes.indexOf(old)
  expect(at).toBeGreaterThan(0)
  Buffer.from(`\0${version}\0`).copy(bytes, at)
  writeFileSync(library, bytes)
  return { entry: join(copy, 'src', 'internal.ts'), library, directory: copy }
}

test('importing the package loads nothing', async () => {
  const { stdout, code } = await run(`
    import { readFileSync } from 'node:fs'
    import '@tenon/core'
    import '@tenon/core/internal'
    const maps = readFileSync('/proc/self/maps', 'utf8')
    console.log(/koffi[.]node/.test(maps), /libtenon/.test(maps))
  `)
  expect([stdout, code]).toEqual(['false false\n', 0])
})

describe('the place of the library', () => {
  test('is the build of the workspace, then the platform package', () => {
    const places = [...candidates({})]
    expect(places[0]).toEqual({
      path: join(corePackage().directory, 'build', 'release', libraryFileName('tenon')),
      origin: 'workspace build',
    })
    expect(places[1]).toMatchObject({ origin: 'platform package' })
    expect(places[1]!.path).toContain(join('lib', libraryFileName('tenon')))
    expect([...candidates({ TENON_VARIANT: 'asan' })][0]!.path).toContain(join('build', 'asan'))
  })

  test('is only what TENON_CORE_LIBRARY names, if it is set', () => {
    expect([...candidates({ TENON_CORE_LIBRARY: '/x.so' })]).toEqual([{ path: '/x.so', origin: 'TENON_CORE_LIBRARY' }])
    expect([...candidates({ TENON_CORE_LIBRARY: '' })]).toHaveLength(2)
  })

  test('is named in the error, with what the loader said', async () => {
    const missing = JSON.parse((await run(load, { TENON_CORE_LIBRARY: '/nowhere/libtenon.so' })).stdout) as LoadError
    expect(missing.name).toBe('LoadError')
    expect(missing.sentence).toContain('/nowhere/libtenon.so (TENON_CORE_LIBRARY): no such file')
    expect(missing.hint).toContain('TENON_CORE_LIBRARY')
    const text = join(directory, 'text.so')
    writeFileSync(text, 'hello')
    const refused = JSON.parse((await run(load, { TENON_CORE_LIBRARY: text })).stdout) as LoadError
    expect(refused.sentence).toMatch(/text\.so \(TENON_CORE_LIBRARY\): .*(invalid ELF header|file too short)/)
  })
})

test('another ABI version is refused', async () => {
  const source = join(directory, 'abi.c')
  const library = join(directory, 'abi.so')
  writeFileSync(source, 'unsigned tn_abi_version(void) { return 99; }\n')
  execFileSync(process.env['CC'] ?? 'cc', ['-shared', '-fPIC', '-o', library, source])
  const { sentence } = JSON.parse((await run(load, { TENON_CORE_LIBRARY: library })).stdout) as LoadError
  expect(sentence).toMatch(/must have ABI version 1, got 99/)
})

test('a core without its exception guard is refused', async () => {
  const library = join(mkdtempSync(join(directory, 'alone-')), libraryFileName('tenon'))
  cpSync(coreLibrary().path, library)
  const { sentence } = JSON.parse((await run(load, { TENON_CORE_LIBRARY: library })).stdout) as LoadError
  expect(sentence).toMatch(/the exception guard must be beside the native core/)
})

describe('two copies of the package', () => {
  const report = `.then((core) => console.log(core.coreLibrary().path)).catch((error) => console.log(error.sentence))`

  test('of different versions are refused, naming both', async () => {
    const copy = secondCopy('9.9.9')
    const { stdout } = await run(`
      import { coreLibrary } from '@tenon/core/internal'
      coreLibrary()
      await import(${JSON.stringify(copy.entry)})${report}
    `)
    expect(stdout).toContain(`a process must have one version of @tenon/core, got ${corePackage().version} at`)
    expect(stdout).toContain(`9.9.9 at ${copy.directory}`)
  })

  test('of different versions are refused in different threads too', async () => {
    const copy = secondCopy('9.9.9')
    const { stdout } = await run(`
      import { Worker } from 'node:worker_threads'
      import { coreLibrary } from '@tenon/core/internal'
      coreLibrary()
      new Worker(${JSON.stringify(`import(${JSON.stringify(copy.entry)})${report}`)}, { eval: true })
    `)
    expect(stdout).toContain(`${corePackage().version} at ${coreLibrary().path} and 9.9.9 at ${copy.library}`)
  })

  test('of one version share one native core', async () => {
    const copy = secondCopy(corePackage().version)
    const { stdout } = await run(`
      import { coreLibrary } from '@tenon/core/internal'
      const { path } = coreLibrary()
      const other = await import(${JSON.stringify(copy.entry)})
      console.log(other.coreLibrary().path === path)
    `)
    expect(stdout).toBe('true\n')
  })

  test('of one version share one native core in different threads too', async () => {
    const copy = secondCopy(corePackage().version)
    const worker = `
      import(${JSON.stringify(copy.entry)}).then(({ coreFunctions, makeStub }) => {
        const stub = makeStub({ result: 'void', parameters: [] }, () => undefined, {}, 'the result')
        console.log(coreFunctions().tn_environment_id())
        stub.close()
      })
    `
    // koffi binds the library of each copy.
    const { stdout, stderr } = await run(
      `
      import { Worker } from 'node:worker_threads'
      import { coreFunctions, threadDriver } from '@tenon/core/internal'
      threadDriver()
      console.log(coreFunctions().tn_environment_id())
      new Worker(${JSON.stringify(worker)}, { eval: true })
    `,
      { TENON_DRIVER: '' },
    )
    expect([stdout, stderr]).toEqual(['1\n2\n', ''])
  })
})

describe('workers', () => {
  test('load the core, use it and end, many times', async () => {
    const { stdout, code, signal, stderr } = await run(`
      import { Worker } from 'node:worker_threads'
      const source = \`
        import('@tenon/core/internal').then(({ coreLibrary, Callback }) => { coreLibrary(); new Callback(() => {}) })
      \`
      let ended = 0
      for (let i = 0; i < 6; i++) {
        const worker = new Worker(source, { eval: true })
        await new Promise((resolve) => worker.on('exit', (code) => { ended += code === 0 ? 1 : 0; resolve() }))
      }
      console.log(ended)
    `)
    expect([stdout, code, signal, stderr]).toEqual(['6\n', 0, null, ''])
  })

  test('may be terminated while they have callbacks', async () => {
    const { stdout, signal, stderr } = await run(`
      import { Worker } from 'node:worker_threads'
      const source = \`
        Promise.all([import('node:worker_threads'), import('@tenon/core/internal')]).then(([{ parentPort }, { Callback }]) => {
          globalThis.kept = Array.from({ length: 100 }, () => new Callback(() => {}))
          parentPort.postMessage('ready')
          setInterval(() => {}, 1000)
        })
      \`
      for (let i = 0; i < 5; i++) {
        const worker = new Worker(source, { eval: true })
        await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject))
        await worker.terminate()
      }
      console.log('done')
    `)
    expect([stdout, signal, stderr]).toEqual(['done\n', null, ''])
  })
})

test('the status table of TypeScript is the one of C', () => {
  for (const [name, { value }] of Object.entries(STATUS)) expect(statusName(value)).toBe(name)
  expect(statusName(-999)).toBe('status -999')
})

test('a failing call leaves its message', () => {
  expect(coreLibrary().functions.tn_callback_invoke(0, 0, 0)).toBe(-1)
  expect(lastError()).toBe('callback must not be null')
})
