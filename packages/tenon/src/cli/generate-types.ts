import { basename } from 'node:path'
import type { KernelSignature } from '@tenon/core'
import { declarationOf, declarationTypes } from '@tenon/packed-func'
import { declareKernel, docComment, inComment, kernelTypes } from './declare-kernel.ts'

/** A packed function without a complete signature. */
export interface PackedDescription {
  readonly name: string
  readonly metadata: string | undefined
  readonly doc: string | undefined
}

/** What a module exports of a library. */
export interface Exported {
  readonly kernels: readonly KernelSignature[]
  readonly functions: readonly PackedDescription[]
}

const optionTypes = `interface Options<Into> extends Omit<KernelCallOptions, 'into'> {
  readonly into?: Into
}
interface AsyncOptions<Into> extends Omit<KernelAsyncOptions, 'into'> {
  readonly into?: Into
}`

/**
 * Names that kernels in the written files cannot have: those that the files use, the operators of types, which cannot stand before
 * the dot of `infer.Results`, and `then`, which `await import()` would call.
 */
export const usedNames: ReadonlySet<string> = new Set([
  ...kernelTypes,
  ...declarationTypes,
  ...['Device', 'Object', 'Tensor', 'URL', 'infer', 'keyof', 'readonly', 'then', 'unique'],
])

/** The declarations of a library for a `.d.ts` file. Packed functions without metadata accept and return any value. */
export function declarations(library: string, { kernels, functions }: Exported): string {
  const parts = [...kernels.map(declareKernel), ...functions.map(declareFunction)]
  const text = [...(kernels.length === 0 ? [] : [optionTypes]), ...parts].join('\n\n')
  // Strings are removed as well, because that of an enumeration can contain the beginning of a comment.
  const code = text.replaceAll(/"(?:[^"\\]|\\.)*"|\/\*\*.*?\*\//gs, '')
  const mentioned = (names: readonly string[]): string =>
    names.filter((name) => new RegExp(`\\b${name}\\b`).test(code)).join(', ')
  const imports = [
    [mentioned([...kernelTypes, 'Tensor'].toSorted()), 'tenon'],
    [mentioned(['Device']), 'tenon/core'],
    [mentioned(declarationTypes), 'tenon/packed-func'],
  ]
  return [
    `// Written by tenon types: the kernels of ${inComment(basename(library))}.`,
    ...imports.flatMap(([names, from]) => (names === '' ? [] : [`import type { ${names} } from '${from}'`])),
    '',
    text,
    '',
    // Without an export list, declarations export every name.
    'export {}',
    '',
  ].join('\n')
}

function declareFunction({ name, metadata, doc }: PackedDescription): string {
  const declared =
    metadata === undefined ? `export function ${name}(...values: Argument[]): Value` : declarationOf(name, metadata)
  return doc === undefined ? declared : docComment(doc) + declared
}

/**
 * A module that opens the library at the first call, so that it can be imported where the library does not exist. `place` is the
 * library's path or URL relative to the module. Names with a dollar sign are not those of kernels.
 */
export function wrappers(place: string, { kernels, functions }: Exported): string {
  const typed = functions.some(({ metadata }) => metadata !== undefined) ? ', typedBy as $typedBy' : ''
  return [
    '// Written by tenon types.',
    `import { fileURLToPath as $filePath } from 'node:url'`,
    ...(kernels.length === 0 ? [] : [`import { Library as $Library } from 'tenon'`]),
    ...(functions.length === 0 ? [] : [`import { Module as $Module${typed} } from 'tenon/packed-func'`]),
    '',
    `const $path = $filePath(new URL('${place}', import.meta.url))`,
    ...(kernels.length === 0 ? [] : ['const $library = $once(() => $Library.open($path))']),
    ...(functions.length === 0 ? [] : ['const $module = $once(() => $Module.open($path))']),
    '',
    ...kernels.map(({ name }) => `export const ${name} = $called('${name}', () => $library().kernel('${name}'))`),
    ...functions.map(({ name, metadata }) => {
      const found = `$module().get('${name}')`
      const call = metadata === undefined ? found : `$typedBy(${found}, $module().metadata('${name}'), '${name}')`
      return `export const ${name} = $called('${name}', () => ${call})`
    }),
    helpers,
  ].join('\n')
}

const helpers = `
function $once(make) {
  let value
  return () => (value ??= make())
}

function $called(name, find) {
  const kernel = $once(find)
  const call = (...values) => kernel()(...values)
  const async = (...values) => kernel().async(...values)
  return Object.defineProperties(call, { name: { value: name }, async: { value: async } })
}
`
