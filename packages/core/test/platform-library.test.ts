import { packageFlags } from '@tenon/config/package-flags'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { hostPlatformName } from '@tenon/binary'
import { LoadError, platformLibrary } from '@tenon/core'
import type { PlatformLibraryOptions } from '../src/native/platform-library.ts'
import { runScript } from '@tenon/core/testing'
import { afterAll, describe, expect, test } from 'vitest'
import { libraryFileName } from '../src/native/locate.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const directory = realpathSync(mkdtempSync(join(tmpdir(), 'tenon-platform-')))
afterAll(() => rmSync(directory, { recursive: true }))

const here = hostPlatformName()
const published = [here, 'darwin-arm64', 'linux-arm64-musl'].filter((name, i, all) => all.indexOf(name) === i)

/** A project in which platform packages of `@me/kernels` are installed, and the URL of the main package's module. */
function project(installed: Readonly<Record<string, string>>): string {
  const packages = join(mkdtempSync(join(directory, 'project-')), 'node_modules/@me')
  for (const [platform, version] of Object.entries(installed)) {
    const place = join(packages, `kernels-${platform}`)
    mkdirSync(join(place, 'lib'), { recursive: true })
    const exports = { './package.json': './package.json', './lib/*': './lib/*' }
    writeFileSync(join(place, 'package.json'), JSON.stringify({ name: `@me/kernels-${platform}`, version, exports }))
  }
  mkdirSync(join(packages, 'kernels'), { recursive: true })
  return pathToFileURL(join(packages, 'kernels/index.js')).href
}

const options = { package: '@me/kernels', version: '1.2.0', platforms: published, library: 'fast_kernels' }

function errorOf(action: () => unknown): LoadError {
  try {
    action()
  } catch (error) {
    expect(error).toBeInstanceOf(LoadError)
    return error as LoadError
  }
  throw new Error('nothing was thrown')
}

describe('the platform of the process', () => {
  test('is the system, the processor and, on Linux, the C library', () => {
    const libc = process.platform === 'linux' ? '-(gnu|musl)' : ''
    expect(here).toMatch(new RegExp(`^${process.platform}-${process.arch}${libc}$`))
  })

  test.runIf(process.platform === 'linux')(
    'is read without asking the network, whose setting of the report stays as it was',
    async () => {
      const { stdout } = await runScript(
        `import { hostPlatformName } from '@tenon/binary'
        const original = process.report.getReport
        let excluded
        process.report.excludeNetwork = false
        process.report.getReport = () => ((excluded = process.report.excludeNetwork), { header: {} })
        console.log(hostPlatformName().endsWith('-musl'), excluded, process.report.excludeNetwork)
        process.report.getReport = () => { throw new Error('asked twice') }
        console.log(hostPlatformName().endsWith('-musl'))`,
        { cwd: root, nodeOptions: [...packageFlags, '--no-warnings'] },
      )
      expect(stdout).toBe('true true false\ntrue\n')
    },
  )
})

describe('platformLibrary()', () => {
  test('returns the library in the platform package that fits this process', () => {
    const from = project({ [here]: '1.2.0', 'darwin-arm64': '1.2.0' })
    const path = join(dirname(fileURLToPath(from)), '..', `kernels-${here}`, 'lib', libraryFileName('fast_kernels'))
    expect(platformLibrary(from, options)).toBe(path)
  })

  test('names the published platforms and that of the process if none fits', () => {
    const error = errorOf(() => platformLibrary(project({}), { ...options, platforms: ['sunos-sparc', 'aix-ppc64'] }))
    expect(error.sentence).toBe(`@me/kernels is published for sunos-sparc, aix-ppc64, this process runs on ${here}`)
    expect(error.details).toMatchObject({ platforms: ['sunos-sparc', 'aix-ppc64'], platform: here, installed: [] })
  })

  test('says that optional dependencies were left out if no platform package is installed', () => {
    const error = errorOf(() => platformLibrary(project({}), options))
    expect(error.sentence).toBe(
      `no platform package of @me/kernels is installed: @me/kernels is published for ${published.join(', ')}, ` +
        `this process runs on ${here}`,
    )
    expect(error.hint).toContain('--omit=optional')
  })

  test('names the installed platform packages if they are for other platforms', () => {
    const error = errorOf(() => platformLibrary(project({ 'darwin-arm64': '1.2.0' }), options))
    expect(error.sentence).toContain(`@me/kernels-${here} is not installed, but @me/kernels-darwin-arm64: `)
    expect(error.hint).toContain('node_modules of another platform')
    expect(error.details['installed']).toEqual(['darwin-arm64'])
  })

  test('refuses a platform package of another version', () => {
    const error = errorOf(() => platformLibrary(project({ [here]: '1.1.9' }), options))
    expect(error.sentence).toContain(`@me/kernels 1.2.0 needs @me/kernels-${here} 1.2.0, got 1.1.9 at `)
    expect(error.details).toMatchObject({ expected: '1.2.0', received: '1.1.9' })
  })

  test('says that a package must not be bundled if its module has no file', () => {
    const error = errorOf(() => platformLibrary('https://example.org/index.js', options))
    expect(error.hint).toBe('Mark @me/kernels as external, so that it is not bundled.')
  })

  test.each<[string, unknown, unknown]>([
    ['from', undefined, options],
    ['package', 'file:///x.js', { ...options, package: '' }],
    ['version', 'file:///x.js', { ...options, version: 1 }],
    ['platforms', 'file:///x.js', { ...options, platforms: 'linux-x64-gnu' }],
    ['platforms', 'file:///x.js', { ...options, platforms: [1] }],
    ['library', 'file:///x.js', { ...options, library: undefined }],
    ['platform', 'file:///x.js', { ...options, platform: here }],
  ])('refuses a wrong %s', (name, from, given) => {
    expect(() => platformLibrary(from as string, given as PlatformLibraryOptions)).toThrow(name)
  })
})
