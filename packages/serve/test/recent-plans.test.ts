import { describe, expect, test } from 'vitest'
import { defineModel } from '../src/model/model.ts'
import { readInferRequest } from '../src/protocol/read-infer-request.ts'
import { planInference } from '../src/service/infer-plan.ts'
import { headOf, RecentPlans } from '../src/service/recent-plans.ts'

const model = defineModel({ name: 'same', signature: '(x: f32[n]) -> (y: f32[n])', run: ({ x }) => x })

interface Fields {
  readonly id?: string
  readonly size?: number
  readonly comment?: string
}

/** The bytes of the JSON of a request, and its plan. */
function planned({ size = 2, ...fields }: Fields, source?: object) {
  const parameters = { binary_data_size: 4 * size }
  const input = { name: 'x', datatype: 'FP32', shape: [size], ...(source ?? { parameters }) }
  const json = { inputs: [input], ...fields }
  return {
    head: headOf(Buffer.from(JSON.stringify(json))),
    plan: planInference(model, readInferRequest(json), 2 ** 20),
  }
}

describe('plans of recent requests', () => {
  test('have heads that differ if their bytes differ, also for bytes that are not text', () => {
    const all = Array.from({ length: 256 }, (_, byte) => headOf(Buffer.of(byte, 0xff)))
    expect(new Set(all).size).toBe(256)
    expect(headOf(Buffer.of(1, 2, 3, 4).subarray(1, 3))).toBe('\u0002\u0003')
    expect(headOf(Buffer.alloc(1025))).toBeUndefined()
  })

  test('are found by exactly the same JSON', () => {
    const plans = new RecentPlans()
    const [two, three] = [planned({ size: 2 }), planned({ size: 3 })]
    expect(plans.find(two.head)).toBeUndefined()
    plans.add(two.head, two.plan)
    plans.add(three.head, three.plan)
    expect(plans.find(two.head)).toBe(two.plan)
    expect(plans.find(three.head)).toBe(three.plan)
    expect(plans.find(`${two.head} `)).toBeUndefined()
  })

  test('are not kept for requests with an id, with elements in the JSON, in shared memory, or with a long JSON', () => {
    const plans = new RecentPlans()
    const region = { shared_memory_region: 'r', shared_memory_byte_size: 8 }
    const others = [
      planned({ id: '1' }),
      planned({}, { data: [1, 2] }),
      planned({}, { parameters: region }),
      planned({ comment: 'x'.repeat(1024) }),
    ]
    for (const { head, plan } of others) {
      plans.add(head, plan)
      expect(plans.find(head)).toBeUndefined()
    }
  })

  test('make room for new ones, the oldest first', () => {
    const plans = new RecentPlans()
    const all = Array.from({ length: 65 }, (_, i) => planned({ size: i + 1 }))
    for (const { head, plan } of all) plans.add(head, plan)
    expect(plans.find(all[0]!.head)).toBeUndefined()
    expect(all.slice(1).every(({ head, plan }) => plans.find(head) === plan)).toBe(true)
  })
})
