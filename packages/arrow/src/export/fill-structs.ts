import { addressOf, CONSTANTS, coreFunctions, keepAlive } from '@tenon/core/internal'
import { checkFilled } from '../import/owned.ts'
import { writeMetadata } from '../schema/metadata.ts'
import type { ExportedMemory } from './exported-memory.ts'
import type { ExportField, ExportNode } from './export-node.ts'

const FLAGS = BigInt(CONSTANTS.ARROW_FLAG_NULLABLE)

/** Fills an `ArrowSchema` struct, in which every field may have nulls. @throws {AllocationError} */
export function fillSchema(root: ExportField, address: number): void {
  const words: bigint[] = []
  const texts: Uint8Array[] = []
  let size = 0
  const addBytes = (added: Uint8Array): bigint => {
    texts.push(added)
    size += added.length
    return BigInt(size - added.length)
  }
  const add = (text: string): bigint => addBytes(Buffer.from(`${text}\0`))
  const visit = ({ format, name, metadata, children }: ExportField): void => {
    const encoded = metadata === undefined || metadata.size === 0 ? -1n : addBytes(writeMetadata(metadata))
    words.push(add(format), add(name), encoded, FLAGS, BigInt(children.length))
    children.forEach(visit)
  }
  visit(root)
  const [description, bytes] = [BigInt64Array.from(words), Buffer.concat(texts)]
  const core = coreFunctions()
  const { length } = description
  const status = core.tn_arrow_export_schema(addressOf(description), length, addressOf(bytes), bytes.length, address)
  keepAlive(description)
  keepAlive(bytes)
  checkFilled(status, 'exporting a schema')
}

/** Fills an `ArrowArray` struct, which keeps the memory until its consumer releases it. @throws {AllocationError | ScopeClosedError} */
export function fillArray(root: ExportNode, memory: ExportedMemory, address: number): void {
  const words: bigint[] = []
  const visit = ({ length, nullCount, buffers, children }: ExportNode): void => {
    words.push(BigInt(length), BigInt(nullCount), 0n, BigInt(buffers.length), BigInt(children.length))
    words.push(...buffers.map(BigInt))
    children.forEach(visit)
  }
  visit(root)
  const description = BigInt64Array.from(words)
  const { hold, copies } = memory.give()
  const status = coreFunctions().tn_arrow_export_array(
    addressOf(description),
    description.length,
    hold,
    addressOf(copies),
    copies.length,
    address,
  )
  keepAlive(description)
  keepAlive(copies)
  checkFilled(status, 'exporting an array')
}
