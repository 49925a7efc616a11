import { type CType, isStruct, type ScalarType, sizeOf } from '../../../core/fuzz/calls/types.ts'
import type { Case, Round, Value } from './cases.ts'
import type { Parameter, Union } from './random-functions.ts'
import { scalarAt } from './values.ts'

/**
 * A program in TypeScript that calls each function with the values of its cases, and prints what is not as expected. Its arguments are the
 * names of functions that it leaves out. With `ISOLATED=1` the functions run in a worker.
 */
export function programOf(cases: readonly Case[]): string {
  return `${PROLOGUE}\n${cases.map(caseText).join('\n')}\n${EPILOGUE}`
}

const PROLOGUE = `
import { Library } from 'tenon'
import { MemorySegment, NativeScope } from 'tenon/scope'
import * as bound from './random/index.js'

const omitted = new Set(process.argv.slice(2))
let current = ''
let called = 0
function wrong(actual: unknown, expected: unknown): void {
  console.log(\`\${current}: must be \${String(expected)}, got \${String(actual)}\`)
  process.exitCode = 1
}
function same<T>(actual: T, expected: T): void {
  if (!Object.is(actual, expected)) wrong(actual, expected)
}
function put(memory: MemorySegment, bytes: readonly number[]): void {
  bytes.forEach((byte, i) => memory.setUint8(i, byte))
}
function sameBytes(memory: MemorySegment, bytes: readonly number[]): void {
  bytes.forEach((byte, i) => same(memory.getUint8(i), byte))
}
/** Calls a function for each round. */
function each(name: string, rounds: readonly ((scope: NativeScope) => bigint)[]): void {
  if (omitted.has(name)) return
  rounds.forEach((call, round) => {
    current = \`\${name}, round \${round}\`
    const scope = NativeScope.ofConfined()
    bound.choose_round(round)
    const expected = call(scope)
    current += ', hash'
    same(bound.last_hash(), expected)
    scope.close()
  })
  called++
}
const workers = process.env['ISOLATED'] === '1' ? await Library.isolate(bound.library, { workers: 1 }) : undefined
`

const EPILOGUE = `
console.log(\`\${called} functions\`)
await workers?.closeAsync()
`

function literal(type: ScalarType, bytes: Uint8Array, offset = 0): string {
  const value = scalarAt(bytes, offset, type)
  if (type === 'pointer') return `MemorySegment.ofAddress(${value}n)`
  if (type === 'bool') return String(value === 1n)
  if (typeof value === 'bigint') return type.endsWith('64') ? `${value}n` : String(value)
  return Object.is(value, -0) ? '-0' : String(value)
}

const list = (bytes: Uint8Array): string => `[${bytes.join(', ')}]`

/** Calls `leaf` for each scalar, and each array of scalars, of a struct, with the expression of its place. */
function visit(
  type: CType,
  place: string,
  bytes: Uint8Array,
  leaf: (place: string, type: ScalarType, bytes: Uint8Array, isArray: boolean) => string,
): string[] {
  if (!isStruct(type)) return [leaf(place, type, bytes, false)]
  return type.members.flatMap(({ type: of, name, count, offset }) => {
    const at = `${place}.${name}`
    const size = sizeOf(of)
    const all = bytes.subarray(offset, offset + size * (count ?? 1))
    if (count === undefined) return visit(of, at, all, leaf)
    if (!isStruct(of)) return [leaf(at, of, all, true)]
    return Array.from({ length: count }, (_, i) =>
      visit(of, `bound.${of.name}.array(${at})[${i}]!`, all.subarray(i * size, (i + 1) * size), leaf),
    ).flat()
  })
}

const setText = (type: CType, place: string, bytes: Uint8Array): string[] =>
  visit(type, place, bytes, (at, scalar, own, isArray) =>
    isArray ? `put(${at}, ${list(own)})` : `${at} = ${literal(scalar, own)}`,
  )

const checkText = (type: CType, place: string, bytes: Uint8Array): string[] =>
  visit(type, place, bytes, (at, scalar, own, isArray) => {
    if (isArray) return `sameBytes(${at}, ${list(own)})`
    return scalar === 'pointer'
      ? `same(${at}.address, ${scalarAt(own, 0, scalar)}n)`
      : `same(${at}, ${literal(scalar, own)})`
  })

/** The statements that make an argument, its expression, and those that check it after the call. */
interface Argument {
  readonly before: readonly string[]
  readonly text: string
  readonly after?: readonly string[]
}

/** An object of a struct or union with the bytes of a value. */
function objectOf(type: CType, union: Union | undefined, name: string, bytes: Uint8Array): Argument {
  if (!isStruct(type)) return { before: [], text: literal(type, bytes) }
  const made = `const ${name} = bound.${union?.union ?? type.name}.allocate(scope)`
  return { before: [made, ...setText(type, union ? `${name}.whole` : name, bytes)], text: name }
}

const ARRAYS: Readonly<Partial<Record<ScalarType, string>>> = {
  int8: 'Int8Array',
  uint8: 'Uint8Array',
  int16: 'Int16Array',
  uint32: 'Uint32Array',
  int64: 'BigInt64Array',
  uint64: 'BigUint64Array',
  float32: 'Float32Array',
  float64: 'Float64Array',
}

function argumentOf(one: Parameter, name: string, value: Value): Argument {
  if (value.kind === 'text') return { before: [], text: JSON.stringify(value.text) }
  if (value.kind === 'callback')
    return one.kind === 'callback' ? callbackOf(one, name, value) : { before: [], text: '' }
  const { bytes } = value
  switch (one.kind) {
    case 'value': {
      const index = one.enum?.values.indexOf(Number(scalarAt(bytes, 0, one.type as ScalarType)))
      if (index !== undefined) return { before: [], text: `bound.${one.enum!.enum}_${index}` }
      return objectOf(one.type, one.union, name, bytes)
    }
    case 'struct':
      return objectOf(one.type, undefined, name, bytes)
    case 'array': {
      const size = sizeOf(one.of)
      const values = Array.from({ length: one.count }, (_, i) => literal(one.of, bytes, i * size))
      const suffix = one.of.endsWith('64') && one.of !== 'float64' ? 'n' : ''
      const changed = values.map((_, i) => `same(${name}[${i}], ${i + 1}${suffix})`)
      return {
        before: [`const ${name} = ${ARRAYS[one.of]}.of(${values.join(', ')})`],
        text: name,
        after: one.isConst ? [] : changed,
      }
    }
    default:
      return { before: [], text: `Uint8Array.of(${bytes.join(', ')})` }
  }
}

function callbackOf(
  { parameters, result }: Extract<Parameter, { kind: 'callback' }>,
  name: string,
  { received, returned }: Extract<Value, { kind: 'callback' }>,
): Argument {
  const checks = parameters.flatMap((type, i) =>
    checkText(type, isStruct(type) ? `bound.${type.name}.at(c${i})` : `c${i}`, received[i]!),
  )
  const made = result === 'void' ? undefined : objectOf(result, undefined, `${name}_r`, returned)
  const body = [`${name}_calls++`, ...checks, ...(made === undefined ? [] : [`return ${made.text}`])]
  return {
    before: [`let ${name}_calls = 0`, ...(made?.before ?? [])],
    text: `(${parameters.map((_, i) => `c${i}`).join(', ')}) => { ${body.join('; ')} }`,
    after: [`same(${name}_calls, 1)`],
  }
}

/** An argument behind `...`, with its type where its value does not say it. */
function restText(type: CType | 'text', value: Value): string {
  if (value.kind === 'text') return value.text === null ? 'MemorySegment.NULL' : JSON.stringify(value.text)
  if (value.kind !== 'bytes' || type === 'text' || isStruct(type)) return ''
  const text = literal(type, value.bytes)
  return type === 'int32' || type === 'int64' || type === 'pointer' ? text : `['${type}', ${text}]`
}

function roundText({ function: { name, parameters, rest, result } }: Case, round: Round): string {
  const values = parameters.map((one, i) => argumentOf(one, `a${i}`, round.arguments[i]!))
  const isObject = result.kind === 'value' && isStruct(result.type)
  const texts = [
    ...(isObject ? ['scope'] : []),
    ...values.map(({ text }) => text),
    ...(rest ?? []).map((type, i) => restText(type, round.rest[i]!)),
  ]
  const call = `bound.${name}(${texts.join(', ')})`
  const after = values.flatMap((value) => value.after ?? [])
  const lines = [...values.flatMap(({ before }) => before)]
  if (result.kind === 'void') lines.push(`same(${call}, undefined)`)
  else lines.push(`const result = ${call}`)
  if (round.result.kind === 'text') lines.push(`same(result, ${JSON.stringify(round.result.text)})`)
  else if (result.kind === 'value' && round.result.kind === 'bytes')
    lines.push(...checkText(result.type, result.union ? 'result.whole' : 'result', round.result.bytes))
  return `(scope) => {\n${[...lines, ...after, `return ${round.hash}n`].map((line) => `    ${line}`).join('\n')}\n  }`
}

const caseText = (one: Case): string =>
  `each('${one.function.name}', [\n  ${one.rounds.map((round) => roundText(one, round)).join(',\n  ')},\n])`
