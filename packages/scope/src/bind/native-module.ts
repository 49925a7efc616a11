import { ArgumentError, LoadError, UnsupportedError, type ValueType } from '@tenon/core'
import { checkArguments, checkOptions, hostPlatformName, inspectAsText, setArgumentCheck } from '@tenon/core/internal'
import { namedDowncall } from '../linker/downcall.ts'
import type { FunctionSignature } from '../linker/signature.ts'
import { SymbolLookup } from '../linker/symbol-lookup.ts'
import { upcallStub, type UpcallFunction } from '../linker/upcall-stub.ts'
import { namedVariadic } from '../linker/variadic.ts'
import { ResourceScope } from '../scope/resource-scope.ts'
import { attempt, throwErrors } from '../scope/run.ts'
import { MemorySegment } from '../segment/memory-segment.ts'
import { type BindSignature, plainSignature } from './bind-signature.ts'
import { type AnnotatedCall, annotatedCall } from './annotated-call.ts'
import type { AnnotatedSignature } from './annotations.ts'
import { HandleOwner } from './handle-scope.ts'
import { readPointer, writePointer } from './members.ts'
import { notExported } from './not-exported.ts'
import { openShim } from './open-shim.ts'
import { notAFunction, type RemoteModule } from './remote-module.ts'
import type { Struct } from './struct.ts'

/** A variable of a library. */
export interface Variable<Value> {
  value: Value
}

/** A path, or a name that the system's loader searches. A function returns it when the module first needs the library. */
export type LibraryPlace = string | (() => string)

/** How a module finds its libraries on one platform. */
export interface PlatformOptions {
  /** The libraries in the order in which a function is looked up. Without any, functions are those of this process. */
  readonly libraries: readonly LibraryPlace[]
  /** The library with functions that the module has beyond those of its libraries, and the hash of the headers for which it was compiled. */
  readonly shim?: { readonly path: LibraryPlace; readonly hash: string }
}

/** The paths or names of the libraries of a module. */
export interface FoundLibraries {
  readonly libraries: readonly string[]
  readonly shim?: { readonly path: string; readonly hash: string }
}

/** The options of {@link NativeModule.of}, which a generated module passes: those of one platform, or `platforms`. */
export interface ModuleOptions extends Partial<PlatformOptions> {
  /** The platform for which the module was written, such as `linux-x64`. */
  readonly platform?: string
  /** The platforms for which the module was written, such as `linux-x64-gnu`, each with its libraries. */
  readonly platforms?: Readonly<Record<string, PlatformOptions>>
}

/** A native function of a module. */
export type Bound = (...values: readonly unknown[]) => unknown

/** The number of callbacks of one parameter at which a warning is printed. */
const MANY_CALLBACKS = 1000

/** The libraries of a module. @throws {LoadError} if the package with one of them is not installed */
export let librariesOf: (module: NativeModule) => FoundLibraries

/** Whether a value is a module, and not a Proxy of one. */
export let isNativeModule: (value: unknown) => value is NativeModule

/** Makes other processes run the functions of a module. @throws {ArgumentError} if it is in use. @throws {ScopeClosedError} */
export let useProcesses: (module: NativeModule, remote: RemoteModule) => void

/**
 * The libraries behind a module that `tenon bind` has written.
 *
 * | what           | when                                                                                              |
 * | -------------- | ------------------------------------------------------------------------------------------------- |
 * | the libraries  | are opened when the module first needs one of them, and closed by `close()`                       |
 * | a handle       | is closed by its own `close()`, or by that of the module, before the libraries                    |
 * | a function     | is looked up when it is first called                                                              |
 * | a text         | is copied for the call, and a text that is returned is copied at once                             |
 * | a callback     | lives until `close()`; the same function with the same signature is the same native function      |
 *
 * With `Library.isolate(module.library)` of `tenon`, the functions run in processes of their own.
 *
 * After `close()`, a call of a function that was linked throws `ScopeClosedError`, and native code that calls a callback gets 0.
 */
export class NativeModule {
  readonly #places: PlatformOptions
  readonly #scope = ResourceScope.ofConfined({ name: 'a native module' })
  readonly #handles = new HandleOwner()
  readonly #callbacks = new WeakMap<object, Map<unknown, MemorySegment>>()
  readonly #lookups: SymbolLookup[] = []
  readonly #platform: string
  #found: FoundLibraries | undefined
  #isOpen = false
  /** The functions in other processes, if the module is isolated. */
  #remote: RemoteModule | undefined
  /** The addresses of function pointers of structs that are linked. */
  readonly #members = new WeakMap<Bound, bigint>()

  private constructor(platform: string, places: PlatformOptions) {
    this.#platform = platform
    this.#places = places
  }

  /** @throws {UnsupportedError} on another platform than those for which the module was written. */
  static of(options: ModuleOptions): NativeModule {
    const checked = checkOptions(options, ['platform', 'platforms', 'libraries', 'shim'])
    const { platform, platforms = { [String(platform)]: checked as PlatformOptions } } = checked
    const short = `${process.platform}-${process.arch}`
    // The name of a target also has the C library of Linux.
    const here = Object.hasOwn(platforms, short) ? short : hostPlatformName()
    if (!Object.hasOwn(platforms, here))
      throw new UnsupportedError(`this module was written for ${Object.keys(platforms).join(', ')}, got ${here}`, {
        hint: 'Sizes and values differ between platforms: run tenon bind on this one, or with --target.',
      })
    return new NativeModule(here, platforms[here]!)
  }

  /** The value for this platform of what differs between platforms. The keys are their names, with spaces between them. */
  choose<Value>(variants: Readonly<Record<string, () => Value>>): Value | undefined {
    const own = Object.keys(variants).find((names) => names.split(' ').includes(this.#platform))
    return own === undefined ? undefined : variants[own]!()
  }

  /** A pointer that is a value, such as `(void *)-1`. */
  static pointer(address: bigint): MemorySegment {
    return MemorySegment.ofAddress(address)
  }

  /** Whether one of the libraries exports a function or variable, also as `name@VERSION`. @throws {LoadError} if a library cannot be opened */
  has(name: string): boolean {
    if (this.#remote === undefined) return this.#find(name) !== undefined
    this.#scope.checkOpen()
    return this.#remote.has(name)
  }

  /**
   * Makes a function of the libraries callable.
   *
   * @throws {LoadError} if no library exports it. @throws {ScopeClosedError} after `close()`.
   */
  link(name: string, signature: BindSignature): Bound
  /** Makes a function callable as the annotations of its module say. */
  link(name: string, signature: AnnotatedSignature): AnnotatedCall
  link(name: string, signature: BindSignature | AnnotatedSignature): Bound {
    if (this.#remote !== undefined) return whileOpen(this.#scope, this.#remote.link(name, signature, this.#handles))
    return this.#linkAny(name, this.#get(name), signature)
  }

  /**
   * Makes a function pointer of a struct callable.
   *
   * @param previous the call of an earlier pointer at the same place, which stays if the pointer is the same.
   * @throws {LoadError} if the pointer is null. @throws {ScopeClosedError} after `close()`.
   */
  linkMember(
    struct: Struct,
    name: string,
    byteOffset: number,
    signature: BindSignature | AnnotatedSignature,
    previous?: Bound,
  ): Bound {
    const full = `${struct.constructor.name}.${name}`
    if (this.#remote !== undefined) throw notAFunction(`the function pointer ${full}`)
    const pointer = readPointer(struct.segment, byteOffset)
    const { address } = pointer
    if (previous !== undefined && this.#members.get(previous) === address) return previous
    if (address === 0n)
      throw new LoadError(`${full} is null, so the library does not have it`, {
        hint: 'The library may be older than the header. Look at its version before the call.',
      })
    this.#scope.checkOpen()
    const call = this.#linkAny(full, pointer.reinterpret(0, this.#scope), signature)
    this.#members.set(call, address)
    return call
  }

  #linkAny(name: string, symbol: MemorySegment, signature: BindSignature | AnnotatedSignature): Bound {
    if (!('annotated' in signature)) return this.#link(name, symbol, signature)
    return annotatedCall(name, signature, {
      link: (typed) => this.#link(name, symbol, typed),
      callback: (run, signatureOf) => this.#callback(run, signatureOf).stub,
      handles: this.#handles,
    })
  }

  #link(name: string, symbol: MemorySegment, signature: BindSignature): Bound {
    const { result, parameters = [], isVariadic = false, errno = false, critical = false, names } = signature
    const link = isVariadic ? namedVariadic : namedDowncall
    const call = link(symbol, plainSignature(signature), { captureErrno: errno, critical }, names) as unknown as Bound
    const conversions = parameters.map((type, i) =>
      typeof type === 'function'
        ? this.#conversionOf(type, `${names?.[i] ?? `parameter ${i + 1}`} of ${name}`)
        : undefined,
    )
    if (conversions.every((convert) => convert === undefined)) return call
    // A struct that is returned goes to memory from an allocator, which is the first argument.
    const offset = typeof result === 'object' ? 1 : 0
    const convert = (values: readonly unknown[]): unknown[] =>
      values.map((value, i) => conversions[i - offset]?.(value) ?? value)
    const converted: Bound = (...values) => call(...convert(values))
    setArgumentCheck(converted, (values, isAsync) => checkArguments(call, convert(values), isAsync))
    return converted
  }

  /** A variable of the libraries, which is looked up at its first use. */
  variable(name: string, type: ValueType, options: { readonly isConst?: boolean } = {}): Variable<unknown> {
    const { isConst = false } = options
    let segment: MemorySegment | undefined
    const memory = (): MemorySegment => (segment ??= this.#get(name).reinterpret(8, this.#scope))
    const method = type[0]!.toUpperCase() + type.slice(1)
    const read = `get${method}` as 'getInt32'
    const write = `set${method}` as 'setInt32'
    const get = (): unknown => (type === 'pointer' ? readPointer(memory(), 0) : memory()[read](0))
    const set = (value: unknown): void => {
      if (type === 'pointer') writePointer(memory(), 0, value as MemorySegment | null)
      else memory()[write](0, value as number)
    }
    const accessors = isConst ? { get } : { get, set }
    return Object.defineProperty({}, 'value', { ...accessors, enumerable: true }) as Variable<unknown>
  }

  /** The memory of a variable of the libraries, such as an array, which is looked up at its first use. */
  memory(name: string, byteSize: number, make?: (segment: MemorySegment) => unknown): { readonly value: unknown } {
    const find = (): MemorySegment => this.#get(name).reinterpret(byteSize, this.#scope)
    let value: unknown
    return {
      get value() {
        if (value === undefined) {
          const segment = find()
          value = make ? make(segment) : segment
        }
        return value
      },
    }
  }

  /**
   * Closes the handles that are open, the newest first, ends the callbacks, and closes the libraries.
   *
   * @throws {ScopeHeldError} while one of their functions runs, or a hold keeps a handle open. Nothing is closed then.
   * @throws the error of a function that closes an object, or an `AggregateError` of several. Everything is closed nevertheless.
   */
  close(): void {
    const scope = this.#scope
    scope.checkOpen()
    if (scope.isHeld()) throw scope.heldError()
    this.#handles.checkFree()
    const errors: unknown[] = []
    this.#handles.close(errors)
    attempt(() => scope.close(), errors)
    throwErrors(errors, `closing ${this} failed in ${errors.length} ways`)
  }

  [Symbol.dispose](): void {
    if (this.#scope.isAlive) this.close()
  }

  toString(): string {
    // Before its first use, a module does not know whether its libraries are installed.
    const { libraries } = this.#found ?? this.#places
    const names = libraries.map((place) => (typeof place === 'string' ? place : 'a library that it has not opened yet'))
    return `NativeModule of ${names.join(', ') || 'this process'}`
  }

  static {
    inspectAsText(NativeModule)
    isNativeModule = (value): value is NativeModule => typeof value === 'object' && value !== null && #scope in value
    librariesOf = (module) => module.#findLibraries()
    useProcesses = (module, remote) => {
      module.#scope.checkOpen()
      if (module.#isOpen || module.#remote !== undefined) {
        throw new ArgumentError('a module must be isolated before its first call, and once, got one that is in use', {
          hint: "Import it a second time, as './module/index.js?isolated', to use it in both ways.",
        })
      }
      module.#remote = remote
    }
  }

  #find(name: string): MemorySegment | undefined {
    this.#open()
    for (const lookup of this.#lookups) {
      const symbol = lookup.find(name) ?? findVersion(lookup, name)
      if (symbol) return symbol
    }
    return undefined
  }

  #findLibraries(): FoundLibraries {
    if (this.#found !== undefined) return this.#found
    const { libraries, shim } = this.#places
    this.#found = { libraries: libraries.map(pathOf), ...(shim && { shim: { ...shim, path: pathOf(shim.path) } }) }
    return this.#found
  }

  #open(): void {
    if (this.#isOpen) return
    const { libraries, shim } = this.#findLibraries()
    if (libraries.length === 0 && this.#lookups.length === 0) this.#lookups.push(SymbolLookup.ofProcess())
    while (this.#lookups.length < libraries.length)
      this.#lookups.push(SymbolLookup.ofLibrary(libraries[this.#lookups.length]!, this.#scope))
    if (shim) this.#lookups.push(openShim(shim, this.#scope))
    this.#isOpen = true
  }

  #get(name: string): MemorySegment {
    if (this.#remote !== undefined) throw notAFunction(`the variable ${name}`)
    const symbol = this.#find(name)
    if (symbol) return symbol
    throw notExported(this.#findLibraries().libraries, name)
  }

  /** How a function of TypeScript becomes an argument. Other values stay as they are. */
  #conversionOf(signatureOf: () => FunctionSignature, parameter: string): (value: unknown) => unknown {
    let count = 0
    return (value) => {
      if (typeof value !== 'function') return value
      const { stub, isNew } = this.#callback(value as UpcallFunction, signatureOf)
      if (isNew && ++count === MANY_CALLBACKS) warnOfMany(parameter)
      return stub
    }
  }

  #callback(run: UpcallFunction, signatureOf: () => FunctionSignature): { stub: MemorySegment; isNew: boolean } {
    let stubs = this.#callbacks.get(run)
    if (!stubs) {
      stubs = new Map()
      this.#callbacks.set(run, stubs)
    }
    const signature = signatureOf()
    const key = JSON.stringify([signature.result, signature.parameters], (_, part: unknown) =>
      typeof part === 'object' && part !== null && !Array.isArray(part) ? String(part) : part,
    )
    const known = stubs.get(key)
    if (known) return { stub: known, isNew: false }
    const stub = upcallStub(run, signature, this.#scope)
    stubs.set(key, stub)
    return { stub, isNew: true }
  }
}

/** A symbol whose name ends with its version, such as `memcpy@GLIBC_2.2.5`. */
function findVersion(lookup: SymbolLookup, name: string): MemorySegment | undefined {
  const at = name.indexOf('@')
  return at <= 0 ? undefined : lookup.find(name.slice(0, at), { version: name.slice(at + 1) })
}

const pathOf = (place: LibraryPlace): string => (typeof place === 'string' ? place : place())

/** The callbacks of a parameter live as long as the module, so a new function for each call is a leak. */
function warnOfMany(parameter: string): void {
  process.emitWarning(
    `${MANY_CALLBACKS} functions are callbacks of ${parameter}, and live until the module is closed. Pass the same function again, or annotate the parameter with "call" if C does not use the function after the call.`,
  )
}

/** A call in another process, which does not end with the module by itself. */
const whileOpen = (scope: ResourceScope, call: AnnotatedCall): AnnotatedCall =>
  Object.assign(
    (...values: readonly unknown[]) => {
      scope.checkOpen()
      return call(...values)
    },
    {
      async: async (...values: readonly unknown[]) => {
        scope.checkOpen()
        return call.async(...values)
      },
    },
  )
