import { PoolsError } from '../error-status.ts'
import type { AllocateDescription, BufferRole } from '../driver/allocate.ts'
import type { DataLocation, Model, Operand, OperandLifetime, Operation, Subgraph } from '../model/model.ts'
import type { OperandType } from '../model/operand-types.ts'
import type { Pool } from '../pool/pool.ts'
import type { Reader } from './body.ts'

/** A model as a message has it: its pools by their ids. */
export function modelMessage(
  { main, referenced, operandValues, pools, relaxed = false }: Model<Pool>,
  idOf: (pool: Pool) => number,
): unknown {
  return { main, referenced, operandValues, pools: pools.map(idOf), relaxed }
}

/** Reads a model. Its shape is right then, its sense is not checked yet. @throws {PoolsError} */
export function readModel(reader: Reader, poolOf: (id: number, index: number) => Pool): Model<Pool> {
  const relaxed = reader.field('relaxed')
  return {
    relaxed: !relaxed.isMissing && relaxed.boolean(),
    main: readSubgraph(reader.field('main')),
    referenced: reader.field('referenced').list(readSubgraph),
    operandValues: reader.field('operandValues').bytes(),
    pools: reader
      .field('pools')
      .list((id) => id.u32())
      .map(poolOf),
  }
}

const readIndexes = (reader: Reader): number[] => reader.list((index) => index.u32())

function readSubgraph(reader: Reader): Subgraph {
  return {
    operands: reader.field('operands').list(readOperand),
    operations: reader.field('operations').list(readOperation),
    inputIndexes: readIndexes(reader.field('inputIndexes')),
    outputIndexes: readIndexes(reader.field('outputIndexes')),
  }
}

function readOperation(reader: Reader): Operation {
  return {
    type: reader.field('type').string(),
    inputs: readIndexes(reader.field('inputs')),
    outputs: readIndexes(reader.field('outputs')),
  }
}

function readOperand(reader: Reader): Operand {
  const channelQuant = reader.field('channelQuant')
  return {
    type: reader.field('type').string() as OperandType,
    dimensions: readIndexes(reader.field('dimensions')),
    scale: reader.field('scale').number(),
    zeroPoint: reader.field('zeroPoint').number(),
    lifetime: reader.field('lifetime').string() as OperandLifetime,
    location: readLocation(reader.field('location')),
    ...(channelQuant.isMissing
      ? {}
      : {
          channelQuant: {
            scales: channelQuant.field('scales').list((scale) => scale.number()),
            channelDim: channelQuant.field('channelDim').u32(),
          },
        }),
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
    dimensions: readIndexes(reader.field('dimensions')),
    inputRoles: reader.field('inputRoles').list(readRole),
    outputRoles: reader.field('outputRoles').list(readRole),
  }
}

/** Why a request failed, as a message has it. */
export function errorMessage({ sentence, rule, path, outputShapes }: PoolsError): unknown {
  return { sentence: sentence.slice(0, 1000), rule, path, outputShapes }
}

/** Reads why a request failed. @throws {PoolsError} if the message isn't one. */
export function readError(reader: Reader, status: PoolsError['status']): PoolsError {
  const [rule, path, shapes] = [reader.field('rule'), reader.field('path'), reader.field('outputShapes')]
  return new PoolsError(status, reader.field('sentence').string(), {
    ...(rule.isMissing ? {} : { rule: rule.string() }),
    ...(path.isMissing ? {} : { path: path.string() }),
    outputShapes: shapes.isMissing
      ? []
      : shapes.list((shape) => ({
          dimensions: readIndexes(shape.field('dimensions')),
          isSufficient: shape.field('isSufficient').boolean(),
        })),
  })
}
