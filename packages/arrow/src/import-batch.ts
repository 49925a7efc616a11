import type { Lifetime } from '@tenon/core'
import { ArgumentError, UnsupportedError } from '@tenon/core'
import { checkOptions, CONSTANTS, LAYOUTS, wrongType } from '@tenon/core/internal'
import { ArrowBatch } from './arrow-batch.ts'
import { attach, checkScope, ImportLifetime } from './import/import-owner.ts'
import { readInt32 } from './import/native-words.ts'
import { KIND, type Owned, releaseStruct, takeStruct } from './import/owned.ts'
import { type Node, readArray } from './import/read-array.ts'
import { type ArrowAddress, structAddress } from './import/struct-address.ts'
import { ArrowSchema } from './schema/arrow-schema.ts'
import { readSchema } from './schema/read-schema.ts'

/** Options of {@link importBatch}. */
export interface ImportOptions {
  /** The scope that releases the batch. Without it, the batch is closed, or collected. */
  readonly scope?: Lifetime
  /** Whether tensors may be written in place. Arrow's consumers must not write, so set it only for memory that nobody else uses. */
  readonly writable?: boolean
  /** Whether the array is an `ArrowDeviceArray`, which must be on the CPU. */
  readonly device?: boolean
}

/**
 * Takes over an `ArrowSchema` struct, reads it, and releases it.
 *
 * @param schema where the struct is. It is released afterwards, as the interface says.
 * @throws {ArgumentError} if the value is not an address, or the struct is released. @throws {ArrowError} if the struct is not valid.
 */
export function importSchema(schema: ArrowAddress): ArrowSchema {
  const address = structAddress(schema, 'schema', LAYOUTS.tn_arrow_schema_t.size)
  return readOwned(takeStruct(KIND.schema, address) ?? refuseReleased('schema'))
}

/** Reads a schema that this thread owns, and releases it. */
export function readOwned(owned: Owned): ArrowSchema {
  try {
    return new ArrowSchema(readSchema(owned.address))
  } finally {
    releaseStruct(owned.handle)
  }
}

function refuseReleased(name: string): never {
  throw new ArgumentError(`${name} must be a struct that is not released`, {
    hint: 'Import a struct once, right after it was filled: it has one consumer.',
  })
}

/**
 * Takes over an `ArrowArray` struct, and makes a batch over its memory, which is not copied. A struct array has a column for each child, and
 * any other array is the only column. Both structs are moved, so they are released afterwards, also if the import fails.
 *
 * @param schema where the `ArrowSchema` of the array is, or a schema of {@link importSchema}. @param array where the struct is.
 * @throws {ArgumentError} if a value is not an address, or a struct is released. @throws {UnsupportedError} if the array is on another device
 * than the CPU; it is not taken over then. @throws {ArrowError} if a struct is not valid. @throws {ScopeClosedError} if the scope is closed.
 */
export function importBatch(
  schema: ArrowSchema | ArrowAddress,
  array: ArrowAddress,
  options?: ImportOptions,
): ArrowBatch {
  const { scope, writable = false, device = false } = checkOptions(options, ['scope', 'writable', 'device'])
  if (typeof writable !== 'boolean') throw wrongType('writable', 'true or false', writable)
  if (typeof device !== 'boolean') throw wrongType('device', 'true or false', device)
  const owner = scope === undefined ? undefined : checkScope(scope)
  const { size } = device ? LAYOUTS.tn_arrow_device_array_t : LAYOUTS.tn_arrow_array_t
  const address = structAddress(array, 'array', size)
  if (device) refuseDevice(address)
  const known = schema instanceof ArrowSchema ? schema : undefined
  const schemaAddress = known ? 0 : structAddress(schema, 'schema', LAYOUTS.tn_arrow_schema_t.size)
  const ownedSchema = known ? undefined : (takeStruct(KIND.schema, schemaAddress) ?? refuseReleased('schema'))
  let owned: Owned | undefined
  try {
    owned = takeStruct(KIND.array, address)
  } finally {
    // The schema is taken over in any case.
    if (owned === undefined && ownedSchema !== undefined) releaseStruct(ownedSchema.handle)
  }
  if (owned === undefined) return refuseReleased('array')
  let read: ArrowSchema
  try {
    read = known ?? readOwned(ownedSchema!)
  } catch (error) {
    releaseStruct(owned.handle)
    throw error
  }
  return batchOf(read, owned, writable, owner)
}

/** Makes a batch of an array that this thread owns, and releases the array if that fails. */
export function batchOf(
  schema: ArrowSchema,
  owned: Owned,
  isWritable: boolean,
  scope?: ReturnType<typeof checkScope>,
): ArrowBatch {
  let node: Node
  try {
    node = readArray(owned.address, schema.root)
  } catch (error) {
    releaseStruct(owned.handle)
    throw error
  }
  if (scope !== undefined) return new ArrowBatch(node, attach(scope, owned, isWritable))
  const lifetime = new ImportLifetime(owned, isWritable)
  try {
    return new ArrowBatch(node, lifetime.memory)
  } catch (error) {
    lifetime.close()
    throw error
  }
}

const { device_type: DEVICE_TYPE } = LAYOUTS.tn_arrow_device_array_t.offsets

/** @throws {UnsupportedError} if an `ArrowDeviceArray` is not on the CPU */
function refuseDevice(address: number): void {
  const type = readInt32(address + DEVICE_TYPE)
  if (type === CONSTANTS.ARROW_DEVICE_CPU) return
  throw new UnsupportedError(`the array must be on the CPU, got the device type ${type} of Arrow`, {
    hint: 'Let the producer copy it to the CPU before.',
    details: { deviceType: type },
  })
}
