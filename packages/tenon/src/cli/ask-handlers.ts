import { resolve } from 'node:path'
import type { HandlerMetadata } from '@tenon/custom-call'
import { Library } from '../library.ts'

/** What a typed handler said about itself. */
export interface HandlerReport extends HandlerMetadata {
  readonly name: string
}

/**
 * Loads a library and asks typed handlers for their metadata. They are called for it: the names must be those of typed
 * handlers.
 *
 * @throws {LoadError | ArgumentError} if the library can't be loaded, lacks a name, or marks it as something else
 */
export function askHandlers(path: string, names: readonly string[]): HandlerReport[] {
  const library = Library.open(resolve(path))
  try {
    return names.map((name) => ({ name, ...library.customCall(name, { allowNewerApi: true }).handler.metadata }))
  } finally {
    library.close()
  }
}
