import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Tensor } from '@tenon/core'
import type { StringTensor } from '@tenon/tstring'

type Attributes = Readonly<Record<string, unknown>>

/** y = factor * x, for each element. */
export function scale([x]: readonly Tensor[], [y]: readonly Tensor[], { factor }: Attributes): void {
  y!.set((x!.toArray() as number[]).map((value) => value * (factor as number)))
}

/** Writes the attributes as JSON. */
export function describe(_: readonly Tensor[], [text]: readonly Tensor[], attributes: Attributes): void {
  const json = JSON.stringify(attributes, (__, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value))
  ;(text!.view() as Uint8Array).set(Buffer.from(json))
}

/** Doubles x later. */
export async function later([x]: readonly Tensor[], [y]: readonly Tensor[]): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 5))
  y!.set((x!.toArray() as number[]).map((value) => 2 * value))
}

export function fail(): never {
  throw new RangeError('failed on purpose')
}

export function spin(): never {
  for (;;) Math.random()
}

export function exit(): never {
  process.exit(7)
}

/** Writes each text in capital letters. */
export function upper([text]: readonly StringTensor[], [capitals]: readonly StringTensor[]): void {
  for (let i = 0; i < text!.length; i++) capitals!.set(i, text!.get(i).toUpperCase())
}

/** Writes the length of each text in bytes. */
export function lengths([text]: readonly StringTensor[], [sizes]: readonly Tensor[]): void {
  sizes!.set(Array.from({ length: text!.length }, (_, i) => text!.byteLength(i)))
}

/** Writes each text as often as `times` says, to both results. */
export function repeat(
  [text]: readonly StringTensor[],
  [first, second]: readonly StringTensor[],
  { times }: Attributes,
): void {
  for (let i = 0; i < text!.length; i++) {
    first!.set(i, text!.get(i).repeat(times as number))
    second?.set(i, text!.get(i))
  }
}

/** Writes long strings, later. */
export async function repeatLater(...values: Parameters<typeof repeat>): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 5))
  repeat(...values)
}

/** Damages or closes its result, or throws after it has written to it. A closed result has its strings. */
export function spoil([text]: readonly StringTensor[], [out]: readonly StringTensor[], { how }: Attributes): void {
  repeat([text!], [out!], { times: 100 })
  if (how === 'close') out!.close()
  if (how === 'throw') throw new RangeError('no luck')
  if (how === 'damage') out!.segment.view().setBigUint64(8, 0xdead_0000n, true)
}

/** The memory of buffers of this process in MiB, after a garbage collection. */
export function memory(_: unknown, [size]: readonly Tensor[]): void {
  setFlagsFromString('--expose-gc')
  ;(runInNewContext('gc') as () => void)()
  size!.set([process.memoryUsage().arrayBuffers / 2 ** 20])
}
