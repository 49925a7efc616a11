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
  rule: string,
  what: string,
  models: Parameters<typeof validateAllocate>[0],
  description: AllocateDescription,
])[] = [
  ['D1', 'no prepared models', [], description()],
  ['D2', 'no roles', [model], description({ inputRoles: [], outputRoles: [] })],
  ['D3', 'a model that is not listed', [model], description({ inputRoles: [role({ modelIndex: 1 })] })],
  ['D3', 'a negative model', [model], description({ inputRoles: [role({ modelIndex: -1 })] })],
  ['D4', 'a model of another driver', [undefined], description()],
  ['D5', 'an input that is not there', [model], description({ inputRoles: [role({ ioIndex: 1 })] })],
  ['D5', 'an output that is not there', [model], description({ outputRoles: [role({ ioIndex: 1 })] })],
  ['D6', 'frequency 10', [model], description({ inputRoles: [role({ frequency: 10 })] })],
  ['D6', 'frequency 0', [model], description({ inputRoles: [role({ frequency: 0 })] })],
  ['D6', 'frequency -0.5', [model], description({ inputRoles: [role({ frequency: -0.5 })] })],
  ['D6', 'frequency NaN', [model], description({ inputRoles: [role({ frequency: Number.NaN })] })],
  ['D7', 'a role twice', [model], description({ inputRoles: [role(), role()] })],
  [
    'D7',
    'a role twice through a model listed twice',
    [model, model],
    description({ inputRoles: [role(), role({ modelIndex: 1 })] }),
  ],
  ['D8', 'operands of different types', [modelOf({}, { type: 'TENSOR_INT32' })], description()],
  [
    'D8',
    'operands of different scales',
    [modelOf({ type: 'TENSOR_INT32', scale: 1 }, { type: 'TENSOR_INT32', scale: 2 })],
    description(),
  ],
  ['D9', 'ranks that differ', [model], description({ dimensions: [2, 2] })],
  ['D9', 'sizes that differ', [model], description({ dimensions: [5] })],
  ['D9', 'roles that contradict each other', [modelOf({ dimensions: [0, 3] }, { dimensions: [2, 4] })], description()],
  ['D10', 'dimensions for a scalar', [modelOf({ type: 'INT32', dimensions: [] })], description({ dimensions: [1] })],
]

describe('requests for device buffers', () => {
  test.each(broken)('%s refuses %s', (rule, _, models, wrong) => {
    const violation = validateAllocate(models, wrong)
    expect({ rule: violation?.rule, status: violation?.status }).toEqual({ rule, status: 'INVALID_ARGUMENT' })
  })

  test('D7 allows an operand as input of one model and output of another', () => {
    expect(
      validateAllocate([model, modelOf({})], description({ outputRoles: [role({ modelIndex: 1 })] })),
    ).toBeUndefined()
  })

  test('D9 combines the open dimensions of all roles', () => {
    expect(validateAllocate([modelOf({ dimensions: [0, 3] }, { dimensions: [2, 0] })], description())).toBeUndefined()
    expect(validateAllocate([modelOf({ dimensions: [] })], description({ dimensions: [2, 3] }))).toBeUndefined()
  })
})
