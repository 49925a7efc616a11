import { ArgumentError } from '@tenon/core'
import { checkName, type Gate } from '@tenon/core/internal'
import type { PreparedCall } from '../call/prepared-call.ts'
import { NotFoundError } from '../errors/xla-error-classes.ts'
import { ApiVersion, apiVersionName, type UntypedApiVersion } from '../targets/api-version.ts'
import { FunctionTarget, type FunctionSignature, type TargetFunction } from '../targets/function-target.ts'
import { registeredNames } from '../targets/registered-names.ts'
import {
  registeredHandler,
  TypedHandler,
  type HandlerOptions,
  type TypedPrepareOptions,
} from '../targets/typed-handler.ts'
import {
  checkDevicePlatform,
  UntypedFunction,
  type DevicePlatform,
  type UntypedPrepareOptions,
} from '../targets/untyped-function.ts'
import type { TensorType } from '@tenon/core'
import type { AttributeSchema } from '../schema/attribute-types.ts'
import type { ParameterSpec } from '../schema/parameter.ts'
import type { TargetSchema } from '../schema/target-schema.ts'
import type { SchemaFunction } from '../targets/reading-entry.ts'
import { findCode, type Code } from './code.ts'
import { alreadyExists, canonicalPlatform, invalid, missing } from './refusals.ts'

/** What can be registered. */
export type Target = TypedHandler | UntypedFunction

/** How an untyped function is registered. */
export interface UntypedOptions {
  /** `Host` without it. Compared exactly. */
  readonly platform?: 'Host' | DevicePlatform
  /** The convention that it was written for; ORIGINAL without it. Calls that name another one are refused. */
  readonly apiVersion?: UntypedApiVersion
}

/** The functions of a typed target, by stage. */
export interface HandlerBundle {
  readonly execute: Code
  readonly instantiate?: Code
  readonly prepare?: Code
  readonly initialize?: Code
}

/** How a target is looked up. */
export interface LookupOptions {
  readonly platform?: string
  /** Only a target of this convention; a typed one, or else an untyped one, without it. */
  readonly apiVersion?: ApiVersion
}

/** What a call by name is prepared for. */
export type RegistryPrepareOptions = LookupOptions & TypedPrepareOptions & UntypedPrepareOptions

/** One target, and what goes with it. */
interface Entry<Kind extends Target = Target> {
  readonly target: Kind
  readonly platform: string
  /** Held while it is registered. */
  readonly gates: readonly Gate[]
  /** Of a function of TypeScript. */
  readonly owned?: FunctionTarget
}

/**
 * Custom call targets by name and platform, with the rules of XLA; what XLA prints, or ends the process for, is an error
 * here, and at registration. The libraries of registered targets can't be closed before the targets are unregistered.
 *
 * @example
 * const registry = new TargetRegistry()
 * registry.registerUntyped('add', { library, symbol: 'do_custom_call' })
 * using call = registry.prepare('add', { operands: [b, c], results: [a] })
 * call.run([b, c], [a])
 * registry.unregister('add')
 */
export class TargetRegistry {
  /** By platform and name, each exact. */
  readonly #untyped = new Map<string, Entry<UntypedFunction>>()
  /** By canonical platform and name. */
  readonly #typed = new Map<string, Entry<TypedHandler>>()
  readonly #findsSelfRegistered: boolean

  /** @param options.selfRegistered whether handlers are found as well that libraries registered when they were loaded */
  constructor(options: { readonly selfRegistered?: boolean } = {}) {
    this.#findsSelfRegistered = options.selfRegistered ?? false
  }

  /**
   * Registers a function of an untyped convention. Again the same is no error.
   *
   * @throws {AlreadyExistsError} if the name is another function's on the platform. @throws {LoadError} if there is no
   * such symbol. @throws {InvalidArgumentError} if there is no such convention. @throws {ArgumentError} otherwise.
   */
  registerUntyped(name: string, code: Code, options: UntypedOptions = {}): UntypedFunction {
    const { platform = 'Host', apiVersion = ApiVersion.ORIGINAL } = options
    checkName(name, 'name')
    if (platform !== 'Host') checkDevicePlatform(platform)
    const { address, gate } = findCode(code, name)
    const made = new UntypedFunction(name, platform, apiVersion, gate, address)
    const known = this.#untyped.get(keyOf(name, platform))?.target
    if (known === undefined) {
      enter(this.#untyped, keyOf(name, platform), { target: made, platform, gates: [gate] })
      return made
    }
    if (known.address === address && known.apiVersion === made.apiVersion) return known
    const differs = known.address === address ? 'another API version' : 'another address'
    throw alreadyExists(name, `custom call target ${name} is registered for ${platform} already, with ${differs}`)
  }

  /**
   * Registers a typed target. Its functions are asked for their version now. Again the same is no error.
   *
   * @throws {InvalidArgumentError} if the name is another target's on the platform, or execute is missing.
   * @throws {VersionSkewError} if it was built for another version. Otherwise as {@link registerUntyped}.
   */
  registerTyped(name: string, bundle: HandlerBundle, options: HandlerOptions = {}): TypedHandler {
    const { platform = 'Host' } = options
    checkName(name, 'name')
    checkName(platform, 'platform')
    if (bundle?.execute === undefined) {
      throw invalid(name, `FFI handler for ${name} on a platform ${platform} must provide an execute implementation`)
    }
    const stages = (['instantiate', 'prepare', 'initialize', 'execute'] as const).map((stage) => {
      const code = bundle[stage]
      return [stage, code === undefined ? undefined : findCode(code, `${stage} of ${name}`)] as const
    })
    const gates = stages.flatMap(([, found]) => (found === undefined ? [] : [found.gate]))
    const [instantiate, prepare, initialize, execute] = stages.map(([, found]) => found?.address ?? 0) as [
      number,
      number,
      number,
      number,
    ]
    const made = new TypedHandler(name, gates.at(-1)!, { instantiate, prepare, initialize, execute }, options)
    return this.#enterTyped(made, platform, { gates })
  }

  /**
   * Registers a TypeScript function as a typed target: native code can call it by the handler's address.
   *
   * @throws {InvalidArgumentError} if the name is another target's. @throws {ArgumentError} if the signature is none.
   * @throws {NativeError} if all places for functions are taken.
   * @example
   * const registry = new TargetRegistry()
   * registry.registerFunction('double', { operands: [f32([2])], results: [f32([2])] }, ([x], [y]) => {
   *   y.segment.view().setFloat32(0, 2 * Number(x.toArray()[0]), true)
   * })
   */
  registerFunction<const Operands extends readonly TensorType[], const Results extends readonly TensorType[]>(
    name: string,
    signature: FunctionSignature<Operands, Results>,
    run: TargetFunction<Operands, Results>,
  ): TypedHandler
  /**
   * Registers a TypeScript function as a declared target: its tensors may differ in size from call to call, and it gets
   * attributes with the declared types. What is not as declared is refused before it runs.
   *
   * @throws as above.
   * @example
   * const scaled = defineTarget('scaled', { operands: [param('f32', ['n'])], results: [param('f32', ['n'])], attrs: { a: 'f32' } })
   * new TargetRegistry().registerFunction('scaled', scaled, ([x], [y], { a }) => {
   *   const out = y.view()
   *   x.toArray().forEach((value, i) => (out[i] = a * Number(value)))
   * })
   */
  registerFunction<
    Operands extends readonly ParameterSpec[],
    Results extends readonly ParameterSpec[],
    Attributes extends AttributeSchema,
  >(
    name: string,
    schema: TargetSchema<Operands, Results, Attributes>,
    run: SchemaFunction<Operands, Results, Attributes>,
  ): TypedHandler
  registerFunction(
    name: string,
    signature: FunctionSignature | TargetSchema,
    run: TargetFunction | SchemaFunction,
  ): TypedHandler {
    const owned = new FunctionTarget(name, signature as TargetSchema, run as SchemaFunction)
    try {
      return this.#enterTyped(owned.handler, 'Host', { gates: [], owned })
    } catch (error) {
      owned.close()
      throw error
    }
  }

  #enterTyped(made: TypedHandler, platform: string, rest: Pick<Entry, 'gates' | 'owned'>): TypedHandler {
    const key = keyOf(made.name, canonicalPlatform(platform))
    const known = this.#typed.get(key)?.target ?? this.#selfRegistered(made.name, platform)
    if (known === undefined) {
      enter(this.#typed, key, { target: made, platform, ...rest })
      return made
    }
    const differs = differenceOf(known, made)
    if (differs === undefined) return known
    throw invalid(
      made.name,
      `Duplicate FFI handler registration for ${made.name} on platform ${platform} (canonical ${canonicalPlatform(platform)}) with different ${differs}`,
    )
  }

  /** The target of a name, or undefined. */
  lookup(name: string, options: LookupOptions = {}): Target | undefined {
    const { platform = 'Host', apiVersion } = options
    const typed = this.#typed.get(keyOf(name, canonicalPlatform(platform)))?.target
    const found = typed ?? this.#selfRegistered(name, platform)
    const untyped = this.#untyped.get(keyOf(name, platform))?.target
    if (apiVersion === undefined) return found ?? untyped
    if (apiVersion === ApiVersion.TYPED_FFI) return found
    return untyped?.apiVersion === apiVersion ? untyped : undefined
  }

  /**
   * The targets that are registered here for a platform, by name; the default registry's also has those that libraries registered
   * themselves. Where a name is both, the typed one.
   */
  list(platform: string = 'Host'): ReadonlyMap<string, Target> {
    const untyped = [...this.#untyped.values()].filter((entry) => entry.platform === platform)
    const canonical = canonicalPlatform(platform)
    const typed = [...this.#typed.values()].filter((entry) => canonicalPlatform(entry.platform) === canonical)
    const named = this.#findsSelfRegistered ? registeredNames().filter((other) => other.platform === canonical) : []
    const selfRegistered = named.map(({ name }) => [name, registeredHandler(name, { platform })] as const)
    const registered = [...untyped, ...typed].map(({ target }) => [target.name, target] as const)
    return new Map<string, Target>([...selfRegistered, ...registered])
  }

  /**
   * Forgets the targets of a name on a platform; their libraries can be closed then. Calls that were prepared stay
   * usable, except those of a TypeScript function.
   *
   * @returns whether there were any.
   * @throws {ScopeHeldError} if it is a TypeScript function that runs now: it stays registered.
   */
  unregister(name: string, { platform = 'Host' }: { readonly platform?: string } = {}): boolean {
    const typed = leave(this.#typed, keyOf(name, canonicalPlatform(platform)))
    const untyped = leave(this.#untyped, keyOf(name, platform))
    return typed || untyped
  }

  /**
   * Prepares a call of the target of a name.
   *
   * @throws {NotFoundError} if there is none; {@link UnimplementedError} if it is a typed one of an unknown platform.
   * @throws {InvalidArgumentError} if it is of another convention than asked for, or the name is reserved.
   * @throws as the target's own `prepare`.
   */
  prepare(name: string, options: RegistryPrepareOptions): PreparedCall {
    const {
      platform = 'Host',
      apiVersion,
      attrs,
      userData,
      hostScratch,
      deviceOrdinal,
      opaque,
      tuples,
      stream,
      ...shape
    } = options
    if (checkName(name, 'name').startsWith('$')) {
      throw invalid(name, "Call targets that start with '$' are reserved for internal use.")
    }
    const target = this.lookup(name, { platform, ...(apiVersion === undefined ? {} : { apiVersion }) })
    if (target === undefined) throw this.#explainMissing(name, platform, apiVersion)
    if (target instanceof UntypedFunction) {
      if (attrs !== undefined || userData !== undefined || hostScratch !== undefined) {
        throw new ArgumentError(`${name} is an untyped custom call, which has no attributes, user data or scratch`)
      }
      return target.prepare(definedOf({ ...shape, opaque, tuples, stream }))
    }
    if (opaque !== undefined || tuples !== undefined) {
      throw new ArgumentError(`${name} is a typed custom call, which takes no opaque string or tuples`)
    }
    return target.prepare(definedOf({ ...shape, attrs, userData, hostScratch, deviceOrdinal, stream }))
  }

  #explainMissing(name: string, platform: string, apiVersion: ApiVersion | undefined): Error {
    const other = this.lookup(name, { platform })
    if (other === undefined) return missing(name, platform, (apiVersion ?? 4) === ApiVersion.TYPED_FFI)
    const actual = other instanceof UntypedFunction ? other.apiVersion : ApiVersion.TYPED_FFI
    return invalid(
      name,
      `${name} is registered with ${apiVersionName(actual)}, it can't be called with ${apiVersionName(apiVersion!)}`,
    )
  }

  #selfRegistered(name: string, platform: string): TypedHandler | undefined {
    if (!this.#findsSelfRegistered) return undefined
    try {
      return registeredHandler(name, { platform })
    } catch (error) {
      if (error instanceof NotFoundError) return undefined
      throw error
    }
  }
}

/** The registry of this thread's JavaScript, which also finds what libraries registered themselves, in any thread. */
export const targets: TargetRegistry = new TargetRegistry({ selfRegistered: true })

const keyOf = (name: string, platform: string): string => `${platform}\0${name}`

function enter<Kind extends Target>(entries: Map<string, Entry<Kind>>, key: string, entry: Entry<Kind>): void {
  for (const gate of entry.gates) gate.enter()
  entries.set(key, entry)
}

function leave(entries: Map<string, Entry>, key: string): boolean {
  const entry = entries.get(key)
  if (entry === undefined) return false
  entry.owned?.close()
  for (const gate of entry.gates) gate.exit()
  return entries.delete(key)
}

/** What XLA compares, in its order; undefined if nothing differs. */
function differenceOf(known: TypedHandler, made: TypedHandler): string | undefined {
  const { version, commandBufferCompatible, stateTypeId } = made.metadata
  const a = known.metadata
  const isAlike =
    a.version === version && a.commandBufferCompatible === commandBufferCompatible && a.stateTypeId === stateTypeId
  if (!isAlike) return 'metadata'
  const stages = ['instantiate', 'prepare', 'initialize', 'execute'] as const
  return stages.every((stage) => known.addresses[stage] === made.addresses[stage]) ? undefined : 'bundle addresses'
}

/** Without what is undefined: an option that isn't there is not one that is undefined. */
function definedOf<Options extends object>(options: { [Key in keyof Options]: Options[Key] | undefined }): Options {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Options
}
