import { FRAME_SIZE } from './frame-layout.ts'
import { shared } from './shared.ts'

/**
 * The frame of this thread, and its views. Every call overwrites the frame, in both directions, so nothing that can run
 * the user's code may stand between the first store and the call, or between the call and the last load.
 */
export const frame: ArrayBuffer = shared('frame', () => new ArrayBuffer(FRAME_SIZE))

export const words: Int32Array<ArrayBuffer> = new Int32Array(frame)
export const unsignedWords: Uint32Array<ArrayBuffer> = new Uint32Array(frame)
export const floats: Float32Array<ArrayBuffer> = new Float32Array(frame)
export const doubles: Float64Array<ArrayBuffer> = new Float64Array(frame)
export const bigints: BigInt64Array<ArrayBuffer> = new BigInt64Array(frame)
export const unsignedBigints: BigUint64Array<ArrayBuffer> = new BigUint64Array(frame)
export const bytes: Uint8Array<ArrayBuffer> = new Uint8Array(frame)

export const TWO_32: number = 2 ** 32
/** Multiplying by it is exact and faster than dividing by 2^32. */
export const PER_TWO_32: number = 2 ** -32
