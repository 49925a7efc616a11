import type { OperationName } from '../model/operation-types.ts'
import { define, type Entry, FLOATS, isFloat, type Operation, REALS } from './shapes.ts'

function broadcastShape(operation: Operation, a: readonly number[], b: readonly number[]): number[] {
  const rank = Math.max(a.length, b.length)
  return Array.from({ length: rank }, (_, axis) => {
    const [m, n] = [a[a.length - rank + axis] ?? 1, b[b.length - rank + axis] ?? 1]
    if (m !== n && m !== 1 && n !== 1)
      throw operation.refused(`must get shapes that broadcast, got [${a.join(', ')}] and [${b.join(', ')}]`)
    return m === 1 ? n : m
  })
}

/** ADD, SUB, MUL and DIV: two tensors that broadcast, and a fused activation, which must be 0 for whole numbers. */
function binary(name: OperationName, types: readonly string[]): Entry {
  return define(name, [3], (operation) => {
    const a = operation.tensor(0, types, 'tensors')
    const b = operation.tensor(1, [a.type], 'two tensors')
    operation.checkType(operation.output, [a.type], 'an output')
    const activation = operation.activation(2)
    if (a.type === 'TENSOR_INT32' && activation !== 0)
      throw operation.refused(`must get activation 0 for TENSOR_INT32, got ${activation}`)
    return { shape: broadcastShape(operation, a.dimensions, b.dimensions), inputs: [0, 1], activation }
  })
}

function checkOutputScale(operation: Operation, wanted: number, zero: number): void {
  const { type, scale, zeroPoint } = operation.output
  const expected = type === 'TENSOR_QUANT8_ASYMM' ? zero : zero - 128
  if (isFloat(operation.output) || (scale === wanted && zeroPoint === expected)) return
  const received = `got ${scale} and ${zeroPoint}`
  throw operation.refused(`must have an output of scale ${wanted} and zero point ${expected}, ${received}`)
}

/** One tensor to one of the same shape. `bounds` are the scale and zero point that NNAPI prescribes. */
function unary(name: OperationName, bounds?: { readonly scale: number; readonly zero: number }): Entry {
  return define(name, [1], (operation) => {
    const input = operation.tensor(0, REALS, 'a tensor')
    operation.checkType(operation.output, [input.type], 'an output')
    if (bounds === undefined) operation.checkSameType(input)
    else checkOutputScale(operation, bounds.scale, bounds.zero)
    return { shape: input.dimensions }
  })
}

export const elementwiseKernels: readonly Entry[] = [
  binary('ADD', [...REALS, 'TENSOR_INT32']),
  binary('SUB', [...REALS, 'TENSOR_INT32']),
  binary('MUL', [...REALS, 'TENSOR_INT32']),
  binary('DIV', [...FLOATS, 'TENSOR_INT32']),
  unary('RELU'),
  unary('RELU1'),
  unary('RELU6'),
  unary('TANH', { scale: 1 / 128, zero: 128 }),
  unary('LOGISTIC', { scale: 1 / 256, zero: 0 }),
  define('SOFTMAX', [2, 3], (operation) => {
    const { type, dimensions } = operation.tensor(0, REALS, 'a tensor')
    operation.checkType(operation.output, [type], 'an output')
    checkOutputScale(operation, 1 / 256, 0)
    const beta = operation.scalar(1, type === 'TENSOR_FLOAT16' ? 'FLOAT16' : 'FLOAT32', 'beta')
    if (!(beta > 0 && beta < Infinity)) throw operation.refused(`must get a finite beta above 0, got ${beta}`)
    const rank = dimensions.length
    const axis = operation.inputs.length < 3 ? rank - 1 : operation.axis(2, rank)
    return { shape: dimensions, numbers: [axis], reals: [beta] }
  }),
]
