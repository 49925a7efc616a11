/** The options of every Tenon error. */
export interface TenonErrorOptions {
  /** An instruction that says what to do about the error. */
  readonly hint?: string | undefined
  /**
   * Plain data for programs. `expected`, `received` and `path` mean the same in every error. Addresses are hexadecimal
   * strings, and sizes are in bytes.
   */
  readonly details?: Readonly<Record<string, unknown>>
  readonly cause?: unknown
}

/** The version of the package, which the build writes here. Unbuilt sources do not have it. */
declare const PACKAGE_VERSION: string | undefined

const version = typeof PACKAGE_VERSION === 'string' ? PACKAGE_VERSION : 'source'

/** The address of the documentation, which the build writes here once `project.json` has it. */
declare const DOCUMENTATION_SITE: string | undefined

const site = typeof DOCUMENTATION_SITE === 'string' ? DOCUMENTATION_SITE : undefined

const brandOf = (kind: string): symbol => Symbol.for(`tenon.error.${kind}`)

/**
 * The base class of all Tenon errors.
 *
 * `instanceof` works through registered symbols. Therefore an error from another installed copy of the package is
 * recognised, and a kind can be a `RangeError` or a `TypeError` at the same time.
 *
 * @example
 * try {
 *   segment.asSlice(64)
 * } catch (error) {
 *   if (error instanceof TenonError) console.error(error.code, error.details)
 * }
 */
export class TenonError extends Error {
  /** The name by which `instanceof` recognises the class. A subclass without its own `kind` is compared as usual. */
  static readonly kind: string = 'TenonError'
  /** A stable identifier for programs, which begins with `TENON_`. */
  readonly code: string
  /** The message without the hint and the page. */
  readonly sentence: string
  readonly hint: string | undefined
  readonly details: Readonly<Record<string, unknown>>
  /** The version of Tenon that threw the error, or `source` if Tenon runs unbuilt. */
  readonly version: string

  constructor(code: string, sentence: string, options: TenonErrorOptions = {}) {
    const { hint } = options
    super(
      `${sentence}${hint === undefined ? '' : `\nHint: ${hint}`}\nSee: ${documentationOf(code)}`,
      'cause' in options ? { cause: options.cause } : undefined,
    )
    this.code = code
    this.sentence = sentence
    this.hint = hint
    this.details = options.details ?? {}
    this.version = version
  }

  /** The address of the page that explains the error, or the command that prints it: `npx tenon explain TENON_SCOPE_CLOSED`. */
  get documentation(): string {
    return documentationOf(this.code)
  }

  /**
   * Searches this error and the chain of its causes.
   *
   * @param matches a function that selects an error. Without it, the last cause in the chain is returned.
   * @returns the first error in the chain that `matches` accepts, or undefined.
   * @example
   * error.walk((cause) => (cause as { code?: string }).code === 'ENOENT')
   */
  walk(matches?: (error: unknown) => boolean): unknown {
    const chain: unknown[] = [this]
    for (let cause = this.cause; cause !== undefined && !chain.includes(cause);) {
      chain.push(cause)
      cause = (cause as { cause?: unknown } | null)?.cause
    }
    return matches === undefined ? chain.at(-1) : chain.find(matches)
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    if (!Object.hasOwn(this, 'kind')) return Function.prototype[Symbol.hasInstance].call(this, value)
    return typeof value === 'object' && value !== null && brandOf(this.kind) in value
  }
}

/**
 * The base class of errors without additional fields. The code is derived from the kind, so `ScopeClosedError` has the code
 * `TENON_SCOPE_CLOSED`.
 */
export abstract class SimpleError extends TenonError {
  constructor(sentence: string, options?: TenonErrorOptions) {
    super(codeOf(new.target.kind), sentence, options)
  }
}

/** Without a regular expression, which throws a SyntaxError if the stack of JavaScript is full. */
function codeOf(kind: string): string {
  let code = 'TENON'
  const words = kind.endsWith('Error') ? kind.slice(0, -'Error'.length) : kind
  for (let i = 0; i < words.length; i++) {
    const upper = words[i]!.toUpperCase()
    code += i === 0 || upper === words[i] ? `_${upper}` : upper
  }
  return code
}

/** The page of `TENON_SCOPE_CLOSED` is `errors/scope-closed.html` of the documentation. */
function documentationOf(code: string): string {
  if (site === undefined) return `npx tenon explain ${code}`
  return `${site}/errors/${code.slice('TENON_'.length).toLowerCase().replaceAll('_', '-')}.html?v=${version}`
}

/**
 * Gives the instances of an error class the class's name and the kinds by which {@link TenonError} recognises them. Call
 * this function once after each class.
 *
 * @param parents further kinds of which the objects are instances.
 * @param builtIn a built-in class of which the objects are instances as well.
 */
export function defineKind(
  constructor: { readonly kind: string; readonly name: string; readonly prototype: object },
  parents: readonly string[] = [],
  builtIn?: typeof RangeError | typeof TypeError,
): void {
  const { name, prototype, kind } = constructor
  if (builtIn !== undefined) {
    // The constructors still form one chain down from TenonError; only the prototypes pass through the built-in class.
    Object.setPrototypeOf(prototype, builtIn.prototype)
    const { documentation, walk } = Object.getOwnPropertyDescriptors(TenonError.prototype)
    Object.defineProperties(prototype, { documentation, walk })
  }
  Object.defineProperty(prototype, 'name', { value: name, configurable: true, writable: true })
  for (const brand of new Set(['TenonError', ...parents, kind])) {
    Object.defineProperty(prototype, brandOf(brand), { value: true })
  }
}

defineKind(TenonError)
