/** Native functions: calls into native code, and stubs that native code calls. */
export { type Downcall, type DowncallOptions, Linker, type WithErrno } from './linker/linker.ts'
export { type IsolatedFunctionOptions } from './linker/remote-function.ts'
export { type FunctionSignature, type NativeType } from './linker/signature.ts'
export { SymbolLookup } from './linker/symbol-lookup.ts'
export { upcallStub } from './linker/upcall-stub.ts'
export { type StubOptions } from '@tenon/core/internal'
export { VaList } from './linker/va-list.ts'
