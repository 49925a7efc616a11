/** The functions and types that the `tenon` package uses besides the public entry. They may change at any time. */
export { type RunAsyncOptions } from './async/run-later.ts'
export { memoryOf } from './attributes/encode-attributes.ts'
export { CONTRADICTION } from './errors/xla-error.ts'
export { encodeValues } from './attributes/encode-values.ts'
export { callable } from './call/call-function.ts'
export { DEFAULT_FRAMES, type FrameCall } from './call/kept-frames.ts'
export { type KernelCallee, type KernelCallShape } from './call/kernel-function.ts'
export { checkOpaque } from './call/kernel-target.ts'
export { checkTaken } from './call/patch-pointers.ts'
export { positional } from './call/positional.ts'
export { FIRST_TENSOR } from './call/taken.ts'
export { makeKernel } from './make-kernel.ts'
export { encodeCall } from './native/encode-call.ts'
export { reportedError } from './native/read-failure.ts'
export { refusedHandler } from './native/read-metadata.ts'
export { str } from './attributes/attribute.ts'
export {
  callShape,
  checkPrepareOptions,
  PREPARE_OPTIONS,
  type CallShape,
  type PrepareOptions,
} from './shape/call-shape.ts'
export { Temp, token } from './shape/leaf.ts'
export { checkOpaquePassed } from './targets/untyped-function.ts'
