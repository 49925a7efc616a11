import { kernelLibrary } from '@tenon/kernels'
import { coreLibrary, runtime } from '@tenon/core/internal'
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { DoctorFacts } from '../src/cli/doctor-facts.ts'
import { problemsOf, type Problem } from '../src/cli/doctor-problems.ts'
import { doctorText, sizeText } from '../src/cli/doctor-text.ts'
import { libcOf } from '../src/cli/system-facts.ts'
import type { Style } from '../src/cli/terminal.ts'
import { runTenon, tenonCommand, tenonProgram, type Finished } from './run-tenon.ts'

/** Variables of the tests themselves would be findings. */
const clean = { TENON_DRIVER: undefined, TENON_THREADS: undefined, TENON_EXIT_WAIT: undefined }

const doctor = (environment: NodeJS.ProcessEnv = {}, ...args: string[]): Finished =>
  runTenon(['doctor', ...args], { environment: { ...clean, ...environment } })

type Report = DoctorFacts & { readonly problems: readonly Problem[] }

function report(environment: NodeJS.ProcessEnv = {}, ...args: string[]): { code: number | null; report: Report } {
  const { code, stdout, stderr } = doctor(environment, '--json', ...args)
  expect(stderr).toBe('')
  return { code, report: JSON.parse(stdout) as Report }
}

const errorsOf = ({ problems }: Report): string[] =>
  problems.filter(({ level }) => level === 'error').map(({ text }) => text)

describe('tenon doctor', () => {
  test('prints the parts of a working installation, and exits with 0', () => {
    const { code, stdout, stderr } = doctor()
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toMatch(/^tenon \d+\.\d+\.\d+/)
    expect(stdout).toContain(`${runtime.version} (${process.execPath})`)
    expect(stdout.split('\n')[1]?.trim().startsWith(runtime.name)).toBe(true)
    expect(stdout).toContain(`${process.platform} ${process.arch}`)
    expect(stdout).toContain(`${coreLibrary().path} (`)
    expect(stdout).toMatch(/calls +(node-api|koffi), /)
    expect(stdout).toMatch(/threads +at most \d+, 0 calls run, 0 wait/)
    expect(stdout).not.toContain('error:')
  })

  test('--json prints the same as one document', () => {
    const { code, report: found } = report()
    expect([code, errorsOf(found)]).toEqual([0, []])
    expect(found.runtime).toMatchObject({ name: runtime.name, version: runtime.version, path: process.execPath })
    expect(found.runtime.required).toBe(runtime.name === 'Node.js' ? '>=22.12' : undefined)
    expect(found.core).toMatchObject({ path: coreLibrary().path, abiVersion: 1 })
    expect(found.driver).toMatchObject({ stubs: { live: 0, dead: 0, refused: 0 }, threads: { running: 0, queued: 0 } })
    if (process.platform !== 'linux') return
    expect(found.system.libc?.name).toMatch(/^(glibc|musl)$/)
    expect(found.system.limits.openFiles?.soft).toBeGreaterThan(0)
    expect(found.system.limits.mappings).toBeGreaterThan(0)
  })

  test('a core that does not exist is an error with a fix, and the exit code is 1', () => {
    const path = join(tmpdir(), 'nowhere', 'libtenon.so')
    const { code, stdout, stderr } = doctor({ TENON_CORE_LIBRARY: path })
    expect([code, stderr]).toEqual([1, ''])
    expect(stdout).toMatch(/core +not loaded/)
    expect(stdout).toMatch(/TENON_CORE_LIBRARY +\S+libtenon.so/)
    expect(stdout).toContain(`${path} (TENON_CORE_LIBRARY): no such file`)
    expect(stdout).toContain('fix: Install @tenon/core-')
  })

  test('a file that is not a core is an error', () => {
    const { code, report: found } = report({ TENON_CORE_LIBRARY: tenonProgram })
    expect(code).toBe(1)
    expect(errorsOf(found)[0]).toContain('the native core of Tenon could not be loaded')
  })

  test.each([
    ['TENON_DRIVER', 'nonsense', 'TENON_DRIVER must be'],
    ['TENON_THREADS', '0', 'TENON_THREADS must be an integer from 1 to 1024, got "0"'],
    ['TENON_THREADS', 'many', 'TENON_THREADS must be an integer from 1 to 1024, got "many"'],
    ['TENON_EXIT_WAIT', 'soon', 'TENON_EXIT_WAIT must be'],
  ])('%s=%s is an error', (name, value, text) => {
    const { code, report: found } = report({ [name]: value })
    expect(code).toBe(1)
    expect(errorsOf(found)).toHaveLength(1)
    expect(errorsOf(found)[0]).toContain(text)
    expect(found.environment[name]).toBe(value)
    const { stdout } = doctor({ [name]: value })
    expect(stdout).toMatch(/error: .+\n {2}fix: .+\./)
  })

  test('TENON_THREADS is the limit of threads', () => {
    const { report: found } = report({ TENON_THREADS: '7' })
    expect(found.driver).toMatchObject({ threads: { limit: 7 } })
  })

  test('TENON_DRIVER=koffi is not a problem', () => {
    const { code, report: found } = report({ TENON_DRIVER: 'koffi' })
    expect([code, errorsOf(found)]).toEqual([0, []])
    expect(found.driver).toMatchObject({ kind: 'koffi', reason: expect.stringContaining('TENON_DRIVER') as string })
    expect(found.problems.filter(({ text }) => text.includes('koffi'))).toEqual([])
  })

  describe('with a copy of the core', () => {
    let directory: string
    beforeAll(() => {
      directory = mkdtempSync(join(tmpdir(), 'tenon-doctor-'))
      const from = dirname(coreLibrary().path)
      const libraries = readdirSync(from).filter((name) => /\.(so|dylib|dll)$/.test(name))
      for (const name of libraries) copyFileSync(join(from, name), join(directory, name))
    })
    afterAll(() => rmSync(directory, { recursive: true }))

    test('a missing tenon.node is a warning, because calls go through koffi', () => {
      const core = join(directory, coreLibrary().path.slice(dirname(coreLibrary().path).length + 1))
      const { code, report: found } = report({ TENON_CORE_LIBRARY: core })
      expect(code).toBe(0)
      expect(found.core).toMatchObject({ path: core, origin: 'TENON_CORE_LIBRARY' })
      expect(found.driver).toMatchObject({ kind: 'koffi', reason: expect.stringContaining('tenon.node') as string })
      expect(found.problems).toContainEqual({
        level: 'warning',
        text: expect.stringContaining('called through koffi') as string,
        fix: 'Install @tenon/core and its platform package in the same version.',
      })
      expect(errorsOf(report({ TENON_CORE_LIBRARY: core, TENON_DRIVER: 'node-api' }).report)[0]).toContain('tenon.node')
    })
  })

  if (process.platform !== 'win32') {
    test('a low limit of open descriptors is a warning, and the exit code is 0', () => {
      const limited = ['-c', 'ulimit -n 200 && exec "$0" "$@"', ...tenonCommand, 'doctor']
      const { status, stdout } = spawnSync('sh', limited, { encoding: 'utf8', env: { ...process.env, ...clean } })
      expect(status).toBe(0)
      expect(stdout).toContain('warning: the process can have only 200 open descriptors')
      expect(stdout).toContain('fix: Raise the limit, for example with "ulimit -n 4096"')
    })

    test('--cuda-driver names the driver, which is a warning if it does not load', () => {
      const path = kernelLibrary('simulated_cuda')
      const { report: found } = report({}, '--cuda-driver', path)
      expect(found.cuda).toMatchObject({ driver: { path, deviceCount: expect.any(Number) as number } })
      expect(doctor({}, '--cuda-driver', path).stdout).toMatch(/CUDA +\d+\.\d+ \(.*\), \d+ devices?\n/)
      const missing = report({}, '--cuda-driver', 'libnodriver.so.1')
      expect(missing.code).toBe(0)
      expect(missing.report.problems).toContainEqual({
        level: 'warning',
        text: expect.stringContaining('libnodriver.so.1') as string,
        fix: expect.stringMatching(/\.$/) as string,
      })
    })
  }

  test('refuses unknown flags', () => {
    expect(doctor({}, '--jsn')).toMatchObject({ code: 2, stdout: '' })
    expect(doctor({}, 'now')).toMatchObject({ code: 2, stdout: '' })
    expect(doctor({}, '--help').stdout).toContain('tenon doctor')
  })
})

describe('problemsOf()', () => {
  const healthy: DoctorFacts = {
    tenon: '1.0.0',
    runtime: { name: 'Node.js', version: '24.1.0', missing: [], path: '/usr/bin/node', required: '>=22.12' },
    system: { os: 'linux', cpu: 'x64', limits: { openFiles: { soft: 1024, hard: 'unlimited' }, mappings: 65_530 } },
    core: { path: '/lib/libtenon.so', origin: 'platform package', version: '1.0.0', abiVersion: 1 },
    cuda: { driver: { error: 'CUDA is not available' }, isExpected: false },
    environment: {},
  }
  const textsOf = (facts: Partial<DoctorFacts>): string[] =>
    problemsOf({ ...healthy, ...facts }).map(({ level, text }) => `${level}: ${text}`)
  const withNode = (version: string): string[] => textsOf({ runtime: { ...healthy.runtime, version } })

  test('finds nothing in a healthy installation', () => {
    expect(problemsOf(healthy)).toEqual([])
  })

  test('compares the version of Node.js with the one that is required', () => {
    expect([withNode('22.12.0'), withNode('23.0.0'), withNode('26.1.0-nightly')]).toEqual([[], [], []])
    for (const version of ['22.11.9', '20.19.4', '18.0.0']) {
      expect(withNode(version)).toEqual([`error: Node.js must be 22.12 or later, got ${version}`])
    }
  })

  test('leaves the versions of other runtimes to their built files', () => {
    expect(textsOf({ runtime: { name: 'Deno', version: '1.0.0', missing: [], path: '/usr/bin/deno' } })).toEqual([])
  })

  test('prints what a runtime cannot do', () => {
    const bun = { name: 'Bun', version: '1.4.5', missing: ['lacks this', 'lacks that'], path: '/usr/bin/bun' } as const
    const style = { strong: String, bad: String } as unknown as Style
    expect(doctorText({ ...healthy, runtime: bun }, [], style)).toMatch(
      /Bun +1\.4\.5 \(.*\n +not there +Bun lacks this, lacks that\n/,
    )
    expect(doctorText(healthy, [], style)).not.toContain('not there')
  })

  test('warns of workers without a filter of system calls', () => {
    const withFilters = (hasFilters: boolean): string[] => textsOf({ system: { ...healthy.system, hasFilters } })
    expect(withFilters(true)).toEqual([])
    expect(withFilters(false)).toEqual([expect.stringContaining('run without a filter of system calls')])
  })

  test('puts errors before warnings', () => {
    const limits = { openFiles: { soft: 100, hard: 100 }, mappings: 1000 }
    const texts = textsOf({ core: { error: 'no core' }, system: { ...healthy.system, limits } })
    expect(texts.map((text) => text.split(':')[0])).toEqual(['error', 'warning', 'warning'])
    expect(texts[2]).toContain('only 1000 memory mappings')
  })

  test('warns of a GPU without a driver or a device', () => {
    expect(textsOf({ cuda: { driver: { error: 'no driver' }, isExpected: true } })).toEqual(['warning: no driver'])
    const driver = { path: 'libcuda.so.1', version: '13.0', deviceCount: 0 }
    expect(textsOf({ cuda: { driver, isExpected: true } })).toEqual(['warning: the CUDA driver finds no device'])
    expect(textsOf({ cuda: { driver: { ...driver, deviceCount: 2 }, isExpected: true } })).toEqual([])
  })
})

test('libcOf() recognises glibc, musl and systems with one C library', () => {
  const never = (): string => {
    throw new Error('no program must be run')
  }
  const glibc = { header: { glibcVersionRuntime: '2.36' }, sharedObjects: [] }
  expect(libcOf(glibc, true, never)).toEqual({ name: 'glibc', version: '2.36' })
  expect(libcOf(glibc, false, never)).toEqual({ name: 'glibc' })
  const musl = { header: {}, sharedObjects: ['/usr/lib/libstdc++.so.6', '/lib/ld-musl-x86_64.so.1'] }
  const output =
    'musl libc (x86_64)\nVersion 1.2.5\nDynamic Program Loader\nUsage: /lib/ld-musl-x86_64.so.1 [options]\n'
  expect(libcOf(musl, true, (path) => (path === '/lib/ld-musl-x86_64.so.1' ? output : ''))).toEqual({
    name: 'musl',
    version: '1.2.5',
  })
  expect(libcOf(musl, true, () => '')).toEqual({ name: 'musl' })
  expect(libcOf({ header: {}, sharedObjects: ['/usr/lib/libSystem.B.dylib'] }, true, never)).toBeUndefined()
})

test('sizeText() uses the largest unit', () => {
  expect([0, 1, 1023, 1024, 67_108_864, 25_276_502_016, 2 ** 51].map(sizeText)).toEqual([
    '0 B',
    '1 B',
    '1023 B',
    '1 KiB',
    '64 MiB',
    '23.5 GiB',
    '2048 TiB',
  ])
})
