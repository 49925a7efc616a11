import type { AttributeParameter, KernelSignature, Parameter } from '@tenon/core'
import { isDeclarable } from '@tenon/packed-func'
import { attributeType, docComment, docOf, elementOf, parameterName, propertyName, tensorOf } from './declare-kernel.ts'

/** The types of the options of operations, which the declarations of a library with such kernels have once. */
export const operationOptions = `interface OperationOptions<Into> {
  readonly into?: Into
  readonly allocator?: NativeAllocator
}
interface OperationAsyncOptions<Into> extends OperationOptions<Into> {
  readonly signal?: AbortSignal
  readonly deadline?: number
}`

/** The declaration of a kernel of TensorFlow's C API: its call, and the asynchronous form. */
export function declareOperation(signature: KernelSignature): string {
  const lines = [
    callOf(signature, false),
    '/** Calls the kernel on another thread. */',
    `async${callOf(signature, true)}`,
  ]
  const body = ['{', ...lines.map((line) => `  ${line}`), '}'].join('\n')
  return `${docComment(docOf(signature))}export const ${signature.name}: ${body}`
}

const EITHER = 'Tensor | StringTensor'

/** The names in one call: those of type parameters, and what each stands for. */
interface Names {
  /** The type parameters, with their bounds and defaults. */
  readonly generics: string[]
  /** The element types that operands and attributes determine, by the names of variables. */
  readonly elements: ReadonlyMap<string, string>
}

function callOf(signature: KernelSignature, isAsync: boolean): string {
  const { operands, results, attributes } = signature
  const names = namesOf(signature)
  const used = new Set<string>()
  const parameters = operands.map((operand) => `${parameterName(operand.name, used)}: ${typeOf(operand, names)}`)
  if (attributes.length > 0) {
    const mayOmit = attributes.every(({ isOptional }) => isOptional)
    const members = attributes.map((attribute) => memberOf(attribute, names))
    parameters.push(`${parameterName('attributes', used)}${mayOmit ? '?' : ''}: { ${members.join('; ')} }`)
  }
  const isOne = results.length === 1 && results[0]!.kind === 'one'
  const named = results.map((result) => `readonly ${propertyName(result.name)}: ${typeOf(result, names)}`)
  const returned = results.length === 0 ? 'undefined' : isOne ? typeOf(results[0]!, names) : `{ ${named.join('; ')} }`
  const into = results.length === 0 ? 'never' : isOne ? returned : `Partial<${returned}>`
  parameters.push(
    `${parameterName('options', used)}?: ${isAsync ? 'OperationAsyncOptions' : 'OperationOptions'}<${into}>`,
  )
  const generics = names.generics.length === 0 ? '' : `<${names.generics.join(', ')}>`
  return `${generics}(${parameters.join(', ')}): ${isAsync ? `Promise<${returned}>` : returned}`
}

function namesOf({ operands, attributes }: KernelSignature): Names {
  const generics: string[] = []
  const elements = new Map<string, string>()
  // A type that can be that of strings or of quantised elements is an attribute in the notation of TensorFlow.
  const open = new Set(attributes.filter(({ type }) => typeof type === 'object').map(({ name }) => name))
  for (const { variable, dtypes } of operands) {
    if (variable === undefined || elements.has(variable) || open.has(variable)) continue
    elements.set(variable, variable)
    generics.push(`${variable} extends ${elementOf({ dtypes })}`)
  }
  for (const { name, type, fallback } of attributes) {
    if (type !== 'dtype') continue
    const parameter = isDeclarable(name) ? `$${name}` : `$_${name}`
    elements.set(name, `Canonical<${parameter}>`)
    generics.push(`${parameter} extends DTypeName${typeof fallback === 'string' ? ` = '${fallback}'` : ''}`)
  }
  return { generics, elements }
}

function typeOf({ stringLayout, variable, dtypes, kind }: Parameter, { elements }: Names): string {
  const own = dtypes.length === 0 ? undefined : elementOf({ dtypes })
  const element = variable === undefined ? own : elements.get(variable)
  const type = stringLayout !== undefined ? 'StringTensor' : element === undefined ? EITHER : tensorOf(element)
  return kind === 'remaining' ? `readonly ${type === EITHER ? `(${type})` : type}[]` : type
}

function memberOf({ name, type, isOptional }: AttributeParameter, { elements }: Names): string {
  const parameter = type === 'dtype' ? /^Canonical<(.*)>$/.exec(elements.get(name) ?? '')?.[1] : undefined
  const value =
    parameter ??
    (typeof type === 'object' && 'notation' in type
      ? notatedType(type.notation)
      : type === 'string'
        ? 'string | Uint8Array'
        : attributeType(type))
  return `readonly ${propertyName(name)}${isOptional ? '?' : ''}: ${value}`
}

/** The values of attributes that signatures have no type for. */
function notatedType(notation: string): string {
  const [, list, kind = ''] = /^(list\s*\(\s*)?(\w*)/.exec(notation)!
  const one =
    {
      string: 'string | Uint8Array',
      int: 'number | bigint',
      float: 'number',
      bool: 'boolean',
      shape: 'readonly number[] | undefined',
      tensor: 'Tensor',
    }[kind] ?? 'string'
  return list === undefined ? one : `readonly (${one})[]`
}
