import type { OperationName } from '../model/operation-types.ts'
import type { KernelInput } from './kernel.ts'
import {
  define,
  type Entry,
  isFloat,
  type Operation,
  type Padding,
  type Pair,
  productOf,
  REALS,
  windowing,
} from './shapes.ts'

const PER_CHANNEL = 'TENSOR_QUANT8_SYMM_PER_CHANNEL'

/** Checks types and the bias, whose scale is that of the products, or 0 for a filter with a scale for each channel. */
function checkOperands(operation: Operation, channels: number, channelDim?: number): void {
  const [input, filter, bias] = operation.inputs as [KernelInput, KernelInput, KernelInput]
  const isQuantized = !isFloat(input)
  operation.checkType(input, REALS, 'an input')
  operation.checkType(operation.output, [input.type], 'an output')
  const filters = isQuantized && channelDim !== undefined ? [input.type, PER_CHANNEL] : [input.type]
  operation.checkType(filter, filters, 'a filter')
  operation.checkType(bias, [isQuantized ? 'TENSOR_INT32' : input.type], 'a bias')
  if (filter.type === PER_CHANNEL && filter.channelQuant!.channelDim !== channelDim) {
    const received = filter.channelQuant!.channelDim
    throw operation.refused(`must get a filter with scales along axis ${channelDim}, got ${received}`)
  }
  const product = filter.type === PER_CHANNEL ? 0 : input.scale * filter.scale
  if (isQuantized && Math.abs(bias.scale - product) > 1e-6 * product)
    throw operation.refused(`must get a bias of scale ${product}, got ${bias.scale}`)
  if (bias.dimensions.length !== 1 || bias.dimensions[0] !== channels)
    throw operation.refused(`must get a bias of shape [${channels}], got [${bias.dimensions.join(', ')}]`)
}

/** Returns the padding of columns and of rows: explicit in four inputs from `at`, or a scheme in one. */
function paddingOf(operation: Operation, at: number, isExplicit: boolean): readonly [columns: Padding, rows: Padding] {
  return isExplicit ? [operation.pair(at), operation.pair(at + 2)] : [operation.whole(at), operation.whole(at)]
}

/** Returns the dilations of NNAPI's later optional inputs, which begin with the layout flag that must mean NHWC. */
function dilationsOf(operation: Operation, at: number): Pair {
  if (operation.inputs[at] !== undefined && operation.scalar(at, 'BOOL', 'a layout') !== 0)
    throw operation.refused('must get images as NHWC')
  return operation.inputs.length > at + 1 ? operation.pair(at + 1) : [1, 1]
}

type Shape = readonly [batches: number, height: number, width: number, channels: number]

/** The inputs are image, filter, bias, padding, strides, the multiplier of a depthwise convolution, and activation. */
function convolution(name: OperationName): Entry {
  const isDepthwise = name === 'DEPTHWISE_CONV_2D'
  const extra = isDepthwise ? 1 : 0
  const counts = [7, 8, 10, 11, 13].map((count) => count + extra)
  return define(name, counts, (operation) => {
    const channelDim = isDepthwise ? 3 : 0
    const image = operation.input(0)
    const filter = operation.input(1)
    operation.checkType(image, REALS, 'an input')
    operation.checkRank(image, 4, 4, 'an image')
    operation.checkRank(filter, 4, 4, 'a filter')
    // With 8 or 10 inputs the eighth distinguishes the two signatures: the implicit one has a layout flag there.
    const isExplicit = operation.inputs.length >= 10 + extra && operation.input(7 + extra).type === 'INT32'
    const at = isExplicit ? 7 : 4
    const [batches, imageHeight, imageWidth, depth] = image.dimensions as Shape
    const [count, height, width, filterDepth] = filter.dimensions as Shape
    const channels = filter.dimensions[channelDim]!
    checkOperands(operation, channels, channelDim)
    if (isDepthwise) {
      const multiplier = operation.whole(at + 2)
      if (count !== 1 || multiplier < 1 || channels !== depth * multiplier) {
        const received = `[${filter.dimensions.join(', ')}]`
        throw operation.refused(`must get a filter of shape [1, h, w, ${depth * multiplier}], got ${received}`)
      }
    } else if (filterDepth !== depth) throw operation.refused(`must get a filter of depth ${depth}, got ${filterDepth}`)
    const padding = paddingOf(operation, 3, isExplicit)
    const strides = operation.pair(at)
    const dilations = dilationsOf(operation, at + 3 + extra)
    if (Math.min(...dilations) < 1) throw operation.refused('must get dilations from 1 up')
    const [columns, left] = windowing(operation, imageWidth, (width - 1) * dilations[0] + 1, strides[0], padding[0])
    const [rows, top] = windowing(operation, imageHeight, (height - 1) * dilations[1] + 1, strides[1], padding[1])
    const activation = operation.activation(at + 2 + extra)
    const numbers = [left, top, ...strides, ...dilations]
    return { shape: [batches, rows, columns, channels], inputs: [0, 1, 2], activation, numbers }
  })
}

/** Refuses a window that can lie in the padding alone, where it has nothing to pool. */
function checkPadding(operation: Operation, padding: Padding, window: number): void {
  if (typeof padding === 'object' && Math.max(...padding) >= window)
    throw operation.refused(`must get padding below the window ${window}, got ${padding.join(' and ')}`)
}

function pooling(name: OperationName): Entry {
  return define(name, [7, 8, 10, 11], (operation) => {
    const image = operation.tensor(0, REALS, 'an image', 4, 4)
    operation.checkSameType(image)
    const isExplicit = operation.inputs.length >= 10
    const padding = paddingOf(operation, 1, isExplicit)
    const at = isExplicit ? 5 : 2
    const strides = operation.pair(at)
    const window = operation.pair(at + 2)
    checkPadding(operation, padding[0], window[0])
    checkPadding(operation, padding[1], window[1])
    dilationsOf(operation, at + 5)
    const [batches, height, width, channels] = image.dimensions as Shape
    const [columns, left] = windowing(operation, width, window[0], strides[0], padding[0])
    const [rows, top] = windowing(operation, height, window[1], strides[1], padding[1])
    const numbers = [left, top, ...strides, ...window]
    return { shape: [batches, rows, columns, channels], activation: operation.activation(at + 4), numbers }
  })
}

export const convolutionKernels: readonly Entry[] = [
  convolution('CONV_2D'),
  convolution('DEPTHWISE_CONV_2D'),
  define('FULLY_CONNECTED', [4], (operation) => {
    const input = operation.input(0)
    const weights = operation.input(1)
    operation.checkRank(input, 2, 6, 'an input')
    operation.checkRank(weights, 2, 2, 'weights')
    const [units, size] = weights.dimensions as [number, number]
    checkOperands(operation, units)
    const batches = productOf(input.dimensions) / size
    if (!Number.isInteger(batches)) throw operation.refused(`must get an input of a multiple of ${size} elements`)
    return { shape: [batches, units], inputs: [0, 1, 2], activation: operation.activation(3) }
  }),
  pooling('AVERAGE_POOL_2D'),
  pooling('MAX_POOL_2D'),
]
