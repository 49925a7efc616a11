import { wrongType } from '@tenon/core/internal'
import { checkForm, checkForms } from '../check-form.ts'
import { counted } from '@tenon/pools/internal'
import type { PoolFacts } from '@tenon/pools'
import type { OperandType } from './operand-types.ts'

/** The lifetimes of operands, in the order of their numbers, which start at 0. */
export const operandLifetimes = [
  'TEMPORARY_VARIABLE',
  'SUBGRAPH_INPUT',
  'SUBGRAPH_OUTPUT',
  'CONSTANT_COPY',
  'CONSTANT_POOL',
  'NO_VALUE',
  'SUBGRAPH',
] as const

/** The source of an operand's value. HIDL's `CONSTANT_REFERENCE` is `CONSTANT_POOL` here, as in AIDL. */
export type OperandLifetime = (typeof operandLifetimes)[number]

/** A range of a pool: each number from 0 to 2^32 - 1, in bytes. */
export interface DataLocation {
  readonly poolIndex: number
  readonly offset: number
  readonly length: number
  readonly padding: number
}

/** The scales of a `TENSOR_QUANT8_SYMM_PER_CHANNEL`, one for each index of an axis. */
export interface ChannelQuantization {
  readonly scales: readonly number[]
  readonly channelDim: number
}

/** A value of a model, which comes with requests, is constant, or is written by an operation. */
export interface Operand {
  readonly type: OperandType
  /** A dimension of 0 is open. No dimensions mean a scalar, or a tensor of open rank. */
  readonly dimensions: readonly number[]
  readonly scale: number
  readonly zeroPoint: number
  readonly lifetime: OperandLifetime
  readonly location: DataLocation
  readonly channelQuant?: ChannelQuantization
}

/** An operation on operands. */
export interface Operation {
  /** The name in the driver's registry of kernels, for example `ADD`. */
  readonly type: string
  /** The indices of operands. */
  readonly inputs: readonly number[]
  readonly outputs: readonly number[]
}

/** Operands, and the operations on them in the order in which they run. */
export interface Subgraph {
  readonly operands: readonly Operand[]
  readonly operations: readonly Operation[]
  readonly inputIndexes: readonly number[]
  readonly outputIndexes: readonly number[]
}

/** A model as NNAPI's HAL has it, with pools of `P`. Made by {@link buildModel} or by hand. */
export interface Model<P extends PoolFacts = PoolFacts> {
  readonly main: Subgraph
  readonly referenced: readonly Subgraph[]
  /** The values of `CONSTANT_COPY` operands. */
  readonly operandValues: Uint8Array
  /** The memory of `CONSTANT_POOL` operands. */
  readonly pools: readonly P[]
  /** A driver may compute float32 with the range and precision of float16; the reference driver never does. */
  readonly relaxed?: boolean
}

const SUBGRAPH_LISTS = ['operands', 'operations', 'inputIndexes', 'outputIndexes'] as const

/** Checks the form of a model that may be written by hand. @throws {ArgumentError} if a part is missing. */
export function checkModelForm(model: Model): void {
  checkForm(model, 'model', ['referenced', 'pools'])
  checkForm(model.main, 'model.main', SUBGRAPH_LISTS)
  checkForms(model.referenced, 'model.referenced', SUBGRAPH_LISTS)
  for (const subgraph of [model.main, ...model.referenced]) {
    checkForms(subgraph.operands, 'operands', ['dimensions'])
    checkForms(subgraph.operations, 'operations', ['inputs', 'outputs'])
    for (const { location } of subgraph.operands)
      if (typeof location !== 'object' || location === null) throw wrongType('location', 'a place in a pool', location)
  }
}

export function modelText({ main: { inputIndexes, outputIndexes, operations } }: Model): string {
  const [inputs, outputs] = [counted(inputIndexes.length, 'input'), counted(outputIndexes.length, 'output')]
  return `(${inputs}, ${outputs}, ${counted(operations.length, 'operation')})`
}

export const NOWHERE: DataLocation = Object.freeze({ poolIndex: 0, offset: 0, length: 0, padding: 0 })
