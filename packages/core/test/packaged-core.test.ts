import { appendFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { hostPlatformName } from '@tenon/binary'
import { LoadError } from '@tenon/core'
import { coreLibrary, libraryFileName, libraryOfEnvironment } from '@tenon/core/internal'
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { parseVariant } from '../../build/src/flags.ts'
import { candidates, corePackage } from '../src/native/locate.ts'
import { digestOf, fingerprintOf, installCore, type InstalledCore, shipped } from './installed-core.ts'

const directory = mkdtempSync(join(tmpdir(), 'tenon-packaged-'))
afterAll(() => rmSync(directory, { recursive: true }))

/** Variables of the tests themselves. */
beforeEach(() => void vi.stubEnv('TENON_CORE_LIBRARY', ''))
afterEach(() => void vi.unstubAllEnvs())

/** Prints where the core was found, or its error. */
const load = `
  import { coreLibrary } from '@tenon/core/internal'
  try { console.log(coreLibrary().origin, coreLibrary().path) } catch (error) { console.log(error.name, error.sentence, '|', error.hint) }
`
const own = coreLibrary().path
const file = libraryFileName('tenon')

async function output(installed: InstalledCore, env: Record<string, string> = {}, source = load): Promise<string> {
  const { stdout, stderr } = await installed.run(source, { env: { TENON_VARIANT: '', ...env } })
  expect(stderr).toBe('')
  return stdout.trim()
}

describe('a published package', () => {
  test('loads the libraries of its platform package', async () => {
    const installed = installCore(directory)
    expect(await output(installed)).toBe(`platform package ${join(installed.libraries, file)}`)
  })

  test('never looks in build/, whatever TENON_VARIANT is', async () => {
    const installed = installCore(directory)
    cpSync(dirname(own), join(installed.core, 'build/release'), { recursive: true })
    const found = `platform package ${join(installed.libraries, file)}`
    expect(await output(installed)).toBe(found)
    expect(await output(installed, { TENON_VARIANT: '../../x' })).toBe(found)
  })

  test('looks in build/ first if native.targets.ts makes it a checkout', async () => {
    const installed = installCore(directory)
    const build = join(installed.core, 'build/release')
    mkdirSync(build, { recursive: true })
    for (const name of shipped) cpSync(join(dirname(own), name), join(build, name))
    writeFileSync(join(installed.core, 'native.targets.ts'), '')
    expect(await output(installed)).toBe(`workspace build ${join(build, file)}`)
  })

  test('in a checkout, TENON_VARIANT must be a variant of tenon-build', () => {
    for (const variant of ['../../x', 'Release', 'release/..', ' ']) {
      const refused = new RegExp(`TENON_VARIANT must be one of release, .*, got ${JSON.stringify(variant)}`)
      expect(() => [...candidates({ TENON_VARIANT: variant })]).toThrow(refused)
      expect(() => [...candidates({ TENON_VARIANT: variant })]).toThrow(LoadError)
    }
    const message = messageOf(() => [...candidates({ TENON_VARIANT: 'x' })])
    expect(message).toContain(
      messageOf(() => parseVariant('x'))
        .replace('the variant ', '')
        .replace(', got x', ''),
    )
    expect([...candidates({ TENON_VARIANT: '' })]).toEqual([...candidates({})])
  })

  test('without its platform package says which one to install', async () => {
    const error = await output(installCore(directory, { withPlatform: false }))
    expect(error).toContain('LoadError the native core of Tenon could not be loaded')
    expect(error).toContain(`Install @tenon/core-${hostPlatformName()}, which package managers omit without optional`)
  })
})

describe.each(['TENON_CORE_LIBRARY', 'TENON_TVM_FFI_LIBRARY'] as const)('%s', (variable) => {
  test('must be an absolute path', () => {
    expect(() => libraryOfEnvironment(variable, { [variable]: './x.so' })).toThrow(
      `${variable} must be an absolute path, got ./x.so`,
    )
    expect(libraryOfEnvironment(variable, { [variable]: own })).toBe(own)
    expect(libraryOfEnvironment(variable, { [variable]: '' })).toBeUndefined()
    expect(libraryOfEnvironment(variable, {})).toBeUndefined()
  })

  test('is ignored with TENON_IGNORE_ENVIRONMENT=1, and with no other value', () => {
    expect(libraryOfEnvironment(variable, { [variable]: './x', TENON_IGNORE_ENVIRONMENT: '1' })).toBeUndefined()
    expect(libraryOfEnvironment(variable, { [variable]: own, TENON_IGNORE_ENVIRONMENT: '0' })).toBe(own)
  })

  test('is named by every LoadError while it is in effect', () => {
    vi.stubEnv(variable, '/nowhere/x.so')
    const sentence = `This process loads the library that ${variable} names, /nowhere/x.so.`
    expect(new LoadError('x').hint).toBe(sentence)
    expect(new LoadError('x', { hint: 'Do this.' }).hint).toBe(`Do this. ${sentence}`)
    // No repetition.
    expect(new LoadError(`/nowhere/x.so (${variable}): no such file`).hint).toBeUndefined()
    vi.stubEnv('TENON_IGNORE_ENVIRONMENT', '1')
    expect(new LoadError('x').hint).toBeUndefined()
  })
})

describe('a process', () => {
  test('loads the library that TENON_CORE_LIBRARY names, unless it was told to ignore the environment', async () => {
    const installed = installCore(directory)
    const found = `platform package ${join(installed.libraries, file)}`
    expect(await output(installed, { TENON_CORE_LIBRARY: own })).toBe(`TENON_CORE_LIBRARY ${own}`)
    expect(await output(installed, { TENON_CORE_LIBRARY: own, TENON_IGNORE_ENVIRONMENT: '1' })).toBe(found)
    const relativePath = relative(installed.project, own)
    expect(await output(installed, { TENON_CORE_LIBRARY: relativePath })).toContain(
      `LoadError TENON_CORE_LIBRARY must be an absolute path, got ${relativePath}`,
    )
  })

  test('with --permission ignores TENON_CORE_LIBRARY', async () => {
    const installed = installCore(directory)
    const env = { TENON_CORE_LIBRARY: '/nowhere/x.so', TENON_VARIANT: '' }
    const nodeOptions = ['--permission', '--allow-addons', '--allow-fs-read=*', '--no-warnings']
    const { stdout } = await installed.run(load, { env, nodeOptions })
    expect(stdout).toBe(`platform package ${join(installed.libraries, file)}\n`)
  })
})

describe('the libraries of a published package', () => {
  test.each([file, libraryFileName('tenon_guard'), 'tenon.node'])(
    '%s with one byte more is refused before it is loaded, with both fingerprints',
    async (name) => {
      const installed = installCore(directory)
      const path = join(installed.libraries, name)
      const expected = fingerprintOf(path)
      appendFileSync(path, '\0')
      expect(await output(installed)).toMatch(
        `LoadError ${path} is not the file with which @tenon/core ${corePackage().version} was published: ` +
          `its fingerprint must be ${expected}, got ${fingerprintOf(path)} | Install @tenon/core and its platform package again`,
      )
    },
  )

  if (process.platform === 'linux') {
    test('are compared before their code can run', async () => {
      const installed = installCore(directory)
      const isMapped = "console.log(/libtenon/.test(readFileSync('/proc/self/maps', 'utf8')))"
      const source = `${load}\nimport { readFileSync } from 'node:fs'\n${isMapped}`
      expect(await output(installed, {}, source)).toMatch(/true$/)
      appendFileSync(join(installed.libraries, 'tenon.node'), '\0')
      expect(await output(installed, {}, source)).toMatch(/false$/)
    })
  }

  test('that are needed later are compared then', async () => {
    const installed = installCore(directory)
    const source = `
      import { libraryFunctions, siblingPath } from '@tenon/core/internal'
      try { console.log(typeof libraryFunctions('tenon_packed').tn_packed_bind, siblingPath('tenon_packed')) } catch (error) { console.log(error.sentence) }`
    const path = join(installed.libraries, libraryFileName('tenon_packed'))
    expect(await output(installed, {}, source)).toBe(`function ${path}`)
    appendFileSync(path, '\0')
    expect(await output(installed)).toContain('platform package')
    expect(await output(installed, {}, source)).toContain(`${path} is not the file with which @tenon/core`)
  })

  test('are compared with what @tenon/core carries, not with a list beside them', async () => {
    const installed = installCore(directory)
    const path = join(installed.libraries, file)
    appendFileSync(path, '\0')
    writeFileSync(join(installed.libraries, 'SHA256SUMS.json'), JSON.stringify({ [file]: digestOf(path) }))
    expect(await output(installed)).toContain('its fingerprint must be')
  })

  test('without digests, or with those of other files, are refused', async () => {
    const installed = installCore(directory)
    const digests = join(installed.core, 'dist/digests.json')
    const all = JSON.parse(readFileSync(digests, 'utf8')) as Record<string, object>
    const name = `@tenon/core-${hostPlatformName()}`
    writeFileSync(digests, JSON.stringify({ [name]: { ...all[name], [file]: undefined } }))
    expect(await output(installed)).toContain('its fingerprint must be absent, got ')
    writeFileSync(digests, '{}')
    expect(await output(installed)).toContain(`has no digests of the libraries of ${name}`)
    rmSync(digests)
    expect(await output(installed)).toContain(`has no digests of the libraries of ${name}`)
  })

  test('are not compared if TENON_CORE_LIBRARY names them', async () => {
    const installed = installCore(directory)
    const path = join(installed.libraries, file)
    appendFileSync(path, '\0')
    expect(await output(installed, { TENON_CORE_LIBRARY: path })).toBe(`TENON_CORE_LIBRARY ${path}`)
  })
})

test('a core of another version than @tenon/core is refused, naming both', async () => {
  const installed = installCore(directory)
  const manifest = join(installed.core, 'package.json')
  const { version } = corePackage()
  writeFileSync(manifest, readFileSync(manifest, 'utf8').replace(`"version": "${version}"`, '"version": "9.9.9"'))
  expect(await output(installed)).toContain(
    `${join(installed.libraries, file)} must have the version of @tenon/core, 9.9.9, got ${version}`,
  )
})

function messageOf(action: () => unknown): string {
  try {
    action()
  } catch (error) {
    return (error as Error).message
  }
  throw new Error('nothing was thrown')
}
