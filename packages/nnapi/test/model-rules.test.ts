import { describe, expect, test } from 'vitest'
import { buildModel, type Model, type ModelBuilder, type OperandHandle, validateModel } from '../src/index.ts'
import { brokenModels, location, validModels } from './model-cases.ts'
import { expectFailure, handModel, operand } from './support.ts'

describe('models', () => {
  test('the model that the other tests change is valid', () => {
    expect(validateModel(handModel())).toBeUndefined()
  })

  test.each(brokenModels)('%s is refused', (_, rule, change) => {
    const violation = validateModel(handModel(change), { strictAlignment: rule === 'M11' })
    expect({ rule: violation?.rule, status: violation?.status }).toEqual({ rule, status: 'INVALID_ARGUMENT' })
    expect(violation!.path).toMatch(/^(main|referenced)\b/)
  })

  test.each(validModels)('%s is allowed', (_, change) => {
    expect(validateModel(handModel(change))).toBeUndefined()
  })

  test('subgraphs that reach themselves are refused', () => {
    const inner = (next: number): Model['main'] => ({
      ...handModel().main,
      operands: [
        ...handModel().main.operands,
        operand({ type: 'SUBGRAPH', dimensions: [], lifetime: 'SUBGRAPH', location: location({ offset: next }) }),
      ],
    })
    const cyclic: Model = { ...handModel(), main: inner(0), referenced: [inner(1), inner(0)] }
    expect(validateModel(cyclic)?.rule).toBe('M15')
    const acyclic: Model = { ...handModel(), main: inner(0), referenced: [inner(1), handModel().main] }
    expect(validateModel(acyclic)).toBeUndefined()
  })

  test('operands are added inside the callback, and belong to one model', async () => {
    let kept: ModelBuilder | undefined
    let handle: OperandHandle | undefined
    using model = buildModel((g) => {
      kept = g
      handle = g.input('TENSOR_FLOAT32', [4])
      g.output(g.operation('RELU', [handle], { type: 'TENSOR_FLOAT32', dimensions: [4] }))
    })
    expect(model.main.operands.length).toBe(2)
    for (const late of [
      () => kept!.input('TENSOR_FLOAT32', [4]),
      () => kept!.constant('TENSOR_FLOAT32', [1], [1]),
      () => kept!.scalar('INT32', 1),
      () => kept!.noValue('TENSOR_FLOAT32'),
      () => kept!.operation('RELU', [handle!], { type: 'TENSOR_FLOAT32', dimensions: [4] }),
      () => kept!.output(handle!),
    ])
      await expectFailure(late, 'INVALID_ARGUMENT', 'M13')
    for (const wrong of [{ index: 5 }, { index: -1 }, { index: 0.5 }, undefined, 0])
      await expectFailure(
        () =>
          buildModel((g) => {
            g.operation('RELU', [wrong as never], { type: 'TENSOR_FLOAT32', dimensions: [4] })
          }),
        'INVALID_ARGUMENT',
        'M13',
      )
    expect(() => buildModel((g) => void g.constant('TENSOR_FLOAT32', [2], undefined as never))).toThrow(TypeError)
    await expectFailure(() => buildModel((g) => void g.constant('TENSOR_FLOAT32', [], [1])), 'INVALID_ARGUMENT')
  })
})
