import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Handle } from '@tenon/scope/bind'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { runTenon, tenonProgram } from '../run-tenon.ts'
import { compileStore } from './bound-store.ts'

const { directory, library, header, annotations, bind, load } = compileStore()
afterAll(() => rmSync(directory, { recursive: true }))

describe('tenon bind', () => {
  test('removes prefixes from names, and refuses two declarations of one name', async () => {
    const { code } = bind(
      '--annotations',
      annotations,
      '--strip-prefix',
      'store_',
      '--strip-prefix',
      'STORE_',
      '--output',
      'short',
    )
    expect(code).toBe(0)
    const short = await load('short')
    using store = short['open']('path') as Handle
    short['add'](store, 1)
    expect([short['OK'], short['FULL']]).toEqual([0, 5])
    const refused = bind('--strip-prefix', 'store_', '--strip-prefix', 'cursor_', '--output', 'both')
    expect(refused.code).toBe(1)
    expect(refused.stderr).toMatch(/store_open and cursor_open must have different names, got open for both/)
  })

  test('names the annotation that does not fit the headers, and exits with 1', () => {
    writeFileSync(join(directory, 'wrong.json'), '{ "tenon": 1, "functions": { "store_opne": {} } }')
    const { code, stderr } = bind('--annotations', 'wrong.json', '--report')
    expect(code).toBe(1)
    expect(stderr).toContain('the annotation functions.store_opne names a function that the headers do not have')
    expect(stderr).toContain('Did you mean store_open')
  })

  test('exits with 1 for a declaration that is left out if it is strict', () => {
    expect(bind('--report').code).toBe(0)
    expect(bind('--report', '--strict').code).toBe(0)
    const other = join(directory, 'other.h')
    writeFileSync(other, `${readFileSync(header, 'utf8')}\nint absent(void);\n`)
    const strict = runTenon(['bind', other, '--library', library, '--report', '--strict'])
    expect([strict.code, strict.stdout]).toEqual([1, expect.stringContaining('absent: not exported')])
  })

  test('warns of the 1,000th function that a parameter keeps, and names the annotation', () => {
    expect(bind('--output', 'plain').code).toBe(0)
    const program = join(directory, 'many.mjs')
    writeFileSync(
      program,
      `import * as bound from './plain/index.js'
       for (let i = 0; i < 1500; i++) bound.store_keep((value) => value + i)
       console.log(bound.store_call_kept(1))`,
    )
    const { stdout, stderr } = spawnSync(process.execPath, [program], { encoding: 'utf8' })
    expect(stdout).toBe('1500\n')
    expect(stderr.match(/Warning/g)).toHaveLength(1)
    expect(stderr).toContain('1000 functions are callbacks of parameter 1 of store_keep')
    expect(stderr).toContain('annotate the parameter with "call"')
  })

  test('writes the module again after each change of its annotations, until it is interrupted', async () => {
    const path = join(directory, 'watched.json')
    const write = (name: string): void =>
      writeFileSync(path, JSON.stringify({ tenon: 1, functions: { store_live: { rename: name } } }))
    write('first_name')
    const args = ['bind', header, '--library', library, '--annotations', path, '--output', 'watched', '--watch']
    const running = spawn(process.execPath, [tenonProgram, ...args], {
      cwd: directory,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    onTestFinished(() => void running.kill('SIGKILL'))
    let said = ''
    running.stderr.on('data', (data: Buffer) => (said += String(data)))
    const says = async (text: string): Promise<void> => {
      while (!said.includes(text)) await once(running.stderr, 'data')
      said = said.slice(said.indexOf(text) + text.length)
    }
    const declares = (name: string): boolean =>
      readFileSync(join(directory, 'watched/index.d.ts'), 'utf8').includes(`function ${name}()`)
    await says('watching 4 files')
    expect(declares('first_name')).toBe(true)
    write('second_name')
    await says('watching')
    expect(declares('second_name')).toBe(true)
    writeFileSync(path, '{')
    await says('cannot read the annotations')
    write('third_name')
    await says('functions')
    await says('watching')
    expect(declares('third_name')).toBe(true)
    running.kill('SIGINT')
    expect(await once(running, 'exit')).toEqual([0, null])
  })

  test('makes a macro with parameters a function, whose types the annotations give', async () => {
    const shifted = join(directory, 'shifted.h')
    writeFileSync(shifted, '#include <stdint.h>\n#define SHIFTED(p, n) (*(const uint8_t *)(p) << (n))\n')
    const path = join(directory, 'shifted.json')
    writeFileSync(path, JSON.stringify({ tenon: 1, macros: { SHIFTED: '(const void *, int) -> uint32_t' } }))
    const args = ['bind', shifted, '--annotations', path, '--shim', '--output', join(directory, 'shifted')]
    expect(runTenon(args).code).toBe(0)
    expect((await load('shifted'))['SHIFTED'](Uint8Array.of(3), 4)).toBe(48)
  })

  test.each([
    [['--watch', '--check', '--output', 'x'], '--watch cannot be combined with --check'],
    [['--annotations', 'missing.json', '--report'], 'cannot read the annotations missing.json'],
  ])('refuses %j', (args, message) => {
    const { code, stderr } = bind(...args)
    expect(code).toBeGreaterThan(0)
    expect(stderr).toContain(message)
  })
})
