/** Checks the arguments of a call, which is not made. @param isAsync whether the call would run in another thread */
type ArgumentCheck = (values: readonly unknown[], isAsync: boolean) => void

/** The checks of linked functions, for callers that must know that a call can be made before something else ends. */
const checks = new WeakMap<object, ArgumentCheck>()

/** States how the arguments of a function are checked without a call. */
export function setArgumentCheck(call: object, check: ArgumentCheck): void {
  checks.set(call, check)
}

/** Checks the arguments of a linked function as a call does, which is not made. @throws the errors of a call about its arguments */
export function checkArguments(call: object, values: readonly unknown[], isAsync: boolean): void {
  checks.get(call)?.(values, isAsync)
}
