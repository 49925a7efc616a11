import { javaScriptName } from './identifiers.ts'

/** A member of a class as JavaScript, and as TypeScript declares it. */
export interface ClassMember {
  readonly code: readonly string[]
  readonly declaration: readonly string[]
}

/** The name of a member of a class: it must not hide the memory of the object itself. */
export const memberKey = (name: string): string =>
  /^(?:segment|constructor)$/.test(name) ? `${name}_` : javaScriptName(name)
