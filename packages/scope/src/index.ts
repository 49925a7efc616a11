export { type AllocateFunction, type AllocatorLike } from './allocator/check-allocator.ts'
export { NativeAllocator, type NativeAllocators, type SegmentAllocator } from './allocator/native-allocator.ts'
export { toCString } from './allocator/to-c-string.ts'
export { type ScopeEvent } from './diagnostics/observe.ts'
export { type ScopeStats } from './diagnostics/stats.ts'
export { type Accessor, type AccessorClass } from './layout/accessor.ts'
export { type AddressLayout } from './layout/address-layout.ts'
export {
  type GroupLayout,
  type Members,
  type PaddingLayout,
  type StructLayout,
  type UnionLayout,
} from './layout/group-layout.ts'
export { MemoryLayout, type MemoryLayouts } from './layout/layouts.ts'
export { type Layout } from './layout/memory-layout.ts'
export { type PathElement, type VarHandle } from './layout/path.ts'
export { type SequenceLayout } from './layout/sequence-layout.ts'
export { type ValueLayout } from './layout/value-layout.ts'
export { type ConfinedNativeScope } from './scope/confined-native-scope.ts'
export { type ConfinedScope } from './scope/confined-scope.ts'
export { type GlobalScope, type ImplicitScope } from './scope/gc-scopes.ts'
export { type HandoffToken } from './scope/handoff.ts'
export { type CloseOptions, type ScopeOptions } from './scope/managed-scope.ts'
export { NativeScope, type NativeScopes } from './scope/native-scope.ts'
export { type Attached, ResourceScope, type ResourceScopes } from './scope/resource-scope.ts'
export { type SharedScope, type ShareOptions, type SharedToken } from './scope/shared-scope.ts'
export { type AtomicKind, type AtomicOperation, type AtomicValue } from './segment/atomics.ts'
export { type ByteOrder } from './segment/byte-order.ts'
export { type Charset } from './segment/charset.ts'
export { type MapOptions } from './segment/mapped-file.ts'
export { MemorySegment } from './segment/memory-segment.ts'
export { type StringOptions } from './segment/strings.ts'
