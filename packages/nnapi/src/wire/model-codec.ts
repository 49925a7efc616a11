import type { AllocateDescription, BufferRole } from '../driver/allocate.ts'
import { type OutputShape, PoolsError, type Pool } from '@tenon/pools'
import type {
  ChannelQuantization,
  DataLocation,
  Model,
  Operand,
  OperandLifetime,
  Operation,
  Subgraph,
} from '../model/model.ts'
import type { OperandType } from '../model/operand-types.ts'
import { binary, boolean, number, type Read, type Reader, record, string, u32, u32s } from './body.ts'

export function modelMessage(
  { main, referenced, operandValues, pools, relaxed = false }: Model<Pool>,
  idOf: (pool: Pool) => number,
): unknown {
  return { main, referenced, operandValues, pools: pools.map(idOf), relaxed }
}

const readLocation = record<DataLocation>({ poolIndex: u32, offset: u32, length: u32, padding: u32 })

const readChannels = record<ChannelQuantization>({ scales: (scales) => scales.list(number), channelDim: u32 })

const readOperand = record<Operand>({
  type: string as Read<OperandType>,
  dimensions: u32s,
  scale: number,
  zeroPoint: number,
  lifetime: string as Read<OperandLifetime>,
  location: readLocation,
  channelQuant: (quantization) => quantization.optional(readChannels)!,
})

const readSubgraph = record<Subgraph>({
  operands: (operands) => operands.list(readOperand),
  operations: (operations) => operations.list(record<Operation>({ type: string, inputs: u32s, outputs: u32s })),
  inputIndexes: u32s,
  outputIndexes: u32s,
})

const readModelOfIds = record<Omit<Required<Model>, 'pools'> & { readonly pools: readonly number[] }>({
  relaxed: (relaxed) => relaxed.optional(boolean) ?? false,
  main: readSubgraph,
  referenced: (subgraphs) => subgraphs.list(readSubgraph),
  operandValues: binary,
  pools: u32s,
})

/** Reads a model. Its shape is checked here, its rules are not. @throws {PoolsError} */
export function readModel(reader: Reader, poolOf: (id: number, index: number) => Pool): Model<Pool> {
  const { pools, ...model } = readModelOfIds(reader)
  return { ...model, pools: pools.map(poolOf) }
}

const readRole = record<BufferRole>({ modelIndex: u32, ioIndex: u32, frequency: number })

export const readAllocate: Read<AllocateDescription> = record({
  dimensions: u32s,
  inputRoles: (roles) => roles.list(readRole),
  outputRoles: (roles) => roles.list(readRole),
})

export const readShape: Read<OutputShape> = record({ dimensions: u32s, isSufficient: boolean })

export function errorMessage({ sentence, rule, path, outputShapes, details }: PoolsError): object {
  const { expected, received, exitCode, signal, reason } = details
  return { sentence: sentence.slice(0, 1000), rule, path, outputShapes, expected, received, exitCode, signal, reason }
}

export function readError(reader: Reader, status: PoolsError['status']): PoolsError {
  const text = (name: string): string | undefined => reader.field(name).optional(string)
  const all = {
    expected: text('expected'),
    received: text('received'),
    exitCode: reader.field('exitCode').optional(number),
    signal: text('signal'),
    reason: text('reason'),
  }
  return new PoolsError(status, string(reader.field('sentence')), {
    rule: text('rule'),
    path: text('path'),
    outputShapes: reader.field('outputShapes').optional((shapes) => shapes.list(readShape)) ?? [],
    details: Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)),
  })
}
