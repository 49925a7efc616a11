import type { Abi } from '../../src/native/call/call-plan.ts'
import { cName } from './c-source.ts'
import { isStruct, type Signature, structsOf } from './types.ts'

/** A call or an upcall that did not pass the values it should. */
export interface Failure {
  readonly index: number
  readonly abi: Abi
  readonly compiler: string
  readonly direction: 'call' | 'upcall'
  readonly signature: string
  readonly mistakes: readonly string[]
}

export function describeSignature({ result, parameters, fixedParameters }: Signature): string {
  const names = parameters.map(cName)
  if (fixedParameters !== undefined) names.splice(fixedParameters, 0, '...')
  const structs = [...structsOf([result, ...parameters])].map(
    ({ name, members, pack, size }) =>
      `  struct ${name} {${members.map((member) => `${member.offset}: ${cName(member.type)}${isStruct(member.type) ? '' : ''}${member.count === undefined ? '' : `[${member.count}]`}`).join('; ')}} ${size} bytes${pack === undefined ? '' : `, packed ${pack}`}`,
  )
  return [`${cName(result)} f(${names.join(', ')})`, ...structs].join('\n')
}

export function formatFailure({ index, abi, compiler, direction, signature, mistakes }: Failure): string {
  return `signature ${index}, ${direction}, ${abi}, ${compiler}: ${signature}\n${mistakes.map((mistake) => `    ${mistake}`).join('\n')}`
}
