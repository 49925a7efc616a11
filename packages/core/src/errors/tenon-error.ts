/** What every Tenon error carries besides its message. */
export interface TenonErrorOptions {
  /** What to do about it: one sentence. */
  readonly hint?: string
  /** Plain data for programs: addresses as hexadecimal strings, sizes in bytes, what was expected and what came. */
  readonly details?: Readonly<Record<string, unknown>>
  readonly cause?: unknown
}

const brandOf = (kind: string): symbol => Symbol.for(`tenon.error.${kind}`)

/** `TENON_SCOPE_CLOSED` has its page at `docs/errors/scope-closed.md`. */
const pageOf = (code: string): string =>
  `docs/errors/${code.slice('TENON_'.length).toLowerCase().replaceAll('_', '-')}.md`

/** The full text: the sentence, then what to do, then where to read more. */
function textOf(code: string, sentence: string, hint: string | undefined): string {
  return `${sentence}${hint === undefined ? '' : `\nHint: ${hint}`}\nSee: ${pageOf(code)}`
}

/**
 * The base of all errors of Tenon.
 *
 * `instanceof` works through registered symbols, so that an error made by another installed copy of the package is
 * still recognised, and so that kinds can be a `RangeError` or a `TypeError` at the same time.
 *
 * @example
 * try {
 *   segment.asSlice(64)
 * } catch (error) {
 *   if (error instanceof TenonError) console.error(error.code, error.details)
 * }
 */
export class TenonError extends Error {
  /** The name under which `instanceof` recognises the class. A subclass without its own is compared as usual. */
  static readonly kind: string = 'TenonError'
  /** Stable, for programs: `TENON_` and a name. */
  readonly code: string
  /** The first line of the message alone. */
  readonly sentence: string
  readonly hint: string | undefined
  readonly details: Readonly<Record<string, unknown>>

  constructor(code: string, sentence: string, options: TenonErrorOptions = {}) {
    super(textOf(code, sentence, options.hint), 'cause' in options ? { cause: options.cause } : undefined)
    this.code = code
    this.sentence = sentence
    this.hint = options.hint
    this.details = options.details ?? {}
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    if (!Object.hasOwn(this, 'kind')) return Function.prototype[Symbol.hasInstance].call(this, value)
    return typeof value === 'object' && value !== null && brandOf(this.kind) in value
  }
}

/**
 * Settles what objects of an error class are instances of: the kinds by which {@link TenonError} recognises them and,
 * with `builtIn`, one of JavaScript's own (`RangeError`, `TypeError`). Called once below each class.
 */
export function defineKind(
  constructor: { readonly kind: string; readonly name: string; readonly prototype: object },
  parents: readonly string[] = [],
  builtIn?: typeof RangeError | typeof TypeError,
): void {
  const { name, prototype, kind } = constructor
  // The constructors still form one chain down from TenonError; only the prototypes pass through the built-in class.
  if (builtIn !== undefined) Object.setPrototypeOf(prototype, builtIn.prototype)
  Object.defineProperty(prototype, 'name', { value: name, configurable: true, writable: true })
  for (const brand of new Set(['TenonError', ...parents, kind])) {
    Object.defineProperty(prototype, brandOf(brand), { value: true })
  }
}

defineKind(TenonError)
