import type { OperationName } from '../model/operation-types.ts'
import {
  BOOLEANS,
  define,
  type Entry,
  FLOATS,
  forms,
  type InputSpec,
  int,
  isFloat,
  MOVABLE,
  type Operation,
  REALS,
  tensor,
} from './define.ts'
import { broadcastShape } from './shapes.ts'

/** Two tensors of one type that broadcast, to an output of that type or of booleans. */
function pairwise(name: OperationName, types: readonly string[], to: readonly string[] = types): Entry {
  const inputs = [tensor('a first tensor', types), tensor('a second tensor', types)]
  return define(name, [inputs], (operation) => {
    const [a, b] = [operation.input(0), operation.input(1)]
    operation.checkType(b, [a.type], 'two tensors')
    operation.checkType(operation.output, to === types ? [a.type] : to, 'an output')
    return { shape: broadcastShape(operation, a.dimensions, b.dimensions), inputs: [0, 1] }
  })
}

/** ADD, SUB, MUL and DIV: two tensors that broadcast, and a fused activation, which must be 0 for whole numbers. */
function arithmetic(name: OperationName, types: readonly string[]): Entry {
  const inputs = [tensor('a first tensor', types), tensor('a second tensor', types), int('an activation')]
  return define(name, [inputs], (operation) => {
    const [a, b] = [operation.input(0), operation.input(1)]
    operation.checkType(b, [a.type], 'two tensors')
    operation.checkType(operation.output, [a.type], 'an output')
    const shape = broadcastShape(operation, a.dimensions, b.dimensions)
    const activation = operation.activation(2)
    if (a.type === 'TENSOR_INT32' && activation !== 0)
      throw operation.refused(`must get activation 0 for TENSOR_INT32, got ${activation}`)
    return { shape, inputs: [0, 1], activation }
  })
}

function checkOutputScale(operation: Operation, wanted: number, zero: number): void {
  const { type, scale, zeroPoint } = operation.output
  const expected = type === 'TENSOR_QUANT8_ASYMM' ? zero : zero - 128
  if (isFloat(operation.output) || (scale === wanted && zeroPoint === expected)) return
  const received = `got ${scale} and ${zeroPoint}`
  throw operation.refused(`must have an output of scale ${wanted} and zero point ${expected}, ${received}`)
}

type Scale = 'same' | 'any' | { readonly scale: number; readonly zero: number }

/** One tensor to one of the same shape. Quantized outputs have the input's scale, any scale, or one that NNAPI prescribes. */
function unary(name: OperationName, types: readonly string[], scale: Scale = 'same'): Entry {
  return define(name, [[tensor('a tensor', types)]], (operation) => {
    const input = operation.input(0)
    if (scale === 'same') operation.checkSameType(input)
    else operation.checkType(operation.output, [input.type], 'an output')
    if (typeof scale === 'object') checkOutputScale(operation, scale.scale, scale.zero)
    return { shape: input.dimensions }
  })
}

const BETA: InputSpec = { what: 'beta', types: ['FLOAT32', 'FLOAT16'] }
const COMPARABLE: readonly string[] = [...MOVABLE, ...BOOLEANS]

export const elementwiseKernels: readonly Entry[] = [
  arithmetic('ADD', MOVABLE),
  arithmetic('SUB', MOVABLE),
  arithmetic('MUL', MOVABLE),
  arithmetic('DIV', [...FLOATS, 'TENSOR_INT32']),
  pairwise('MAXIMUM', MOVABLE),
  pairwise('MINIMUM', MOVABLE),
  pairwise('PRELU', REALS),
  pairwise('EQUAL', COMPARABLE, BOOLEANS),
  pairwise('NOT_EQUAL', COMPARABLE, BOOLEANS),
  pairwise('GREATER', COMPARABLE, BOOLEANS),
  pairwise('GREATER_EQUAL', COMPARABLE, BOOLEANS),
  pairwise('LESS', COMPARABLE, BOOLEANS),
  pairwise('LESS_EQUAL', COMPARABLE, BOOLEANS),
  pairwise('LOGICAL_AND', BOOLEANS),
  pairwise('LOGICAL_OR', BOOLEANS),
  unary('LOGICAL_NOT', BOOLEANS),
  unary('RELU', REALS),
  unary('RELU1', REALS),
  unary('RELU6', REALS),
  unary('HARD_SWISH', REALS, 'any'),
  unary('ABS', [...FLOATS, 'TENSOR_INT32'], 'any'),
  unary('NEG', [...FLOATS, 'TENSOR_INT32'], 'any'),
  unary('EXP', FLOATS),
  unary('SQRT', FLOATS),
  unary('RSQRT', FLOATS),
  unary('TANH', REALS, { scale: 1 / 128, zero: 128 }),
  unary('LOGISTIC', REALS, { scale: 1 / 256, zero: 0 }),
  define('SOFTMAX', forms([tensor('a tensor', REALS), BETA], int('an axis')), (operation) => {
    const { type } = operation.input(0)
    operation.checkType(operation.output, [type], 'an output')
    checkOutputScale(operation, 1 / 256, 0)
    operation.checkType(operation.input(1), [type === 'TENSOR_FLOAT16' ? 'FLOAT16' : 'FLOAT32'], 'beta')
    const beta = operation.number(1)
    if (!(beta > 0 && beta < Infinity)) throw operation.refused(`must get a finite beta above 0, got ${beta}`)
    const rank = operation.rankOf(0)
    const axis = operation.has(2) ? operation.axis(2, rank) : rank - 1
    return { shape: operation.input(0).dimensions, numbers: [axis], reals: [beta] }
  }),
  define(
    'SELECT',
    [[tensor('a condition', BOOLEANS), tensor('a first tensor', MOVABLE), tensor('a second tensor', MOVABLE)]],
    (operation) => {
      const [condition, a, b] = [operation.input(0), operation.input(1), operation.input(2)]
      operation.checkType(b, [a.type], 'two tensors')
      operation.checkType(operation.output, [a.type], 'an output')
      const shape = condition.dimensions
      for (const { dimensions } of [a, b]) {
        if (dimensions.join() !== shape.join())
          throw operation.refused(`must get tensors of shape [${shape.join(', ')}], got [${dimensions.join(', ')}]`)
      }
      return { shape, inputs: [0, 1, 2] }
    },
  ),
]
