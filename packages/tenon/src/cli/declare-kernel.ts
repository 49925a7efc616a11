import type { AttributeParameter, AttributeType, DType, KernelSignature, Parameter } from '@tenon/core'
import { formatSignature } from '@tenon/core'
import { formatLiteral, formatType, parameterText } from '@tenon/core/internal'
import { isDeclarable } from '@tenon/packed-func'

/** The names that declarations of kernels import from `tenon`, apart from `Tensor`. */
export const kernelTypes = [
  'AttributeDictionary',
  'DType',
  'KernelAsyncOptions',
  'KernelCallOptions',
  'MemorySegment',
  'TensorLike',
] as const

/** The names that they import from `tenon/core`, apart from those of operations of TensorFlow. */
export const stringTypes = ['ForeignTensor', 'OfferedStrings', 'StringTensorLike'] as const

/**
 * The declarations of kernels. Each is a constant, whose type has a call for each number of optional operands, and the asynchronous
 * form. Kernels that differ in their names, shapes or docs have the same type, which stands before the first of them. Compilers
 * check a call faster if they know its type from another kernel.
 */
export function declareKernels(kernels: readonly KernelSignature[]): string[] {
  const types = new SharedTypes()
  return kernels.map((kernel) => {
    const type = typeOfKernel(kernel, types)
    return [...types.takeNew(), `${docComment(docOf(kernel))}export const ${kernel.name}: ${type}`].join('\n')
  })
}

/** The types that are declared once for all kernels that have them. */
class SharedTypes {
  readonly #names = new Map<string, string>()
  readonly #counts = new Map<string, number>()
  #new: string[] = []

  /** The name of a type. @param kind the begin of the name. @param text the declaration behind the name */
  nameOf(kind: 'Attributes' | 'Kernel' | 'Results', text: string): string {
    const key = `${kind} ${text}`
    const known = this.#names.get(key)
    if (known !== undefined) return known
    const count = (this.#counts.get(kind) ?? 0) + 1
    this.#counts.set(kind, count)
    const name = `$${kind}${count}`
    this.#names.set(key, name)
    this.#new.push(`interface ${name}${text}\n`)
    return name
  }

  /** The declarations of the types that were named since the last call. */
  takeNew(): string[] {
    const declared = this.#new
    this.#new = []
    return declared
  }
}

function typeOfKernel(given: KernelSignature, types: SharedTypes): string {
  const signature = withFreeVariables(given)
  const { attributes } = shown(signature)
  const results = hasResults(signature) ? types.nameOf('Results', resultsText(signature)) : undefined
  const forms = formsOf(signature)
  const lines = [
    ...forms.map((form) => callOf(signature, form, results, false)),
    '/** Calls the kernel on another thread. */',
    ...forms.map((form) => `async${callOf(signature, form, results, true)}`),
  ]
  if (attributes.length === 0) return types.nameOf('Kernel', bodyOf(lines))
  const name = types.nameOf('Kernel', `<Attributes>${bodyOf(lines)}`)
  return `${name}<${types.nameOf('Attributes', bodyOf(attributes.flatMap(attributeLines)))}>`
}

const bodyOf = (lines: readonly string[]): string => [' {', ...lines.map((line) => `  ${line}`), '}'].join('\n')

/** The types that stand beside the variables of a kernel. */
const typesBesideVariables = [
  'AsyncOptions',
  'Attributes',
  'DType',
  'ForeignTensor',
  'IntoResults',
  'NoInfer',
  'OfferedStrings',
  'Options',
  'Promise',
  'StringTensor',
  'StringTensorLike',
  'Tensor',
  'TensorLike',
]

/** Gives variables that have the name of such a type another name. */
function withFreeVariables(signature: KernelSignature): KernelSignature {
  const parameters = [...signature.operands, ...signature.results]
  const used = new Set<string | undefined>([...typesBesideVariables, ...parameters.map(({ variable }) => variable)])
  const names = new Map<string, string>()
  for (const taken of typesBesideVariables) {
    let free = taken
    while (used.has(free)) free += '_'
    used.add(free)
    names.set(taken, free)
  }
  const renamed = (parameter: Parameter): Parameter => {
    const { variable } = parameter
    return variable === undefined ? parameter : { ...parameter, variable: names.get(variable) ?? variable }
  }
  return { ...signature, operands: signature.operands.map(renamed), results: signature.results.map(renamed) }
}

/** The parts of a signature that callers see. */
function shown({
  operands,
  results,
  attributes,
}: KernelSignature): Pick<KernelSignature, 'operands' | 'results' | 'attributes'> {
  return {
    operands: operands.filter(({ isToken }) => !isToken),
    results: results.filter(({ isToken }) => !isToken),
    attributes,
  }
}

/** Whether a call returns an object of results by name, as it does unless it has one result that is always there. */
function hasResults(signature: KernelSignature): boolean {
  const { results } = shown(signature)
  return results.length > 1 || (results.length === 1 && results[0]!.kind !== 'one')
}

/** The operands of one form of the call. */
type Form = readonly Parameter[]

/** The forms of the call: with all operands, and without one or more optional operands from the end. */
function formsOf(signature: KernelSignature): readonly Form[] {
  const { operands } = shown(signature)
  const optional = operands.filter(({ kind }) => kind === 'optional').length
  if (operands.at(-1)?.kind === 'remaining') return [operands]
  return Array.from({ length: optional + 1 }, (_, omitted) => operands.slice(0, operands.length - omitted))
}

/** The type parameters, the parameters and the result of one form. @param named the type of several results */
function callOf(signature: KernelSignature, form: Form, named: string | undefined, isAsync: boolean): string {
  const { attributes, results } = shown(signature)
  const variables = new Map(
    form.flatMap((operand) => (operand.variable === undefined ? [] : [[operand.variable, operand]])),
  )
  const bound = new Set<string>()
  const names = new Set<string>()
  const parameters = form.map((operand) => {
    const { variable } = operand
    const element =
      variable === undefined ? elementOf(operand) : bound.has(variable) ? `NoInfer<${variable}>` : variable
    if (variable !== undefined) bound.add(variable)
    const type = operand.stringLayout === undefined ? likeOf(element) : stringTypes.toReversed().join(' | ')
    const place = parameterName(operand.name, names)
    if (operand.kind === 'remaining')
      return `${place}: readonly ${operand.stringLayout === undefined ? type : `(${type})`}[]`
    return `${place}: ${type}${operand.kind === 'optional' ? ' | undefined' : ''}`
  })
  const resultElement = (result: Parameter, inferred: boolean): string => {
    if (result.variable === undefined || !bound.has(result.variable)) return elementOf(result)
    return inferred ? result.variable : `NoInfer<${result.variable}>`
  }
  const typeOf = (inferred: boolean): string => {
    const types = results.map((result) => resultType(result, resultElement(result, inferred)))
    if (named === undefined) return types[0] ?? 'undefined'
    const generics = resultVariables(signature).map((variable) => resultElement({ ...results[0]!, variable }, inferred))
    return `${named}${generics.length === 0 ? '' : `<${generics.join(', ')}>`}`
  }
  const into = intoType(results, named === undefined ? undefined : typeOf(false), (one) => resultElement(one, false))
  const options = `${isAsync ? 'AsyncOptions' : 'Options'}<${into}>`
  const optionsAreRequired = !signature.isComplete
  if (attributes.length > 0) {
    const mayOmit = attributes.every(({ isOptional }) => isOptional)
    const place = parameterName('attributes', names)
    parameters.push(
      !mayOmit
        ? `${place}: Attributes`
        : optionsAreRequired
          ? `${place}: Attributes | undefined`
          : `${place}?: Attributes`,
    )
  }
  parameters.push(`${parameterName('options', names)}${optionsAreRequired ? '' : '?'}: ${options}`)
  const generics = [...variables].map(([variable, operand]) => `${variable} extends ${elementOf(operand)}`)
  const returned = isAsync ? `Promise<${typeOf(true)}>` : typeOf(true)
  return `${generics.length === 0 ? '' : `<${generics.join(', ')}>`}(${parameters.join(', ')}): ${returned}`
}

/**
 * The type of the tensors to write to, which does not have strings.
 *
 * @param type that of several results. @param elementIn returns the element type of one
 */
function intoType(
  results: readonly Parameter[],
  type: string | undefined,
  elementIn: (result: Parameter) => string,
): string {
  const strings = results.filter(({ stringLayout }) => stringLayout !== undefined)
  if (strings.length === results.length) return 'never'
  const names = strings.map(({ name }) => JSON.stringify(name)).join(' | ')
  if (type === undefined) return likeOf(elementIn(results[0]!))
  return `IntoResults<${names === '' ? type : `Omit<${type}, ${names}>`}>`
}

/** A name for a parameter that is valid in JavaScript and is not used yet. */
export function parameterName(name: string, used: Set<string>): string {
  let valid = isDeclarable(name) ? name : `_${name.replaceAll(/[^\w$]/g, '_')}`
  while (used.has(valid)) valid += '_'
  used.add(valid)
  return valid
}

/** The element types of a parameter as a type. */
export const elementOf = ({ dtypes }: { readonly dtypes: readonly DType[] }): string =>
  dtypes.length === 0 ? 'DType' : dtypes.map((dtype) => `'${dtype}'`).join(' | ')

/** The type of operands with an element type, which can be those of another library. */
const likeOf = (element: string): string => (element === 'DType' ? 'TensorLike' : `TensorLike<${element}>`)

/** The type of tensors with an element type. */
export const tensorOf = (element: string): string => (element === 'DType' ? 'Tensor' : `Tensor<${element}>`)

function resultType({ kind, stringLayout }: Parameter, element: string): string {
  const type = stringLayout === undefined ? tensorOf(element) : 'StringTensor'
  if (kind === 'remaining') return `readonly ${type}[]`
  return kind === 'optional' ? `${type} | undefined` : type
}

/** The variables that results have, in order. */
function resultVariables({ operands, results }: KernelSignature): string[] {
  const bound = new Set(operands.map(({ variable }) => variable))
  return [
    ...new Set(results.flatMap(({ variable }) => (variable !== undefined && bound.has(variable) ? [variable] : []))),
  ]
}

/** The declaration of the type of several results, behind its name. */
function resultsText(signature: KernelSignature): string {
  const { results } = shown(signature)
  const variables = resultVariables(signature)
  const generics = variables.map((variable) => {
    const { dtypes } = [...signature.operands, ...results].find((parameter) => parameter.variable === variable)!
    return `${variable} extends ${elementOf({ dtypes })}`
  })
  const lines = results.flatMap((result) => {
    const isBound = result.variable !== undefined && variables.includes(result.variable)
    const type = resultType(result, isBound ? result.variable! : elementOf(result))
    return [`/** ${inComment(parameterText(result))} */`, `readonly ${propertyName(result.name)}: ${type}`]
  })
  return `${generics.length === 0 ? '' : `<${generics.join(', ')}>`}${bodyOf(lines)}`
}

function attributeLines({ name, type, isOptional, fallback }: AttributeParameter): string[] {
  const fallbackText = fallback === undefined ? '' : `, ${formatLiteral(fallback)} by default`
  return [
    `/** ${inComment(formatType(type) + fallbackText)} */`,
    `readonly ${propertyName(name)}${isOptional ? '?' : ''}: ${attributeType(type)}`,
  ]
}

/** The values that an attribute accepts. */
export function attributeType(type: AttributeType): string {
  if (typeof type === 'object') {
    if ('enum' in type) return type.enum.map((value) => JSON.stringify(value)).join(' | ')
    if ('notation' in type) return 'unknown'
    const members = type.members.map(
      ({ name, type: of, isOptional }) =>
        `readonly ${propertyName(name)}${isOptional ? '?' : ''}: ${attributeType(of)}`,
    )
    return members.length === 0 ? 'Readonly<Record<string, never>>' : `{ ${members.join('; ')} }`
  }
  if (type.endsWith('[]')) {
    const element = type.slice(0, -2)
    return `readonly ${elementValue(element).includes('|') ? `(${elementValue(element)})` : elementValue(element)}[] | ${arrays[element]}`
  }
  return others[type] ?? elementValue(type)
}

const elementValue = (type: string): string => (type === 's64' || type === 'u64' ? 'number | bigint' : 'number')

const arrays: Readonly<Record<string, string>> = {
  s8: 'Int8Array',
  s16: 'Int16Array',
  s32: 'Int32Array',
  s64: 'BigInt64Array',
  u8: 'Uint8Array',
  u16: 'Uint16Array',
  u32: 'Uint32Array',
  u64: 'BigUint64Array',
  f32: 'Float32Array',
  f64: 'Float64Array',
}

const others: Readonly<Record<string, string>> = {
  pred: 'boolean',
  c64: 'number | readonly [number, number]',
  c128: 'number | readonly [number, number]',
  string: 'string',
  bytes: 'Uint8Array | string',
  pointer: 'Tensor | MemorySegment | bigint',
  dtype: 'DType',
  dictionary: 'AttributeDictionary',
}

/** A name as the key of an object. */
export const propertyName = (name: string): string => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name))

/** The doc of a kernel, and its signature. */
export function docOf(signature: KernelSignature): string {
  const text = formatSignature({ ...signature, doc: '' })
  return signature.doc === '' ? text : `${signature.doc}\n\n${text}`
}

/** A comment before a declaration. */
export function docComment(text: string): string {
  const lines = text.trim().split(/\r\n|\r|\n|\u2028|\u2029/)
  if (lines.length === 1) return `/** ${inComment(lines[0]!)} */\n`
  return ['/**', ...lines.map((line) => ` * ${inComment(line)}`.trimEnd()), ' */', ''].join('\n')
}

/** A text that can neither end a comment nor control a terminal. */
export const inComment = (text: string): string =>
  // oxlint-disable-next-line no-control-regex
  text.replaceAll('*/', '*\\/').replaceAll(/[\0-\x1f\x7f-\x9f\u2028\u2029]/g, ' ')
