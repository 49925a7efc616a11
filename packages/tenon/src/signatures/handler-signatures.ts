import { dtypes } from '@tenon/core'
import type { Stage } from '@tenon/custom-call'
import { classOfMember, type CppType } from './itanium-type.ts'

/** The role of a parameter of a C++ handler. */
export type HandlerRole =
  | 'attr'
  | 'arg'
  | 'ret'
  | 'optional arg'
  | 'optional ret'
  | 'any other args'
  | 'any other rets'
  | 'any attributes'
  | 'state'
  | 'context'

/** A parameter of a C++ handler. */
export interface HandlerParameter {
  readonly role: HandlerRole
  /** For operands and results as signatures write it: `float32[?, ?]`, `any[...]`. Empty for the roles of any number. */
  readonly type: string
}

/** The signature of a C++ handler, which its symbols contain. They do not contain its name. */
export interface HandlerSignature {
  readonly stage: Stage
  /** In the order in which the handler binds them. */
  readonly parameters: readonly HandlerParameter[]
}

const STAGES: readonly Stage[] = ['instantiate', 'prepare', 'initialize', 'execute', 'record']

const SCALARS: Readonly<Record<string, string>> = {
  bool: 'bool',
  'signed char': 'int8',
  short: 'int16',
  int: 'int32',
  long: 'int64',
  'long long': 'int64',
  'unsigned char': 'uint8',
  'unsigned short': 'uint16',
  'unsigned int': 'uint32',
  'unsigned long': 'uint64',
  'unsigned long long': 'uint64',
  float: 'float32',
  double: 'float64',
}

/** The members of xla::ffi::Handler<...>, which XLA's header instantiates for each handler. At least one is exported. */
const HANDLER = /^_ZNK?3xla3ffi7HandlerI.*E(?:4CallE|[CD][012]E)/

/** Whether a symbol is the member of a handler that exists once for each handler: xla::ffi::Handler<...>::Call(...) const. */
export const isCppHandler = (symbol: string): boolean => /^_ZNK?3xla3ffi7HandlerI.*E4CallE/.test(symbol)

/** The distinct signatures of the handlers in a library that were written with XLA's C++ header. */
export function handlerSignatures(symbols: readonly string[]): HandlerSignature[] {
  const found = symbols.flatMap((symbol): HandlerSignature[] => {
    const type = HANDLER.test(symbol) ? classOfMember(symbol) : undefined
    const stage = STAGES[Number(type?.args[0]?.name)]
    if (type === undefined || stage === undefined) return []
    // The type of the function follows the stage, and then a tag for each parameter.
    return [{ stage, parameters: type.args.slice(2).map(describeTag) }]
  })
  const seen = new Map(found.map((signature) => [JSON.stringify(signature), signature]))
  return [...seen.values()].toSorted((a, b) => STAGES.indexOf(a.stage) - STAGES.indexOf(b.stage))
}

const TYPED_TAGS: ReadonlyMap<string, HandlerRole> = new Map([
  ['AttrTag', 'attr'],
  ['ArgTag', 'arg'],
  ['RetTag', 'ret'],
  ['OptionalArgTag', 'optional arg'],
  ['OptionalRetTag', 'optional ret'],
])
const OTHER_TAGS: ReadonlyMap<string, HandlerRole> = new Map([
  ['AttrsTag', 'any attributes'],
  ['RemainingArgsTag', 'any other args'],
  ['RemainingRetsTag', 'any other rets'],
])

function describeTag({ name, args }: CppType): HandlerParameter {
  const [inner] = args
  const tag = plain(name)
  const typed = TYPED_TAGS.get(tag)
  const other = OTHER_TAGS.get(tag)
  if (typed !== undefined) return { role: typed, type: inner === undefined ? '' : describeType(inner) }
  if (other !== undefined) return { role: other, type: '' }
  // Before 0.2, the types of operands are not wrapped in a tag.
  if (tag !== 'CtxTag' || inner === undefined) return { role: 'arg', type: describeType({ name, args }) }
  const isState = plain(inner.name) === 'State' && inner.args[0] !== undefined
  return isState
    ? { role: 'state', type: describeType(inner.args[0]!) }
    : { role: 'context', type: describeType(inner) }
}

const plain = (name: string): string => name.slice(name.lastIndexOf(':') + 1)

/** The largest number of types inside each other that a text shows. Substitutions can nest them without limit. */
const SHOWN_DEPTH = 8

function describeType({ name, args }: CppType, depth = 0): string {
  const kind = plain(name)
  if (depth === SHOWN_DEPTH) return kind
  if (kind === 'Buffer') return describeBuffer(args)
  if (kind === 'AnyBuffer' || kind === 'BufferBase') return 'any[...]'
  if (kind === 'basic_string_view') return 'string'
  if (kind === 'Dictionary') return 'dictionary'
  const [inner] = args
  if (inner === undefined) return SCALARS[name] ?? kind
  if (kind === 'Span') return `${describeType(inner.name === 'const' ? (inner.args[0] ?? inner) : inner, depth + 1)}[]`
  if (kind === 'Pointer') return `pointer to ${describeType(inner, depth + 1)}`
  return SCALARS[name] ?? kind
}

/** The largest possible rank stands for any rank. */
function describeBuffer([code, rank]: readonly CppType[]): string {
  const dtype = dtypes.find(({ xla }) => String(xla) === code?.name)?.name ?? `type ${code?.name}`
  const axes = Number(rank?.name)
  return `${dtype}[${axes < 64 ? Array.from({ length: axes }, () => '?').join(', ') : '...'}]`
}

/** The handler as one line: `execute(attr float32, arg float32[?, ?], ret float32[?, ?])`. */
export function handlerText({ stage, parameters }: HandlerSignature): string {
  return `${stage}(${parameters.map(({ role, type }) => (type === '' ? role : `${role} ${type}`)).join(', ')})`
}

/**
 * The text of a signature for the handler of an execute stage, with operands `a0`, `a1`, ... and results `r0`, `r1`, ...
 * Undefined for a handler with attributes, because the symbols do not contain their names, or with a state, because the
 * symbols do not contain the handler that makes it. Also undefined for operands and results that are not buffers.
 */
export function templateText({ stage, parameters }: HandlerSignature): string | undefined {
  const [operands, results]: [string[], string[]] = [[], []]
  if (stage !== 'execute') return undefined
  for (const { role, type } of parameters) {
    // Handlers decode other types than buffers by code of their own.
    if (/^(?:arg|ret|opt)/.test(role) && !/^[a-z]\w*\[/.test(type)) return undefined
    if (role === 'arg') operands.push(`a${operands.length}: ${type}`)
    else if (role === 'optional arg') operands.push(`a${operands.length}?: ${type}`)
    else if (role === 'any other args') operands.push(`...a${operands.length}: any[...]`)
    else if (role === 'ret') results.push(`r${results.length}: ${type}`)
    else if (role === 'optional ret') results.push(`r${results.length}?: ${type}`)
    else if (role === 'any other rets') results.push(`...r${results.length}: any[...]`)
    else if (role !== 'context') return undefined
  }
  return `(${operands.join(', ')}) -> (${results.join(', ')})`
}
