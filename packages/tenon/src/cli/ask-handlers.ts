import { resolve } from 'node:path'
import { TenonError } from '@tenon/core'
import {
  refusedNames,
  registeredHandler,
  registeredNames,
  type HandlerMetadata,
  type RefusedName,
  type Stage,
  type TypedHandler,
} from '@tenon/custom-call'
import { Library } from '../library.ts'
import type { InspectReport } from './inspect-report.ts'

export interface HandlerReport extends Partial<HandlerMetadata> {
  readonly name: string
  /** The stages for which a registered target has handlers. Empty for an exported symbol, which does not say its stage. */
  readonly stages: readonly Stage[]
  /** States that it is a function of an untyped convention, which no answer tells. */
  readonly convention?: 'untyped'
  /** The platform, for a handler or function that the library registers itself. */
  readonly platform?: string
  /** The reason why the handler did not answer, or why its registration was refused. */
  readonly error?: string
}

/**
 * Loads a library and asks typed handlers for their metadata. This calls them, so the names must be those of typed
 * handlers.
 *
 * @param all whether to ask also the handlers that the library describes or registers, and to list those whose registration
 * was refused; an error of these is reported
 * @throws {LoadError} if the library cannot be loaded, or does not export a name
 * @throws {ArgumentError} if the library marks a name as something else
 */
export function askHandlers(report: InspectReport, names: readonly string[], all: boolean): HandlerReport[] {
  const typed = typedSymbols(report)
  const library = Library.openRead(resolve(report.path), report)
  const ask = (name: string): HandlerReport => {
    const { handler } = library.customCall(name, { allowNewerApi: true })
    return { name, ...handler.metadata, stages: [] }
  }
  try {
    const others = all ? typed.filter((name) => !names.includes(name)) : []
    return [
      ...names.map(ask),
      ...others.map((name) => orError(name, () => ask(name))),
      ...(all ? registeredNames() : []).map(({ name, platform, convention }) =>
        convention === 'untyped'
          ? { name, platform, stages: [], convention }
          : orError(name, () =>
              describeRegistered(registeredHandler(name, { platform, allowNewerApi: true }), platform),
            ),
      ),
      ...(all ? refusedNames() : []).map(describeRefused),
    ]
  } finally {
    library.close()
  }
}

/** The exported handlers. Template symbols do not say for sure to which function they belong. */
function typedSymbols({ kernels }: InspectReport): string[] {
  const typed = kernels.filter(({ convention, source }) => convention === 'typed' && source !== 'templates')
  return [...new Set(typed.flatMap(({ symbol }) => (symbol === undefined ? [] : [symbol])))]
}

function describeRegistered({ name, metadata, stages }: TypedHandler, platform: string): HandlerReport {
  return { name, ...metadata, stages, platform }
}

function describeRefused({ name, platform, version, reason }: RefusedName): HandlerReport {
  const known = version === undefined ? {} : { version }
  return { name, platform, stages: [], ...known, error: `refused when it registered itself: ${reason}` }
}

function orError(name: string, ask: () => HandlerReport): HandlerReport {
  try {
    return ask()
  } catch (error) {
    if (error instanceof TenonError) return { name, stages: [], error: error.sentence }
    throw error
  }
}
