import { LoadError } from '../../errors/kinds.ts'
import type { Abi } from './call-plan.ts'
import { abiOf } from './plan.ts'

export type { Abi }

/** Returns the calling convention of this process. @throws {LoadError} if there is no machine code for the processor. */
export function hostAbi(): Abi {
  const abi = abiOf(process.platform, process.arch)
  if (abi !== undefined) return abi
  throw new LoadError(`native functions can be called on x64 and arm64, not on ${process.platform}-${process.arch}`, {
    details: { platform: `${process.platform}-${process.arch}` },
  })
}
