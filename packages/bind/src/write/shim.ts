import type { RunTimeType } from '../probe/macros.ts'
import type { CType, FunctionDeclaration } from '../read/c-types.ts'
import { declare } from './declare.ts'

/** The name of a function in a shim, for what a header calls `name`. */
export const shimSymbol = (name: string): string =>
  `tenon_shim_${name.replaceAll(/\W/gu, (character) => `_${character.codePointAt(0)!.toString(16)}`)}`

/**
 * A function that calls another one of the header. Its body is on one line.
 *
 * @param isByPointer whether values of a type are passed as pointers. A result of such a type goes where a first parameter points to.
 * @throws {UnnamedType} if C code cannot name a type
 */
export function wrapperCode(
  { name, type: { result, parameters } }: FunctionDeclaration,
  isByPointer: (type: CType) => boolean,
): string {
  const declared = parameters.map(({ type }, index) =>
    declare(type, isByPointer(type) ? `(*tenon_a${index})` : `tenon_a${index}`),
  )
  // In parentheses, a macro with the name of the function does not replace the call.
  const call = `(${name})(${argumentsOf(parameters.map(({ type }) => isByPointer(type)))})`
  if (!isByPointer(result)) return functionCode(name, result, declared, `return ${call};`)
  return functionCode(
    name,
    { kind: 'void' },
    [declare(result, '(*tenon_result)'), ...declared],
    `*tenon_result = ${call};`,
  )
}

/** A function that expands a macro with parameters of given types. */
export function macroFunctionCode(name: string, { type: { result, parameters } }: FunctionDeclaration): string {
  const declared = parameters.map(({ type }, index) => declare(type, `tenon_a${index}`))
  const expansion = `${name}(${argumentsOf(parameters.map(() => false))})`
  return functionCode(name, result, declared, `return ${expansion};`)
}

const C_TYPES: Readonly<Record<RunTimeType, string>> = {
  bool: '_Bool',
  int8: 'signed char',
  uint8: 'unsigned char',
  int16: 'short',
  uint16: 'unsigned short',
  int32: 'int',
  uint32: 'unsigned',
  int64: 'long long',
  uint64: 'unsigned long long',
  float32: 'float',
  float64: 'double',
  pointer: 'void *',
  text: 'const char *',
}

/** A function that evaluates a macro without parameters. */
export const macroValueCode = (name: string, as: RunTimeType): string =>
  `${C_TYPES[as]} ${shimSymbol(name)}(void) { return (${C_TYPES[as]})(${name}); }`

const argumentsOf = (isByPointer: readonly boolean[]): string =>
  isByPointer.map((isPointer, index) => `${isPointer ? '*' : ''}tenon_a${index}`).join(', ')

const functionCode = (name: string, result: CType, parameters: readonly string[], body: string): string =>
  `${declare(result, `${shimSymbol(name)}(${parameters.join(', ') || 'void'})`)} { ${body} }`
