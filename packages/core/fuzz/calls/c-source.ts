import { type CType, isStruct, type ScalarType, type Signature, type Struct, structsOf } from './types.ts'

/**
 * The C source of two functions for each signature:
 *
 * - `call_N`, a callee, appends the scalars of its arguments to `fuzz_log` and returns the value of which `fuzz_input`
 *   contains the scalars.
 * - `upcall_N`, a caller, reads the scalars of the arguments from `fuzz_input`, calls a function pointer with them, and
 *   appends the scalars of the result to `fuzz_log`.
 *
 * The padding of every struct that they make is filled with a pattern.
 */
export function cSource(signatures: ReadonlyMap<number, Signature>): string {
  const types = [...signatures.values()].flatMap(({ result, parameters }) => [result, ...parameters])
  return [
    prologue,
    ...[...structsOf(types)].map(declarationOf),
    ...[...signatures].flatMap(([index, signature]) => [calleeOf(index, signature), callerOf(index, signature)]),
    `void (*const fuzz_callees[])(void) = {${[...signatures.keys()].map((i) => `(void (*)(void))call_${i}`).join(', ')}};`,
    `void (*const fuzz_callers[])(void *) = {${[...signatures.keys()].map((i) => `upcall_${i}`).join(', ')}};`,
    '',
  ].join('\n')
}

const prologue = `
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#ifdef _WIN32
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

extern unsigned char *fuzz_log;
extern const unsigned char *fuzz_input;

#define PUT(x) (__builtin_memcpy(fuzz_log, &(x), sizeof(x)), fuzz_log += sizeof(x))
#define GET(x) (__builtin_memcpy(&(x), fuzz_input, sizeof(x)), fuzz_input += sizeof(x))
#define FILL(x) __builtin_memset(&(x), 0x5a, sizeof(x))
`

const cScalars: Readonly<Record<ScalarType, string>> = {
  bool: '_Bool',
  int8: 'int8_t',
  uint8: 'uint8_t',
  int16: 'int16_t',
  uint16: 'uint16_t',
  int32: 'int32_t',
  uint32: 'uint32_t',
  int64: 'int64_t',
  uint64: 'uint64_t',
  float32: 'float',
  float64: 'double',
  pointer: 'void *',
}

export const cName = (type: CType | 'void'): string =>
  isStruct(type) ? `struct ${type.name}` : type === 'void' ? 'void' : cScalars[type]

function declarationOf({ name, pack, members, size }: Struct): string {
  const body = members.map((member) => {
    const suffix = member.count === undefined ? '' : `[${member.count}]`
    return `  ${cName(member.type)} ${member.name}${suffix};`
  })
  const text = `struct ${name} {\n${body.join('\n')}\n};`
  const packed = pack === undefined ? text : `#pragma pack(push, ${pack})\n${text}\n#pragma pack(pop)`
  return `${packed}\n_Static_assert(sizeof(struct ${name}) == ${size}, "the size of ${name}");`
}

/** One statement for each scalar, or for each array of scalars. */
function eachScalar(macro: 'PUT' | 'GET', type: CType, place: string): string[] {
  if (!isStruct(type)) return [`  ${macro}(${place});`]
  return type.members.flatMap((member) => {
    const at = `${place}.${member.name}`
    if (member.count === undefined) return eachScalar(macro, member.type, at)
    if (!isStruct(member.type)) return [`  ${macro}(${at});`]
    return Array.from({ length: member.count }, (_, i) => eachScalar(macro, member.type, `${at}[${i}]`)).flat()
  })
}

const makeValue = (type: CType, name: string): string[] => [
  `  ${cName(type)} ${name};`,
  `  FILL(${name});`,
  ...eachScalar('GET', type, name),
]

function parameterList({ parameters, fixedParameters }: Signature, named: boolean): string {
  const fixed = parameters.slice(0, fixedParameters).map((type, i) => cName(type) + (named ? ` a${i}` : ''))
  if (fixedParameters !== undefined) fixed.push('...')
  return fixed.length === 0 ? 'void' : fixed.join(', ')
}

function calleeOf(index: number, signature: Signature): string {
  const { result, parameters, fixedParameters } = signature
  const variadic = fixedParameters === undefined ? [] : parameters.slice(fixedParameters)
  const lines = parameters.slice(0, fixedParameters).flatMap((type, i) => eachScalar('PUT', type, `a${i}`))
  if (fixedParameters !== undefined) lines.push(`  va_list list;`, `  va_start(list, a${fixedParameters - 1});`)
  variadic.forEach((type, i) => {
    lines.push(`  ${cName(type)} v${i} = va_arg(list, ${cName(type)});`, ...eachScalar('PUT', type, `v${i}`))
  })
  if (fixedParameters !== undefined) lines.push('  va_end(list);')
  if (result !== 'void') lines.push(...makeValue(result, 'result'), '  return result;')
  return `EXPORT ${cName(result)} call_${index}(${parameterList(signature, true)}) {\n${lines.join('\n')}\n}`
}

function callerOf(index: number, signature: Signature): string {
  const { result, parameters } = signature
  const lines = parameters.flatMap((type, i) => makeValue(type, `a${i}`))
  const call = `((${cName(result)} (*)(${parameterList(signature, false)}))stub)(${parameters.map((_, i) => `a${i}`).join(', ')})`
  if (result === 'void') lines.push(`  ${call};`)
  else lines.push(`  ${cName(result)} result = ${call};`, ...eachScalar('PUT', result, 'result'))
  return `EXPORT void upcall_${index}(void *stub) {\n${lines.join('\n')}\n}`
}
