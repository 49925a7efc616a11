import { isFloat } from '../value-type.ts'
import type { ParameterPlan, Piece, Placement, PlanSignature, ResultPlan, StructShape } from './call-plan.ts'
import { type EightbyteClass, eightbytesOf, isStruct } from './classify.ts'
import { alignUp, WORDS } from './frame-layout.ts'
import {
  generalWord,
  memoryResult,
  scalarAt,
  scalarOnStack,
  scalarResult,
  structIn,
  structOnStack,
  structResult,
  vectorWord,
} from './place.ts'

const GENERAL_REGISTERS = 6
const VECTOR_REGISTERS = 8

/** Places arguments as the System V ABI for x86-64 does (x86-64 psABI, 3.2.3). Variadic ones have no places of their own. */
export function placeSysv({ parameters, result }: PlanSignature): Placement {
  const resultPlan = resultOf(result)
  // The address of a result in memory is the first argument.
  let general = resultPlan.kind === 'memory' ? 1 : 0
  let vectors = 0
  let stack = 0

  const onStack = (byteSize: number, alignment: number): number => {
    const offset = alignUp(stack, Math.max(8, alignment))
    stack = offset + alignUp(byteSize, 8)
    return offset
  }
  const struct = (shape: StructShape): ParameterPlan => {
    const { byteSize, byteAlignment } = shape
    const classes = eightbytesOf(shape)
    const integers = count(classes, 'integer')
    const floats = count(classes, 'sse')
    // A struct has all its eightbytes in registers, or none. Later arguments may still use the registers that are left.
    if (classes === null || general + integers > GENERAL_REGISTERS || vectors + floats > VECTOR_REGISTERS) {
      return structOnStack(byteSize, onStack(byteSize, byteAlignment))
    }
    const pieces = eightbytePieces(byteSize, classes, generalWord(general), vectorWord(vectors))
    general += integers
    vectors += floats
    return structIn(byteSize, pieces)
  }
  const plans = parameters.map((type) => {
    if (isStruct(type)) return struct(type)
    if (isFloat(type) && vectors < VECTOR_REGISTERS) return scalarAt(type, vectorWord(vectors++))
    if (!isFloat(type) && general < GENERAL_REGISTERS) return scalarAt(type, generalWord(general++))
    return scalarOnStack(type, onStack(8, 8), 8)
  })
  return { parameters: plans, result: resultPlan, stackSize: stack, vectors }
}

function resultOf(type: PlanSignature['result']): ResultPlan {
  if (!isStruct(type)) return scalarResult(type)
  const classes = eightbytesOf(type)
  if (classes === null) return memoryResult(type.byteSize, generalWord(0))
  const pieces = eightbytePieces(type.byteSize, classes, WORDS.generalResults, WORDS.vectorResults)
  return structResult(type.byteSize, pieces)
}

const count = (classes: readonly EightbyteClass[] | null, wanted: EightbyteClass): number =>
  classes === null ? 0 : classes.filter((one) => one === wanted).length

/** Each eightbyte takes the next register of its class, from these words on. */
function eightbytePieces(
  byteSize: number,
  classes: readonly EightbyteClass[],
  firstGeneral: number,
  firstVector: number,
): Piece[] {
  let [general, vector] = [firstGeneral, firstVector]
  return classes.flatMap((one, i) => {
    if (one === 'none') return []
    const word = one === 'sse' ? vector : general
    if (one === 'sse') vector += 2
    else general += 2
    return [{ word, offset: 8 * i, byteSize: Math.min(8, byteSize - 8 * i) }]
  })
}
