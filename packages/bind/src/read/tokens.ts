import { NAME_PART, NAME_START } from './c-names.ts'
import type { MacroDefinition, Place } from './c-types.ts'

export interface Token {
  readonly kind: 'name' | 'number' | 'string' | 'punctuator'
  readonly text: string
  readonly file: string
  readonly line: number
}

/** Preprocessed headers: their tokens, and the macros that are defined at their end. */
export interface TokenizedUnit {
  readonly tokens: readonly Token[]
  readonly macros: ReadonlyMap<string, MacroDefinition>
  /** The files that the unit itself includes, and the parts of headers of the system among them. */
  readonly headerFiles: ReadonlySet<string>
}

/** The flag 1 means that a file begins, and not that the compiler returns to it. */
const LINE_MARKER = /^#(?:line)? (\d+) "((?:[^"\\]|\\.)*)"( 1)?/
/** A header of the system that only other headers include, such as `bits/mathcalls.h`. */
const PART = /\/bits\//
const DEFINE = new RegExp(`^#define ([${NAME_START}][${NAME_PART}]*)(?:\\(([^)]*)\\))?(?: (.*))?$`)
const UNDEF = new RegExp(`^#undef ([${NAME_START}][${NAME_PART}]*)`)
// Prefixes of strings and characters come before names, and three-character punctuators before shorter ones.
const TOKEN =
  /\s*(?:((?:u8|[LuU])?"(?:[^"\\]|\\.)*"|(?:u8|[LuU])?'(?:[^'\\]|\\.)*')|([A-Za-z_$\u0080-\uffff][\w$\u0080-\uffff]*)|(\.?\d(?:[eEpP][+-]|'?[\w.])*)|(\.\.\.|<<=|>>=|->|\+\+|--|<<|>>|[<>=!]=|&&|\|\||##|[^\s\w]))/y

/** Splits the output of `cc -E -dD`. Line markers give the place of every token, so that declarations are found in their headers. */
export function tokenize(text: string): TokenizedUnit {
  const tokens: Token[] = []
  const macros = new Map<string, MacroDefinition>()
  const headerFiles = new Set<string>()
  let unit: string | undefined
  let place: Place = { file: '', line: 0 }
  for (const line of text.split('\n')) {
    if (line.startsWith('#')) {
      const marker = LINE_MARKER.exec(line)
      if (marker) {
        const file = marker[2]!.replaceAll(/\\(.)/g, '$1')
        unit ??= file
        const isPart = place.file === unit || (headerFiles.has(place.file) && PART.test(file))
        if (marker[3] !== undefined && isPart && !file.startsWith('<')) headerFiles.add(file)
        place = { file, line: Number(marker[1]) }
        continue
      }
      readDirective(line, place, macros)
    } else {
      readLine(line, place, tokens)
    }
    place = { file: place.file, line: place.line + 1 }
  }
  return { tokens, macros, headerFiles }
}

function readDirective(line: string, place: Place, macros: Map<string, MacroDefinition>): void {
  const define = DEFINE.exec(line)
  if (define) {
    const [, name = '', parameters, body = ''] = define
    // A later definition takes the place at the end, so that constants are in the order of their headers.
    macros.delete(name)
    macros.set(name, { name, parameters, body: body.trim(), place })
    return
  }
  const undef = UNDEF.exec(line)
  if (undef) macros.delete(undef[1]!)
}

function readLine(line: string, { file, line: number }: Place, tokens: Token[]): void {
  TOKEN.lastIndex = 0
  for (;;) {
    const match = TOKEN.exec(line)
    if (!match) return
    const [, string, name, digits, punctuator] = match
    if (string !== undefined) tokens.push({ kind: 'string', text: string, file, line: number })
    else if (name !== undefined) tokens.push({ kind: 'name', text: name, file, line: number })
    else if (digits !== undefined) tokens.push({ kind: 'number', text: digits, file, line: number })
    else tokens.push({ kind: 'punctuator', text: punctuator!, file, line: number })
  }
}
