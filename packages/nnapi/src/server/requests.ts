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
import type { PoolRange } from '../engine/device-memory.ts'
import type { EngineModel } from '../engine/engine-model.ts'
import type { EnginePool } from '../engine/execute.ts'
import type { Model } from '../model/model.ts'
import type { Request } from '../request/request.ts'
import { type Reader, u32, u32s } from '../wire/body.ts'
import { readExecute } from '../wire/execute-frame.ts'
import { operations, viewOf } from '../wire/frame.ts'
import { readAllocate, readModel } from '../wire/model-codec.ts'
import { type Client, exhausted } from './client.ts'

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

/** Runs a request of a client that is no execution. @returns the answer */
export function compute(client: Client, operation: number, body: Reader): unknown {
  switch (operation) {
    case operations.PREPARE:
      return { id: client.prepare(modelOf(client, body)).id }
    case operations.SUPPORTED:
      return { supported: client.supportedOperations(modelOf(client, body)) }
    case operations.ALLOCATE: {
      const models = body.field('models').list((id) => client.model(u32(id)))
      return { token: client.allocate(models, readAllocate(body.field('description'))).token }
    }
    case operations.COPY_FROM: {
      const buffer = client.buffer(u32(body.field('token')), 'buffer')
      buffer.isInitialized = false
      const dimensions = u32s(body.field('dimensions'))
      client.copyFrom(buffer, rangeOf(client, body, 'source'), dimensions)
      return {}
    }
    case operations.COPY_TO: {
      const target = rangeOf(client, body, 'target')
      client.copyTo(client.buffer(u32(body.field('token')), 'buffer'), target)
      return {}
    }
    default:
      throw new PoolsError('INVALID_ARGUMENT', `operation ${operation} must be one that has an answer`)
  }
}

/** Finds what a request to execute names. @throws {PoolsError} */
export function findRequest(
  client: Client,
  frame: Buffer,
): { readonly model: EngineModel; readonly request: Request<EnginePool> } {
  const { model: id, inputs, outputs, pools } = readExecute(viewOf(frame))
  const model = client.model(id)
  if (model === undefined) throw refused('D4', 'model must be a prepared model of this client', 'model')
  const found = pools.map(({ isToken, id: name }, i): EnginePool => {
    const path = `pools[${i}]`
    return isToken ? client.buffer(name, path) : client.pool(name, path)
  })
  return { model, request: { inputs, outputs, pools: found } }
}

function modelOf(client: Client, body: Reader): Model<Pool> {
  return readModel(body.field('model'), (id, i) => client.pool(id, `pools[${i}]`))
}

function rangeOf(client: Client, body: Reader, path: string): PoolRange {
  return {
    pool: client.pool(u32(body.field('pool')), path),
    byteOffset: u32(body.field('offset')),
    byteSize: u32(body.field('length')),
  }
}
