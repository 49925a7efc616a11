import { decode } from '@msgpack/msgpack'
import { tensor, type DType, type Segment, type Tensor } from '@tenon/core'
import { CONSTANTS, LAYOUTS, STATUS } from '@tenon/core/internal'
import { ScriptHostError } from './script-host-error.ts'

/** What a kernel can ask about its call. */
export interface ScriptCall {
  /** Whether the caller has given the call up, or its deadline has passed. A kernel that runs for long asks, and returns. */
  isCancelled(): boolean
}

/**
 * A kernel in TypeScript for workers in Node.js: an exported function of a module. It reads the operands, writes the results, and
 * borrows both until it returns, or until its promise settles. An operand that the caller omits is null.
 *
 * @example
 * const double: ScriptKernel = ([x], [y]) => x.toArray().forEach((value, i) => y.set([i], 2 * value))
 */
export type ScriptKernel = (
  operands: readonly Tensor[],
  results: readonly Tensor[],
  attributes: Readonly<Record<string, unknown>>,
  call: ScriptCall,
) => void | Promise<void>

/** The element type and the sizes of a tensor; null for one that is missing. */
type TensorFacts = readonly [dtype: string, sizes: readonly number[]] | null

interface Descriptor {
  readonly operands: readonly TensorFacts[]
  readonly results: readonly TensorFacts[]
  readonly attributes: Readonly<Record<string, unknown>>
}

const { offsets: KERNEL, size: KERNEL_SIZE } = LAYOUTS.tn_host_kernel_t
const EXECUTE = 3

/** The contents of the body of a request for a kernel. */
export interface KernelRequest {
  readonly library: number
  /** The name of the export. */
  readonly symbol: string
  readonly descriptor: Descriptor
}

/** Reads the body of a request for a kernel. @throws {ScriptHostError} if it is malformed. */
export function readKernelRequest(body: Uint8Array): KernelRequest {
  const view = new DataView(body.buffer, body.byteOffset, body.length)
  if (body.length < KERNEL_SIZE) throw new ScriptHostError('the description of the kernel is too short')
  const convention = view.getUint32(KERNEL.convention, true)
  if (convention !== CONSTANTS.TN_HOST_SCRIPT) {
    throw new ScriptHostError(`a worker in Node.js runs kernels of scripts, got the convention ${convention}`)
  }
  const lengthOf = (stage: number): number => view.getUint32(KERNEL.symbol_lengths + 4 * stage, true)
  let at = KERNEL_SIZE + view.getUint32(KERNEL.name_length, true)
  for (let stage = 0; stage < EXECUTE; stage++) at += lengthOf(stage)
  const symbolEnd = at + lengthOf(EXECUTE)
  const start = Math.ceil(symbolEnd / 8) * 8
  const end = start + view.getUint32(KERNEL.descriptor_length, true)
  if (end > body.length) throw new ScriptHostError('the description of the kernel is too short')
  return {
    library: view.getUint32(KERNEL.library, true),
    symbol: Buffer.from(body.subarray(at, symbolEnd)).toString(),
    descriptor: decode(body.subarray(start, end), { useBigInt64: true }) as Descriptor,
  }
}

/** A function of a module, with the types of its tensors. */
export class LoadedKernel {
  readonly #run: ScriptKernel
  readonly #facts: readonly TensorFacts[]
  readonly #operandCount: number
  readonly #attributes: Descriptor['attributes']

  /** @throws {ScriptHostError} if the module does not export a function of this name. */
  constructor(module: Readonly<Record<string, unknown>>, { symbol, descriptor }: KernelRequest) {
    const found = Object.hasOwn(module, symbol) ? module[symbol] : undefined
    if (typeof found !== 'function') {
      const names = Object.keys(module).filter((name) => typeof module[name] === 'function')
      throw new ScriptHostError(
        `the module must export a function ${symbol}, and exports ${names.length === 0 ? 'none' : names.join(', ')}`,
        STATUS.NOT_FOUND.value,
      )
    }
    this.#run = found as ScriptKernel
    this.#facts = [...descriptor.operands, ...descriptor.results]
    this.#operandCount = descriptor.operands.length
    this.#attributes = descriptor.attributes
  }

  /** The number of operands and results. */
  get count(): number {
    return this.#facts.length
  }

  /**
   * Runs the function on memory.
   *
   * @param segments operands before results; null for a missing one. @throws what the function throws.
   */
  run(segments: readonly (Segment | null)[], call: ScriptCall): void | Promise<void> {
    const tensors = this.#facts.map((facts, i) => {
      const segment = segments[i]
      return facts === null || segment === null ? null : tensor(facts[0] as DType, facts[1].map(Number), segment!)
    }) as Tensor[]
    return this.#run(tensors.slice(0, this.#operandCount), tensors.slice(this.#operandCount), this.#attributes, call)
  }
}
