import { ArgumentError } from '@tenon/core'

/** A type in the `type_schema` of tvm-ffi. */
interface Schema {
  readonly type: string
  readonly args: readonly Schema[]
}

/** The attribute types of the types that signatures have. */
const attributes: Readonly<Record<string, string>> = {
  int: 's64',
  float: 'f64',
  bool: 'pred',
  str: 'string',
  'ffi.String': 'string',
  'ffi.SmallStr': 'string',
  'const char*': 'string',
  'ffi.Bytes': 'bytes',
  'ffi.SmallBytes': 'bytes',
  'void*': 'pointer',
  DataType: 'dtype',
}

/** The largest number of schemas in each other, and of parameters. Metadata comes from libraries. */
const MAX_DEPTH = 32
const MAX_PARAMETERS = 256

/**
 * The text of a signature for the metadata of a packed function (`{"type_schema": ...}`), with the parameters `a0`, `a1`, ...
 * in the order of the function: tensors are operands of any type, and other parameters are attributes.
 *
 * @throws {ArgumentError} if it is not the metadata of a function, or a parameter has a type that signatures do not have, such as
 * a function; the message is the reason
 */
export function metadataText(metadata: string): string {
  const given = (Object(parseJson(metadata)) as { readonly type_schema?: unknown }).type_schema
  const schema = readSchema(typeof given === 'string' ? parseJson(given) : given, 0)
  if (schema.type !== 'ffi.Function' || schema.args.length === 0) {
    throw new ArgumentError('type_schema must be ffi.Function with the types of the result and the parameters')
  }
  const parameters = schema.args.slice(1)
  if (parameters.length > MAX_PARAMETERS) {
    throw new ArgumentError(`a function must have at most ${MAX_PARAMETERS} parameters, got ${parameters.length}`)
  }
  const [operands, others]: [string[], string[]] = [[], []]
  parameters.forEach((parameter, index) => {
    const isOptional = parameter.type === 'Optional' && parameter.args.length === 1
    const { type } = isOptional ? parameter.args[0]! : parameter
    const name = `a${index}${isOptional ? '?' : ''}`
    if (type === 'ffi.Tensor' || type === 'DLTensor*') operands.push(`${name}: any[...]`)
    else if (Object.hasOwn(attributes, type)) others.push(`${name}: ${attributes[type]}`)
    else throw new ArgumentError(`a${index} has the type ${type}, which signatures do not have`)
  })
  const order = parameters.map((_, index) => `a${index}`).join(', ')
  const clauses = [...(others.length > 0 ? [others.join(', ')] : []), ...(order === '' ? [] : [`packed (${order})`])]
  return [`(${operands.join(', ')}) -> ()`, ...clauses].join('; ')
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new ArgumentError(`the metadata must be JSON: ${(cause as Error).message}`, { cause })
  }
}

function readSchema(value: unknown, depth: number): Schema {
  const { type, args = [] } = Object(value) as { readonly type?: unknown; readonly args?: unknown }
  if (typeof type !== 'string' || !Array.isArray(args) || depth > MAX_DEPTH) {
    throw new ArgumentError('type_schema must have a type, and types as its args')
  }
  return { type, args: args.map((arg) => readSchema(arg, depth + 1)) }
}
