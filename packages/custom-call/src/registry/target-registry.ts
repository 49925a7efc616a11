import type { KernelSignature } from '@tenon/core'
import { checkName, checkOptions, enterAll, inspectAsText, wrongType, type Gate } from '@tenon/core/internal'
import type { PreparedCall } from '../call/prepared-call.ts'
import { VersionSkewError } from '../errors/version-skew-error.ts'
import { NotFoundError, refused } from '../errors/xla-error-classes.ts'
import { addressesOf, STAGES, type ByStage } from '../native/descriptor.ts'
import { ApiVersion, apiVersionName, type UntypedApiVersion } from '../targets/api-version.ts'
import { findCode, type Code, type FoundCode } from '../targets/code.ts'
import { FunctionTarget } from '../targets/function-target.ts'
import type { TargetFunction } from '../targets/reading-entry.ts'
import { canonicalPlatform, missing } from '../targets/platform.ts'
import { refusedRegistration, registeredNames } from '../targets/registered-names.ts'
import {
  checkHandlerOptions,
  registeredHandler,
  TYPED_PREPARE_OPTIONS,
  TypedHandler,
  type HandlerOptions,
  type TypedPrepareOptions,
} from '../targets/typed-handler.ts'
import {
  checkDevicePlatform,
  registeredFunction,
  UNTYPED_PREPARE_OPTIONS,
  UntypedFunction,
  type UntypedOptions,
  type UntypedPrepareOptions,
} from '../targets/untyped-function.ts'

/** A registered target. */
export type Target = TypedHandler | UntypedFunction

/** The functions of a typed target, by stage. */
export type HandlerBundle = ByStage<Code>

/** The options with which a target is looked up. */
export interface LookupOptions {
  /** The platform; `Host` by default. */
  readonly platform?: string
  /** The convention of the target. By default, a typed target is preferred to an untyped one. */
  readonly apiVersion?: ApiVersion
}

/** The options of a call by name, which are the options of the look-up and of the target's `prepare`. */
export type RegistryPrepareOptions = LookupOptions & TypedPrepareOptions & UntypedPrepareOptions

const LOOKUP_OPTIONS = ['platform', 'apiVersion'] as const
const PREPARE_OPTIONS = [...LOOKUP_OPTIONS, ...TYPED_PREPARE_OPTIONS, ...UNTYPED_PREPARE_OPTIONS] as const

interface Entry<Kind extends Target = Target> {
  readonly target: Kind
  readonly platform: string
  /** The gates of its libraries, which are held while it is registered. */
  readonly gates: readonly Gate[]
  readonly owned?: FunctionTarget
}

/**
 * A registry of custom call targets by name and platform, which follows XLA's rules. Where XLA prints a message or aborts the
 * process, the registry throws when the target is registered. The libraries of registered targets are held open.
 *
 * @example
 * const registry = new TargetRegistry()
 * registry.registerUntyped('add', { library, symbol: 'do_custom_call' })
 * using call = registry.prepare('add', { operands: [b, c], results: [a] })
 * call.run([b, c], [a])
 * registry.unregister('add')
 */
export class TargetRegistry {
  /** By exact platform and name. */
  readonly #untyped = new Map<string, Entry<UntypedFunction>>()
  /** By canonical platform and name. */
  readonly #typed = new Map<string, Entry<TypedHandler>>()
  readonly #findsSelfRegistered: boolean

  /** @param options.selfRegistered whether to also find handlers and functions that libraries registered themselves. Default: false. */
  constructor(options?: { readonly selfRegistered?: boolean }) {
    this.#findsSelfRegistered = checkOptions(options, ['selfRegistered']).selfRegistered ?? false
  }

  /**
   * Registers a function of an untyped convention. Registering the same function again is not an error.
   *
   * @throws {AlreadyExistsError} if another function has the name on the platform. @throws {LoadError} if the symbol is
   * missing. @throws {InvalidArgumentError} if the convention is unknown. @throws {ArgumentError} otherwise.
   */
  registerUntyped(name: string, code: Code, options?: UntypedOptions): UntypedFunction {
    const { platform = 'Host', apiVersion = ApiVersion.ORIGINAL } = checkOptions(options, LOOKUP_OPTIONS)
    checkName(name, 'name')
    if (platform !== 'Host') checkDevicePlatform(platform)
    const { address, gate } = findCode(code, name)
    const made = new UntypedFunction(name, platform, apiVersion, gate, address)
    const key = keyOf(name, platform)
    const registered = this.#untyped.get(key)?.target
    if (registered === undefined) {
      return enter(this.#untyped, key, { target: made, platform, gates: [gate] })
    }
    if (registered.address === address && registered.apiVersion === made.apiVersion) return registered
    const differs = registered.address === address ? 'another API version' : 'another address'
    const text = `custom call target ${name} is registered for ${platform} already, with ${differs}`
    throw refused('ALREADY_EXISTS', name, text)
  }

  /**
   * Registers a typed target and asks its functions for their version. Registering the same target again is not an error.
   *
   * @throws {InvalidArgumentError} if another target has the name on the platform, or the execute handler is missing.
   * @throws {VersionSkewError} if it was built for another version. @throws the errors of {@link registerUntyped}.
   */
  registerTyped(name: string, bundle: HandlerBundle, options?: HandlerOptions): TypedHandler {
    const checked = checkHandlerOptions(options)
    const { platform = 'Host' } = checked
    checkName(name, 'name')
    checkName(platform, 'platform')
    if (bundle?.execute === undefined) {
      const text = `FFI handler for ${name} on a platform ${platform} must provide an execute implementation`
      throw refused('INVALID_ARGUMENT', name, text)
    }
    const codes = checkOptions(bundle, STAGES, 'bundle')
    const found: FoundCode[] = []
    const addresses = addressesOf((stage) => {
      const code = codes[stage]
      return code === undefined ? 0 : found[found.push(findCode(code, `${stage} of ${name}`)) - 1]!.address
    })
    const gates = found.map(({ gate }) => gate)
    return this.#enterTyped(new TypedHandler(name, gates.at(-1)!, addresses, checked), platform, { gates })
  }

  /**
   * Registers a TypeScript function as a typed target. Native code can call it by the handler's address.
   *
   * @throws {InvalidArgumentError} if another target has the name. @throws {SignatureError} if the text of the signature is invalid.
   * @throws {NativeError} if the process already has the greatest number of TypeScript functions as targets.
   * @param signature the text of a signature, or one that `parseSignature()` has read. Calls that contradict the signature are refused
   * before the function runs.
   * @example
   * const registry = new TargetRegistry()
   * registry.registerFunction('scaled', '(x: f32[n]) -> (y: f32[n]); a: f32', ([x], [y], { a }) => {
   *   const out = y.view()
   *   x.toArray().forEach((value, i) => (out[i] = a * Number(value)))
   * })
   */
  registerFunction<const Text extends string>(
    name: string,
    signature: Text | KernelSignature,
    run: TargetFunction<Text>,
  ): TypedHandler {
    const owned = new FunctionTarget(name, signature, run as TargetFunction)
    try {
      return this.#enterTyped(owned.handler, 'Host', { gates: [], owned })
    } catch (error) {
      owned.close()
      throw error
    }
  }

  #enterTyped(made: TypedHandler, platform: string, rest: Pick<Entry, 'gates' | 'owned'>): TypedHandler {
    const canonical = canonicalPlatform(platform)
    const key = keyOf(made.name, canonical)
    const known = this.#typed.get(key)?.target ?? this.#selfRegistered(made.name, platform)
    if (known === undefined) return enter(this.#typed, key, { target: made, platform, ...rest })
    const differs = differenceOf(known, made)
    if (differs === undefined) return known
    const text = `Duplicate FFI handler registration for ${made.name} on platform ${platform} (canonical ${canonical}) with different ${differs}`
    throw refused('INVALID_ARGUMENT', made.name, text)
  }

  /** Looks up a target by name. @returns undefined if no target has the name. */
  lookup(name: string, options?: LookupOptions): Target | undefined {
    const { platform = 'Host', apiVersion } = checkOptions(options, LOOKUP_OPTIONS)
    const typed = this.#typed.get(keyOf(name, canonicalPlatform(platform)))?.target
    const found = typed ?? this.#selfRegistered(name, platform)
    if (apiVersion === ApiVersion.TYPED_FFI || (apiVersion === undefined && found !== undefined)) return found
    const untyped = this.#untyped.get(keyOf(name, platform))?.target
    if (untyped === undefined) return this.#selfRegisteredFunction(name, platform, apiVersion)
    return apiVersion === undefined || untyped.apiVersion === apiVersion ? untyped : undefined
  }

  /**
   * Returns the targets of a platform by name. The default registry also lists the handlers and functions that libraries registered
   * themselves, the functions with the convention ORIGINAL. If a name has both a typed and an untyped target, the typed target is listed.
   */
  list(platform: string = 'Host'): ReadonlyMap<string, Target> {
    const untyped = [...this.#untyped.values()].filter((entry) => entry.platform === platform)
    const canonical = canonicalPlatform(platform)
    const typed = [...this.#typed.values()].filter((entry) => canonicalPlatform(entry.platform) === canonical)
    const named = this.#findsSelfRegistered ? registeredNames() : []
    const functions = named.filter((other) => other.convention === 'untyped' && other.platform === platform)
    const handlers = named.filter((other) => other.convention === 'typed' && other.platform === canonical)
    const selfRegistered = [
      ...functions.map(({ name }) => [name, this.#selfRegisteredFunction(name, platform)!] as const),
      ...handlers.map(({ name }) => [name, registeredHandler(name, { platform })] as const),
    ]
    const registered = [...untyped, ...typed].map(({ target }) => [target.name, target] as const)
    return new Map<string, Target>([...selfRegistered, ...registered])
  }

  /**
   * Removes the targets with this name from a platform, so that their libraries can be closed. Prepared calls stay usable,
   * unless the target is a TypeScript function.
   *
   * @returns whether a target was removed.
   * @throws {ScopeHeldError} if the target is a TypeScript function that is running. It then stays registered.
   */
  unregister(name: string, options?: { readonly platform?: string }): boolean {
    const { platform = 'Host' } = checkOptions(options, ['platform'])
    const typed = leave(this.#typed, keyOf(name, canonicalPlatform(platform)))
    const untyped = leave(this.#untyped, keyOf(name, platform))
    return typed || untyped
  }

  /**
   * Looks up a target by name and prepares a call.
   *
   * @throws {NotFoundError} if the target is missing. @throws {UnimplementedError} for a typed target on an unknown platform.
   * @throws {InvalidArgumentError} if the target's convention is not `apiVersion`, or the name is reserved.
   * @throws the errors of the target's `prepare`.
   */
  prepare(name: string, options: RegistryPrepareOptions): PreparedCall {
    const { platform = 'Host', apiVersion, ...rest } = checkOptions(options, PREPARE_OPTIONS)
    if (checkName(name, 'name').startsWith('$')) {
      throw refused('INVALID_ARGUMENT', name, "Call targets that start with '$' are reserved for internal use.")
    }
    const target = this.lookup(name, { platform, ...(apiVersion === undefined ? {} : { apiVersion }) })
    if (target === undefined) throw this.#missing(name, platform, apiVersion)
    return target.prepare(rest)
  }

  #missing(name: string, platform: string, apiVersion: ApiVersion | undefined): Error {
    const other = this.lookup(name, { platform })
    if (other === undefined) {
      const wasRefused = this.#findsSelfRegistered
        ? (refusedRegistration(name, platform, 'typed') ?? refusedRegistration(name, platform, 'untyped'))
        : undefined
      if (wasRefused !== undefined) return wasRefused
      const targets = [...this.#typed.values(), ...this.#untyped.values()].map((entry) => entry.target)
      const names = [...targets, ...(this.#findsSelfRegistered ? registeredNames() : [])].map((target) => target.name)
      return missing(name, platform, (apiVersion ?? 4) === ApiVersion.TYPED_FFI, names)
    }
    const actual = other instanceof UntypedFunction ? other.apiVersion : ApiVersion.TYPED_FFI
    const text = `${name} is registered with ${apiVersionName(actual)}, it cannot be called with ${apiVersionName(apiVersion!)}`
    return refused('INVALID_ARGUMENT', name, text)
  }

  #selfRegistered(name: string, platform: string): TypedHandler | undefined {
    if (!this.#findsSelfRegistered) return undefined
    try {
      return registeredHandler(name, { platform })
    } catch (error) {
      // The second is the error of a registration that was refused.
      if (error instanceof NotFoundError || error instanceof VersionSkewError) return undefined
      throw error
    }
  }

  /** The function that a library registered itself, with a convention that the caller states. */
  #selfRegisteredFunction(name: string, platform: string, apiVersion?: ApiVersion): UntypedFunction | undefined {
    if (!this.#findsSelfRegistered || (platform !== 'Host' && platform !== 'CUDA' && platform !== 'ROCM'))
      return undefined
    try {
      return registeredFunction(name, {
        platform,
        ...(apiVersion === undefined ? {} : { apiVersion: apiVersion as UntypedApiVersion }),
      })
    } catch (error) {
      if (error instanceof NotFoundError) return undefined
      throw error
    }
  }

  toString(): string {
    return `TargetRegistry of ${this.#typed.size + this.#untyped.size} targets`
  }
}
inspectAsText(TargetRegistry)

/** The default registry of this thread. It also finds handlers that libraries registered themselves, on any thread. */
export const targets: TargetRegistry = new TargetRegistry({ selfRegistered: true })

function keyOf(name: string, platform: string): string {
  if (typeof name !== 'string') throw wrongType('name', 'a string', name)
  if (typeof platform !== 'string') throw wrongType('platform', 'the name of a platform', platform)
  return `${platform}\0${name}`
}

function enter<Kind extends Target>(entries: Map<string, Entry<Kind>>, key: string, entry: Entry<Kind>): Kind {
  enterAll(entry.gates.map((gate) => ({ gate })))
  entries.set(key, entry)
  return entry.target
}

function leave(entries: Map<string, Entry>, key: string): boolean {
  const entry = entries.get(key)
  if (entry === undefined) return false
  entry.owned?.close()
  for (const gate of entry.gates) gate.exit()
  return entries.delete(key)
}

/** Returns the first difference of two targets, compared in XLA's order; undefined if they are equal. */
function differenceOf(known: TypedHandler, made: TypedHandler): string | undefined {
  const { version, commandBufferCompatible, stateTypeId } = made.metadata
  const a = known.metadata
  const isAlike =
    a.version === version && a.commandBufferCompatible === commandBufferCompatible && a.stateTypeId === stateTypeId
  if (!isAlike) return 'metadata'
  return STAGES.every((stage) => known.addresses[stage] === made.addresses[stage]) ? undefined : 'bundle addresses'
}
