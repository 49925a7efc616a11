import type {
  CallPlan,
  ParameterPlan,
  Piece,
  PlanSignature,
  PlanType,
  StructShape,
} from '../../src/native/call/call-plan.ts'
import { WORDS } from '../../src/native/call/frame-layout.ts'
import { type CType, isStruct, type Signature, scalarsOf, sizeOf, type Struct } from './types.ts'

/** The offset of the stack area in a frame in bytes. */
export const STACK_OFFSET: number = WORDS.stack * 4

export const RESULTS_OFFSET: number = WORDS.generalResults * 4
export const RESULTS_SIZE: number = (WORDS.general - WORDS.generalResults) * 4

export const planSignatureOf = ({ result, parameters, fixedParameters }: Signature): PlanSignature => ({
  result: result === 'void' ? result : planTypeOf(result),
  parameters: parameters.map((type) => planTypeOf(type)),
  fixedParameters,
})

export function planTypeOf(type: Struct): StructShape
export function planTypeOf(type: CType): PlanType
export function planTypeOf(type: CType): PlanType {
  if (!isStruct(type)) return type
  return {
    byteSize: type.size,
    byteAlignment: type.alignment,
    naturalAlignment: type.alignment,
    fields: scalarsOf(type).map((scalar) => ({ offset: scalar.offset, kind: scalar.type })),
  }
}

/** Widens a scalar by its sign, as TypeScript does when it stores one. */
function widen(type: CType, value: Uint8Array, size: number): Uint8Array {
  const isNegative = typeof type === 'string' && type.startsWith('int') && value.at(-1)! >= 0x80
  const bytes = new Uint8Array(size).fill(isNegative ? 0xff : 0)
  bytes.set(value)
  return bytes
}

function writePieces(frame: Uint8Array, pieces: readonly Piece[], value: Uint8Array): void {
  for (const { word, offset, byteSize } of pieces) frame.set(value.subarray(offset, offset + byteSize), word * 4)
}

/** Reads a struct from its pieces. */
function readPieces(frame: Uint8Array, pieces: readonly Piece[], size: number): Uint8Array {
  const value = new Uint8Array(size)
  for (const { word, offset, byteSize } of pieces) value.set(frame.subarray(word * 4, word * 4 + byteSize), offset)
  return value
}

/** Reads an argument of an upcall. `pointed` has the bytes at the address of an indirect struct. */
export function readArgument(
  frame: Uint8Array,
  parameter: ParameterPlan,
  type: CType,
  pointed: Uint8Array | undefined,
): Uint8Array {
  if (parameter.kind === 'indirect') return pointed!
  if (parameter.kind === 'struct') return readPieces(frame, parameter.pieces, parameter.byteSize)
  return frame.subarray(parameter.byteOffset, parameter.byteOffset + sizeOf(type))
}

/** Writes the result of an upcall that is not in memory. */
export function writeResult(frame: Uint8Array, plan: CallPlan, type: CType, value: Uint8Array): void {
  const { kind, word, pieces } = plan.result
  if (kind === 'struct') writePieces(frame, pieces, value)
  else if (kind !== 'memory') frame.set(widen(type, value, 8), word * 4)
}

/** Reads the result of a call that is not in memory. */
export function readResult(frame: Uint8Array, plan: CallPlan, type: CType): Uint8Array {
  const { kind, word, pieces, byteSize } = plan.result
  if (kind === 'struct') return readPieces(frame, pieces, byteSize)
  return frame.subarray(word * 4, word * 4 + sizeOf(type))
}
