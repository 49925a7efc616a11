import type { TenonError } from '@tenon/core'
import { pointerBits, type Gate } from '@tenon/core/internal'
import type { CallTarget } from '../call/call-target.ts'
import { allocateCall, type CallMemory } from '../native/call-memory.ts'
import { coreFunctions } from '../native/core-functions.ts'
import { coreError } from '../native/read-failure.ts'

/*
 * The memory of a call `f(void* out, const void** in)`, in words of 8 bytes: the three of tn_xla_host_call_record_t
 * (function, in, where `out` is read), the address of the first result's pointer, then the pointers themselves.
 */
const POINTERS = 4

/** Lays out the pointers of an untyped Host call. */
export function openHostTarget(
  name: string,
  gate: Gate,
  address: number,
  operandCount: number,
  resultCount: number,
): CallTarget {
  const extend = (): CallMemory => layOut(address, operandCount, resultCount)
  return {
    name,
    gate,
    execute: coreFunctions().executeHost,
    memory: extend(),
    extend,
    failure: (_: CallMemory, status: number): TenonError => coreError(status, name),
    close(): void {},
  }
}

function layOut(functionAddress: number, operandCount: number, resultCount: number): CallMemory {
  const memory = allocateCall(8 * (POINTERS + operandCount + resultCount))
  const { view, address } = memory
  const wordAddress = (index: number): number => address + 8 * index
  const firstResult = POINTERS + operandCount
  // One result: `out` is its pointer. A tuple: `out` is the array of its pointers.
  const out = resultCount === 1 ? firstResult : POINTERS - 1
  const words = [functionAddress, wordAddress(POINTERS), wordAddress(out), wordAddress(firstResult)]
  words.forEach((word, index) => view.setFloat64(8 * index, pointerBits(word), true))
  return { view, address, firstPointer: 8 * POINTERS, step: 8, running: false }
}
