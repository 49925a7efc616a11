/** koffi beside Tenon: pointers in both directions, the C interface of the core, and the driver. koffi is an optional peer. */
export { fromKoffi } from './native/koffi/from-koffi.ts'
export {
  koffiCore,
  type CoreFunctionName,
  type CoreStructName,
  type KoffiCore,
  type KoffiCoreFunction,
  type KoffiPointer,
  type KoffiType,
} from './native/koffi/koffi-core.ts'
export { toKoffi } from './native/koffi/to-koffi.ts'
export { useKoffi } from './native/koffi/use-koffi.ts'
export { type Koffi } from './native/driver/koffi.ts'
