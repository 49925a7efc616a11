import { NativeLibrary, tensor } from '@tenon/core'
import {
  batch,
  customCall,
  f32,
  s32,
  str,
  temp,
  typedHandler,
  type AttributeDictionary,
  type PreparedCall,
} from '@tenon/custom-call'
import { kernelLibrary } from '@tenon/kernels'
import { afterEach, expect, test } from 'vitest'
import { liveObjects } from './kernels.ts'

// The kernel writes to the part of its call frame that its attribute `part` names. Each run must get all words as they were.

const library = NativeLibrary.open(kernelLibrary('write_frame'))
const PARTS = ['nothing', 'dims', 'types', 'pointers', 'attributes', 'names', 'counts', 'zero pointers', 'head']

const type = f32([4])
const x = tensor('f32', [4], [7, 0, 0, 0])
const y = tensor('f32', [4])

afterEach(() => expect(liveObjects()).toStrictEqual({ errors: 0, futures: 0 }))

const attrsOf = (part: string): AttributeDictionary => ({ k: s32(5), part: str(part) })

function prepare(part: string): PreparedCall {
  return typedHandler(library, 'write_frame').prepare({
    operands: [type],
    results: [type, temp(type)],
    attrs: attrsOf(part),
  })
}

/** Runs a call several times. The results are [k, the dimension of y, what was read from scratch memory, x[0]]. */
async function expectRuns(run: () => unknown, scratch = 3): Promise<void> {
  for (let i = 0; i < 4; i++) {
    y.set([0, 0, 0, 0])
    await run()
    expect(y.toArray()).toStrictEqual([5, 4, scratch, 7])
  }
}

test.for(PARTS)('a kernel that writes to its frame does not change later calls of a function: %s', async (part) => {
  const call = customCall(library, 'write_frame')
  const options = { results: [y], attrs: attrsOf(part) }
  await expectRuns(() => call([x], options), 0)
  await expectRuns(() => call.async([x], options), 0)
})

test.for(PARTS)('a kernel that writes to its frame does not change later runs of a prepared call: %s', async (part) => {
  using call = prepare(part)
  await expectRuns(() => call.run([x], [y]))
  await expectRuns(() => call.runAsync([x], [y]))
})

test.for(PARTS)('a kernel that writes to its frame does not change later runs of a bound call: %s', async (part) => {
  using call = prepare(part)
  using bound = call.bind([x], [y])
  await expectRuns(() => bound.run())
  await expectRuns(() => bound.runAsync())
})

test.for(PARTS)('a kernel that writes to its frame does not change later runs of a batch: %s', async (part) => {
  using call = prepare(part)
  const entry = { call, operands: [x], results: [y] }
  using both = batch([entry, entry])
  await expectRuns(() => both.run())
  await expectRuns(() => both.runAsync())
})
