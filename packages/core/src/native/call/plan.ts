import { ArgumentError } from '../../errors/kinds.ts'
import { placeAapcs64 } from './aapcs64.ts'
import type { Abi, CallPlan, ParameterPlan, Placement, PlanSignature, StructShape } from './call-plan.ts'
import { isStruct } from './classify.ts'
import { alignUp, COPIES_LIMIT, COPY_ENTRY, FLAGS, STACK_ALIGNMENT, STACK_LIMIT, WORDS } from './frame-layout.ts'
import { placeSysv } from './sysv.ts'
import { placeWin64 } from './win64.ts'

/** The largest number of parameters of a function. */
export const MAXIMUM_PARAMETERS = 255

/** The largest size of a struct that is passed by value, in bytes. */
const MAXIMUM_STRUCT_SIZE = 16_384

/** Returns the calling convention of a platform, or undefined if there are no plans for it. */
export function abiOf(platform: string, arch: string): Abi | undefined {
  if (arch === 'x64') return platform === 'win32' ? 'win64' : 'sysv-x64'
  if (arch !== 'arm64' || platform === 'win32') return undefined
  return platform === 'darwin' ? 'apple-arm64' : 'aapcs64'
}

/**
 * Computes where each argument and the result of a call are in the frame.
 *
 * @throws {ArgumentError} if the signature has too many parameters, or a struct or all arguments need too much memory.
 */
export function planCall(abi: Abi, signature: PlanSignature): CallPlan {
  const { parameters, result } = signature
  checkParameterCount(parameters.length)
  for (const type of [...parameters, result]) if (isStruct(type)) checkStruct(type)
  const placement = placeArguments(abi, signature)
  const stackSize = alignUp(placement.stackSize, STACK_ALIGNMENT)
  if (stackSize > STACK_LIMIT) throw tooLarge(`${STACK_LIMIT} bytes of stack`, stackSize)
  const { parameters: placed, copyCount, copySize } = placeCopies(placement.parameters)
  return {
    abi,
    parameters: placed,
    result: placement.result,
    flags: (placement.vectors > 0 ? FLAGS.VECTORS : 0) | (copyCount > 0 ? FLAGS.COPIES : 0),
    stackSize,
    vectorCount: abi === 'sysv-x64' ? placement.vectors : 0,
    copyCount,
    copySize,
  }
}

function placeArguments(abi: Abi, signature: PlanSignature): Placement {
  if (abi === 'sysv-x64') return placeSysv(signature)
  if (abi === 'win64') return placeWin64(signature)
  return placeAapcs64(signature, abi === 'apple-arm64')
}

/** Places the copies behind their table. Each is aligned, in the frame and on the stack. */
function placeCopies(parameters: readonly ParameterPlan[]): Pick<CallPlan, 'parameters' | 'copyCount' | 'copySize'> {
  const copyCount = parameters.filter(({ kind }) => kind === 'indirect').length
  if (copyCount === 0) return { parameters, copyCount, copySize: 0 }
  const tableSize = copyCount * COPY_ENTRY.size
  let [entry, copySize] = [WORDS.copies, 0]
  const placed = parameters.map((parameter) => {
    if (parameter.kind !== 'indirect') return parameter
    const copy = { entry, byteOffset: WORDS.copies * 4 + tableSize + copySize, place: copySize }
    entry += COPY_ENTRY.size / 4
    copySize += alignUp(parameter.byteSize, STACK_ALIGNMENT)
    return { ...parameter, copy }
  })
  if (tableSize + copySize > COPIES_LIMIT) {
    throw tooLarge(`${COPIES_LIMIT} bytes of structs that are passed by reference`, tableSize + copySize)
  }
  return { parameters: placed, copyCount, copySize }
}

function checkStruct({ byteSize, byteAlignment, fields }: StructShape): void {
  checkStructSize(byteSize)
  if (byteAlignment > STACK_ALIGNMENT) {
    throw new ArgumentError(
      `a struct passed by value must be aligned to at most ${STACK_ALIGNMENT} bytes, got ${byteAlignment}`,
      { hint: POINTER_HINT, details: { expected: STACK_ALIGNMENT, received: byteAlignment } },
    )
  }
  if (fields.length === 0) {
    throw new ArgumentError('a struct passed by value must have at least one member that is not padding, got none', {
      hint: POINTER_HINT,
    })
  }
}

const POINTER_HINT = 'Pass a pointer to the struct.'

/** @throws {ArgumentError} if a struct is too large to be passed by value. */
export function checkStructSize(byteSize: number): number {
  if (byteSize <= MAXIMUM_STRUCT_SIZE) return byteSize
  throw new ArgumentError(`a struct passed by value must have at most ${MAXIMUM_STRUCT_SIZE} bytes, got ${byteSize}`, {
    hint: POINTER_HINT,
    details: { expected: MAXIMUM_STRUCT_SIZE, received: byteSize },
  })
}

/** @throws {ArgumentError} if a function has too many parameters. */
export function checkParameterCount(count: number): void {
  if (count <= MAXIMUM_PARAMETERS) return
  throw new ArgumentError(`a function must have at most ${MAXIMUM_PARAMETERS} parameters, got ${count}`, {
    hint: 'Pass a struct by pointer.',
    details: { expected: MAXIMUM_PARAMETERS, received: count },
  })
}

function tooLarge(limit: string, received: number): ArgumentError {
  return new ArgumentError(`the arguments of a call must need at most ${limit}, got ${received}`, {
    hint: 'Pass large structs by pointer.',
    details: { received },
  })
}
