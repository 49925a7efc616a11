import { functionSchema, type TypeSchema } from '@tenon/packed-func/internal'
import { docComment } from '../cli/declare-kernel.ts'
import type { DeclarationContext } from './declaration-context.ts'

/** A packed function, as declarations show it. */
export interface DeclaredFunction {
  /** The name that refinements have for it. */
  readonly place: string
  readonly metadata: string | undefined
  readonly doc: string | undefined
}

/** Whether the parameters of a function are known. Others take and return any values. */
export const isTyped = (metadata: string | undefined): boolean => argsOf(metadata) !== undefined

function argsOf(metadata: string | undefined): readonly TypeSchema[] | undefined {
  return metadata === undefined ? undefined : functionSchema(metadata)?.args
}

/** The declaration of a packed function, and of its asynchronous form in a namespace. */
export function declareFunction(
  { place, metadata, doc }: DeclaredFunction,
  name: string,
  context: DeclarationContext,
): string {
  const args = argsOf(metadata)
  const parameters = args === undefined ? '...values: Argument[]' : context.parameters(args.slice(1), true)
  const result = args === undefined ? 'Value' : context.resultText(place, args[0]!)
  const isExported = !name.startsWith('$')
  const comment = doc === undefined ? '' : docComment(doc)
  return [
    `${comment}${isExported ? 'export' : 'declare'} function ${name}(${parameters}): ${result}`,
    `${isExported ? 'export' : 'declare'} namespace ${name} {`,
    '  /** Calls the function on another thread. */',
    `  function async(${parameters}): Promise<${result}>`,
    '}',
    ...(isExported ? [] : [`export { ${name} as ${name.slice(1)} }`]),
  ].join('\n')
}
