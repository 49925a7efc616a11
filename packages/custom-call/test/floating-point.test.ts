import { basename, dirname, join } from 'node:path'

import { NativeLibrary, tensor } from '@tenon/core'
import { coreLibrary } from '@tenon/core/internal'
import { FunctionTarget, hostFunction } from '@tenon/custom-call'
import { expect, test } from 'vitest'

const core = coreLibrary().path
const fastMath = join(dirname(core), basename(core).replace('tenon', 'fast_math'))

/** The smallest number above 0, which the compiler does not know. */
const smallest = Number('5e-324')

/** False on a thread with flush-to-zero, such as that of tests with fast-math. */
const hasSubnormals = (): boolean => smallest + smallest > 0
const before = hasSubnormals()

const library = NativeLibrary.open(fastMath)

test('a call of a kernel that sets flush-to-zero keeps the arithmetic of JavaScript', async () => {
  const call = hostFunction(library, 'fast_math_flush').prepare({})
  for (let i = 0; i < 100; i++) call.run([], [])
  expect(hasSubnormals()).toBe(before)
  const bound = call.bind([], [])
  bound.run()
  await bound.runAsync()
  expect(hasSubnormals()).toBe(before)
  bound.close()
  call.close()
})

test('a TypeScript function has the arithmetic of JavaScript', () => {
  const flush = hostFunction(library, 'fast_math_flush').prepare({})
  const seen: boolean[] = []
  const target = FunctionTarget.open('seeing', '(x: f32[1]) -> ()', ([x]) => {
    seen.push(hasSubnormals(), x.toArray()[0] === 1)
    flush.run([], [])
    seen.push(hasSubnormals())
  })
  const x = tensor('f32', [1], [1])
  const call = target.handler.prepare({ operands: [x] })
  call.run([x], [])
  expect(seen).toEqual([before, true, before])
  call.close()
  target.close()
  flush.close()
})

test('a call of a kernel that leaves the direction flag set clears it', async () => {
  const isSet = library.function('fast_math_is_backwards', { result: 'int32' })
  const call = hostFunction(library, 'fast_math_backwards').prepare({})
  const bound = call.bind([], [])
  call.run([], [])
  expect(isSet()).toBe(0)
  bound.run()
  expect(isSet()).toBe(0)
  await bound.runAsync()
  expect(isSet()).toBe(0)
  expect(await isSet.async()).toBe(0)
  bound.close()
  call.close()
})
