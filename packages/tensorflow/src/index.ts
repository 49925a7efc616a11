export { TensorFlowError } from './errors/tensorflow-error.ts'
