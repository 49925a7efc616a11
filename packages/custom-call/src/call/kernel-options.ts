import {
  ArgumentError,
  type KernelSignature,
  type NativeAllocator,
  type TensorLike,
  type TensorType,
} from '@tenon/core'
import { checkOptions } from '@tenon/core/internal'
import { ASYNC_OPTIONS, type RunAsyncOptions } from './run-later.ts'
import type { DeviceStream, LentData } from '../targets/call-resources.ts'
import type { NamedLayouts } from './kernel-layouts.ts'
import type { KernelResults } from './kernel-results.ts'

/** The resources that the handlers of a kernel can request, besides operands, results and attributes. */
export interface KernelResources {
  /** Objects that handlers can look up by type, from the prepare stage on. */
  readonly userData?: readonly LentData[]
  /** Whether a Host handler that requests device memory receives host memory. */
  readonly hostScratch?: boolean
  /** The device number that handlers can request. */
  readonly deviceOrdinal?: number
}

/** The options of a kernel's call. */
export interface KernelCallOptions {
  /** The tensors that the kernel writes to: the tensor of the only result, or an object of tensors by the names of results. */
  readonly into?: KernelResults<TensorLike>
  /** The types, or tensors, of results that the operands do not determine, in the same form. */
  readonly results?: KernelResults<TensorLike | TensorType>
  /** The allocator of results. By default, the garbage collector frees their memory. */
  readonly allocator?: NativeAllocator
  /** The layouts of tensors that are not row-major. Default: those of the signature. */
  readonly layouts?: NamedLayouts
  /** The alignment of all tensors in bytes; by default the size of their elements. */
  readonly alignment?: number
  /** The stream of a device, as an address or an object with a `handle`. */
  readonly stream?: bigint | DeviceStream
  readonly resources?: KernelResources
}

/** The options of a kernel's asynchronous call. */
export interface KernelAsyncOptions extends KernelCallOptions, RunAsyncOptions {}

/** The options of a kernel's prepared call. */
export type KernelPrepareOptions = Pick<KernelCallOptions, 'results' | 'layouts' | 'alignment' | 'stream' | 'resources'>

/** The options of synchronous calls. */
export const CALL_OPTIONS = ['into', 'results', 'allocator', 'layouts', 'alignment', 'stream', 'resources'] as const

export const NO_OPTIONS: KernelAsyncOptions = Object.freeze({})

/** Reads the options of a call once. @param known their names. @throws {ArgumentError} if one does not exist. */
export function readOptions(name: string, options: unknown, known: readonly string[]): KernelAsyncOptions {
  if (options === undefined) return NO_OPTIONS
  if (known === CALL_OPTIONS) refuseAsyncOptions(name, options, known)
  return { ...checkOptions(options as Readonly<Record<string, unknown>>, known, `the options of ${name}`) }
}

/** @throws {ArgumentError} if the options of a synchronous call have one that only asynchronous calls have. */
function refuseAsyncOptions(name: string, options: unknown, known: readonly string[]): void {
  const onlyAsync = ASYNC_OPTIONS.find((one) => Object.hasOwn(Object(options) as object, one))
  if (onlyAsync === undefined) return
  const place = `the options of ${name}`
  throw new ArgumentError(`${place} must not have ${onlyAsync}, which only asynchronous calls have`, {
    hint: `Call ${name}.async(...) instead.`,
    details: { path: place, expected: known, received: onlyAsync },
  })
}

/** Refuses options in the place of attributes. @param known the names of all options. @throws {ArgumentError} */
export function refuseMisplacedOptions(
  { name, attributes }: KernelSignature,
  values: object,
  known: readonly string[],
): void {
  const option = known.find((one) => Object.hasOwn(values, one) && attributes.every((other) => other.name !== one))
  if (option === undefined) return
  throw new ArgumentError(`${name} does not have an attribute named ${option}`, {
    hint: `Pass the options behind the attributes: ${name}(..., {}, { ${option} }).`,
    details: { path: `the attributes of ${name}`, expected: attributes.map((one) => one.name), received: option },
  })
}
