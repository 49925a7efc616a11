import { ToolError } from '@tenon/build'

/** The annotations do not fit their form or the headers. The message begins with the place in the file. */
export class AnnotationsError extends ToolError {
  constructor(path: readonly string[], message: string, hint?: string) {
    const place = path.length === 0 ? 'the annotations' : `the annotation ${path.join('.')}`
    super(`${place} ${message}${hint === undefined ? '' : `\n${hint}`}`)
  }
}
