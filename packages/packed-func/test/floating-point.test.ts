import { basename, dirname, join } from 'node:path'

import { NativeLibrary } from '@tenon/core'
import { coreLibrary } from '@tenon/core/internal'
import { Module, packedFunc, type PackedFunc } from '@tenon/packed-func'
import { expect, test } from 'vitest'
import { kernel } from './support.ts'

const core = coreLibrary().path
const fastMath = join(dirname(core), basename(core).replace('tenon', 'fast_math'))

/** The smallest number above 0, which the compiler does not know. */
const smallest = Number('5e-324')

/** False on a thread with flush-to-zero, such as that of tests with fast-math. */
const hasSubnormals = (): boolean => smallest + smallest > 0
const before = hasSubnormals()

const flush: PackedFunc = Module.open(fastMath).get('fast_math_flush')

test('a call of a kernel that sets flush-to-zero keeps the arithmetic of JavaScript', async () => {
  for (let i = 0; i < 100; i++) expect(flush()).toBeNull()
  expect(hasSubnormals()).toBe(before)
  await flush.async()
  expect(hasSubnormals()).toBe(before)
})

test('a TypeScript function has the arithmetic of JavaScript', () => {
  const seen: boolean[] = []
  const look = packedFunc(() => {
    seen.push(hasSubnormals())
    flush()
    seen.push(hasSubnormals())
  })
  kernel('call')(look)
  expect(seen).toEqual([before, before])
  expect(hasSubnormals()).toBe(before)
})

test('a call of a kernel that leaves the direction flag set clears it', async () => {
  const isSet = NativeLibrary.open(fastMath).function('fast_math_is_backwards', { result: 'int32' })
  const backwards = Module.open(fastMath).get('fast_math_backwards')
  backwards()
  expect(isSet()).toBe(0)
  await backwards.async()
  expect(isSet()).toBe(0)
  expect(await isSet.async()).toBe(0)
})
