/** The functions and types that the `tenon` package uses besides the public entry. They may change at any time. */
export { type RunAsyncOptions } from './call/run-later.ts'
export { memoryOf } from './attributes/encode-attributes.ts'
export { CONTRADICTION } from './errors/xla-error.ts'
export { encodeValues } from './attributes/encode-values.ts'
export { callable } from './call/call-function.ts'
export { type Callee, type RemoteRun } from './call/callee.ts'
export { checkTensors } from './call/check-tensors.ts'
export { DEFAULT_FRAMES, type FrameCall } from './call/frames.ts'
export { checkOpaque } from './call/handler-callee.ts'
export { type KernelCallShape } from './call/kernel-arguments.ts'
export { type ListedShape } from './call/listed-arguments.ts'
export { FIRST_TENSOR } from './call/operand-list.ts'
export { makeKernel } from './kernel.ts'
export { encodeCall } from './native/encode-call.ts'
export { callError } from './native/read-failure.ts'
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
