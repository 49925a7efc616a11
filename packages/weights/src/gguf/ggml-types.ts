import type { DType } from '@tenon/core'
import type { BlockLayout } from '../files/weights-entry.ts'

/** An element type of GGML. Types with blocks of more than one element are not decoded. */
export type GgmlType = BlockLayout & {
  readonly name: string
  /** The element type of the tensor. */
  readonly dtype: DType
}

const plain = (name: string, dtype: DType, byteSize: number): GgmlType => ({ name, dtype, elements: 1, byteSize })
const blocks = (name: string, elements: number, byteSize: number): GgmlType => ({
  name,
  dtype: 'uint8',
  elements,
  byteSize,
})

/** The types by their numbers in a file, with the elements and the bytes of a block: `ggml_type` and `type_traits` of ggml. */
export const ggmlTypes: ReadonlyMap<number, GgmlType> = new Map([
  [0, plain('F32', 'float32', 4)],
  [1, plain('F16', 'float16', 2)],
  [2, blocks('Q4_0', 32, 18)],
  [3, blocks('Q4_1', 32, 20)],
  [6, blocks('Q5_0', 32, 22)],
  [7, blocks('Q5_1', 32, 24)],
  [8, blocks('Q8_0', 32, 34)],
  [9, blocks('Q8_1', 32, 36)],
  [10, blocks('Q2_K', 256, 84)],
  [11, blocks('Q3_K', 256, 110)],
  [12, blocks('Q4_K', 256, 144)],
  [13, blocks('Q5_K', 256, 176)],
  [14, blocks('Q6_K', 256, 210)],
  [15, blocks('Q8_K', 256, 292)],
  [16, blocks('IQ2_XXS', 256, 66)],
  [17, blocks('IQ2_XS', 256, 74)],
  [18, blocks('IQ3_XXS', 256, 98)],
  [19, blocks('IQ1_S', 256, 50)],
  [20, blocks('IQ4_NL', 32, 18)],
  [21, blocks('IQ3_S', 256, 110)],
  [22, blocks('IQ2_S', 256, 82)],
  [23, blocks('IQ4_XS', 256, 136)],
  [24, plain('I8', 'int8', 1)],
  [25, plain('I16', 'int16', 2)],
  [26, plain('I32', 'int32', 4)],
  [27, plain('I64', 'int64', 8)],
  [28, plain('F64', 'float64', 8)],
  [29, blocks('IQ1_M', 256, 56)],
  [30, plain('BF16', 'bfloat16', 2)],
  [34, blocks('TQ1_0', 256, 54)],
  [35, blocks('TQ2_0', 256, 66)],
  [39, blocks('MXFP4', 32, 17)],
  [40, blocks('NVFP4', 64, 36)],
  [41, blocks('Q1_0', 128, 18)],
])
