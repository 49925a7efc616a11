import { isFloat, VALUE_SIZES } from '../value-type.ts'
import type { ParameterPlan, Placement, PlanSignature, PlanType, ResultPlan, StructShape } from './call-plan.ts'
import { floatsOf, isStruct } from './classify.ts'
import { alignUp, WORDS } from './frame-layout.ts'
import {
  floatPieces,
  generalWord,
  indirectAt,
  memoryResult,
  registerPieces,
  scalarAt,
  scalarOnStack,
  scalarResult,
  structIn,
  structOnStack,
  structResult,
  vectorWord,
} from './place.ts'

/** The number of registers of each kind. */
const REGISTERS = 8

/** Larger structs are passed through the address of a copy, unless all their members are floats. */
const LARGEST_DIRECT = 16

/**
 * Places arguments as AArch64 does (`aapcs64.rst` of ARM-software/abi-aa, "Parameter passing"), or as Apple's variant does
 * ("Writing ARM64 code for Apple platforms"): scalars have their natural size on the stack, and variadic arguments are
 * always on the stack, in slots of 8 bytes.
 */
export function placeAapcs64({ parameters, result, fixedParameters }: PlanSignature, isApple: boolean): Placement {
  let [general, vectors, stack] = [0, 0, 0]
  const firstOnStack = isApple && fixedParameters !== undefined ? fixedParameters : parameters.length

  const onStack = (byteSize: number, alignment: number): number => {
    const offset = alignUp(stack, alignment)
    stack = offset + byteSize
    return offset
  }
  const scalar = (type: Exclude<PlanType, StructShape>, isVariadic: boolean): ParameterPlan => {
    if (isFloat(type) && vectors < REGISTERS) return scalarAt(type, vectorWord(vectors++))
    if (!isFloat(type) && general < REGISTERS) return scalarAt(type, generalWord(general++))
    const size = isApple && !isVariadic ? VALUE_SIZES[type] : 8
    return scalarOnStack(type, onStack(size, size), size)
  }
  const struct = (shape: StructShape, isVariadic: boolean): ParameterPlan => {
    const { byteSize } = shape
    const floats = floatsOf(shape)
    if (floats !== null) {
      if (vectors + floats.count <= REGISTERS) {
        const pieces = floatPieces(floats, vectorWord(vectors))
        vectors += floats.count
        return structIn(byteSize, pieces)
      }
      // After an aggregate that does not fit, no argument uses this kind of register.
      vectors = REGISTERS
      // Apple packs the floats of an aggregate as it packs separate floats, and aligns them even if the struct is packed.
      const isPacked = isApple && !isVariadic
      const size = isPacked ? byteSize : alignUp(byteSize, 8)
      return structOnStack(byteSize, onStack(size, isPacked ? floats.size : alignmentOf(shape)))
    }
    if (byteSize > LARGEST_DIRECT) {
      if (general < REGISTERS) return indirectAt(shape, generalWord(general++))
      return indirectAt(shape, WORDS.stack + onStack(8, 8) / 4)
    }
    const alignment = alignmentOf(shape)
    const count = Math.ceil(byteSize / 8)
    // A struct that is aligned to 16 bytes starts in a register with an even number.
    const first = alignment === 16 ? alignUp(general, 2) : general
    if (first + count <= REGISTERS) {
      general = first + count
      return structIn(byteSize, registerPieces(byteSize, generalWord(first)))
    }
    general = REGISTERS
    return structOnStack(byteSize, onStack(count * 8, alignment))
  }
  const alignmentOf = ({ byteAlignment, naturalAlignment }: StructShape): number =>
    Math.max(8, isApple ? byteAlignment : naturalAlignment)

  const plans = parameters.map((type, i) => {
    const isVariadic = i >= firstOnStack
    if (isVariadic) [general, vectors] = [REGISTERS, REGISTERS]
    return isStruct(type) ? struct(type, isVariadic) : scalar(type, isVariadic)
  })
  const usesVectors = plans.some(({ word }) => word >= WORDS.vector && word < WORDS.stack)
  return { parameters: plans, result: resultOf(result), stackSize: stack, vectors: usesVectors ? 1 : 0 }
}

function resultOf(type: PlanSignature['result']): ResultPlan {
  if (!isStruct(type)) return scalarResult(type)
  const floats = floatsOf(type)
  if (floats !== null) return structResult(type.byteSize, floatPieces(floats, WORDS.vectorResults))
  // The address of the result is in x8.
  if (type.byteSize > LARGEST_DIRECT) return memoryResult(type.byteSize, WORDS.extra)
  return structResult(type.byteSize, registerPieces(type.byteSize, WORDS.generalResults))
}
