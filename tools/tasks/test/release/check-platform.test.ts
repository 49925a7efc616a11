import { createHash } from 'node:crypto'

import {
  artifactName,
  hostPlatform,
  isShipped,
  type Manifest,
  type NativeTarget,
  npmPackage,
  type PlatformName,
} from '@tenon/build/internal'
import { describe, expect, test } from 'vitest'

import { peImage } from '../../../../packages/binary/test/binary-images.ts'
import { findReleaseFaults, readReleaseCheck } from '../../src/release/check-release.ts'
import {
  compiled,
  faultsOf,
  native,
  packageOf,
  platformPackage,
  project,
  withFiles,
  withManifest,
  withoutFile,
} from './fixture.ts'

const answer = '__attribute__((visibility("default"))) int answer(void) { return 42; }\n'

/** The DLL of the tests with another C library or another library that it needs. */
function dllThatNeeds(name: string): Buffer {
  const image = peImage()
  image.write(`${name}\0`, 0x6c0, 'latin1')
  image.writeUInt32LE(0x6c0 - 0x400 + 0x1000, 0x50c)
  return image
}

const windows = (bytes: Buffer): string[] => faultsOf(['win32-x64'], platformPackage('win32-x64', bytes))

describe('a package for Windows', () => {
  const needs = (name: string): string =>
    `@tenon/core-win32-x64: lib/tenon.dll: it must not depend on libraries that may be absent, got ${name}`

  test('may need the universal C library', () => {
    expect(windows(dllThatNeeds('ucrtbase.dll'))).toEqual([])
    expect(windows(dllThatNeeds('api-ms-win-crt-heap-l1-1-0.dll'))).toEqual([])
  })

  test('must not need msvcrt.dll', () => {
    expect(windows(dllThatNeeds('msvcrt.dll'))).toEqual([
      "@tenon/core-win32-x64: lib/tenon.dll: it must use ucrtbase.dll, the C library of today's Windows, got msvcrt.dll",
    ])
  })

  test.each(['libwinpthread-1.dll', 'libgcc_s_seh-1.dll', 'libstdc++-6.dll'])('must not need %s', (name) => {
    expect(windows(dllThatNeeds(name))).toEqual([needs(name)])
  })
})

describe('a platform package', () => {
  const shipped = { sources: [], imports: [] }
  const targets: NativeTarget[] = [
    { ...shipped, name: 'tenon', kind: 'shared' },
    { ...shipped, name: 'tenon_node', kind: 'addon', fileName: 'tenon.node' },
    { ...shipped, name: 'tenon-host', kind: 'executable', systems: ['linux'] },
    { ...shipped, name: 'fixture', kind: 'shared', fixture: true },
    { name: 'core_test', kind: 'test', sources: [] },
  ]

  test('must contain the libraries, the addon and the programs of the core for its platform', () => {
    const wanted = (platform: PlatformName): string => {
      const empty = packageOf({ name: `@tenon/core-${platform}`, version: '1.2.3' }, {})
      const faults = findReleaseFaults([empty], { project, native: { targets }, platforms: [platform] })
      return faults.map((fault) => /must contain README.md, LICENSE, NOTICE, (.*)$/.exec(fault)?.[1] ?? '').join('')
    }
    const list = 'lib/SHA256SUMS.json'
    expect(wanted('linux-x64-gnu')).toBe(`${list}, lib/libtenon.so, lib/tenon.node, lib/tenon-host`)
    expect(wanted('darwin-arm64')).toBe(`${list}, lib/libtenon.dylib, lib/tenon.node`)
    expect(wanted('win32-x64')).toBe(`${list}, lib/tenon.dll, lib/tenon.node`)
  })

  test('of this repository is for libtenon, tenon.node and tenon-host', async () => {
    const { native: core } = await readReleaseCheck()
    const names = core.targets.filter((target) => isShipped(target) && !target.fixture).map((one) => artifactName(one))
    expect(names).toEqual(expect.arrayContaining(['libtenon.so', 'tenon.node', 'tenon-host']))
  })
})

if (hostPlatform.os === 'linux' && hostPlatform.libc === 'gnu')
  describe(`a package for ${hostPlatform.name}`, () => {
    const { name } = hostPlatform
    const label = `@tenon/core-${name}`
    const released = platformPackage(name, compiled(answer, '-s', '-Wl,-rpath,$ORIGIN'))
    const library = released.files.get('lib/libtenon.so')!.bytes
    const faults = (pkg = released): string[] => faultsOf([name], pkg)
    const of = (bytes: Buffer): string[] => faults(platformPackage(name, bytes))

    test('can be published as it is packed', () => {
      expect(faults()).toEqual([])
    })

    test('must be for its machine', () => {
      const other = Buffer.from(library)
      other.writeUInt16LE(hostPlatform.cpu === 'x64' ? 0xb7 : 0x3e, 18)
      expect(of(other)[0]).toBe(
        `${label}: lib/libtenon.so: its machine must be that of ${name}: elf for ${hostPlatform.cpu}, ` +
          `got elf for ${hostPlatform.cpu === 'x64' ? 'arm64' : 'x64'}`,
      )
    })

    test('must list the digests of its libraries', () => {
      const wanted = `${label}: lib/SHA256SUMS.json must have the digest of lib/libtenon.so`
      expect(faults(withFiles(released, { 'lib/SHA256SUMS.json': '{}' }))).toEqual([wanted])
      expect(faults(withFiles(released, { 'lib/SHA256SUMS.json': '[1]' }))).toContain(wanted)
      expect(faults(withFiles(released, { 'lib/SHA256SUMS.json': 'x' }))).toEqual([
        `${label}: lib/SHA256SUMS.json must be a JSON object`,
      ])
      expect(faults(withoutFile(released, 'lib/SHA256SUMS.json'))).toEqual([
        `${label}: the package must contain lib/SHA256SUMS.json`,
        wanted,
      ])
    })

    test('must contain each library of native.targets.ts, the license and the notice', () => {
      for (const path of ['lib/libtenon.so', 'LICENSE', 'NOTICE'])
        expect(faults(withoutFile(released, path))).toEqual([`${label}: the package must contain ${path}`])
    })

    test('must not contain another file', () => {
      expect(faults(withFiles(released, { 'lib/libfixture.so': library }))).toEqual([
        `${label}: the package must not contain lib/libfixture.so`,
      ])
    })

    test('must not contain a library to which a byte was appended', () => {
      const longer = withFiles(released, { 'lib/libtenon.so': Buffer.concat([library, Buffer.alloc(1)]) })
      const [fault, ...others] = faults(longer)
      expect(fault).toMatch(
        new RegExp(
          `^${label}: lib/libtenon.so must have the digest of lib/SHA256SUMS.json, [0-9a-f]{64}, got [0-9a-f]{64}$`,
        ),
      )
      expect(others).toEqual([])
    })

    test('must run with glibc 2.28', () => {
      const source = `#include <pthread.h>\n#include <dlfcn.h>\nvoid *f(const char *s) { return dlsym(0, s); }\n`
      expect(of(compiled(source, '-s', '-Wl,--no-as-needed'))).toEqual([
        `${label}: lib/libtenon.so: it must run with glibc 2.28, but needs GLIBC_2.34`,
      ])
    })

    test('must be stripped', () => {
      expect(of(compiled(answer, '-g'))[0]).toBe(
        `${label}: lib/libtenon.so: it must not contain symbols for debuggers: strip it`,
      )
    })

    test('must not search for libraries in an absolute directory', () => {
      expect(of(compiled(answer, '-s', '-Wl,-rpath,/opt/lib'))).toEqual([
        `${label}: lib/libtenon.so: it must search for libraries only beside itself, got /opt/lib`,
      ])
    })

    test('must not contain the directory in which CI built it', () => {
      const source = 'const char *path(void) { return "/home/runner/work/tenon/tenon/a.c"; }\n'
      expect(of(compiled(source, '-s'))).toEqual([
        `${label}: lib/libtenon.so: it must not contain the path /home/runner/work/ of its build`,
      ])
    })

    test('must contain libraries', () => {
      expect(of(Buffer.from('#!/bin/sh\n'))[0]).toContain(`${label}: lib/libtenon.so: the file is not a shared library`)
    })

    test.each<[string, Manifest, string]>([
      ['must have a repository', { repository: undefined }, 'repository in package.json must be {'],
      [
        'must not have engines',
        { engines: { node: '>=22.12' } },
        'package.json must not have engines, got {"node":">=22.12"}',
      ],
      ['must be for one C library', { libc: undefined }, 'libc in package.json must be ["glibc"], got nothing'],
      ['must be for one system', { os: ['darwin'] }, 'os in package.json must be ["linux"], got ["darwin"]'],
      ['must not run scripts', { scripts: { install: 'x' } }, 'package.json must not have scripts'],
      ['must not depend on packages', { dependencies: { a: '1.0.0' } }, 'package.json must not have dependencies'],
    ])('%s', (_, changes, sentence) => {
      const found = faults(withManifest(released, changes))
      expect(found).toHaveLength(1)
      expect(found[0]).toContain(`${label}: ${sentence}`)
    })

    test('must have at most 1,000,000 bytes', () => {
      const large = withFiles(released, { 'README.md': 'x'.repeat(1_000_000) })
      expect(faults(large)[0]).toMatch(`${label}: the unpacked package must have at most 1000000 bytes, got 1`)
    })

    test('must be for a platform that platforms.json calls tested', () => {
      expect(faultsOf([], released)).toEqual([
        `${label}: platforms.json must call ${name} tested before its package is published`,
      ])
    })

    test('must contain tenon-host as a program', () => {
      const host = { name: 'tenon-host', kind: 'executable', sources: [], imports: [] } as const
      const digest = createHash('sha256').update(library).digest('hex')
      const listed = withFiles(released, {
        'lib/SHA256SUMS.json': JSON.stringify({ 'libtenon.so': digest, 'tenon-host': digest }),
      })
      const check = { project, native: { targets: [...native.targets, host] }, platforms: [name] }
      const faultsWith = (executable: boolean): string[] => {
        const files = new Map([...listed.files, ['lib/tenon-host', { bytes: library, executable }] as const])
        return findReleaseFaults([npmPackage(released.name, files)], check)
      }
      expect(faultsWith(true)).toEqual([])
      expect(faultsWith(false)).toEqual([`${label}: lib/tenon-host must be executable`])
    })
  })
