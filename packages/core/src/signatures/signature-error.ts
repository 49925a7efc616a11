import { defineKind, TenonError, type TenonErrorOptions } from '@tenon/binary'

/** The most characters of a signature that a message shows. */
const SHOWN = 100

/** The text of a kernel's signature is invalid. The message shows the place in the text. */
export class SignatureError extends TenonError {
  static override readonly kind: string = 'SignatureError'
  /** The column of the first wrong character, in UTF-16 code units. The first column is 1. */
  readonly column: number

  /** @internal */
  constructor(sentence: string, text: string, column: number, options: TenonErrorOptions = {}) {
    super('TENON_SIGNATURE', `column ${column}: ${sentence}\n${excerpt(text, column)}`, {
      ...options,
      details: { column, ...options.details },
    })
    this.column = column
  }
}
defineKind(SignatureError)

/** Returns the part of the text around a column, and below it a caret at the column. */
function excerpt(text: string, column: number): string {
  const start = text.length <= SHOWN ? 0 : Math.max(0, Math.min(column - 1 - SHOWN / 2, text.length - SHOWN))
  const end = Math.min(text.length, start + SHOWN)
  const before = start > 0 ? '... ' : ''
  // Line breaks and other control characters are one column each, as the caret counts them.
  const shown = text
    .slice(start, end)
    .toWellFormed()
    .replaceAll(/\p{Cc}/gu, ' ')
  const indent = ' '.repeat(before.length + column - 1 - start)
  return `  ${before}${shown}${end < text.length ? ' ...' : ''}\n  ${indent}^`
}
