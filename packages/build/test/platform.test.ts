import { describe, expect, test } from 'vitest'

import {
  artifactName,
  buildDirectory,
  choosePlatform,
  findPlatform,
  hostPlatform,
  platforms,
  sharedLibraryName,
} from '../src/platform.ts'

describe('platforms', () => {
  test('have the names of their system, processor and C library', () => {
    const names = platforms.map(({ os, cpu, libc }) => [os, cpu, ...(libc ? [libc] : [])].join('-'))
    expect(platforms.map(({ name }) => name)).toEqual(names)
    expect(platforms.every(({ os, libc }) => (os === 'linux') === (libc !== undefined))).toBe(true)
  })

  test('contain the platform of this process', () => {
    expect(hostPlatform).toMatchObject({ os: process.platform, cpu: process.arch })
    expect(findPlatform(hostPlatform.name)).toBe(hostPlatform)
  })

  test('findPlatform() lists the names if there is none of this name', () => {
    expect(() => findPlatform('linux-x64')).toThrow(
      'the platform must be one of linux-x64-gnu, linux-arm64-gnu, linux-x64-musl, linux-arm64-musl, darwin-x64, ' +
        'darwin-arm64, win32-x64, win32-arm64, got linux-x64',
    )
  })

  test('files and directories are named by the platform', () => {
    const [linux, mac, windows] = (['linux-x64-musl', 'darwin-arm64', 'win32-x64'] as const).map(findPlatform)
    expect([linux, mac, windows].map((platform) => sharedLibraryName('sum', platform))).toEqual([
      'libsum.so',
      'libsum.dylib',
      'sum.dll',
    ])
    const program = { name: 'sum-host', kind: 'executable', sources: [], imports: [] } as const
    expect([linux, windows].map((platform) => artifactName(program, platform))).toEqual(['sum-host', 'sum-host.exe'])
    expect(buildDirectory('release', hostPlatform)).toBe('build/release')
    const other = platforms.find((platform) => platform !== hostPlatform)!
    expect(buildDirectory('asan', other)).toBe(`build/${other.name}/asan`)
  })
})

describe('choosePlatform()', () => {
  test('takes the word for the system', () => {
    const path = 'csrc/{base,pools}/{posix|win32}/*.c'
    expect(choosePlatform(path, findPlatform('linux-x64-gnu'))).toBe('csrc/{base,pools}/posix/*.c')
    expect(choosePlatform(path, findPlatform('darwin-arm64'))).toBe('csrc/{base,pools}/posix/*.c')
    expect(choosePlatform(path, findPlatform('win32-x64'))).toBe('csrc/{base,pools}/win32/*.c')
  })

  test('takes the word for the calls of the processor', () => {
    const path = 'csrc/{sysv_x64|aapcs64|win64}.S'
    const chosen = platforms.map((platform) => [platform.name, choosePlatform(path, platform)])
    expect(Object.fromEntries(chosen)).toEqual({
      'linux-x64-gnu': 'csrc/sysv_x64.S',
      'linux-arm64-gnu': 'csrc/aapcs64.S',
      'linux-x64-musl': 'csrc/sysv_x64.S',
      'linux-arm64-musl': 'csrc/aapcs64.S',
      'darwin-x64': 'csrc/sysv_x64.S',
      'darwin-arm64': 'csrc/aapcs64.S',
      'win32-x64': 'csrc/win64.S',
      'win32-arm64': 'csrc/aapcs64.S',
    })
  })

  test('refuses a platform for which there is no word', () => {
    expect(() => choosePlatform('csrc/{aapcs64|win64}.S', findPlatform('linux-x64-gnu'))).toThrow(
      'one word of {aapcs64|win64} in csrc/{aapcs64|win64}.S must be for linux-x64-gnu: posix or sysv_x64',
    )
  })
})
