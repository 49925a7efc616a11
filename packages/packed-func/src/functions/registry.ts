import { ArgumentError } from '@tenon/core'
import { addressOf, checkName, describe } from '@tenon/core/internal'
import { takeError } from '../errors/crossing.ts'
import { PackedFuncError } from '../errors/packed-func-error.ts'
import { openStack } from '../native/stack.ts'
import { TypeIndex } from '../native/type-index.ts'
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
  if (found === undefined) throw new PackedFuncError('ValueError', `Function ${name} not found`)
  return found
}

/** The global function of a name, or undefined. @throws {ArgumentError} if the name is no text. */
export function tryGetGlobal(name: string): PackedFunc | undefined {
  const text = Buffer.from(checkName(name, 'name'))
  const stack = openStack()
  const slot = stack.top
  stack.enter(0)
  try {
    if (stack.host.getGlobal(stack.slotAddress(slot), addressOf(text), text.length) !== 0) throw takeError(stack, slot)
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
    if (stack.host.setGlobal(stack.slotAddress(slot), addressOf(text), text.length, handle, override) !== 0) {
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

/**
 * Attaches every global function `prefix.name` to an object as `name`; names with further dots are left out.
 *
 * @param prefix with or without the leading `tvm.` that Python modules of TVM have.
 * @returns the object.
 * @throws {ArgumentError} if the prefix is no text or the target no object.
 * @example
 * registerGlobal('mylib.add', (a: number, b: number) => a + b)
 * const mylib = initApi('mylib')
 * mylib['add']?.call(1, 2) // 3
 */
export function initApi<T extends object = Api>(prefix: string, target: T = {} as T): T & Api {
  const start = `${checkName(prefix, 'prefix').replace(/^tvm\./, '')}.`
  if (typeof target !== 'object' || target === null)
    throw new ArgumentError(`target must be an object, got ${describe(target)}`)
  for (const name of listGlobalNames()) {
    const rest = name.slice(start.length)
    if (!name.startsWith(start) || rest === '' || rest.includes('.')) continue
    Object.defineProperty(target, rest, {
      value: getGlobal(name),
      enumerable: true,
      configurable: true,
      writable: true,
    })
  }
  return target as T & Api
}
