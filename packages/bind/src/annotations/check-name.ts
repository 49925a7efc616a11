import { AnnotationsError } from './annotations-error.ts'

/** @throws {AnnotationsError} if a name cannot be that of a declaration in the module. */
export function checkName(path: readonly string[], name: string): void {
  if (/^[\p{ID_Start}_$][\p{ID_Continue}$]*$/u.test(name)) return
  throw new AnnotationsError(
    path,
    `must be a name, got ${JSON.stringify(name)}`,
    'A name has letters, digits, _ and $, and does not begin with a digit.',
  )
}
