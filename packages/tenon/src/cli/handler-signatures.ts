import { dtypes } from '@tenon/core'
import type { Stage } from '@tenon/custom-call'
import { classOfMember, type CppType } from './itanium-type.ts'

/** The signature of a C++ handler, which its symbols contain. They do not contain its name. */
export interface HandlerSignature {
  readonly stage: Stage
  /** In the order in which the handler binds them: `attr float32`, `arg float32[...]`, `ret int32[rank 2]`. */
  readonly parameters: readonly string[]
}

const STAGES = ['instantiate', 'prepare', 'initialize', 'execute'] as const

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

const TYPED_TAGS = new Map([
  ['AttrTag', 'attr'],
  ['ArgTag', 'arg'],
  ['RetTag', 'ret'],
  ['OptionalArgTag', 'optional arg'],
  ['OptionalRetTag', 'optional ret'],
])
const OTHER_TAGS = new Map([
  ['AttrsTag', 'any attributes'],
  ['RemainingArgsTag', 'any other args'],
  ['RemainingRetsTag', 'any other rets'],
])

function describeTag({ name, args }: CppType): string {
  const inner = args[0]
  const tag = plain(name)
  const type = inner === undefined ? '' : describeType(inner)
  if (TYPED_TAGS.has(tag)) return `${TYPED_TAGS.get(tag)} ${type}`
  if (tag === 'CtxTag')
    return plain(inner?.name ?? '') === 'State' ? `state ${describeType(inner!.args[0]!)}` : `context ${type}`
  // Before 0.2, the types of operands are not wrapped in a tag.
  return OTHER_TAGS.get(tag) ?? `arg ${describeType({ name, args })}`
}

const plain = (name: string): string => name.slice(name.lastIndexOf(':') + 1)

function describeType({ name, args }: CppType): string {
  const kind = plain(name)
  if (kind === 'Buffer') return describeBuffer(args)
  if (kind === 'AnyBuffer' || kind === 'BufferBase') return 'any buffer'
  if (kind === 'basic_string_view') return 'string'
  if (kind === 'Span') return `${describeType(args[0]!.name === 'const' ? args[0]!.args[0]! : args[0]!)}[]`
  if (kind === 'Dictionary') return 'dictionary'
  if (kind === 'Pointer') return `pointer to ${describeType(args[0]!)}`
  return SCALARS[name] ?? plain(name)
}

/** The largest possible rank stands for any rank. */
function describeBuffer([code, rank]: readonly CppType[]): string {
  const dtype = dtypes.find(({ xla }) => String(xla) === code?.name)?.name ?? `type ${code?.name}`
  const axes = Number(rank?.name)
  return `${dtype}[${axes < 64 ? Array.from({ length: axes }, () => '?').join(', ') : '...'}]`
}
