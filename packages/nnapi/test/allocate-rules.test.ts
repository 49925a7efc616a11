import { describe, expect, test } from 'vitest'
import { validateAllocate, type AllocateDescription, type BufferRole } from '../src/index.ts'
import { handModel, operand } from './support.ts'

const role = (fields: Partial<BufferRole> = {}): BufferRole => ({ modelIndex: 0, ioIndex: 0, frequency: 1, ...fields })
const description = (fields: Partial<AllocateDescription> = {}): AllocateDescription => ({
  dimensions: [],
  inputRoles: [role()],
  outputRoles: [role()],
  ...fields,
})

/** Input and output of one type and shape each. */
const modelOf = (input: Parameters<typeof operand>[0], output: Parameters<typeof operand>[0] = input) =>
  handModel((m) => {
    m.main.operands[0] = operand({ ...input, lifetime: 'SUBGRAPH_INPUT' })
    m.main.operands[3] = operand({ ...output, lifetime: 'SUBGRAPH_OUTPUT' })
  })
const model = modelOf({})

const broken: readonly (readonly [
  what: string,
  rule: string,
  models: Parameters<typeof validateAllocate>[0],
  description: AllocateDescription,
])[] = [
  ['no prepared models', 'D1', [], description()],
  ['no roles', 'D2', [model], description({ inputRoles: [], outputRoles: [] })],
  ['a model that is not listed', 'D3', [model], description({ inputRoles: [role({ modelIndex: 1 })] })],
  ['a negative model', 'D3', [model], description({ inputRoles: [role({ modelIndex: -1 })] })],
  ['a model of another driver', 'D4', [undefined], description()],
  ['an input that is not there', 'D5', [model], description({ inputRoles: [role({ ioIndex: 1 })] })],
  ['an output that is not there', 'D5', [model], description({ outputRoles: [role({ ioIndex: 1 })] })],
  ['frequency 10', 'D6', [model], description({ inputRoles: [role({ frequency: 10 })] })],
  ['frequency 0', 'D6', [model], description({ inputRoles: [role({ frequency: 0 })] })],
  ['frequency -0.5', 'D6', [model], description({ inputRoles: [role({ frequency: -0.5 })] })],
  ['frequency NaN', 'D6', [model], description({ inputRoles: [role({ frequency: Number.NaN })] })],
  ['a role twice', 'D7', [model], description({ inputRoles: [role(), role()] })],
  [
    'a role twice through a model listed twice',
    'D7',
    [model, model],
    description({ inputRoles: [role(), role({ modelIndex: 1 })] }),
  ],
  ['operands of different types', 'D8', [modelOf({}, { type: 'TENSOR_INT32' })], description()],
  [
    'operands of different scales',
    'D8',
    [modelOf({ type: 'TENSOR_INT32', scale: 1 }, { type: 'TENSOR_INT32', scale: 2 })],
    description(),
  ],
  ['ranks that differ', 'D9', [model], description({ dimensions: [2, 2] })],
  ['sizes that differ', 'D9', [model], description({ dimensions: [5] })],
  ['roles that contradict each other', 'D9', [modelOf({ dimensions: [0, 3] }, { dimensions: [2, 4] })], description()],
  ['dimensions for a scalar', 'D10', [modelOf({ type: 'INT32', dimensions: [] })], description({ dimensions: [1] })],
]

describe('requests for device buffers', () => {
  test.each(broken)('%s is refused', (_, rule, models, wrong) => {
    const violation = validateAllocate(models, wrong)
    expect({ rule: violation?.rule, status: violation?.status }).toEqual({ rule, status: 'INVALID_ARGUMENT' })
  })

  test('an operand may be input of one model and output of another', () => {
    expect(
      validateAllocate([model, modelOf({})], description({ outputRoles: [role({ modelIndex: 1 })] })),
    ).toBeUndefined()
  })

  test('the open dimensions of all roles are combined', () => {
    expect(validateAllocate([modelOf({ dimensions: [0, 3] }, { dimensions: [2, 0] })], description())).toBeUndefined()
    expect(validateAllocate([modelOf({ dimensions: [] })], description({ dimensions: [2, 3] }))).toBeUndefined()
  })
})
