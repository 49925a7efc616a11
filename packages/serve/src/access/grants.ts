import type { AccessRule } from './access-file.ts'
import type { Need } from './caller.ts'

/** A list of names, or all of them. */
class Names {
  readonly #isAll: boolean
  readonly #names: ReadonlySet<string>

  constructor(lists: readonly (readonly string[] | undefined)[]) {
    this.#names = new Set(lists.flatMap((list) => list ?? []))
    this.#isAll = this.#names.has('*')
  }

  has(name: string): boolean {
    return this.#isAll || this.#names.has(name)
  }

  get isEmpty(): boolean {
    return this.#names.size === 0
  }
}

/** The permissions of one caller by all rules that name it. */
export class Grants {
  readonly #infer: Names
  readonly #load: Names
  readonly #admin: Names

  /** @param callers the names of the caller: `token:ci`. */
  constructor(rules: readonly AccessRule[], callers: readonly string[]) {
    const own = rules.filter((rule) => rule.callers.some((pattern) => callers.some((name) => matches(pattern, name))))
    this.#infer = new Names(own.map(({ infer }) => infer))
    this.#load = new Names(own.map(({ load }) => load))
    this.#admin = new Names(own.map(({ admin }) => admin))
  }

  /** Whether a need is met. @param model undefined for at least one model. */
  allows(need: Need, model: string | undefined): boolean {
    switch (need) {
      case 'nothing':
      case 'caller':
        return true
      case 'infer':
      case 'load': {
        const models = need === 'infer' ? this.#infer : this.#load
        return model === undefined ? !models.isEmpty : models.has(model)
      }
      default:
        return this.#admin.has(need)
    }
  }
}

/** Whether a caller of a rule is a caller: `*`, `token:*`, or the name itself. */
const matches = (pattern: string, name: string): boolean =>
  pattern === '*' || pattern === name || pattern === `${name.slice(0, name.indexOf(':'))}:*`
