import { copyFileSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import type { Attempts } from '../attacks/attempt.ts'
import { runTenon } from '../run-tenon.ts'
import { inProcess } from './attacks/in-process.ts'
import { isolated } from './attacks/isolated.ts'
import { bindAttacks, runAttacks } from './attacks/run-attacks.ts'

// The library and the workers need Linux.
if (process.platform === 'linux') {
  const directory = bindAttacks()
  afterAll(() => rmSync(directory, { recursive: true }))

  const expected = (attempts: Attempts): object => ({
    code: 0,
    signal: null,
    timedOut: false,
    results: {
      ...Object.fromEntries(Object.entries(attempts).map(([name, [, outcome]]) => [name, outcome])),
      end: '',
    },
    stderr: '',
  })

  test('attempts to end a process through a module end with errors', { timeout: 70_000 }, async () => {
    expect(await runAttacks(directory, inProcess)).toEqual(expected(inProcess))
  })

  test('attempts to end a process through an isolated module end with errors', { timeout: 70_000 }, async () => {
    expect(await runAttacks(directory, isolated, true)).toEqual(expected(isolated))
  })

  test('a library is found in a directory whose name means something in a URL', async () => {
    const name = 'a#b%41 %?x'
    mkdirSync(join(directory, name))
    copyFileSync(join(directory, 'libattack.so'), join(directory, name, 'libother.so'))
    const header = fileURLToPath(new URL('attacks/attack.h', import.meta.url))
    const options = ['--library', `./${name}/libother.so`, '--output', 'other']
    expect(runTenon(['bind', header, ...options], { cwd: directory }).code).toBe(0)
    const module = (await import(pathToFileURL(join(directory, 'other/index.js')).href)) as { store_live(): number }
    expect(module.store_live()).toBe(0)
  })
}
