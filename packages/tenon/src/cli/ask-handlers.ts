import { resolve } from 'node:path'
import { TenonError } from '@tenon/core'
import {
  registeredHandler,
  registeredNames,
  type HandlerMetadata,
  type Stage,
  type TypedHandler,
} from '@tenon/custom-call'
import { Library } from '../library.ts'
import { inspectLibrary } from './inspect-report.ts'

/** What a typed handler said about itself. */
export interface HandlerReport extends Partial<HandlerMetadata> {
  readonly name: string
  /** What a target has handlers for; of a symbol, the stage that it is for, if it tells. */
  readonly stages: readonly Stage[]
  /** Of one that the library registered itself. */
  readonly platform?: string
  /** Why it did not answer. */
  readonly error?: string
}

/**
 * Loads a library and asks typed handlers for their metadata. They are called for it: the names must be those of typed
 * handlers.
 *
 * @param all whether all are asked that the library marks, and all that it registers itself; one that doesn't answer is told
 * @throws {LoadError | ArgumentError} if the library can't be loaded, lacks a name, or marks it as something else
 */
export function askHandlers(path: string, names: readonly string[], all: boolean): HandlerReport[] {
  const { customCalls, cppHandlers } = inspectLibrary(path)
  const marked = customCalls.filter(({ convention }) => convention === 'typed').map(({ name }) => name)
  const library = Library.open(resolve(path))
  /** Handlers of other headers may not check their stage: they are not asked. */
  const checksStage = (name: string): boolean => cppHandlers > 0 || marked.includes(name)
  const ask = (name: string): HandlerReport => {
    const { handler } = library.customCall(name, { allowNewerApi: true })
    const stage = checksStage(name) ? handler.askStage() : undefined
    return { name, ...handler.metadata, stages: stage === undefined ? [] : [stage] }
  }
  try {
    const others = all ? marked.filter((name) => !names.includes(name)) : []
    return [
      ...names.map(ask),
      ...others.map((name) => orError(name, () => ask(name))),
      ...(all ? registeredNames() : []).map(({ name, platform }) =>
        orError(name, () => describeRegistered(registeredHandler(name, { platform, allowNewerApi: true }), platform)),
      ),
    ]
  } finally {
    library.close()
  }
}

function describeRegistered({ name, metadata, stages }: TypedHandler, platform: string): HandlerReport {
  return { name, ...metadata, stages, platform }
}

function orError(name: string, ask: () => HandlerReport): HandlerReport {
  try {
    return ask()
  } catch (error) {
    if (error instanceof TenonError) return { name, stages: [], error: error.sentence }
    throw error
  }
}
