import { operandSlice } from '../src/index.ts'
import { describe, expect, test } from 'vitest'
import { createPool } from '@tenon/pools'
import { layers, mobileNet, type Arithmetic } from './networks.ts'
import { expectNoLeaks, floats, homes } from './support.ts'

const networks = [
  ['mobileNet', mobileNet],
  ['layers', layers],
] as const
const cases = networks.flatMap(([name, make]) =>
  (['float32', 'quant8'] as const).map((arithmetic) => [name, arithmetic, make(arithmetic)] as const),
)

/** Float32 sums of some hundred products, through a dozen layers. Quantized sums are exact: a step for ties that go astray. */
const margin = (arithmetic: Arithmetic, scale: number): number => (arithmetic === 'float32' ? 2e-5 : 1.001 * scale)

describe.each(cases)('%s of %s', (_, arithmetic, { model, input, inputShape, output }) => {
  const results: number[][] = []
  const isFloat = arithmetic === 'float32'
  const byteSize = output.values.length * (isFloat ? 4 : 1)

  test.each(homes)('%s computes close to double precision', async (__, start) => {
    await expectNoLeaks(async () => {
      await using driver = await start()
      using prepared = await driver.prepare(model)
      using pool = createPool(1 << 16)
      pool.write(0, input)
      const args = {
        inputs: [operandSlice(pool, 0, isFloat ? 'TENSOR_FLOAT32' : 'TENSOR_QUANT8_ASYMM', inputShape)],
        outputs: [pool.slice(1 << 15, byteSize)],
      }
      expect(prepared.run(args).outputs[0]!.dimensions).toEqual(output.shape)
      const bytes = pool.read(1 << 15, byteSize)
      const { scale, zeroPoint } = model.main.operands[model.main.outputIndexes[0]!]!
      const found = isFloat ? floats(bytes) : [...bytes].map((code) => scale * (code - zeroPoint))
      const errors = found.map((value, i) => Math.abs(value - output.values[i]!))
      expect(Math.max(...errors)).toBeLessThan(margin(arithmetic, scale))
      results.push(found)
    })
  })

  test('different inputs have different outputs, with the same bits in every home', () => {
    expect(new Set(results[0]).size).toBeGreaterThan(3)
    expect(results.length).toBe(homes.length)
    for (const found of results) expect(found).toEqual(results[0])
  })
})
