import type { RunTimeType } from '../probe/macros.ts'
import type { ShimFunction } from '../probe/build-shim.ts'
import { type CType, type FunctionDeclaration, type Place, withoutTypedefs } from '../read/c-types.ts'
import { UnnamedType } from '../write/declare.ts'
import { macroFunctionCode, macroValueCode, shimSymbol, wrapperCode } from '../write/shim.ts'
import { byValue } from './callable.ts'
import type { BoundFunction, FunctionType, Parameter, Type } from './model.ts'
import type { TypeBuilder } from './type-builder.ts'

/** A function of a module whose code is in a shim. */
export interface ShimBinding extends ShimFunction {
  readonly bound: BoundFunction
}

/**
 * The function of a shim that calls a function of the header. What a call cannot pass by value, it takes and gives through pointers.
 *
 * @returns undefined if C cannot express it: variadic functions, opaque types by value, vectors
 */
export function bindWrapper(declaration: FunctionDeclaration, types: TypeBuilder): ShimBinding | undefined {
  const { name, type, place } = declaration
  if (type.isVariadic || [type.result, ...type.parameters.map((parameter) => parameter.type)].some(cannotBeNamed))
    return undefined
  const passed = types.functionType(type)
  if ([passed.result, ...passed.parameters.map((parameter) => parameter.type)].some((one) => isOpaque(one, types)))
    return undefined
  const isByPointer = (one: CType): boolean => byValue(types.typeOf(one), types) !== undefined
  return bindingOf(name, place, throughPointers(passed, types), () => wrapperCode(declaration, isByPointer))
}

/** The function of a shim that expands a macro with the parameters of a declaration. Undefined if a call cannot pass one. */
export function bindMacroFunction(
  name: string,
  place: Place,
  declaration: FunctionDeclaration,
  types: TypeBuilder,
): ShimBinding | undefined {
  const type = types.functionType(declaration.type)
  const isPassed = [type.result, ...type.parameters.map((parameter) => parameter.type)].every(
    (one) => byValue(one, types) === undefined,
  )
  return isPassed ? bindingOf(name, place, type, () => macroFunctionCode(name, declaration)) : undefined
}

/** The function of a shim that evaluates a macro. */
export function bindMacroValue(name: string, place: Place, as: RunTimeType): ShimBinding {
  const type: FunctionType = { kind: 'function', result: typeOfMacro(as), parameters: [], isVariadic: false }
  return { ...bindingParts(name, place, type), code: macroValueCode(name, as) }
}

function typeOfMacro(as: RunTimeType): Type {
  if (as === 'pointer') return { kind: 'pointer', to: { kind: 'void' }, isConst: false }
  if (as === 'text') return { kind: 'pointer', to: { kind: 'scalar', as: 'int8', c: 'char' }, isConst: true }
  return { kind: 'scalar', as, c: as }
}

const cannotBeNamed = (type: CType): boolean => withoutTypedefs(type).kind === 'unsupported'

const isOpaque = (type: Type, types: TypeBuilder): boolean =>
  type.kind === 'record' && types.recordOf(type.id)?.layout === undefined

function throughPointers({ result, parameters }: FunctionType, types: TypeBuilder): FunctionType {
  const pointers = parameters.map(({ name, type }): Parameter => ({
    name,
    type: byValue(type, types) === undefined ? type : pointerTo(type, true),
  }))
  if (byValue(result, types) === undefined) return { kind: 'function', result, parameters: pointers, isVariadic: false }
  const target: Parameter = { name: 'result', type: pointerTo(result, false) }
  return { kind: 'function', result: { kind: 'void' }, parameters: [target, ...pointers], isVariadic: false }
}

const pointerTo = (to: Type, isConst: boolean): Type => ({ kind: 'pointer', to, isConst })

function bindingParts(name: string, place: Place, type: FunctionType): Omit<ShimBinding, 'code'> {
  const symbol = shimSymbol(name)
  return { symbol, bound: { name, symbol, type, place } }
}

function bindingOf(name: string, place: Place, type: FunctionType, code: () => string): ShimBinding | undefined {
  try {
    return { ...bindingParts(name, place, type), code: code() }
  } catch (error) {
    if (error instanceof UnnamedType) return undefined
    throw error
  }
}
