import { ToolError } from '../tool-error.ts'

/** A word, number, string or punctuator in a C header, and its place, such as `tenon.h:12`. */
export interface Token {
  readonly text: string
  readonly place: string
}

export function headerError(place: string, text: string): ToolError {
  return new ToolError(`${place}: ${text}`)
}

/**
 * Splits a header into tokens, as a C compiler on a POSIX system sees it: parts for Windows and for C++ are left out.
 *
 * @returns the code without comments and preprocessor lines, and for each object-like macro its name and the tokens of its value.
 * @throws {ToolError} for a condition that is not a header guard, `_WIN32` or `__cplusplus`.
 */
export function readTokens(path: string, source: string): { tokens: Token[]; macros: Token[][] } {
  const lines = source
    .replace(/\/\*[\s\S]*?\*\//g, (comment) => comment.replace(/[^\n]+/g, ' '))
    .replace(/\/\/.*/g, '')
    .split('\n')
  const tokens: Token[] = []
  const macros: Token[][] = []
  /** Whether the code of each open `#if` is read. */
  const branches: boolean[] = []
  for (let index = 0; index < lines.length; index++) {
    const place = `${path}:${index + 1}`
    let text = lines[index]!
    const isRead = !branches.includes(false)
    if (!text.trimStart().startsWith('#')) {
      if (isRead) tokens.push(...split(text, place))
      continue
    }
    while (text.endsWith('\\')) text = text.slice(0, -1) + lines[++index]
    const [, directive = '', rest = ''] = /^\s*#\s*(\w+)\s*(.*?)\s*$/.exec(text) ?? []
    if (directive === 'ifndef') branches.push(true)
    else if (/^if(def)?$/.test(directive) && /^(__cplusplus|defined\(_WIN32\))$/.test(rest)) branches.push(false)
    else if (directive === 'else') branches.push(!branches.pop())
    else if (directive === 'endif') branches.pop()
    else if (directive === 'define') {
      if (isRead && !/^\w+\(/.test(rest)) macros.push(split(rest, place))
    } else if (directive !== 'include' && directive !== 'undef') {
      throw headerError(place, `this preprocessor line is not supported: ${text.trim()}`)
    }
  }
  return { tokens, macros }
}

function split(text: string, place: string): Token[] {
  const parts = text.match(/\w+|"[^"]*"|<<|\S/g) ?? []
  const odd = parts.find((part) => !/^(\w+|"[^"]*"|<<|[-+*/&|^~!%<>=?:;,.(){}[\]#])$/.test(part))
  if (odd !== undefined) throw headerError(place, `this character is not supported: ${odd}`)
  return parts.map((part) => ({ text: part, place }))
}
