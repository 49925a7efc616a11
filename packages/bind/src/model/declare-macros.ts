import { ToolError } from '@tenon/build'
import { NAME_PART, NAME_START } from '../read/c-names.ts'

const NAME = new RegExp(`^[${NAME_START}][${NAME_PART}]*$`)

/** The name of the function that is declared for a macro. */
export const declaredMacro = (name: string): string => `tenon_macro_${name}`

const SIGNATURE = /^\s*\(([^;{}#]*)\)\s*->\s*([^;{}#()]+)$/

/**
 * Declares a function for each macro whose types are given, so that the types are read as those of the headers are.
 *
 * @throws {ToolError} for types that are not written as `(const void *, int) -> uint32_t`
 */
export function declareMacros(macros: Readonly<Record<string, string>>): string {
  return Object.entries(macros)
    .map(([name, text]) => {
      const [, parameters, result] = SIGNATURE.exec(text) ?? []
      if (parameters === undefined || result === undefined || !NAME.test(name))
        throw new ToolError(
          `the types of the macro ${name} must be like "(const void *, int) -> uint32_t", got "${text}"`,
        )
      return `${result.trim()} ${declaredMacro(name)}(${parameters.trim() || 'void'});`
    })
    .join(' ')
}
