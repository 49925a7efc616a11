import type { Need } from '../access/caller.ts'
import { HttpError } from './failure-status.ts'

/** The parts of a path that a pattern names, decoded: `{ model: 'rms_norm' }`. */
export type PathParts = Readonly<Record<string, string>>

interface Route<Handler> {
  readonly verb: string
  readonly pattern: readonly string[]
  readonly need: Need
  readonly handler: Handler
}

/** A handler, the requirement for its callers, and what the path names. */
export interface Found<Handler> {
  readonly need: Need
  readonly handler: Handler
  readonly parts: PathParts
}

/** Finds the handler of a verb and a path. Patterns match whole paths, and `:name` matches one part. */
export class Router<Handler> {
  readonly #routes: Route<Handler>[] = []
  /** The result for the last path, because the next request usually has the same path. */
  #last: { readonly verb: string; readonly path: string; readonly found: Found<Handler> } | undefined

  /** @param pattern such as `/v2/models/:model/infer`. Earlier routes win. @param need is checked before the handler runs, for `:model`. */
  add(verb: string, pattern: string, need: Need, handler: Handler): void {
    this.#routes.push({ verb, pattern: pattern.split('/'), need, handler })
  }

  /** @throws {HttpError} 404 for an unknown path, 405 for another verb, 400 for a path that cannot be decoded. */
  find(verb: string, path: string): Found<Handler> {
    if (this.#last?.path === path && this.#last.verb === verb) return this.#last.found
    const found = this.#search(verb, path)
    this.#last = { verb, path, found }
    return found
  }

  #search(verb: string, path: string): Found<Handler> {
    const given = path.split('/')
    const verbs: string[] = []
    for (const { verb: wanted, pattern, need, handler } of this.#routes) {
      if (!fits(pattern, given)) continue
      if (wanted === verb) return { need, handler, parts: readParts(pattern, given) }
      verbs.push(wanted)
    }
    if (verbs.length === 0)
      throw new HttpError(404, 'there is no such path; requests for a model go to /v2/models/{model}/infer')
    const allow = [...new Set(verbs)].join(', ')
    throw new HttpError(405, `the verb of this path must be ${allow}`, { allow })
  }
}

const fits = (pattern: readonly string[], given: readonly string[]): boolean =>
  pattern.length === given.length &&
  pattern.every((part, i) => (part.startsWith(':') ? given[i] !== '' : part === given[i]))

function readParts(pattern: readonly string[], given: readonly string[]): PathParts {
  const parts: Record<string, string> = {}
  for (const [i, part] of pattern.entries()) if (part.startsWith(':')) parts[part.slice(1)] = decode(given[i]!)
  return parts
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new HttpError(400, 'the path must be encoded in percent signs and hexadecimal digits')
  }
}
