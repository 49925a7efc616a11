export { assertClose, type CloseValues, type ClosenessOptions } from '../testing/assert-close.ts'
