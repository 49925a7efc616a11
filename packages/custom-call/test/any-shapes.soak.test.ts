import { tensorType } from '@tenon/core'
import { targetCall, typedHandler, type PreparedCall } from '@tenon/custom-call'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { kernels, liveObjects } from './kernels.ts'
import { expectSeen, makeShapes, shapesIn, TEXT } from './shapes.ts'

const CALLS = process.env['TENON_SOAK'] === '1' ? 1_000_000 : 5000

test('random shapes in one frame have the results of fresh frames', { timeout: 3_600_000 }, () => {
  const describe = targetCall(TEXT, typedHandler(kernels, 'describe_buffers'))
  const type = tensorType('u8', [200])
  for (let done = 0; done < CALLS; done += 1000) {
    for (const shapes of fc.sample(shapesIn(40), 1000)) {
      const operands = makeShapes(shapes)
      const result = describe(...operands)
      expectSeen(shapes, result as never)
      using fresh = describe.prepare(operands as never) as unknown as PreparedCall
      const results = fresh.resultTypes.map((one) => (one === type ? undefined : one))
      expect(results).toStrictEqual([result.y.type, result.z.type, undefined])
      const { text } = result
      const own = text.copy()
      text.set(new Uint8Array(200))
      fresh.run(operands, [result.y, result.z, text])
      expect(text.toArray()).toStrictEqual(own.toArray())
    }
  }
  expect(liveObjects()).toStrictEqual({ errors: 0, futures: 0 })
})
