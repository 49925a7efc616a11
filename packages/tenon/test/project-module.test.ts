import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { relativePlace } from '../src/cli/generate-types.ts'
import { projectModule, type BuiltLibrary } from '../src/pack/project-module.ts'
import { compileLibrary } from './signature-library.ts'

let directory: string
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'tenon-module-'))
  mkdirSync(join(directory, 'node_modules'))
  symlinkSync(fileURLToPath(new URL('..', import.meta.url)), join(directory, 'node_modules/tenon'))
  writeFileSync(join(directory, 'package.json'), '{"type":"module"}')
})
afterAll(() => rmSync(directory, { recursive: true }))

/** A kernel that adds a number to each element of four. */
const kernel = (name: string, added: number): string => `
TN_SIGNATURE(${name}, "(x: f32[4]) -> (y: f32[4])");
TN_XLA_MARK_HOST(${name});
void ${name}(void* out, const void** in) {
  for (int i = 0; i < 4; i++) ((float*)out)[i] = ((const float*)in[0])[i] + ${added};
}`

const built = (name: string, source: string): BuiltLibrary => ({
  name,
  path: compileLibrary(directory, source, `lib${name}.so`),
  place: relativePlace(`./lib${name}.so`),
})

describe('the module of a project', () => {
  test('has the functions of all its libraries, each of which it opens at the first call', () => {
    const libraries = [
      built('first', kernel('add_one', 1)),
      built('helper', 'int helper(void) { return 1; }'),
      built('second', kernel('add_two', 2)),
    ]
    const { script, declarations, names, left } = projectModule(libraries)
    expect([names, left]).toEqual([['add_one', 'add_two'], []])
    expect(declarations).toContain('declarations for first, second.')
    expect(declarations).toContain('export const add_one: ')
    expect(declarations).toContain('export const add_two: ')
    writeFileSync(join(directory, 'index.js'), script)
    writeFileSync(
      join(directory, 'use.js'),
      `import { readFileSync } from 'node:fs'
import { tensor } from 'tenon'
import { add_one, add_two } from './index.js'
const loaded = () => [...new Set(readFileSync('/proc/self/maps', 'utf8').match(/lib(first|helper|second).so/g) ?? [])].length
const x = tensor('f32', [4], [1, 2, 3, 4])
console.log(loaded(), add_two(x).toArray(), loaded(), add_one(x).toArray(), loaded())`,
    )
    const output = execFileSync(process.execPath, ['use.js'], { cwd: directory, encoding: 'utf8' })
    expect(output).toBe('0 [ 3, 4, 5, 6 ] 1 [ 2, 3, 4, 5 ] 2\n')
    expect(readFileSync(join(directory, 'index.js'), 'utf8').match(/^import /gm)).toHaveLength(2)
  })

  test('refuses two libraries that export the same name', () => {
    expect(() => projectModule([built('one', kernel('same', 1)), built('two', kernel('same', 2))])).toThrow(
      'the libraries one and two both export same',
    )
  })

  test('refuses libraries that describe no kernel', () => {
    const silent = 'int helper(void) { return 1; }'
    expect(() => projectModule([built('alone', silent)])).toThrow('libalone.so does not describe its kernels')
    expect(() => projectModule([built('alone', silent), built('other', silent)])).toThrow(
      'none of the libraries alone, other describes its kernels',
    )
  })
})
