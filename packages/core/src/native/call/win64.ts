import { isFloat, type ValueType } from '../value-type.ts'
import type { ParameterPlan, Placement, PlanSignature, ResultPlan } from './call-plan.ts'
import { isStruct } from './classify.ts'
import { WORDS } from './frame-layout.ts'
import {
  generalWord,
  indirectAt,
  memoryResult,
  registerPieces,
  scalarAt,
  scalarResult,
  structIn,
  structResult,
  vectorWord,
} from './place.ts'

const REGISTERS = 4

/** Structs of these sizes are passed and returned as an integer, and all others through their address. */
const INTEGER_SIZES: ReadonlySet<number> = new Set([1, 2, 4, 8])

/**
 * Places arguments as Windows on x86-64 does ("x64 calling convention", Microsoft). Both kinds of registers share four
 * positions. The home space of the callee is not part of the stack area.
 */
export function placeWin64({ parameters, result, fixedParameters }: PlanSignature): Placement {
  const resultPlan = resultOf(result)
  let position = resultPlan.kind === 'memory' ? 1 : 0
  let vectors = 0

  const nextWord = (): number => {
    const index = position++
    return index < REGISTERS ? generalWord(index) : WORDS.stack + 2 * (index - REGISTERS)
  }
  const float = (kind: ValueType): ParameterPlan => {
    const index = position
    const word = nextWord()
    if (index >= REGISTERS) return scalarAt(kind, word)
    vectors = index + 1
    // A variadic callee stores its integer registers, and reads a float from there.
    return scalarAt(kind, vectorWord(index), fixedParameters === undefined ? -1 : word)
  }
  const plans = parameters.map((type) => {
    if (!isStruct(type)) return isFloat(type) ? float(type) : scalarAt(type, nextWord())
    if (!INTEGER_SIZES.has(type.byteSize)) return indirectAt(type, nextWord())
    return structIn(type.byteSize, registerPieces(type.byteSize, nextWord()))
  })
  return { parameters: plans, result: resultPlan, stackSize: Math.max(0, position - REGISTERS) * 8, vectors }
}

function resultOf(type: PlanSignature['result']): ResultPlan {
  if (!isStruct(type)) return scalarResult(type)
  if (!INTEGER_SIZES.has(type.byteSize)) return memoryResult(type.byteSize, generalWord(0))
  return structResult(type.byteSize, registerPieces(type.byteSize, WORDS.generalResults))
}
