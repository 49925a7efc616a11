export { BinaryFormatError } from './binary-format-error.ts'
export {
  type BinaryFormat,
  type BinaryInfo,
  type ExportedSymbol,
  type ImportedSymbol,
  type SymbolKind,
} from './binary-info.ts'
export { hostPlatformName } from './host-platform.ts'
export { nativeFormat, readBinary } from './read-binary.ts'
export { readHiddenFunctions } from './read-hidden-functions.ts'
export { readTextConstants } from './read-text-constants.ts'
export { missingDependencies, type MissingLibrary } from './search/missing-dependencies.ts'
export { defineKind, SimpleError, TenonError, type TenonErrorOptions } from './tenon-error.ts'
