import { cName } from '../../../core/fuzz/calls/c-source.ts'
import { type CType, isStruct, type ScalarType, type Struct, structsOf } from '../../../core/fuzz/calls/types.ts'
import type { Case } from './cases.ts'
import type { Enum, Parameter, RandomFunction, Result, Union } from './random-functions.ts'

/** The header and the source of a library whose functions compute a hash of all that they get. */
export function cLibrary(cases: readonly Case[]): { readonly header: string; readonly source: string } {
  const functions = cases.map((one) => one.function)
  const header = [
    '#include <stdint.h>',
    'uint64_t last_hash(void);',
    '/** Chooses the values that the next function returns, and passes to callbacks. */',
    'void choose_round(int round);',
    ...enumsOf(functions).map(
      ({ enum: name, values }) =>
        `enum ${name} { ${values.map((value, i) => `${name}_${i} = ${value === -(2 ** 31) ? '-2147483647 - 1' : value}`).join(', ')} };`,
    ),
    ...[...structsOf(functions.flatMap(typesOf))].map(structText),
    ...unionsOf(functions).map(
      ({ union, whole, others }) =>
        `union ${union} { ${cName(whole)} whole; ${others.map((other, i) => `${cName(other)} o${i};`).join(' ')} };`,
    ),
    ...functions.map((one) => `${prototype(one)};`),
    '',
  ].join('\n')
  return { header, source: `#include "random.h"\n${PROLOGUE}\n${cases.map(definition).join('\n')}\n` }
}

const PROLOGUE = `
#include <stdarg.h>
#include <stddef.h>
static uint64_t hash;
static int current;
uint64_t last_hash(void) { return hash; }
void choose_round(int value) { current = value; }
static void word(uint64_t value) {
  hash = (hash ^ value) * 1099511628211u;
  hash ^= hash >> 29;
}
static void real(double value) {
  uint64_t bits;
  __builtin_memcpy(&bits, &value, 8);
  word(bits);
}
static void text(const char *value) {
  if (!value) word(0xdead);
  else for (; *value; value++) word((unsigned char)*value);
  word(1);
}
#define MAKE(name, bytes) __builtin_memcpy(&name, bytes[current], sizeof(name))
`

/** All types by value of a function, with those of its callbacks. */
function typesOf({ parameters, result }: RandomFunction): (CType | 'void')[] {
  const ofParameters = parameters.flatMap((one) => {
    if (one.kind === 'callback') return [one.result, ...one.parameters]
    return one.kind === 'value' || one.kind === 'struct' ? [one.type] : []
  })
  return [...ofParameters, ...(result.kind === 'value' ? [result.type] : [])]
}

const valuesOf = ({ parameters, result }: RandomFunction): (Parameter | Result)[] => [...parameters, result]

const enumsOf = (functions: readonly RandomFunction[]): Enum[] =>
  functions.flatMap(valuesOf).flatMap((one) => (one.kind === 'value' && one.enum ? [one.enum] : []))

const unionsOf = (functions: readonly RandomFunction[]): Union[] =>
  functions.flatMap(valuesOf).flatMap((one) => (one.kind === 'value' && one.union ? [one.union] : []))

function structText({ name, pack, members }: Struct): string {
  const body = members.map(({ type, name: member, count }) => {
    return `${cName(type)} ${member}${count === undefined ? '' : `[${count}]`};`
  })
  const text = `struct ${name} { ${body.join(' ')} };`
  return pack === undefined ? text : `#pragma pack(push, ${pack})\n${text}\n#pragma pack(pop)`
}

/** How C names the type of a parameter or result. */
function typeText(one: Parameter | Result): string {
  if (one.kind !== 'value') return one.kind === 'text' ? 'const char *' : 'void'
  if (one.enum) return `enum ${one.enum.enum}`
  return one.union ? `union ${one.union.union}` : cName(one.type)
}

function declaration(one: Parameter, name: string): string {
  const constant = 'isConst' in one && one.isConst ? 'const ' : ''
  switch (one.kind) {
    case 'value':
      return `${typeText(one)} ${constant}${name}`
    case 'text':
      return `const char *${name}`
    case 'array':
      return `${constant}${cName(one.of)} *${name}`
    case 'bytes':
      return `const void *${name}`
    case 'struct':
      return `${constant}${cName(one.type)} *${name}`
    case 'callback':
      return `${cName(one.result)} (*${name})(${one.parameters.map(cName).join(', ') || 'void'})`
  }
}

function prototype({ name, result, parameters, rest }: RandomFunction): string {
  const list = [...parameters.map((one, i) => declaration(one, `a${i}`)), ...(rest === undefined ? [] : ['...'])]
  return `${typeText(result)} ${name}(${list.join(', ') || 'void'})`
}

function scalarHash(type: ScalarType, place: string): string {
  if (type.startsWith('float')) return `real(${place});`
  return type === 'pointer' ? `word((uint64_t)(uintptr_t)${place});` : `word((uint64_t)${place});`
}

/** Statements that hash each scalar of a value. */
function hashText(type: CType, place: string): string[] {
  if (!isStruct(type)) return [scalarHash(type, place)]
  return type.members.flatMap((member) => {
    const at = `${place}.${member.name}`
    if (member.count === undefined) return hashText(member.type, at)
    return Array.from({ length: member.count }, (_, i) => hashText(member.type, `${at}[${i}]`)).flat()
  })
}

/** The bytes of a value for each round. */
const bytesText = (name: string, rounds: readonly Uint8Array[]): string =>
  `static const unsigned char ${name}[${rounds.length}][${rounds[0]!.length}] = { ${rounds.map((bytes) => `{ ${bytes.join(',')} }`).join(', ')} };`

function parameterHash(one: Parameter, name: string, { rounds }: Case, index: number): string[] {
  switch (one.kind) {
    case 'value':
      return hashText(one.type, one.union ? `${name}.whole` : name)
    case 'text':
      return [`text(${name});`]
    case 'array': {
      const change = one.isConst ? '' : ` ${name}[i] = (${cName(one.of)})(i + 1);`
      return [`for (int i = 0; i < ${one.count}; i++) { ${scalarHash(one.of, `${name}[i]`)}${change} }`]
    }
    case 'bytes':
      return [`for (int i = 0; i < ${one.count}; i++) word(((const unsigned char *)${name})[i]);`]
    case 'struct':
      return hashText(one.type, `(*${name})`)
    case 'callback': {
      const calls = rounds.map(({ arguments: values }) => values[index]!)
      const made = one.parameters.flatMap((type, i) => [
        bytesText(
          `${name}_${i}`,
          calls.map((value) => (value.kind === 'callback' ? value.received[i]! : new Uint8Array())),
        ),
        `${cName(type)} ${name}_v${i}; MAKE(${name}_v${i}, ${name}_${i});`,
      ])
      const call = `${name}(${one.parameters.map((_, i) => `${name}_v${i}`).join(', ')})`
      if (one.result === 'void') return [...made, `${call};`]
      return [...made, `${cName(one.result)} ${name}_r = ${call};`, ...hashText(one.result, `${name}_r`)]
    }
  }
}

function definition(one: Case): string {
  const { function: made, rounds } = one
  const { parameters, rest, result } = made
  const lines = [
    'hash = 14695981039346656037u;',
    ...parameters.flatMap((each, i) => parameterHash(each, `a${i}`, one, i)),
  ]
  if (rest !== undefined) {
    lines.push('va_list list;', `va_start(list, a${parameters.length - 1});`)
    for (const type of rest)
      lines.push(
        type === 'text'
          ? 'text(va_arg(list, const char *));'
          : `{ ${cName(type)} v = va_arg(list, ${cName(type)}); ${hashText(type, 'v').join(' ')} }`,
      )
    lines.push('va_end(list);')
  }
  if (result.kind === 'text')
    lines.push(
      `static const char *const results[] = { ${rounds.map(({ result: value }) => (value.kind === 'text' && value.text !== null ? `"${octal(value.text)}"` : '0')).join(', ')} };`,
      'return results[current];',
    )
  if (result.kind === 'value')
    lines.push(
      bytesText(
        'results',
        rounds.map(({ result: value }) => (value.kind === 'bytes' ? value.bytes : new Uint8Array())),
      ),
      `${typeText(result)} result;`,
      'MAKE(result, results);',
      'return result;',
    )
  return `${prototype(made)} {\n  ${lines.join('\n  ')}\n}`
}

/** Every byte in octal digits. */
const octal = (text: string): string =>
  [...new TextEncoder().encode(text)].map((byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('')
