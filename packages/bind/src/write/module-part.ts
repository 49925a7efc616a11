/** A declaration as JavaScript, and as TypeScript declares it. */
export interface ModulePart {
  readonly code: string
  readonly declaration: string
}
