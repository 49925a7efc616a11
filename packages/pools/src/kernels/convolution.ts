import type { Kernel, KernelInput } from './kernel.ts'
import { define, isFloat, type Operation, type Padding, productOf, REALS, windowing } from './shapes.ts'

const PER_CHANNEL = 'TENSOR_QUANT8_SYMM_PER_CHANNEL'

/**
 * Checks types of input, filter, bias and output, and the shape of the bias. A quantized bias has the scale of the products, or 0
 * where the filter has a scale for each index of `channelDim`. Without `channelDim` a filter cannot have such scales.
 */
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

/** Returns the padding of both axes of images: explicit in four inputs from `at`, or a scheme in one. */
function paddingOf(operation: Operation, at: number, isExplicit: boolean): { columns: Padding; rows: Padding } {
  if (!isExplicit) return { columns: { scheme: operation.whole(at) }, rows: { scheme: operation.whole(at) } }
  const [left, right, top, bottom] = [0, 1, 2, 3].map((i) => operation.whole(at + i)) as [
    number,
    number,
    number,
    number,
  ]
  return { columns: { before: left, after: right }, rows: { before: top, after: bottom } }
}

/** Returns the dilations of NNAPI's later optional inputs, which begin with the layout flag that must mean NHWC. */
function dilationsOf(operation: Operation, at: number): [width: number, height: number] {
  if (operation.inputs[at] !== undefined && operation.scalar(at, 'BOOL', 'a layout') !== 0)
    throw operation.refused('must get images as NHWC')
  return operation.inputs.length > at + 1 ? [operation.whole(at + 1), operation.whole(at + 2)] : [1, 1]
}

/**
 * CONV_2D and DEPTHWISE_CONV_2D. The inputs are image, filter and bias, then the padding, the strides, the multiplier of the
 * depthwise one, and the activation.
 */
function convolution(name: string, number: number, isDepthwise: boolean): readonly [string, Kernel] {
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
    const strides = isExplicit ? 7 : 4
    const [batches, height, width, depth] = image.dimensions as [number, number, number, number]
    const [, filterHeight, filterWidth] = filter.dimensions as [number, number, number, number]
    const channels = filter.dimensions[channelDim]!
    checkOperands(operation, channels, channelDim)
    if (isDepthwise) {
      const multiplier = operation.whole(strides + 2)
      if (filter.dimensions[0] !== 1 || multiplier < 1 || channels !== depth * multiplier) {
        const received = `[${filter.dimensions.join(', ')}]`
        throw operation.refused(`must get a filter of shape [1, h, w, ${depth * multiplier}], got ${received}`)
      }
    } else if (filter.dimensions[3] !== depth)
      throw operation.refused(`must get a filter of depth ${depth}, got ${filter.dimensions[3]}`)
    const padding = paddingOf(operation, 3, isExplicit)
    const [strideWidth, strideHeight] = [operation.whole(strides), operation.whole(strides + 1)]
    const [dilationWidth, dilationHeight] = dilationsOf(operation, strides + 3 + extra)
    if (dilationWidth < 1 || dilationHeight < 1) throw operation.refused('must get dilations from 1 up')
    const columns = windowing(operation, width, (filterWidth - 1) * dilationWidth + 1, strideWidth, padding.columns)
    const rows = windowing(operation, height, (filterHeight - 1) * dilationHeight + 1, strideHeight, padding.rows)
    return {
      dimensions: [[batches, rows.size, columns.size, channels]],
      native: {
        operation: number,
        inputs: [0, 1, 2],
        activation: operation.activation(strides + 2 + extra),
        numbers: [columns.before, rows.before, strideWidth, strideHeight, dilationWidth, dilationHeight],
      },
    }
  })
}

const fullyConnected = define('FULLY_CONNECTED', [4], (operation) => {
  const input = operation.input(0)
  const weights = operation.input(1)
  operation.checkRank(input, 2, 6, 'an input')
  operation.checkRank(weights, 2, 2, 'weights')
  const [units, size] = weights.dimensions as [number, number]
  checkOperands(operation, units)
  const batches = productOf(input.dimensions) / size
  if (!Number.isInteger(batches)) throw operation.refused(`must get an input of a multiple of ${size} elements`)
  return {
    dimensions: [[batches, units]],
    native: { operation: 9, inputs: [0, 1, 2], activation: operation.activation(3) },
  }
})

/** Refuses a window that can lie in the padding alone, where it has nothing to pool. */
function checkPadding(operation: Operation, padding: Padding, window: number): void {
  if ('before' in padding && Math.max(padding.before, padding.after) >= window)
    throw operation.refused(`must get padding below the window ${window}, got ${padding.before} and ${padding.after}`)
}

function pooling(name: string, number: number): readonly [string, Kernel] {
  return define(name, [7, 8, 10, 11], (operation) => {
    const image = operation.tensor(0, REALS, 'an image', 4, 4)
    operation.checkSameType(image)
    const isExplicit = operation.inputs.length >= 10
    const padding = paddingOf(operation, 1, isExplicit)
    const at = isExplicit ? 5 : 2
    const [strideWidth, strideHeight, width, height] = [0, 1, 2, 3].map((i) => operation.whole(at + i)) as [
      number,
      number,
      number,
      number,
    ]
    checkPadding(operation, padding.columns, width)
    checkPadding(operation, padding.rows, height)
    dilationsOf(operation, at + 5)
    const [batches, imageHeight, imageWidth, channels] = image.dimensions as [number, number, number, number]
    const columns = windowing(operation, imageWidth, width, strideWidth, padding.columns)
    const rows = windowing(operation, imageHeight, height, strideHeight, padding.rows)
    return {
      dimensions: [[batches, rows.size, columns.size, channels]],
      native: {
        operation: number,
        inputs: [0],
        activation: operation.activation(at + 4),
        numbers: [columns.before, rows.before, strideWidth, strideHeight, width, height],
      },
    }
  })
}

export const convolutionKernels: readonly (readonly [string, Kernel])[] = [
  convolution('CONV_2D', 3, false),
  convolution('DEPTHWISE_CONV_2D', 4, true),
  fullyConnected,
  pooling('AVERAGE_POOL_2D', 1),
  pooling('MAX_POOL_2D', 17),
]
