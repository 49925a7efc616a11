import { ArgumentError } from '@tenon/core'
import { addressOf, checkName, describe, keepAlive } from '@tenon/core/internal'
import { takeError } from '../errors/crossing.ts'
import { ValueError } from '../errors/kind-classes.ts'
import { openStack } from '../native/stack.ts'
import { TypeIndex } from '../native/type-index.ts'
import type { AnyDescriptor } from '../typed/descriptor.ts'
import type { TypedFunction } from '../typed/typed-function.ts'
import type { Argument } from '../values/argument.ts'
import { packedFunc } from './closure.ts'
import { builtin } from './builtin.ts'
import { PackedFunc } from './packed-func.ts'

/**
 * The global function of a name.
 *
 * @throws {PackedFuncError} of kind `ValueError` if there is none.
 * @example
 * getGlobal('ffi.String').call('hello') // 'hello'
 */
export function getGlobal(name: string): PackedFunc {
  const found = tryGetGlobal(name)
  if (found === undefined) throw new ValueError(`Function ${name} not found`)
  return found
}

/** The global function of a name, or undefined. @throws {ArgumentError} if the name is no text. */
export function tryGetGlobal(name: string): PackedFunc | undefined {
  const text = Buffer.from(checkName(name, 'name'))
  const stack = openStack()
  const slot = stack.top
  stack.enter(0)
  try {
    const status = stack.host.getGlobal(stack.slotAddress(slot), addressOf(text), text.length)
    keepAlive(text)
    if (status !== 0) throw takeError(stack, slot)
    return stack.i32[slot * 4] === TypeIndex.Function ? new PackedFunc(stack.pointer(slot)) : undefined
  } finally {
    stack.leave(slot, stack.text)
  }
}

/**
 * Registers a function under a name for the whole process: native code and other threads find it.
 *
 * @param options.override replaces a function that has the name.
 * @throws {PackedFuncError} of kind `RuntimeError` if the name is taken. @throws {ArgumentError} if `run` is no function.
 * @example
 * registerGlobal('mylib.twice', (x: number) => 2 * x)
 */
export function registerGlobal(
  name: string,
  run: PackedFunc | ((...values: never[]) => Argument | void),
  options: { readonly override?: boolean } = {},
): PackedFunc {
  const text = Buffer.from(checkName(name, 'name'))
  const made = run instanceof PackedFunc ? undefined : packedFunc(run)
  const registered = made ?? (run as PackedFunc)
  const stack = openStack()
  const slot = stack.top
  stack.enter(0)
  try {
    const override = options.override === true ? 1 : 0
    const handle = registered.checkAlive()
    const status = stack.host.setGlobal(stack.slotAddress(slot), addressOf(text), text.length, handle, override)
    keepAlive(text)
    if (status !== 0) {
      made?.dispose()
      throw takeError(stack, slot)
    }
    return registered
  } finally {
    stack.leave(slot, stack.text)
  }
}

/** Takes a name out of the registry; whoever holds the function may still call it. @returns whether there was one */
export function removeGlobal(name: string): boolean {
  return builtin('ffi.FunctionRemoveGlobal').call(checkName(name, 'name')) as boolean
}

/** The names of all global functions. */
export function listGlobalNames(): string[] {
  const ask = builtin('ffi.FunctionListGlobalNamesFunctor').call() as PackedFunc
  try {
    return Array.from({ length: ask.call(-1) as number }, (_, i) => ask.call(i) as string)
  } finally {
    ask.dispose()
  }
}

/** The functions that {@link initApi} attached, by their names without the prefix. */
export type Api = Record<string, PackedFunc>

/** The types of functions by name: what `PackedFunc.typed` takes. */
export type ApiSchema = Readonly<Record<string, readonly [parameters: readonly AnyDescriptor[], result: AnyDescriptor]>>

/** The typed functions that {@link initApi} attached for a schema. */
export type TypedApi<S extends ApiSchema> = { [K in keyof S]: TypedFunction<S[K][0], S[K][1]> }

/**
 * Attaches every global function `prefix.name` to an object as `name`; names with further dots are left out.
 *
 * @param prefix with or without the leading `tvm.` that Python modules of TVM have.
 * @param schema the types of functions, `[parameters, result]` by name: those are attached as typed functions, and must exist.
 * @returns the object.
 * @throws {ArgumentError} if the prefix is no text or the target no object.
 * @throws {ValueError} if there is no function for a name of the schema.
 * @example
 * registerGlobal('mylib.add', (a: number, b: number) => a + b)
 * const mylib = initApi('mylib')
 * mylib['add']?.call(1, 2) // 3
 * const typed = initApi('mylib', {}, { add: [[t.int, t.int], t.int] })
 * typed.add(1, 2) // 3
 */
export function initApi<T extends object = Api>(prefix: string, target?: T): T & Api
export function initApi<T extends object, const S extends ApiSchema>(
  prefix: string,
  target: T,
  schema: S,
): T & Omit<Api, keyof S> & TypedApi<S>
export function initApi(prefix: string, target: object = {}, schema: ApiSchema = {}): object {
  const start = `${checkName(prefix, 'prefix').replace(/^tvm\./, '')}.`
  if (typeof target !== 'object' || target === null)
    throw new ArgumentError(`target must be an object, got ${describe(target)}`)
  if (typeof schema !== 'object' || schema === null)
    throw new ArgumentError(`schema must be an object, got ${describe(schema)}`)
  for (const name of listGlobalNames()) {
    const rest = name.slice(start.length)
    if (!name.startsWith(start) || rest === '' || rest.includes('.') || Object.hasOwn(schema, rest)) continue
    attach(target, rest, getGlobal(name))
  }
  for (const [name, [parameters, result]] of Object.entries(schema)) {
    attach(target, name, getGlobal(start + name).typed(parameters, result, start + name))
  }
  return target
}

/** An own property, whatever the name: `__proto__` is none of an object's. */
function attach(target: object, name: string, value: unknown): void {
  Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true })
}
