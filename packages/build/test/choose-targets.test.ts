import { describe, expect, test } from 'vitest'

import { chooseTargets } from '../src/choose-targets.ts'
import type { LoadedPackage } from '../src/load-package.ts'
import { findPlatform, hostPlatform, type PlatformName } from '../src/platform.ts'
import type { NativeTarget, Variant } from '../src/targets.ts'

const shared = { kind: 'shared', sources: ['a.c'], imports: [] } as const
const targets: NativeTarget[] = [
  { ...shared, name: 'kernels' },
  { ...shared, name: 'registered', unresolved: ['TVMFFI*'] },
  { ...shared, name: 'gnu_only', libc: 'gnu' },
  { ...shared, name: 'linux_only', systems: ['linux'] },
  { ...shared, name: 'fixture', fixture: true },
  { name: 'addon', kind: 'addon', sources: ['a.c'], imports: [] },
  { name: 'tests', kind: 'test', sources: ['a.c'] },
  { name: 'fuzz', kind: 'fuzz', sources: ['a.c'] },
]
const pkg: LoadedPackage = { directory: '/', name: 'x', version: '1.0.0', native: { targets } }
const kinds = ['shared', 'addon', 'executable', 'test', 'fuzz'] as const

async function chosen(name: PlatformName, variant: Variant = 'release', portable = true): Promise<string[]> {
  const found = await chooseTargets(pkg, { variant, kinds, platform: findPlatform(name), portable })
  return found.map((target) => target.name)
}

describe('a release for another platform', () => {
  test('contains no fixture, test or fuzz program', async () => {
    expect(await chosen('linux-arm64-gnu')).toEqual(['kernels', 'registered', 'gnu_only', 'linux_only', 'addon'])
    expect(await chosen('linux-x64-musl')).toEqual(['kernels', 'registered', 'linux_only', 'addon'])
    expect(await chosen('darwin-arm64')).toEqual(['kernels', 'registered', 'gnu_only', 'addon'])
  })

  test('contains no DLL that leaves symbols undefined', async () => {
    expect(await chosen('win32-x64')).toEqual(['kernels', 'gnu_only', 'addon'])
  })

  test('contains fixtures and tests if it is for tests', async () => {
    const choice = { variant: 'release', kinds: ['shared', 'test'], portable: true, forTests: true } as const
    const found = await chooseTargets(pkg, { ...choice, platform: findPlatform('win32-x64') })
    expect(found.map((target) => target.name)).toEqual(['kernels', 'gnu_only', 'fixture', 'tests'])
  })

  test('unlike another variant, and a release for this machine', async () => {
    expect(await chosen('linux-arm64-gnu', 'debug')).toContain('tests')
    expect(await chosen('linux-arm64-gnu', 'release', false)).toHaveLength(targets.length)
  })
})

test('leaves an optional CUDA library out of builds for other platforms, with a warning', async () => {
  const warnings: string[] = []
  const cuda: NativeTarget = { ...shared, name: 'gpu', sources: ['a.cu'], optional: true }
  const native = { targets: [targets[0]!, cuda] }
  const choice = { variant: 'release', kinds, platform: hostPlatform, portable: true } as const
  const onWarning = (message: string): void => void warnings.push(message)
  const found = await chooseTargets({ ...pkg, native }, { ...choice, onWarning })
  expect(found.map((target) => target.name)).toEqual(['kernels'])
  expect(warnings).toEqual(['gpu was left out: CUDA is not built for other platforms'])
})
