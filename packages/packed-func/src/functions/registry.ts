import { addressOf, checkName, checkOptions, didYouMean, keepAlive, wrongType } from '@tenon/core/internal'
import { takeError } from '../errors/crossing.ts'
import { ValueError } from '../errors/error-kinds.ts'
import { findGlobal, globalFunction } from '../native/global-function.ts'
import { openStack } from '../native/stack.ts'
import { TypeIndex } from '../native/type-index.ts'
import type { AnyDescriptor } from '../typed/descriptor.ts'
import type { TypedFunction } from '../typed/typed-function.ts'
import type { Argument } from '../values/argument.ts'
import { openCallee } from './call.ts'
import { packedFunc } from './closure.ts'
import { PackedFunc } from './packed-func.ts'

/**
 * Looks up a global function.
 *
 * @throws {PackedFuncError} of kind `ValueError` if there is none. The hint names similar functions.
 * @example
 * getGlobal('ffi.String')('hello') // 'hello'
 */
export function getGlobal(name: string): PackedFunc {
  const found = tryGetGlobal(name)
  if (found !== undefined) return found
  throw new ValueError(`Function ${name} not found`, { hint: didYouMean(name, listGlobalNames()) })
}

const builtins = new Map<string, PackedFunc>()

/** A function of tvm-ffi itself, looked up once. @throws {ValueError} if the library does not register it. */
export function builtin(name: string): PackedFunc {
  let found = builtins.get(name)
  if (found === undefined) {
    found = new PackedFunc(TypeIndex.Function, globalFunction(name), name)
    builtins.set(name, found)
  }
  return found
}

/** Looks up a global function. @returns undefined if there is none. @throws {ArgumentError} if the name is not valid. */
export function tryGetGlobal(name: string): PackedFunc | undefined {
  const handle = findGlobal(name)
  return handle === 0 ? undefined : new PackedFunc(TypeIndex.Function, handle, name)
}

/**
 * Registers a function under a name for the whole process, so that native code and other threads find it.
 *
 * @param options.override replaces a function that has the name.
 * @throws {PackedFuncError} of kind `RuntimeError` if the name is taken.
 * @throws {ArgumentError} if `run` is not a function, or the name or an option is not valid.
 * @example
 * registerGlobal('mylib.twice', (x: number) => 2 * x)
 */
export function registerGlobal(
  name: string,
  run: PackedFunc | ((...values: never[]) => Argument | void),
  options?: { readonly override?: boolean },
): PackedFunc {
  const text = Buffer.from(checkName(name, 'name'))
  const override = checkOptions(options, ['override']).override === true ? 1 : 0
  const registered = run instanceof PackedFunc ? run : packedFunc(run)
  const stack = openStack()
  return stack.frame(0, (slot) => {
    const [handle, at] = [openCallee(registered).handle, stack.slotAddress(slot)]
    const status = stack.entered.tn_packed_set_global(at, addressOf(text), text.length, handle, override)
    keepAlive(text)
    if (status === 0) return registered
    if (registered !== run) registered.close()
    throw takeError(stack, slot)
  })
}

/** Removes a name from the registry. Whoever holds the function can still call it. @returns whether the name was registered */
export function removeGlobal(name: string): boolean {
  return builtin('ffi.FunctionRemoveGlobal')(checkName(name, 'name')) as boolean
}

/** The names of all global functions. */
export function listGlobalNames(): string[] {
  const ask = builtin('ffi.FunctionListGlobalNamesFunctor')() as PackedFunc
  try {
    return Array.from({ length: ask(-1) as number }, (_, i) => ask(i) as string)
  } finally {
    ask.close()
  }
}

/** The functions that {@link initApi} attached, by their names without the prefix. */
export type Api = Record<string, PackedFunc>

/** The types of functions by name, as `PackedFunc.typed` takes them. */
export type ApiSchema = Readonly<Record<string, readonly [parameters: readonly AnyDescriptor[], result: AnyDescriptor]>>

/** The typed functions that {@link initApi} attached for a schema. */
export type TypedApi<S extends ApiSchema> = { [K in keyof S]: TypedFunction<S[K][0], S[K][1]> }

/**
 * Attaches every global function `prefix.name` to an object as `name`, which is also the name of the function there. Names with further
 * dots are left out. `functionDoc` returns the documentation of a function.
 *
 * @param prefix with or without the leading `tvm.` that Python modules of TVM have.
 * @returns the object.
 * @throws {ArgumentError} if the prefix is not valid, or the target is not an object.
 * @example
 * registerGlobal('mylib.add', (a: number, b: number) => a + b)
 * const mylib = initApi('mylib')
 * mylib['add']?.(1, 2) // 3
 */
export function initApi<T extends object = Api>(prefix: string, target?: T): T & Api
/**
 * Does the same, and attaches the functions of a schema as typed functions.
 *
 * @param schema the types of functions, `[parameters, result]` by name.
 * @throws {ArgumentError} if the schema is not an object.
 * @throws {ValueError} if there is no function for a name of the schema.
 * @example
 * registerGlobal('mylib.add', (a: number, b: number) => a + b)
 * const mylib = initApi('mylib', {}, { add: [[t.int, t.int], t.int] })
 * mylib.add(1, 2) // 3
 */
export function initApi<T extends object, const S extends ApiSchema>(
  prefix: string,
  target: T,
  schema: S,
): T & Omit<Api, keyof S> & TypedApi<S>
export function initApi(prefix: string, target: object = {}, schema: ApiSchema = {}): object {
  const start = `${checkName(prefix, 'prefix').replace(/^tvm\./, '')}.`
  for (const [name, value] of Object.entries({ target, schema }))
    if (typeof value !== 'object' || value === null) throw wrongType(name, 'an object', value)
  for (const name of listGlobalNames()) {
    const rest = name.slice(start.length)
    if (!name.startsWith(start) || rest === '' || rest.includes('.') || Object.hasOwn(schema, rest)) continue
    attach(target, rest, getGlobal(name).rename(rest))
  }
  for (const [name, [parameters, result]] of Object.entries(schema)) {
    attach(target, name, getGlobal(start + name).typed(parameters, result, start + name))
  }
  return target
}

/** Defines an own property, also for a name such as `__proto__`. */
function attach(target: object, name: string, value: unknown): void {
  Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true })
}
