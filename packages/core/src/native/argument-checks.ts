/** Checks the arguments of a call, which is not made. @param isAsync whether the call would run in another thread */
type ArgumentCheck = (values: readonly unknown[], isAsync: boolean) => void

/**
 * The property of a linked function with its check. Not a WeakMap, whose keys survive the collections of young objects: programs that declare many
 * functions took 60 MB more.
 */
const CHECK = Symbol('the check of arguments')

/** States how the arguments of a function are checked without a call, for callers that must know it before something else ends. */
export function setArgumentCheck(call: object, check: ArgumentCheck): void {
  Object.defineProperty(call, CHECK, { value: check })
}

/** Checks the arguments of a linked function as a call does, which is not made. @throws the errors of a call about its arguments */
export function checkArguments(call: object, values: readonly unknown[], isAsync: boolean): void {
  ;(call as { readonly [CHECK]?: ArgumentCheck })[CHECK]?.(values, isAsync)
}
