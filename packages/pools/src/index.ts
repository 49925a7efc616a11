export { type ErrorStatus, errorStatus, type OutputShape, PoolsError } from './error-status.ts'
export { type PoolUsage, poolUsage } from './memory/mapping.ts'
export {
  type BufferDescription,
  type BufferFormat,
  type BufferFormatInfo,
  bufferFormats,
  type BufferUsage,
  bufferUsage,
} from './memory/buffer-description.ts'
export {
  createFrozenPool,
  createImagePool,
  createPool,
  type FilePoolOptions,
  freezePool,
  type ImageOptions,
  openFilePool,
  type PoolOptions,
  shareReadOnly,
} from './memory/create-pool.ts'
export { receivePools } from './memory/receive-pools.ts'
export { SharedMemory } from './memory/shared-memory.ts'
export type {
  ArenaOptions,
  ExportOptions,
  HandleOptions,
  MemoryUsage,
  SharedMemoryOptions,
} from './memory/shared-memory-options.ts'
export type { MemoryBacking } from './memory/memory-backing.ts'
export { MemoryExport } from './memory/memory-export.ts'
export type { OpenNamedOptions } from './memory/open-named.ts'
export { ImportedMemory } from './memory/imported-memory.ts'
export type { ChunkHandle, MemoryHandle } from './memory/memory-handle.ts'
export type { TensorLocation } from './memory/tensor-location.ts'
export { MemoryArena } from './memory/memory-arena.ts'
export { ImagePool } from './memory/image-pool.ts'
export { Pool, PoolSlice, type SliceOptions } from './memory/pool.ts'
export type { PoolBacking, PoolFacts, PoolKind, PoolRights } from './memory/pool-facts.ts'
