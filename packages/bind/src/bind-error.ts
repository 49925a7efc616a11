import { ToolError } from '@tenon/build'
import type { Place } from './read/c-types.ts'

/** The number of lines of the compiler's output that an error shows. */
const SHOWN_LINES = 20

/** The compiler refuses the headers. */
export class CompilerError extends ToolError {
  constructor(output: string) {
    const lines = output.trimEnd().split('\n').slice(0, SHOWN_LINES)
    super(`the compiler cannot read the headers:\n${lines.join('\n')}${hintFor(output)}`)
  }
}

function hintFor(output: string): string {
  if (/unknown type name|has not been declared|undeclared/.test(output))
    return '\nA header that needs another one must come after it: name both, in this order.'
  if (
    /: error: #error .*C\+\+|fatal error: (?:cstdint|cstddef|string|vector|memory)[:>]|unknown type name 'namespace'|unknown type name 'class'/.test(
      output,
    )
  )
    return '\nThis header is C++. tenon bind reads C: declare extern "C" functions in a header of their own.'
  if (/fatal error: .*(?:No such file|file not found)/.test(output)) return '\nName the directories of headers with -I.'
  return ''
}

/** A declaration of the headers that the reader does not understand. */
export class HeadersProblem extends ToolError {
  constructor({ file, line }: Place, message: string) {
    super(
      `${file}:${line}: ${message}\nThe compiler accepts this header, but tenon bind cannot read the declaration. Leave the header out, or declare what you need in a header of your own.`,
    )
  }
}
