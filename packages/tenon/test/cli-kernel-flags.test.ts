import { parseSignature } from '@tenon/core'
import { resolveAttributes } from '@tenon/core/internal'
import { expect, test } from 'vitest'
import { parseArguments } from '../src/cli/arguments.ts'
import { kernelFlags, readKernelAttributes } from '../src/cli/kernel-flags.ts'

test('attributes may have the names of members of Object.prototype', () => {
  const signature = parseSignature(
    'f',
    '() -> (); __proto__: s32 = 1, constructor: s32 = 2, toString?: { __proto__: s32 }',
  )
  const read = (args: readonly string[], attr: readonly string[] = []): unknown => {
    const values = readKernelAttributes(signature, {}, parseArguments(args, kernelFlags(signature, {}), ''), attr)
    return Object.entries(resolveAttributes(signature, values))
  }
  const defaults = [
    ['__proto__', 1],
    ['constructor', 2],
  ]
  expect(read([])).toEqual(defaults)
  const given = [
    ['__proto__', 5],
    ['constructor', 6],
  ]
  expect(read(['--__proto__', '5', '--constructor=6'])).toEqual(given)
  expect(read([], ['__proto__=5', 'constructor=s32:6'])).toEqual(given)
  const [, , [, members]] = read(['--toString', '{"__proto__": 7}']) as [unknown, unknown, [string, object]]
  expect(Object.entries(members)).toEqual([['__proto__', 7]])
})
