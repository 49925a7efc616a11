import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ruleNames } from '../src/errors/rules.ts'
import type { FastBuffer } from '../src/text/fast-buffer.ts'

const root = join(import.meta.dirname, '..')
const core = join(root, '../core/csrc')

describe('the rules', () => {
  it('have the same numbers in C and in TypeScript', () => {
    const header = readFileSync(join(core, 'include/tenon_tstring.h'), 'utf8')
    const inC = [...header.matchAll(/TN_TSTRING_CHECK_(\w+) = (\d+)/g)].map(([, name, value]) => [name, Number(value)])
    const names = ruleNames.map((name) => name.toUpperCase().replaceAll('-', '_'))
    expect(inC).toEqual(['NONE', ...names].map((name, number) => [name, number]))
  })

  it('are all explained in the README', () => {
    const readme = readFileSync(join(root, 'README.md'), 'utf8')
    expect(ruleNames.filter((name) => !readme.includes(`\`${name}\``))).toEqual([])
  })
})

describe('the platform', () => {
  it('has the methods below toString() and write()', () => {
    const buffer = Buffer.alloc(8) as Buffer as FastBuffer & { utf8Write(text: string, offset: number): number }
    expect(buffer.utf8Write('é\0x', 1)).toBe(4)
    expect([buffer.utf8Slice(1, 5), buffer.latin1Slice(1, 3)]).toEqual(['é\0x', 'Ã©'])
    // Only whole characters are written, as many as fit.
    expect(buffer.utf8Write('abcdefg語', 0)).toBe(7)
  })
})
