import type { KernelConvention } from '@tenon/core'

/** The conventions of custom calls on the Host, as `--abi` takes them. */
export const conventions: ['typed', 'host', 'host-status', 'host-unified'] = [
  'typed',
  'host',
  'host-status',
  'host-unified',
]

/** The conventions of custom calls on a device. Libraries do not mark these. */
export const deviceConventions: ['cuda', 'cuda-status', 'cuda-typed'] = ['cuda', 'cuda-status', 'cuda-typed']
export type DeviceConvention = (typeof deviceConventions)[number]

/** Whether a kernel is a custom call on the Host. */
export const isCustomCall = (convention: KernelConvention | undefined): convention is (typeof conventions)[number] =>
  conventions.some((one) => one === convention)

/** The convention of a custom call. */
export type CallConvention = (typeof conventions)[number] | DeviceConvention
