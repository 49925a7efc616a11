import { refuse, type Kernel } from './kernel.ts'
import {
  axisOf,
  checkInputs,
  checkLength,
  checkRank,
  checkSameType,
  checkType,
  FLOATS,
  QUANT8,
  REALS,
  scalarOf,
} from './shapes.ts'

const MOVABLE: readonly string[] = [...REALS, 'TENSOR_INT32']
const DEQUANTIZABLE: readonly string[] = [...QUANT8, 'TENSOR_QUANT8_SYMM', 'TENSOR_QUANT8_SYMM_PER_CHANNEL']
const product = (values: readonly number[]): number => values.reduce((total, value) => total * value, 1)

const reshape: Kernel = {
  plan(inputs, [output]) {
    checkInputs(inputs, [2], 'RESHAPE')
    checkType(inputs[0]!, MOVABLE, 'RESHAPE', 'a tensor')
    checkSameType(inputs[0]!, output!, 'RESHAPE')
    checkRank(inputs[0]!, 1, 6, 'RESHAPE', 'a tensor')
    checkType(inputs[1]!, ['TENSOR_INT32'], 'RESHAPE', 'a shape')
    checkRank(inputs[1]!, 1, 1, 'RESHAPE', 'a shape')
    checkLength(inputs[1]!, 1, 6, 'RESHAPE', 'a shape')
    const shape = [...inputs[1]!.numbers()]
    const count = product(inputs[0]!.dimensions)
    const open = shape.indexOf(-1)
    if (open !== -1) shape[open] = count / product(shape.filter((_, axis) => axis !== open))
    if (
      shape.length === 0 ||
      shape.length > 6 ||
      shape.some((size) => !(Number.isInteger(size) && size >= 1)) ||
      product(shape) !== count
    ) {
      throw refuse(
        'RESHAPE',
        `must get a shape of ${count} elements and rank 1 to 6, got [${inputs[1]!.numbers().join(', ')}]`,
      )
    }
    return { dimensions: [shape], native: { operation: 22, inputs: [0] } }
  },
}

const transpose: Kernel = {
  plan(inputs, [output]) {
    checkInputs(inputs, [1, 2], 'TRANSPOSE')
    const [input, order] = inputs
    checkType(input!, MOVABLE, 'TRANSPOSE', 'a tensor')
    checkSameType(input!, output!, 'TRANSPOSE')
    checkRank(input!, 1, 6, 'TRANSPOSE', 'a tensor')
    const rank = input!.dimensions.length
    if (order?.isPresent === true) {
      checkType(order, ['TENSOR_INT32'], 'TRANSPOSE', 'an order of axes')
      checkRank(order, 1, 1, 'TRANSPOSE', 'an order of axes')
      checkLength(order, rank, rank, 'TRANSPOSE', 'an order of axes')
    }
    const axes = order?.isPresent === true ? order.numbers() : input!.dimensions.map((_, axis) => rank - 1 - axis)
    if (axes.length !== rank || new Set(axes).size !== rank || axes.some((axis) => !(axis >= 0 && axis < rank))) {
      throw refuse('TRANSPOSE', `must get each axis below ${rank} once, got [${axes.join(', ')}]`)
    }
    return {
      dimensions: [axes.map((axis) => input!.dimensions[axis]!)],
      native: { operation: 37, inputs: [0], numbers: axes },
    }
  },
}

const concatenation: Kernel = {
  plan(inputs, [output]) {
    if (inputs.length < 2) throw refuse('CONCATENATION', `must get tensors and an axis, got ${inputs.length} inputs`)
    const tensors = inputs.slice(0, -1)
    const first = tensors[0]!
    checkType(first, MOVABLE, 'CONCATENATION', 'tensors')
    checkType(output!, [first.type], 'CONCATENATION', 'an output')
    checkRank(first, 1, 6, 'CONCATENATION', 'tensors')
    const axis = axisOf(
      scalarOf(inputs.at(-1)!, 'INT32', 'CONCATENATION', 'an axis'),
      first.dimensions.length,
      'CONCATENATION',
    )
    for (const tensor of tensors) {
      checkType(tensor, [first.type], 'CONCATENATION', 'tensors')
      const fits =
        tensor.dimensions.length === first.dimensions.length &&
        tensor.dimensions.every((size, i) => i === axis || size === first.dimensions[i])
      if (!fits)
        throw refuse(
          'CONCATENATION',
          `must get shapes that differ along axis ${axis} alone, got [${tensor.dimensions.join(', ')}]`,
        )
    }
    const total = tensors.reduce((sum, { dimensions }) => sum + dimensions[axis]!, 0)
    return {
      dimensions: [first.dimensions.map((size, i) => (i === axis ? total : size))],
      native: { operation: 2, inputs: tensors.map((_, i) => i), numbers: [axis] },
    }
  },
}

const gather: Kernel = {
  plan(inputs, [output]) {
    checkInputs(inputs, [3], 'GATHER')
    const [input, axisInput, indices] = inputs as [(typeof inputs)[0], (typeof inputs)[0], (typeof inputs)[0]]
    checkType(input, MOVABLE, 'GATHER', 'a tensor')
    checkSameType(input, output!, 'GATHER')
    checkType(indices, ['TENSOR_INT32'], 'GATHER', 'indices')
    checkRank(input, 1, 6, 'GATHER', 'a tensor')
    const { dimensions } = input
    const axis = axisOf(scalarOf(axisInput, 'INT32', 'GATHER', 'an axis'), dimensions.length, 'GATHER')
    const shape = [...dimensions.slice(0, axis), ...indices.dimensions, ...dimensions.slice(axis + 1)]
    if (shape.length > 6) throw refuse('GATHER', `must make a tensor of rank up to 6, got ${shape.length}`)
    return { dimensions: [shape], native: { operation: 51, inputs: [0, 2], numbers: [axis] } }
  },
}

const argmax: Kernel = {
  plan(inputs, [output]) {
    checkInputs(inputs, [2], 'ARGMAX')
    checkType(inputs[0]!, MOVABLE, 'ARGMAX', 'a tensor')
    checkType(output!, ['TENSOR_INT32'], 'ARGMAX', 'an output')
    checkRank(inputs[0]!, 1, 6, 'ARGMAX', 'a tensor')
    const { dimensions } = inputs[0]!
    const axis = axisOf(scalarOf(inputs[1]!, 'INT32', 'ARGMAX', 'an axis'), dimensions.length, 'ARGMAX')
    const rest = dimensions.filter((_, i) => i !== axis)
    return { dimensions: [rest.length === 0 ? [1] : rest], native: { operation: 39, inputs: [0], numbers: [axis] } }
  },
}

/** QUANTIZE and DEQUANTIZE. */
function convert(name: string, operation: number, from: readonly string[], to: readonly string[]): Kernel {
  return {
    plan(inputs, [output]) {
      checkInputs(inputs, [1], name)
      checkType(inputs[0]!, from, name, 'a tensor')
      checkType(output!, to, name, 'an output')
      checkRank(inputs[0]!, 1, 6, name, 'a tensor')
      return { dimensions: [inputs[0]!.dimensions], native: { operation, inputs: [0] } }
    },
  }
}

/** Operations that move elements, by name. */
export const layoutKernels: readonly (readonly [string, Kernel])[] = [
  ['RESHAPE', reshape],
  ['TRANSPOSE', transpose],
  ['CONCATENATION', concatenation],
  ['GATHER', gather],
  ['ARGMAX', argmax],
  ['QUANTIZE', convert('QUANTIZE', 72, FLOATS, QUANT8)],
  ['DEQUANTIZE', convert('DEQUANTIZE', 6, DEQUANTIZABLE, FLOATS)],
]
