export { NativeScope } from './scope/native-scopes.ts'
export { ResourceScope } from './scope/resource-scope.ts'
export { type ScopeOptions } from './scope/confined-scope.ts'
export { MemorySegment } from './segment/memory-segment.ts'
