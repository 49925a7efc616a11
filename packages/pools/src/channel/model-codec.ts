import type { AllocateDescription, BufferRole } from '../driver/allocate.ts'
import { type OutputShape, PoolsError } from '../error-status.ts'
import type { DataLocation, Model, Operand, OperandLifetime, Operation, Subgraph } from '../model/model.ts'
import type { OperandType } from '../model/operand-types.ts'
import type { Pool } from '../pool/pool.ts'
import type { Reader } from './body.ts'

/** Returns a model for a message, with the ids of its pools. */
export function modelMessage(
  { main, referenced, operandValues, pools, relaxed = false }: Model<Pool>,
  idOf: (pool: Pool) => number,
): unknown {
  return { main, referenced, operandValues, pools: pools.map(idOf), relaxed }
}

/** Reads a model. Its shape is checked here, its rules are not. @throws {PoolsError} */
export function readModel(reader: Reader, poolOf: (id: number, index: number) => Pool): Model<Pool> {
  return {
    relaxed: reader.field('relaxed').optional((relaxed) => relaxed.boolean()) ?? false,
    main: readSubgraph(reader.field('main')),
    referenced: reader.field('referenced').list(readSubgraph),
    operandValues: reader.field('operandValues').bytes(),
    pools: readU32s(reader, 'pools').map(poolOf),
  }
}

const readU32s = (reader: Reader, name: string): number[] => reader.field(name).list((value) => value.u32())

function readSubgraph(reader: Reader): Subgraph {
  return {
    operands: reader.field('operands').list(readOperand),
    operations: reader.field('operations').list(readOperation),
    inputIndexes: readU32s(reader, 'inputIndexes'),
    outputIndexes: readU32s(reader, 'outputIndexes'),
  }
}

function readOperation(reader: Reader): Operation {
  return {
    type: reader.field('type').string(),
    inputs: readU32s(reader, 'inputs'),
    outputs: readU32s(reader, 'outputs'),
  }
}

function readOperand(reader: Reader): Operand {
  const channelQuant = reader.field('channelQuant').optional((quantization) => ({
    scales: quantization.field('scales').list((scale) => scale.number()),
    channelDim: quantization.field('channelDim').u32(),
  }))
  return {
    type: reader.field('type').string() as OperandType,
    dimensions: readU32s(reader, 'dimensions'),
    scale: reader.field('scale').number(),
    zeroPoint: reader.field('zeroPoint').number(),
    lifetime: reader.field('lifetime').string() as OperandLifetime,
    location: readLocation(reader.field('location')),
    ...(channelQuant === undefined ? {} : { channelQuant }),
  }
}

function readLocation(reader: Reader): DataLocation {
  return {
    poolIndex: reader.field('poolIndex').u32(),
    offset: reader.field('offset').u32(),
    length: reader.field('length').u32(),
    padding: reader.field('padding').u32(),
  }
}

/** Reads a request for a device buffer. @throws {PoolsError} */
export function readAllocate(reader: Reader): AllocateDescription {
  const readRole = (role: Reader): BufferRole => ({
    modelIndex: role.field('modelIndex').u32(),
    ioIndex: role.field('ioIndex').u32(),
    frequency: role.field('frequency').number(),
  })
  return {
    dimensions: readU32s(reader, 'dimensions'),
    inputRoles: reader.field('inputRoles').list(readRole),
    outputRoles: reader.field('outputRoles').list(readRole),
  }
}

/** Reads the shape of an output. @throws {PoolsError} */
export function readShape(reader: Reader): OutputShape {
  return { dimensions: readU32s(reader, 'dimensions'), isSufficient: reader.field('isSufficient').boolean() }
}

/** Returns the failure of a request for a message. */
export function errorMessage({ sentence, rule, path, outputShapes, details }: PoolsError): object {
  const { expected, received } = details
  return { sentence: sentence.slice(0, 1000), rule, path, outputShapes, expected, received }
}

/** Reads the failure of a request. @throws {PoolsError} if the message is not one. */
export function readError(reader: Reader, status: PoolsError['status']): PoolsError {
  const text = (name: string): string | undefined => reader.field(name).optional((value) => value.string())
  const [expected, received] = [text('expected'), text('received')]
  return new PoolsError(status, reader.field('sentence').string(), {
    rule: text('rule'),
    path: text('path'),
    outputShapes: reader.field('outputShapes').optional((shapes) => shapes.list(readShape)) ?? [],
    ...(expected === undefined ? {} : { details: { expected, received } }),
  })
}
