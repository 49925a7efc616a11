import { readFileSync } from 'node:fs'

import type { Place } from './c-types.ts'

/** Reads the comments of headers from their files, each of which is read once. */
export class Comments {
  readonly #files = new Map<string, readonly string[]>()

  /** The comment before a declaration, or behind it on its last line, as plain text with line breaks. Empty if there is none. */
  of({ file, line }: Place): string {
    const lines = this.#linesOf(file)
    return trailing(lines[line - 1] ?? '') || before(lines, line - 2)
  }

  #linesOf(file: string): readonly string[] {
    let lines = this.#files.get(file)
    if (!lines) {
      try {
        lines = readFileSync(file, 'utf8').split(/\r?\n/)
      } catch {
        // The compiler may have made the file itself.
        lines = []
      }
      this.#files.set(file, lines)
    }
    return lines
  }
}

const TRAILING = /\/(?:\*[*!]<(.*?)(?:\*\/|$)|\/[/!]<(.*)$)/

function trailing(line: string): string {
  const match = TRAILING.exec(line)
  return match ? clean([match[1] ?? match[2] ?? '']) : ''
}

/** The most lines of one comment. */
const MOST_LINES = 400

function before(lines: readonly string[], last: number): string {
  const end = lines[last]?.trim() ?? ''
  if (/^\/\/(?![/!]?<)/.test(end)) {
    let first = last
    while (/^\s*\/\/(?![/!]?<)/.test(lines[first - 1] ?? '')) first--
    return clean(lines.slice(first, last + 1).map((line) => line.trim().replace(/^\/\/[/!]?/, '')))
  }
  // A comment that shares its line with code belongs to that code.
  if (!end.endsWith('*/') || /^[^/*].*\/\*/.test(end)) return ''
  let first = last
  while (first > 0 && last - first < MOST_LINES && !lines[first]!.includes('/*')) first--
  const begin = lines[first]!.trim()
  if (!begin.startsWith('/*') || begin.startsWith('/**<')) return ''
  const text = lines.slice(first, last + 1).map((line) => line.trim())
  text[0] = text[0]!.replace(/^\/\*[*!]*/, '')
  text[text.length - 1] = text.at(-1)!.replace(/\**\*\/$/, '')
  return clean(text.map((line) => line.replace(/^\*+(?!\/)\s?/, '').replace(/^\s/, '')))
}

/** Removes what is decoration, and turns the commands of Doxygen into TSDoc. */
function clean(lines: readonly string[]): string {
  return lines
    .map((line) =>
      line
        // oxlint-disable-next-line no-control-regex
        .replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029]/g, '')
        .replaceAll('*/', '*\\/')
        .replaceAll(/[\\@](?:brief|short|details)\s+/g, '')
        .replaceAll(/[\\@]returns?\b/g, '@returns')
        .replaceAll(/[\\@]param(?:\[[^\]]*\])?\s+([\p{ID_Continue}$]+)\s*/gu, '@param $1 ')
        .replaceAll(/[\\@][acp]\s+(\S+)/g, '`$1`')
        .replaceAll(/[\\@](?:ref|link)\s+(\S+)/g, '`$1`')
        .trimEnd(),
    )
    .join('\n')
    .replaceAll(/^(?:[=*\-_#~]{3,}\s*)$/gm, '')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim()
}
