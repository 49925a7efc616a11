/** The functions and types that other packages of Tenon use besides the public entry. They may change at any time. */
export { counted } from './counted.ts'
export { failed, invalid, refused, statusOf, violationOf } from './error-status.ts'
export { type Attachment } from './memory/attachment.ts'
export { checkBufferDescription, isU32, memorySize } from './memory/buffer-description.ts'
export { byteCount, byteUnitsHint, parseByteCount } from './memory/byte-count.ts'
export { Chunk } from './memory/chunk.ts'
export {
  closeDescriptor,
  createDmaBuf,
  createSharedMemory,
  describeDescriptor,
  discardDescriptor,
  duplicateDescriptor,
  leaveDescriptor,
  sealDescriptor,
  seals,
  sealsOf,
} from './memory/descriptor.ts'
export { SPAN_UNIT } from './memory/free-list.ts'
export { type PoolHandle, importPool } from './memory/import-pool.ts'
export { DESCRIPTORS, acceptFrom, connectTo, listenAt, peerUser, socketPair } from './memory/local-socket.ts'
export { type Mapping, closeMapping, openMapping } from './memory/mapping.ts'
export { type MemoryRange } from './memory/memory-range.ts'
export { isWhole } from './memory/pool-facts.ts'
export { readable } from './memory/readable.ts'
export { check, failure, nanoseconds, out, outAddress, sharing } from './native/core.ts'
export { platform } from './native/platform.ts'
