import type { ParameterRole } from '../model/call-plan.ts'
import type { FunctionType, Type } from '../model/model.ts'
import type { HandleAnnotation } from './annotation-file.ts'
import { AnnotationsError } from './annotations-error.ts'
import { nameOf, pointeeOf } from './function-plan.ts'

/** Whether C gets the same value for a parameter in every call. */
const isSame = (role: ParameterRole | undefined): boolean => role?.kind === 'omit' || role?.kind === 'constant'

/** The struct of the object that a `T *` points to, or a `T **`, through which C also forgets the pointer. */
function objectOf(type: Type): string | undefined {
  return pointeeOf(type) ?? (type.kind === 'pointer' ? pointeeOf(type.to) : undefined)
}

/** The parameter whose handle a function closes, if it is the close function of a class of handles. */
export function closedParameter(
  { name, type, table }: { readonly name: string; readonly type: FunctionType; readonly table: string | undefined },
  handles: Iterable<Pick<HandleAnnotation, 'type' | 'close'>>,
): string | undefined {
  const own = table === undefined ? name : name.slice(table.length + 1)
  for (const { type: id, close } of handles) {
    if (close !== own && close !== name) continue
    const index = type.parameters.findIndex((parameter) => objectOf(parameter.type) === id)
    if (index !== -1) return nameOf(type.parameters[index]!, index)
  }
  return undefined
}

/**
 * Checks that a function can close a handle: its only argument is the object.
 *
 * @throws {AnnotationsError} if it takes another one, or none.
 */
export function checkClose(
  path: readonly string[],
  {
    handle,
    type,
    close,
    roles,
  }: {
    readonly handle: string
    readonly type: string
    readonly close: { readonly name: string; readonly type: FunctionType }
    readonly roles: readonly ParameterRole[] | undefined
  },
): void {
  const { parameters } = close.type
  const taken = parameters.findIndex((parameter, index) => {
    const kind = roles?.[index]?.kind
    return (kind === 'taken' || kind === 'takenAddress') && objectOf(parameter.type) === type
  })
  if (taken === -1)
    throw new AnnotationsError(
      path,
      `must be a function that takes the ${type} * or ${type} ** of ${handle}, got ${close.name}`,
      'Name the function of the library that ends the object, and do not annotate the parameter that takes it.',
    )
  const other = parameters.findIndex((_, index) => index !== taken && !isSame(roles?.[index]))
  if (other !== -1)
    throw new AnnotationsError(
      path,
      `must be a function of one argument, but ${close.name} also takes ${nameOf(parameters[other]!, other)}`,
      `Annotate it: "${close.name}": { "${nameOf(parameters[other]!, other)}": "omit" }.`,
    )
}
