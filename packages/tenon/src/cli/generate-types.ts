import { basename } from 'node:path'
import { readBinary } from '@tenon/core'
import { declarationOf, declarationTypes, isDeclarable } from '@tenon/packed-func'
import { packedFunctions } from '../packed-functions.ts'
import { openModule } from './open-module.ts'
import { InputError } from './input-error.ts'

export interface Described {
  readonly name: string
  readonly metadata: string | undefined
  readonly doc: string | undefined
}

/**
 * The packed functions of a library; `left` are those whose names are not valid in JavaScript.
 *
 * @throws {InputError} if the library does not have packed functions
 */
export function describePacked(path: string): { functions: Described[]; left: string[] } {
  const { names } = packedFunctions(readBinary(path))
  if (names.length === 0) {
    throw new InputError(
      `${path} does not have packed functions`,
      `Run tenon inspect ${path} to see its functions. Custom calls do not describe their types.`,
    )
  }
  const module = openModule(path)
  const functions = names
    .filter(isDeclarable)
    .map((name) => ({ name, metadata: module.metadata(name), doc: module.doc(name) }))
  return { functions, left: names.filter((name) => !isDeclarable(name)) }
}

/** The declarations of functions for a `.d.ts` file. Functions without metadata accept and return any value. */
export function declarations(path: string, functions: readonly Described[]): string {
  const lines = functions.map(({ name, metadata, doc }) => {
    const declared =
      metadata === undefined ? `export function ${name}(...values: Argument[]): Value` : declarationOf(name, metadata)
    return doc === undefined ? declared : `/** ${doc.trim().replaceAll('*/', '*\\/')} */\n${declared}`
  })
  const text = lines.join('\n')
  const mentioned = (of: readonly string[]): string =>
    of.filter((type) => new RegExp(`\\b${type}\\b`).test(text)).join(', ')
  const imports = [
    [mentioned(['Device', 'Tensor']), 'tenon/core'],
    [mentioned(declarationTypes), 'tenon/packed-func'],
  ]
  return [
    `// Written by tenon types: the packed functions of ${basename(path)}.`,
    ...imports.flatMap(([names, from]) => (names === '' ? [] : [`import type { ${names} } from '${from}'`])),
    '',
    text,
    '',
  ].join('\n')
}

/** A module that loads the library and exports its packed functions. `place` is the library's path or URL relative to it. */
export function wrappers(place: string, functions: readonly Described[]): string {
  const lines = functions.map(({ name, metadata }) =>
    metadata === undefined
      ? `export const ${name} = library.get('${name}')`
      : `export const ${name} = typedBy(library.get('${name}'), library.metadata('${name}'), '${name}')`,
  )
  const imported = functions.some(({ metadata }) => metadata !== undefined) ? 'Module, typedBy' : 'Module'
  return [
    `// Written by tenon types.`,
    `import { fileURLToPath } from 'node:url'`,
    `import { ${imported} } from 'tenon/packed-func'`,
    '',
    `const library = Module.open(fileURLToPath(new URL('${place}', import.meta.url)))`,
    '',
    ...lines,
    '',
  ].join('\n')
}
