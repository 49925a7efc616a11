import { invalid } from '@tenon/pools/internal'
import {
  operandLifetimes,
  type ChannelQuantization,
  type DataLocation,
  type Model,
  type Operand,
  type Operation,
  type Subgraph,
} from '../model/model.ts'
import { operandTypes, type OperandType } from '../model/operand-types.ts'
import { operationTypes } from '../model/operation-types.ts'
import type { Pool } from '@tenon/pools'
import type { Request, RequestArgument } from '../request/request.ts'
import { poolToHidl, type HidlMemory } from './memory.ts'

/** A range of a pool in HIDL, which has no padding. */
export type HidlDataLocation = Omit<DataLocation, 'padding'>

/** Parameters of some types beside scale and zero point (`Operand.ExtraParams`, of which one field has a value). */
export type HidlExtraParams =
  | { readonly none: null }
  | { readonly channelQuant: ChannelQuantization }
  | { readonly extension: Uint8Array }

/** An operand of a model, in the form of NNAPI 1.3. */
export interface HidlOperand extends Pick<Operand, 'dimensions' | 'scale' | 'zeroPoint'> {
  readonly type: number
  /** The number of inputs of operations that name the operand. */
  readonly numberOfConsumers: number
  /** `OperandLifeTime`. */
  readonly lifetime: number
  readonly location: HidlDataLocation
  readonly extraParams: HidlExtraParams
}

/** An operation of a model, with indexes of its operands, in the form of NNAPI 1.3. */
export interface HidlOperation extends Pick<Operation, 'inputs' | 'outputs'> {
  /** `OperationType`. */
  readonly type: number
}

/** The operands and operations of a model or of a control-flow branch, in the form of NNAPI 1.3. */
export interface HidlSubgraph extends Pick<Subgraph, 'inputIndexes' | 'outputIndexes'> {
  readonly operands: readonly HidlOperand[]
  readonly operations: readonly HidlOperation[]
}

/** A model of HAL 1.3. */
export interface HidlModel {
  readonly main: HidlSubgraph
  readonly referenced: readonly HidlSubgraph[]
  readonly operandValues: Uint8Array
  readonly pools: readonly HidlMemory[]
  readonly relaxComputationFloat32toFloat16: boolean
}

/** Converts a model to HIDL's structures and numbers. The pools keep their descriptors. @throws {PoolsError} */
export function modelToHidl({ main, referenced, operandValues, pools, relaxed = false }: Model<Pool>): HidlModel {
  return {
    main: subgraphToHidl(main),
    referenced: referenced.map(subgraphToHidl),
    operandValues,
    pools: pools.map(poolToHidl),
    relaxComputationFloat32toFloat16: relaxed,
  }
}

function subgraphToHidl({ operands, operations, inputIndexes, outputIndexes }: Subgraph): HidlSubgraph {
  const consumers = countConsumers(operands.length, operations)
  return {
    inputIndexes,
    outputIndexes,
    operations: operations.map(({ type, inputs, outputs }, i) => {
      if (!Object.hasOwn(operationTypes, type))
        throw invalid('M19', `operations[${i}].type`, 'must be an operation of HIDL', type)
      return { type: operationTypes[type as keyof typeof operationTypes], inputs, outputs }
    }),
    operands: operands.map(({ location: { poolIndex, offset, length }, type, lifetime, channelQuant, ...rest }, i) => ({
      ...rest,
      extraParams: channelQuant === undefined ? { none: null } : { channelQuant },
      type: operandTypes[type].number,
      lifetime: operandLifetimes.indexOf(lifetime),
      numberOfConsumers: consumers[i]!,
      location: { poolIndex, offset, length },
    })),
  }
}

/**
 * Converts a model from HIDL's structures. Its pools were made by `poolFromHidl`. `validateModel` checks the result.
 *
 * @throws {PoolsError} for unknown numbers (M2), wrong counts of consumers (M17) and parameters of extensions (M18).
 */
export function modelFromHidl(
  { main, referenced, operandValues, relaxComputationFloat32toFloat16: relaxed }: Omit<HidlModel, 'pools'>,
  pools: readonly Pool[],
): Model<Pool> {
  return {
    main: subgraphFromHidl(main, 'main'),
    referenced: referenced.map((subgraph, i) => subgraphFromHidl(subgraph, `referenced[${i}]`)),
    operandValues,
    pools,
    relaxed,
  }
}

const operandNames = new Map(Object.entries(operandTypes).map(([name, { number }]) => [number, name as OperandType]))
const operationNames = new Map(Object.entries(operationTypes).map(([name, number]) => [number as number, name]))

function subgraphFromHidl({ operands, operations, inputIndexes, outputIndexes }: HidlSubgraph, path: string): Subgraph {
  const consumers = countConsumers(operands.length, operations)
  return {
    inputIndexes,
    outputIndexes,
    operations: operations.map(({ type, inputs, outputs }, i): Operation => {
      const name = operationNames.get(type)
      if (name === undefined)
        throw invalid('M19', `${path}.operations[${i}].type`, 'must be the number of a known operation', type)
      return { type: name, inputs, outputs }
    }),
    operands: operands.map(({ type, lifetime, location, numberOfConsumers, extraParams, ...rest }, i): Operand => {
      const [typeName, lifetimeName] = [operandNames.get(type), operandLifetimes[lifetime]]
      const at = `${path}.operands[${i}]`
      if (typeName === undefined) throw invalid('M2', `${at}.type`, 'must be the number of an operand type', type)
      if (lifetimeName === undefined)
        throw invalid('M2', `${at}.lifetime`, 'must be the number of a lifetime', lifetime)
      if (numberOfConsumers !== consumers[i])
        throw invalid('M17', `${at}.numberOfConsumers`, `must be ${consumers[i]}`, numberOfConsumers)
      if ('extension' in extraParams)
        throw invalid('M18', `${at}.extraParams`, 'must not be those of an extension, of which none is known')
      const channels = 'channelQuant' in extraParams ? { channelQuant: extraParams.channelQuant } : {}
      return { ...rest, type: typeName, lifetime: lifetimeName, location: { ...location, padding: 0 }, ...channels }
    }),
  }
}

function countConsumers(operandCount: number, operations: readonly Pick<Operation, 'inputs'>[]): readonly number[] {
  const counts = Array.from({ length: operandCount }, () => 0)
  for (const index of operations.flatMap(({ inputs }) => inputs)) if (index in counts) counts[index]!++
  return counts
}

/** An input or output of a request of HIDL. */
export interface HidlRequestArgument extends Pick<RequestArgument, 'hasNoValue' | 'dimensions'> {
  readonly location: HidlDataLocation
}

/** A request of HAL 1.0 to 1.2. */
export interface HidlRequest {
  readonly inputs: readonly HidlRequestArgument[]
  readonly outputs: readonly HidlRequestArgument[]
  readonly pools: readonly HidlMemory[]
}

/** Converts a request to HIDL's structures. @throws {PoolsError} if an argument has padding, which HIDL does not have. */
export function requestToHidl({ inputs, outputs, pools }: Request<Pool>): HidlRequest {
  const convert = (list: readonly RequestArgument[], name: string): HidlRequestArgument[] =>
    list.map(({ location: { padding, ...location }, ...rest }, i) => {
      if (padding !== 0) throw invalid('Q4', `${name}[${i}].location.padding`, 'must be 0 in HIDL', padding)
      return { ...rest, location }
    })
  return { inputs: convert(inputs, 'inputs'), outputs: convert(outputs, 'outputs'), pools: pools.map(poolToHidl) }
}

/** Converts a request from HIDL's structures. Its pools were made by `poolFromHidl`. */
export function requestFromHidl(request: Omit<HidlRequest, 'pools'>, pools: readonly Pool[]): Request<Pool> {
  const convert = ({ location, ...rest }: HidlRequestArgument): RequestArgument => ({
    ...rest,
    location: { ...location, padding: 0 },
  })
  return { inputs: request.inputs.map(convert), outputs: request.outputs.map(convert), pools }
}
