import type { FunctionAnnotation, ParameterAnnotation } from './annotation-file.ts'
import { FUNCTION_KEYS } from './schema.ts'

/** A word of an annotation and the name in its parentheses: `length(zSql)`. */
export function parseCall(text: string): { readonly word: string; readonly argument: string | undefined } {
  const [, word = text, argument] = /^([\w-]+)\(([^\s()]+)\)$/.exec(text) ?? []
  return { word, argument }
}

/** The parts of `sqlite3_errmsg(db)` or `git_error_last().message`. */
export function parseMessage(text: string): {
  readonly name: string
  readonly argument: string | undefined
  readonly member: string | undefined
} {
  const [, name = text, argument, member] = /^([^\s().]+)(?:\(([^\s()]*)\))?(?:\.([^\s().]+))?$/.exec(text) ?? []
  return { name, argument: argument === '' ? undefined : argument, member }
}

/** The annotations of parameters by name. */
export function parametersOf(annotation: FunctionAnnotation): Map<string, ParameterAnnotation> {
  const own = Object.entries(annotation).filter(([key]) => !FUNCTION_KEYS.includes(key))
  return new Map([...own, ...Object.entries(annotation.parameters ?? {})] as [string, ParameterAnnotation][])
}
