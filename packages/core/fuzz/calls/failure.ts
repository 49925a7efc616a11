import type { Abi } from '../../src/native/call/call-plan.ts'
import { cName } from './c-source.ts'
import { type Member, type Signature, type Struct, structsOf } from './types.ts'

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
  const structs = [...structsOf([result, ...parameters])].map(describeStruct)
  return [`${cName(result)} f(${names.join(', ')})`, ...structs].join('\n')
}

function describeStruct({ name, members, pack, size }: Struct): string {
  const packed = pack === undefined ? '' : `, packed ${pack}`
  return `  struct ${name} {${members.map(describeMember).join('; ')}} ${size} bytes${packed}`
}

const describeMember = ({ offset, type, count }: Member): string =>
  `${offset}: ${cName(type)}${count === undefined ? '' : `[${count}]`}`

export function formatFailure({ index, abi, compiler, direction, signature, mistakes }: Failure): string {
  const lines = mistakes.map((mistake) => `    ${mistake}`)
  return [`signature ${index}, ${direction}, ${abi}, ${compiler}: ${signature}`, ...lines].join('\n')
}
