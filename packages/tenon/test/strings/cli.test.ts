import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { StringTensor } from '../../src/entries/tstring.ts'
import { runTenon, type Finished } from '../run-tenon.ts'
import { compileKernels } from './library.ts'

const library = compileKernels()
const run = (...args: string[]): Finished => runTenon(args)
const file = (name: string, content: string): string => {
  const path = join(dirname(library), name)
  writeFileSync(path, content)
  return path
}

describe.each([[], ['--isolate']])('tenon call %s', (...flags) => {
  test('reads strings from the lines of a file', () => {
    const lines = file('words.txt', 'one\n\na line that needs memory of its own\n')
    expect(run('call', library, 'sizes', '--arg', `${lines}@lines`, ...flags)).toMatchObject({
      stdout: '[ 3  0 35]\n',
    })
    expect(run('call', library, 'sizes', '--arg', `text=${lines}@lines`, ...flags)).toMatchObject({ code: 0 })
  })

  test('reads nested strings from JSON, and prints strings', () => {
    const words = file('words.json', '[["a", "b"], ["\\u00fc", ""]]')
    const { stdout } = run('call', library, 'twice', '--arg', `${words}@json`, ...flags)
    expect(JSON.parse(stdout)).toEqual([
      ['aa', 'bb'],
      ['üü', ''],
    ])
    const json = run('call', library, 'twice', '--arg', `${words}@json`, '--json', ...flags)
    expect(JSON.parse(json.stdout)).toMatchObject({
      operands: ['string<tf>[2, 2]'],
      results: [
        {
          name: 'twice',
          type: 'string<tf>[2, 2]',
          values: [
            ['aa', 'bb'],
            ['üü', ''],
          ],
        },
      ],
    })
  })

  test('reads string tensors, and writes strings in three forms', () => {
    const path = join(dirname(library), 'words.bin')
    StringTensor.from(['a', 'b'.repeat(30)], { layout: 'legacy' }).export(path)
    const out = (form: string): string => {
      const to = join(dirname(library), 'out')
      const { code } = run('call', library, 'twice', '--arg', path, '--out', `${to}${form}`, '--repeat', '2', ...flags)
      expect(code).toBe(0)
      return to
    }
    expect(readFileSync(out('@lines'), 'utf8')).toBe(`aa\n${'b'.repeat(60)}\n`)
    expect(JSON.parse(readFileSync(out('@json'), 'utf8'))).toEqual(['aa', 'b'.repeat(60)])
    using written = StringTensor.open(out(''))
    expect(written.toArray()).toEqual(['aa', 'b'.repeat(60)])
  })
})

test.each([
  ['words.txt', '--arg words.txt: text is string<tf>[...shape], and the form of the file is missing'],
  ['bad.json@json', 'bad.json must be a JSON array of strings, or of arrays of one length'],
  ['not.json@json', 'not.json is not JSON'],
])('tenon call refuses the operand %s', (arg, message) => {
  file('words.txt', 'one')
  file('bad.json', '[["a"], ["b", "c"]]')
  file('not.json', '[')
  const { code, stderr } = run('call', library, 'sizes', '--arg', join(dirname(library), arg))
  expect(code).not.toBe(0)
  expect(stderr.replaceAll(`${dirname(library)}/`, '')).toContain(message)
})

test('tenon inspect and tenon types know strings', () => {
  expect(run('inspect', library).stdout).toContain('(text: string[...shape]) -> (sizes: s32[...shape])')
  const { stdout } = run('types', library)
  expect(stdout).toContain("import type { ForeignTensor, OfferedStrings, StringTensorLike } from 'tenon/core'")
  expect(stdout).toContain("import type { StringTensor } from 'tenon/tstring'")
  expect(stdout).toContain(
    '(text: StringTensorLike | OfferedStrings | ForeignTensor, options?: Options<never>): StringTensor',
  )
})
