export { donated } from './call/donated.ts'
export { TensorFlowError } from './errors/tensorflow-error.ts'
export { type TensorFlowKernel } from './kernel.ts'
export { TensorFlowLibrary } from './library.ts'
