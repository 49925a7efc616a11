import { declarationTypes } from '@tenon/packed-func'
import { kernelTypes, stringTypes } from './declare-kernel.ts'

/** Names that the written files use. Kernels cannot have them, nor `then`, which `await import()` would call. */
export const usedNames: ReadonlySet<string> = new Set([
  ...kernelTypes,
  ...declarationTypes,
  ...stringTypes,
  ...['Device', 'Object', 'StringTensor', 'Tensor', 'URL', 'then'],
])

/** The names that registered types and functions cannot have within the written files, which export them under their names. */
const shadowing: ReadonlySet<string> = new Set([
  ...usedNames,
  ...[
    'AsyncOptions',
    'Error',
    'IntoResults',
    'IntoResult',
    'Map',
    'Omit',
    'Options',
    'Promise',
    'Proxy',
    'ReadonlyMap',
    'Reflect',
    'Uint8Array',
  ],
  ...'any asserts bigint boolean infer keyof never number object readonly string symbol undefined unique unknown void'.split(
    ' ',
  ),
])

/** The name of an exported type or function within the written files. */
export const localName = (name: string): string => (shadowing.has(name) ? `$${name}` : name)
