import type { OperationName } from '../model/operation-types.ts'
import { define, type Entry, FLOATS, productOf, QUANT8, REALS } from './shapes.ts'

const MOVABLE: readonly string[] = [...REALS, 'TENSOR_INT32']
const DEQUANTIZABLE: readonly string[] = [...QUANT8, 'TENSOR_QUANT8_SYMM', 'TENSOR_QUANT8_SYMM_PER_CHANNEL']

function convert(name: OperationName, from: readonly string[], to: readonly string[]): Entry {
  return define(name, [1], (operation) => {
    const { dimensions } = operation.tensor(0, from, 'a tensor')
    operation.checkType(operation.output, to, 'an output')
    return { shape: dimensions }
  })
}

export const layoutKernels: readonly Entry[] = [
  define('RESHAPE', [2], (operation) => {
    const input = operation.tensor(0, MOVABLE, 'a tensor')
    operation.checkSameType(input)
    const wanted = operation.list(1, 1, 6, 'a shape')
    const shape = [...wanted]
    const count = productOf(input.dimensions)
    const open = shape.indexOf(-1)
    if (open !== -1) shape[open] = count / productOf(shape.filter((_, axis) => axis !== open))
    if (shape.some((size) => !(Number.isInteger(size) && size >= 1)) || productOf(shape) !== count)
      throw operation.refused(`must get a shape of ${count} elements and rank 1 to 6, got [${wanted.join(', ')}]`)
    return { shape }
  }),
  define('TRANSPOSE', [1, 2], (operation) => {
    const input = operation.tensor(0, MOVABLE, 'a tensor')
    operation.checkSameType(input)
    const rank = input.dimensions.length
    const axes =
      operation.inputs[1]?.isPresent === true
        ? operation.list(1, rank, rank, 'an order of axes')
        : input.dimensions.map((_, axis) => rank - 1 - axis)
    if (new Set(axes).size !== rank || axes.some((axis) => !(axis >= 0 && axis < rank)))
      throw operation.refused(`must get each axis below ${rank} once, got [${axes.join(', ')}]`)
    return { shape: axes.map((axis) => input.dimensions[axis]!), numbers: axes }
  }),
  define('CONCATENATION', undefined, (operation) => {
    const count = operation.inputs.length - 1
    if (count < 1) throw operation.refused(`must get tensors and an axis, got ${count + 1} inputs`)
    const { type, dimensions } = operation.tensor(0, MOVABLE, 'tensors')
    operation.checkType(operation.output, [type], 'an output')
    const axis = operation.axis(count, dimensions.length)
    const tensors = operation.inputs.slice(0, -1)
    for (const tensor of tensors) {
      operation.checkType(tensor, [type], 'tensors')
      const { dimensions: own } = tensor
      if (own.length !== dimensions.length || own.some((size, i) => i !== axis && size !== dimensions[i]))
        throw operation.refused(`must get shapes that differ only along axis ${axis}, got [${own.join(', ')}]`)
    }
    const total = tensors.reduce((sum, tensor) => sum + tensor.dimensions[axis]!, 0)
    const shape = dimensions.map((size, i) => (i === axis ? total : size))
    return { shape, inputs: tensors.map((_, i) => i), numbers: [axis] }
  }),
  define('GATHER', [3], (operation) => {
    const input = operation.tensor(0, MOVABLE, 'a tensor')
    operation.checkSameType(input)
    const indices = operation.input(2)
    operation.checkType(indices, ['TENSOR_INT32'], 'indices')
    const { dimensions } = input
    const axis = operation.axis(1, dimensions.length)
    const shape = [...dimensions.slice(0, axis), ...indices.dimensions, ...dimensions.slice(axis + 1)]
    if (shape.length > 6) throw operation.refused(`must make a tensor of rank up to 6, got ${shape.length}`)
    return { shape, inputs: [0, 2], numbers: [axis] }
  }),
  define('ARGMAX', [2], (operation) => {
    const { dimensions } = operation.tensor(0, MOVABLE, 'a tensor')
    operation.checkType(operation.output, ['TENSOR_INT32'], 'an output')
    const axis = operation.axis(1, dimensions.length)
    const rest = dimensions.filter((_, i) => i !== axis)
    return { shape: rest.length === 0 ? [1] : rest, numbers: [axis] }
  }),
  convert('QUANTIZE', FLOATS, QUANT8),
  convert('DEQUANTIZE', DEQUANTIZABLE, FLOATS),
]
