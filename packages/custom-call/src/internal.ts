/** The functions and types that the `tenon` package uses besides the public entry. They may change at any time. */
export { DEFAULT_FRAMES, type FrameCall } from './call/kept-frames.ts'
export { type KernelCallShape } from './call/kernel-function.ts'
export { FIRST_TENSOR } from './call/taken.ts'
export { makeKernel } from './make-kernel.ts'
