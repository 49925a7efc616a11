import {
  bindRemoteFunction,
  checkOptions,
  RUN_OPTIONS,
  type IsolatedRunOptions,
  type RemoteHost,
} from '@tenon/core/internal'
import { checkBoolean } from '../check.ts'
import { GroupLayout } from '../layout/group-layout.ts'
import { printAs } from '../print-as.ts'
import { type MemorySegment, newSegment } from '../segment/memory-segment.ts'
import { intoAllocator, type Bound, type Downcall, type DowncallOptions } from './downcall.ts'
import { checkSignature, coreTypeOf, type FunctionSignature } from './signature.ts'

/** The options of a function of C that runs in another process. */
export interface IsolatedFunctionOptions extends DowncallOptions, IsolatedRunOptions {}

/** How {@link linkRemote} finds a function, and makes of its result what the caller gets. */
export interface RemoteLinkOptions {
  /** The file that exports the function, if it is not that of the host. */
  readonly library?: string | undefined
  /** The names of parameters in messages, which have their position otherwise. */
  readonly names?: readonly string[] | undefined
  readonly finish?:
    | ((value: unknown, errno: number, pointerAt: (address: bigint) => MemorySegment) => unknown)
    | undefined
}

const OPTIONS = ['captureErrno', ...RUN_OPTIONS] as const

/**
 * Links a function of C of the library of other processes. A pointer that it returns is a segment that only functions of the host take.
 *
 * @throws {ArgumentError} if the signature or an option is not valid.
 */
export function linkRemote<Signature extends FunctionSignature, Options extends DowncallOptions>(
  host: RemoteHost,
  name: string,
  signature: Signature,
  options?: IsolatedFunctionOptions,
  { library, names, finish }: RemoteLinkOptions = {},
): Downcall<Signature, Options> {
  const { captureErrno = false, ...run } = checkOptions(options, OPTIONS)
  checkBoolean(captureErrno, 'captureErrno')
  const { result, parameters, fixedParameters } = checkSignature(signature)
  const types = {
    result: result === 'void' ? result : coreTypeOf(result),
    parameters: parameters.map(coreTypeOf),
    fixedParameters,
  }
  const pointer = (block: ConstructorParameters<typeof MemorySegment>[0]): MemorySegment => newSegment(block, 0, 0, 0)
  const bound = bindRemoteFunction(host, name, types, {
    captureErrno,
    run,
    library,
    names,
    pointer,
    finish: finish as never,
  }) as Bound
  const call = result instanceof GroupLayout ? intoAllocator(bound, result, captureErrno) : bound
  return printAs(`${name}(${parameters.join(', ')}): ${result}`, call) as unknown as Downcall<Signature, Options>
}
