import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { expect, onTestFinished, test } from 'vitest'

import { buildPackage } from '../src/build.ts'
import { withLock } from '../src/build-lock.ts'
import { loadPackage } from '../src/load-package.ts'
import { makePackage } from './fixture.ts'

function lockPath(): string {
  const directory = mkdtempSync(join(tmpdir(), 'tenon-lock-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  return join(directory, 'deep/lock')
}

test('functions with one lock run one after the other, and the lock is removed', async () => {
  const path = lockPath()
  const events: string[] = []
  const run = (name: string): Promise<void> =>
    withLock(path, async () => {
      events.push(`begin ${name}`)
      await sleep(30)
      events.push(`end ${name}`)
    })
  await Promise.all([run('a'), run('b'), run('c')])
  expect(events).toHaveLength(6)
  for (let i = 0; i < 6; i += 2) expect(events[i + 1]).toBe(events[i]!.replace('begin', 'end'))
  expect(existsSync(path)).toBe(false)
})

test('a function that fails leaves no lock', async () => {
  const path = lockPath()
  await expect(withLock(path, () => Promise.reject(new Error('no')))).rejects.toThrow('no')
  expect(existsSync(path)).toBe(false)
})

test('the lock of a process that was killed is removed', async () => {
  const path = lockPath()
  await withLock(path, async () => {})
  writeFileSync(path, '2147483646')
  expect(await withLock(path, async () => 1)).toBe(1)
})

test(
  'two builds of one directory at the same time give the library of the last source',
  { timeout: 30_000 },
  async () => {
    const { directory } = makePackage(
      { targets: [{ name: 'one', kind: 'shared', sources: ['src/*.c'], imports: [] }] },
      { 'src/a.c': 'extern int a; int a = 1;\n', 'src/b.c': 'extern int b; int b = 1;\n' },
    )
    const pkg = await loadPackage(directory)
    const build = (): Promise<boolean[]> =>
      buildPackage(pkg, { variant: 'release', kinds: ['shared'] }).then((all) => all.map(({ rebuilt }) => rebuilt))
    expect((await Promise.all([build(), build(), build()])).flat().toSorted()).toEqual([false, false, true])
  },
)
