import { ToolError } from '../tool-error.ts'

/** A word, a number, a string or a sign of a C header, and the line where it stands. */
export interface Token {
  readonly text: string
  readonly line: number
}

/** The code of a header without comments and preprocessor lines, and the macros that it defines. */
export interface HeaderTokens {
  readonly path: string
  readonly tokens: readonly Token[]
  /** The `#define` lines of object-like macros: the name, then the tokens of the value. */
  readonly macros: readonly (readonly Token[])[]
}

/** Returns the error for a line of a header. */
export function headerError(path: string, line: number, text: string): ToolError {
  return new ToolError(`${path}:${line}: ${text}`)
}

/**
 * Splits a header into tokens, as a C compiler on a POSIX system sees it: parts for Windows and for C++ are left out.
 *
 * @throws {ToolError} for a condition that is not a header guard, `_WIN32` or `__cplusplus`.
 */
export function readTokens(path: string, source: string): HeaderTokens {
  const withoutComments = source
    .replace(/\/\*[\s\S]*?\*\//g, (comment) => comment.replace(/[^\n]+/g, ' '))
    .replace(/\/\/.*/g, '')
  const lines = withoutComments.split('\n')
  const tokens: Token[] = []
  const macros: Token[][] = []
  /** Whether the code of each open `#if` is read. */
  const branches: boolean[] = []
  for (let index = 0; index < lines.length; index++) {
    const line = index + 1
    let text = lines[index]!
    const isRead = !branches.includes(false)
    if (!text.trimStart().startsWith('#')) {
      if (isRead) tokens.push(...split(path, text, line))
      continue
    }
    while (text.endsWith('\\')) text = text.slice(0, -1) + lines[++index]
    const [, directive = '', rest = ''] = /^\s*#\s*(\w+)\s*(.*?)\s*$/.exec(text) ?? []
    if (directive === 'if' || directive === 'ifdef' || directive === 'ifndef') {
      branches.push(isTaken(directive, rest) ?? fail(path, line, text))
    } else if (directive === 'else') {
      branches.push(!branches.pop())
    } else if (directive === 'endif') {
      branches.pop()
    } else if (directive === 'define') {
      if (isRead && !/^\w+\(/.test(rest)) macros.push(split(path, rest, line))
    } else if (directive !== 'include' && directive !== 'undef') {
      fail(path, line, text)
    }
  }
  return { path, tokens, macros }
}

function isTaken(directive: string, condition: string): boolean | undefined {
  if (directive === 'ifndef') return true
  return condition === '__cplusplus' || condition === 'defined(_WIN32)' ? false : undefined
}

function fail(path: string, line: number, text: string): never {
  throw headerError(path, line, `this preprocessor line is not supported: ${text.trim()}`)
}

function split(path: string, text: string, line: number): Token[] {
  const parts = text.match(/\w+|"[^"]*"|<<|\S/g) ?? []
  const odd = parts.find((part) => !/^(\w+|"[^"]*"|<<|[-+*/&|^~!%<>=?:;,.(){}[\]#])$/.test(part))
  if (odd !== undefined) throw headerError(path, line, `this character is not supported: ${odd}`)
  return parts.map((part) => ({ text: part, line }))
}
