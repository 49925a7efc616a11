import type { CallPlan } from '../model/call-plan.ts'
import type { BoundFunction, BoundRecord, FunctionType } from '../model/model.ts'
import { annotatedSignature, type CallNames, type NameFunction } from './call-signature.ts'
import { argumentType, callResultType, isPassed, takesAllocator } from './call-types.ts'
import { identifier, javaScriptName, quoted } from './identifiers.ts'
import { withKeptTexts } from './kept-texts.ts'
import type { ModulePart } from './module-part.ts'
import { parameterName, parameterType, resultType, signature } from './types.ts'

type Records = ReadonlyMap<string, BoundRecord>

/** The parts of a function, or of a method that calls a function pointer. */
export interface CallableText {
  /** The names of the parameters in the order in which the caller passes them. */
  readonly list: string
  /** The parameters with their types. */
  readonly types: string
  /** The same for a call in another thread, which does not take memory of JavaScript. */
  readonly asyncTypes: string
  readonly result: string
  /** The signature for `library.link()`. */
  readonly signature: string
  /** Turns the text of the call into the value that the caller gets. */
  readonly finish: (call: string) => string
}

/** Writes what functions and methods have in common. */
export function callableText(
  type: FunctionType,
  annotated: CallPlan | undefined,
  records: Records,
  { nameFunction, status }: CallNames,
): CallableText {
  const call = withKeptTexts(type, annotated)
  const own = uniqueNames(type.parameters.map((parameter, index) => parameterName(parameter.name, index)))
  const hasAllocator = takesAllocator(type, call)
  const linked = call
    ? annotatedSignature(type, call, own, records, { nameFunction, status })
    : signature(type, records)
  const used = new Set(namesIn(linked))
  if (type.result.kind === 'record') used.add(identifier(type.result.id))
  if (hasAllocator) used.add('allocator')
  if (type.isVariadic) used.add('rest')
  const names = uniqueNames(own, used)
  const passed = names.flatMap((_, i) => (call && !isPassed(call.parameters[i]!) ? [] : [i]))
  const typeOf = (i: number): string => {
    const declared = type.parameters[i]!.type
    return call ? argumentType(declared, call.parameters[i]!, records) : parameterType(declared, records)
  }
  const { result } = type
  const types = [
    ...(hasAllocator ? ['allocator: AllocatorLike'] : []),
    ...passed.map((i) => `${names[i]}: ${typeOf(i)}`),
    ...(type.isVariadic ? ['...rest: readonly unknown[]'] : []),
  ].join(', ')
  return {
    list: [
      ...(hasAllocator ? ['allocator'] : []),
      ...passed.map((i) => names[i]!),
      ...(type.isVariadic ? ['...rest'] : []),
    ].join(', '),
    types,
    asyncTypes: types.replaceAll(/ \| (?:(?:Big)?(?:Ui|I)nt\d+Array|Float\d+Array|ArrayBufferView)\b/g, ''),
    result: call ? callResultType(type, call, own) : resultType(result),
    signature: linked,
    finish: (text) => (result.kind === 'record' && call === undefined ? `${identifier(result.id)}.at(${text})` : text),
  }
}

/** A function of the library, which is linked when it is first called. */
export function writeFunction(
  { name, symbol = name, type, call }: BoundFunction,
  records: Records,
  nameFunction: NameFunction,
): ModulePart {
  const declared = identifier(name)
  const own = javaScriptName(name)
  const {
    list,
    types,
    asyncTypes,
    result,
    signature: text,
    finish,
  } = callableText(type, call, records, { nameFunction, status: '$$status' })
  const linked = `($${own} ??= library.link(${quoted(symbol)}, ${text}))`
  if (call?.isAsync !== true)
    return {
      code: `let $${own}\nexport function ${declared}(${list}) {\n  return ${finish(`${linked}(${list})`)}\n}`,
      declaration: `export declare function ${declared}(${types}): ${result}`,
    }
  return {
    code: `let $${own}\nconst $link$${own} = () => ${linked}\nexport function ${declared}(${list}) {\n  return $link$${own}()(${list})\n}\n${declared}.async = (${list}) => $link$${own}().async(${list})`,
    declaration: `export declare const ${declared}: { (${types}): ${result}; async(${asyncTypes}): Promise<${result}> }`,
  }
}

/** The names of the module in a signature, which parameters of the same name would hide. */
const namesIn = (signatureText: string): string[] =>
  signatureText.replaceAll(/'[^']*'|[\p{ID_Continue}$]+:/gu, '').match(/[\p{ID_Continue}$]+/gu) ?? []

/** Two parameters may have one name in C where only their types are declared. */
function uniqueNames(names: readonly string[], used: ReadonlySet<string> = new Set()): string[] {
  const seen = new Set(used)
  return names.map((name) => {
    let unique = name
    while (seen.has(unique)) unique += '_'
    seen.add(unique)
    return unique
  })
}
