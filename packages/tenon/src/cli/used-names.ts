import { declarationTypes } from '@tenon/packed-func'
import { kernelTypes } from './declare-kernel.ts'

/**
 * Names that the written files use. Kernels cannot have them, nor the operators of types, which cannot stand before the dot of
 * `infer.Results`, nor `then`, which `await import()` would call.
 */
export const usedNames: ReadonlySet<string> = new Set([
  ...kernelTypes,
  ...declarationTypes,
  ...['Device', 'Object', 'Tensor', 'URL', 'infer', 'keyof', 'readonly', 'then', 'unique'],
])

/** The names that registered types and functions cannot have within the written files, which export them under their names. */
const shadowing: ReadonlySet<string> = new Set([
  ...usedNames,
  ...['AsyncOptions', 'Error', 'Map', 'Omit', 'Options', 'Promise', 'Proxy', 'ReadonlyMap', 'Reflect', 'Uint8Array'],
  ...'any asserts bigint boolean never number object string symbol undefined unknown void'.split(' '),
])

/** The name of an exported type or function within the written files. */
export const localName = (name: string): string => (shadowing.has(name) ? `$${name}` : name)
