/** Native functions: calls into native code, and stubs that native code calls. */
export {
  type Argument,
  type Downcall,
  type DowncallOptions,
  type DowncallWithErrno,
  Linker,
  type Linkers,
  type Result,
  type ResultOf,
  type WithErrno,
} from './linker/linker.ts'
export { type FunctionSignature, type NativeType } from './linker/signature.ts'
export { SymbolLookup } from './linker/symbol-lookup.ts'
export { upcallStub, type UpcallFunction } from './linker/upcall-stub.ts'
export { type ForeignThread, type StubOptions } from '@tenon/core'
export { type VaCursor } from './linker/va-cursor.ts'
export { VaList, type VaListBuilder } from './linker/va-list.ts'
