import type { OperationName } from '../model/operation-types.ts'
import {
  BOOLEANS,
  define,
  defineMany,
  type Entry,
  FLOATS,
  forms,
  int,
  list,
  MOVABLE,
  type Operation,
  productOf,
  QUANT8,
  REALS,
  tensor,
} from './define.ts'
import { INT32_MAXIMUM } from './shapes.ts'

const DEQUANTIZABLE: readonly string[] = [...QUANT8, 'TENSOR_QUANT8_SYMM', 'TENSOR_QUANT8_SYMM_PER_CHANNEL']
const CASTABLE: readonly string[] = [...FLOATS, 'TENSOR_INT32', 'TENSOR_QUANT8_ASYMM']
const COPYABLE: readonly string[] = [
  ...CASTABLE,
  ...BOOLEANS,
  'TENSOR_QUANT8_ASYMM_SIGNED',
  'TENSOR_QUANT8_SYMM',
  'TENSOR_QUANT8_SYMM_PER_CHANNEL',
]

function convert(name: OperationName, from: readonly string[], to: readonly string[]): Entry {
  return define(name, [[tensor('a tensor', from)]], (operation) => {
    operation.checkType(operation.output, to, 'an output')
    return { shape: operation.input(0).dimensions }
  })
}

const anyTensor = tensor('a tensor', MOVABLE)
const axisOf = int('an axis')

/** Returns one number for each axis of the first input. */
function numberForEachAxis(operation: Operation, index: number, what: string): readonly number[] {
  const rank = operation.rankOf(0)
  return operation.list(index, rank, rank, what)
}

function concatenation(operation: Operation): ReturnType<Parameters<typeof define>[2]> {
  const tensors = operation.inputs.slice(0, -1)
  const { type } = tensors[0]!
  for (const { type: own } of tensors)
    if (own !== type) throw operation.refused(`must get tensors of one type, got ${type} and ${own}`)
  operation.checkType(operation.output, [type], 'an output')
  const axis = operation.axis(tensors.length, operation.rankOf(0))
  const { dimensions } = tensors[0]!
  for (const { dimensions: own } of tensors) {
    if (own.length !== dimensions.length || own.some((size, i) => i !== axis && size !== dimensions[i]))
      throw operation.refused(`must get shapes that differ only along axis ${axis}, got [${own.join(', ')}]`)
  }
  const total = tensors.reduce((sum, { dimensions: own }) => sum + own[axis]!, 0)
  const shape = dimensions.map((size, i) => (i === axis ? total : size))
  return { shape, inputs: tensors.map((_, i) => i), numbers: [axis] }
}

export const layoutKernels: readonly Entry[] = [
  define('RESHAPE', [[anyTensor, list('a shape')]], (operation) => {
    const input = operation.input(0)
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
  define('SQUEEZE', forms([anyTensor], list('axes')), (operation) => {
    const input = operation.input(0)
    operation.checkSameType(input)
    const { dimensions } = input
    const named = operation.has(1) ? operation.list(1, 0, dimensions.length, 'axes') : undefined
    const axes = new Set(named?.map((axis) => operation.wrapAxis(axis, dimensions.length)))
    const wrong = [...axes].find((axis) => dimensions[axis] !== 1)
    if (wrong !== undefined)
      throw operation.refused(`must get axes of size 1, got axis ${wrong} of [${dimensions.join(', ')}]`)
    const shape = dimensions.filter((size, axis) => (named === undefined ? size !== 1 : !axes.has(axis)))
    return { as: 'RESHAPE', shape: shape.length === 0 ? [1] : shape }
  }),
  define('EXPAND_DIMS', [[tensor('a tensor', MOVABLE, 1, 5), axisOf]], (operation) => {
    const input = operation.input(0)
    operation.checkSameType(input)
    const axis = operation.axis(1, operation.rankOf(0) + 1)
    return { as: 'RESHAPE', shape: input.dimensions.toSpliced(axis, 0, 1) }
  }),
  define('TRANSPOSE', forms([anyTensor], list('an order of axes')), (operation) => {
    const input = operation.input(0)
    operation.checkSameType(input)
    const rank = operation.rankOf(0)
    const axes = operation.has(1)
      ? operation.list(1, rank, rank, 'an order of axes')
      : Array.from({ length: rank }, (_, axis) => rank - 1 - axis)
    if (new Set(axes).size !== rank || axes.some((axis) => !(axis >= 0 && axis < rank)))
      throw operation.refused(`must get each axis below ${rank} once, got [${axes.join(', ')}]`)
    return { shape: axes.map((axis) => input.dimensions[axis]!), numbers: axes }
  }),
  define(
    'CONCATENATION',
    (count) => [[anyTensor, ...Array.from({ length: count - 2 }, () => anyTensor), axisOf]],
    concatenation,
  ),
  defineMany('SPLIT', [[anyTensor, axisOf, int('a number of parts')]], undefined, (operation) => {
    const input = operation.input(0)
    for (const output of operation.outputs) operation.checkSameType(input, output)
    const { length } = operation.outputs
    const count = operation.number(2)
    if (count !== length) throw operation.refused(`must have as many outputs as parts, ${count}, got ${length}`)
    const axis = operation.axis(1, operation.rankOf(0))
    const size = input.dimensions[axis]! / count
    if (!Number.isInteger(size))
      throw operation.refused(
        `must get a multiple of ${count} elements along axis ${axis}, got ${input.dimensions[axis]}`,
      )
    const shape = input.dimensions.with(axis, size)
    return {
      shapes: operation.outputs.map(() => shape),
      steps: operation.outputs.map((_, i) => {
        return { as: 'SLICE', outputs: [i], numbers: shape.map((__, at) => (at === axis ? -i * size : 0)) }
      }),
    }
  }),
  define('SLICE', [[anyTensor, list('starts'), list('sizes')]], (operation) => {
    const input = operation.input(0)
    operation.checkSameType(input)
    const starts = numberForEachAxis(operation, 1, 'starts')
    const sizes = numberForEachAxis(operation, 2, 'sizes')
    const shape = sizes.map((size, axis) => (size === -1 ? input.dimensions[axis]! - starts[axis]! : size))
    shape.forEach((size, axis) => {
      const start = starts[axis]!
      if (start >= 0 && size >= 1 && start + size <= input.dimensions[axis]!) return
      const received = `got ${sizes[axis]} from ${start}`
      throw operation.refused(
        `must get a slice inside the ${input.dimensions[axis]} elements of axis ${axis}, ${received}`,
      )
    })
    return { shape, numbers: starts.map((start) => -start) }
  }),
  define('PAD', [[tensor('a tensor', REALS), tensor('paddings', ['TENSOR_INT32'], 2, 2)]], (operation) => {
    const input = operation.input(0)
    operation.checkSameType(input)
    const rank = operation.rankOf(0)
    const [rows, columns] = operation.input(1).dimensions
    if (rows !== rank || columns !== 2)
      throw operation.refused(`must get paddings of shape [${rank}, 2], got [${rows}, ${columns}]`)
    const paddings = operation.input(1).numbers()
    if (Math.min(...paddings) < 0) throw operation.refused(`must get paddings from 0 up, got ${Math.min(...paddings)}`)
    const shape = input.dimensions.map((size, axis) => size + paddings[2 * axis]! + paddings[2 * axis + 1]!)
    checkSizes(operation, shape)
    return { shape, numbers: shape.map((_, axis) => paddings[2 * axis]!) }
  }),
  define('TILE', [[anyTensor, list('repeats')]], (operation) => {
    const input = operation.input(0)
    operation.checkSameType(input)
    const repeats = numberForEachAxis(operation, 1, 'repeats')
    if (Math.min(...repeats) < 1) throw operation.refused(`must get repeats from 1 up, got ${Math.min(...repeats)}`)
    const shape = input.dimensions.map((size, axis) => size * repeats[axis]!)
    checkSizes(operation, shape)
    return { shape }
  }),
  define('GATHER', [[anyTensor, axisOf, tensor('indices', ['TENSOR_INT32'])]], (operation) => {
    const input = operation.input(0)
    operation.checkSameType(input)
    const axis = operation.axis(1, operation.rankOf(0))
    const rank = operation.rankOf(0) + operation.rankOf(2) - 1
    if (rank > 6) throw operation.refused(`must make a tensor of rank up to 6, got ${rank}`)
    return {
      shape: input.dimensions.toSpliced(axis, 1, ...operation.input(2).dimensions),
      inputs: [0, 2],
      numbers: [axis],
    }
  }),
  define('ARGMAX', [[anyTensor, axisOf]], (operation) => {
    operation.checkType(operation.output, ['TENSOR_INT32'], 'an output')
    const axis = operation.axis(1, operation.rankOf(0))
    const rest = operation.input(0).dimensions.toSpliced(axis, 1)
    return { shape: rest.length === 0 ? [1] : rest, numbers: [axis] }
  }),
  define('CAST', [[tensor('a tensor', COPYABLE)]], (operation) => {
    const { type } = operation.input(0)
    const isCopy = type === operation.output.type
    if (!isCopy) {
      operation.checkType(operation.input(0), CASTABLE, 'a tensor')
      operation.checkType(operation.output, CASTABLE, 'an output')
    }
    return { shape: operation.input(0).dimensions, ...(isCopy ? { as: 'RESHAPE' } : {}) }
  }),
  convert('QUANTIZE', FLOATS, QUANT8),
  convert('DEQUANTIZE', DEQUANTIZABLE, FLOATS),
]

function checkSizes(operation: Operation, shape: readonly number[]): void {
  const largest = Math.max(...shape)
  if (largest > INT32_MAXIMUM) throw operation.refused(`must make axes of up to 2^31 - 1 elements, got ${largest}`)
}
