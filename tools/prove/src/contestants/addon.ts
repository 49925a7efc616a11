import type { Contestant, Offered, Setup } from '../contestant.ts'
import { accessTo } from './access.ts'

/** The addon of `csrc/addon.cc`. */
export const addon: Contestant = {
  name: 'addon',
  description: 'an addon in C++, written by hand with node-addon-api: it checks the types and ranges of its arguments',
  runtimes: ['node', 'bun', 'deno'],
  firstCall: ({ addon: path, library }) => `
const native = { exports: {} }
process.dlopen(native, ${JSON.stringify(path)})
if (native.exports.open(${JSON.stringify(library)}).addOne(1) !== 2) throw new Error('wrong')`,
  open: openAddon,
}

type Exports = Required<Omit<Offered, 'callback' | 'allocate' | 'double'>> & {
  allocate(size: number): ArrayBuffer
  release(memory: ArrayBuffer): void
}

function openAddon({ addon: path, library }: Setup): Offered {
  const module = { exports: {} as { open(library: string): Exports } }
  process.dlopen(module, path)
  const { allocate, release, ...functions } = module.exports.open(library)
  return {
    ...functions,
    // The functions of the addon take the JavaScript function itself.
    callback: (run) => ({ argument: run, release: () => {} }),
    allocate: (size) => {
      const buffer = allocate(size)
      const bytes = new Uint8Array(buffer)
      return { argument: bytes, ...accessTo(bytes), free: () => release(buffer) }
    },
  }
}
