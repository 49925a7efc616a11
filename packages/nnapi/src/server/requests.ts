import { PoolsError, type Pool } from '@tenon/pools'
import {
  refused,
  type Attachment,
  describeDescriptor,
  seals,
  sealsOf,
  importPool,
  platform,
} from '@tenon/pools/internal'
import { discardAttachment } from '../link/link.ts'
import type { DeviceMemory, PoolRange } from '../engine/device-memory.ts'
import type { EngineModel } from '../engine/engine-model.ts'
import type { EnginePool } from '../engine/use.ts'
import type { Model } from '../model/model.ts'
import type { Request } from '../request/request.ts'
import { type Reader, u32, u32s } from '../wire/body.ts'
import { readExecute } from '../wire/execute-frame.ts'
import { operations, viewOf } from '../wire/frame.ts'
import { readAllocate, readModel } from '../wire/model-codec.ts'
import { exhausted } from '../engine/limits.ts'
import type { Client } from './client.ts'
import type { ClientPools } from './client-pools.ts'

/** Returns the body of a request: that of its message, or, of a long one, that of frozen memory. */
export function bodyOf(
  operation: number,
  inline: Uint8Array,
  attachment: Attachment | undefined,
  modelBytes: number,
): Uint8Array {
  if (attachment === undefined || (operation !== operations.PREPARE && operation !== operations.SUPPORTED))
    return inline
  try {
    const byteSize = sizeOfBody(attachment)
    if (byteSize > modelBytes) throw exhausted(`${modelBytes} bytes of a model`)
    const pool = importPool({ kind: 'shared', attachment, byteSize, isFrozen: true, keep: false })
    try {
      return pool.read(0)
    } finally {
      pool.close()
    }
  } finally {
    discardAttachment(attachment)
  }
}

function sizeOfBody(attachment: Attachment): number {
  if (typeof attachment !== 'number') return attachment.byteLength
  // Without seals, only this process has the memory.
  if (platform.hasSeals() && (sealsOf(attachment) & seals.WRITE) === 0)
    throw new PoolsError('INVALID_ARGUMENT', 'a body in memory must be frozen')
  return describeDescriptor(attachment).byteSize
}

/** Runs a request of a client that is not an execution. @returns the answer */
export function compute(client: Client, pools: ClientPools, operation: number, body: Reader): unknown {
  switch (operation) {
    case operations.PREPARE:
      return { id: client.prepare(modelOf(pools, body)).id }
    case operations.SUPPORTED:
      return { supported: client.supportedOperations(modelOf(pools, body)) }
    case operations.ALLOCATE: {
      const models = body.field('models').list((id) => client.model(u32(id)))
      return { token: client.allocate(models, readAllocate(body.field('description'))).token }
    }
    case operations.COPY_FROM: {
      const buffer = bufferOf(client, body)
      buffer.isInitialized = false
      const dimensions = u32s(body.field('dimensions'))
      client.buffers.copyFrom(buffer, rangeOf(pools, body, 'source'), dimensions)
      return {}
    }
    case operations.COPY_TO: {
      const target = rangeOf(pools, body, 'target')
      client.buffers.copyTo(bufferOf(client, body), target)
      return {}
    }
    case operations.BUFFER_SHAPE:
      return { dimensions: bufferOf(client, body).valueDimensions }
    default:
      throw new PoolsError('INVALID_ARGUMENT', `operation ${operation} must be one that has an answer`)
  }
}

/** Finds what a request to execute names. @throws {PoolsError} */
export function findRequest(
  client: Client,
  registered: ClientPools,
  frame: Buffer,
): { readonly model: EngineModel; readonly request: Request<EnginePool> } {
  const { model: id, inputs, outputs, pools } = readExecute(viewOf(frame))
  const model = client.model(id)
  if (model === undefined) throw refused('D4', 'model must be a prepared model of this client', 'model')
  const found = pools.map(({ isToken, id: name }, i): EnginePool => {
    const path = `pools[${i}]`
    return isToken ? client.buffers.get(name, path) : registered.get(name, path)
  })
  return { model, request: { inputs, outputs, pools: found } }
}

function modelOf(pools: ClientPools, body: Reader): Model<Pool> {
  return readModel(body.field('model'), (id, i) => pools.get(id, `pools[${i}]`))
}

function bufferOf({ buffers }: Client, body: Reader): DeviceMemory {
  return buffers.get(u32(body.field('token')), 'buffer')
}

function rangeOf(pools: ClientPools, body: Reader, path: string): PoolRange {
  return {
    pool: pools.get(u32(body.field('pool')), path),
    byteOffset: u32(body.field('offset')),
    byteSize: u32(body.field('length')),
  }
}
