import { decodeMiniFloat, encodeMiniFloat } from '@tenon/core/internal'
import { afterAll, expect } from 'vitest'
import {
  buildModel,
  localDriver,
  operandTypes,
  type ChannelQuantization,
  type OperandHandle,
  type OperandType,
} from '../src/index.ts'
import { createPool } from '@tenon/pools'
import { encodeValue, type ConstantValue } from '../src/model/values.ts'
import * as reference from './reference.ts'

const driver = localDriver()
afterAll(() => driver.closeAsync())

export interface Operand {
  readonly type: OperandType
  readonly dimensions: readonly number[]
  readonly scale?: number
  readonly zeroPoint?: number
  readonly channelQuant?: ChannelQuantization
}
export interface Value extends Operand {
  readonly raw: ConstantValue
}

/** Runs one operation: values of `inputs` come with the request where `isInput`, else from the model. */
export async function run(
  operation: string,
  inputs: readonly (Value & { readonly isInput?: boolean })[],
  output: Operand,
): Promise<{ dimensions: readonly number[]; values: number[] }> {
  using model = buildModel((g) => {
    const handles: OperandHandle[] = inputs.map(({ type, dimensions, raw, isInput, ...quantization }) =>
      isInput === false ? g.constant(type, dimensions, raw, quantization) : g.input(type, dimensions, quantization),
    )
    g.output(g.operation(operation, handles, output))
  })
  using prepared = await driver.prepare(model)
  using pool = createPool(1 << 20)
  let at = 0
  const given = inputs.flatMap(({ type, dimensions, raw, isInput }) => {
    if (isInput === false) return []
    const bytes = encodeValue(type, raw)
    pool.write(at, bytes)
    const slice = pool.slice(at, bytes.length, { dimensions })
    at = Math.ceil((at + bytes.length) / 64) * 64
    return [slice]
  })
  const result = prepared.run({ inputs: given, outputs: [pool.slice(1 << 19, capacity(output))] })
  const { dimensions } = result.outputs[0]!
  const bytes = pool.read(1 << 19, reference.count(dimensions) * operandTypes[output.type].byteSize)
  const raw = [...typed(output.type, bytes)]
  return {
    dimensions,
    values: output.scale === undefined ? raw : raw.map((value) => output.scale! * (value - (output.zeroPoint ?? 0))),
  }
}

const capacity = ({ type, dimensions }: Operand): number =>
  dimensions.includes(0) || dimensions.length === 0
    ? 1 << 18
    : reference.count(dimensions) * operandTypes[type].byteSize

/** The numbers of a value, as they lie in memory. */
export function typed(type: OperandType, bytes: Uint8Array<ArrayBuffer>): Iterable<number> {
  if (type === 'TENSOR_FLOAT32') return new Float32Array(bytes.buffer)
  if (type === 'TENSOR_FLOAT16')
    return [...new Uint16Array(bytes.buffer)].map((bits) => decodeMiniFloat('float16', bits))
  if (type === 'TENSOR_INT32') return new Int32Array(bytes.buffer)
  return type === 'TENSOR_QUANT8_ASYMM' || type === 'TENSOR_BOOL8' ? bytes : new Int8Array(bytes.buffer)
}

let seed = 1
/** A number from -1 to 1, the same in each run. */
const random = (): number => {
  seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fff_ffff
  return seed / 0x4000_0000 - 1
}

/** A random tensor: as the driver gets it, and what it stands for. */
export function sample(
  type: OperandType,
  shape: readonly number[],
  quantization: { scale?: number; zeroPoint?: number; channelQuant?: ChannelQuantization } = {},
  isInput = true,
): { value: Value & { isInput: boolean }; array: reference.Array4 } {
  const { channelQuant } = quantization
  const { scale = channelQuant === undefined ? 0.05 : 0, zeroPoint = 0 } = quantization
  const total = reference.count(shape)
  const isFloat = type === 'TENSOR_FLOAT32' || type === 'TENSOR_FLOAT16'
  const least = type === 'TENSOR_QUANT8_ASYMM' ? 0 : -128
  const raw = Array.from({ length: total }, () =>
    isFloat
      ? type === 'TENSOR_FLOAT32'
        ? Math.fround(random() * 4)
        : decodeMiniFloat('float16', encodeMiniFloat('float16', random() * 4))
      : type === 'TENSOR_INT32'
        ? Math.round(random() * 40)
        : Math.min(Math.max(Math.round(random() * 128 + 128 + least), least), least + 255),
  )
  const inner = channelQuant === undefined ? 1 : reference.count(shape.slice(channelQuant.channelDim + 1))
  const scaleOf = (i: number): number =>
    channelQuant?.scales[Math.floor(i / inner) % channelQuant.scales.length] ?? scale
  const real = isFloat ? raw : raw.map((value, i) => Math.fround(scaleOf(i)) * (value - zeroPoint))
  const said = { scale, zeroPoint, ...(channelQuant === undefined ? {} : { channelQuant }) }
  return {
    value: { type, dimensions: shape, raw, isInput, ...(isFloat ? {} : said) },
    array: { shape, values: real },
  }
}

export const scalar = (
  value: number,
  type: 'INT32' | 'FLOAT32' | 'FLOAT16' | 'BOOL' = 'INT32',
): Value & { isInput: false } => ({
  type,
  dimensions: [],
  raw: value,
  isInput: false,
})

export function expectClose(
  actual: { dimensions: readonly number[]; values: number[] },
  expected: reference.Array4,
  tolerance: number,
): void {
  expect(actual.dimensions).toEqual(expected.shape)
  const worst = Math.max(...actual.values.map((value, i) => Math.abs(value - expected.values[i]!)))
  expect(worst).toBeLessThanOrEqual(tolerance)
}

/** The nearest that a quantized type comes to a real number: the bound of its range included. */
export const clamp = (
  array: reference.Array4,
  type: OperandType,
  scale: number,
  zeroPoint: number,
): reference.Array4 => {
  const least = type === 'TENSOR_QUANT8_ASYMM' ? 0 : -128
  return {
    shape: array.shape,
    values: array.values.map((value) =>
      Math.min(Math.max(value, scale * (least - zeroPoint)), scale * (least + 255 - zeroPoint)),
    ),
  }
}
