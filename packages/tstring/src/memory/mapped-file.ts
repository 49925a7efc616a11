import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs'
import { Segment } from '@tenon/core'
import {
  addressOf,
  Block,
  bufferOver,
  checkStatus,
  coreFunction,
  ManagedLifetime,
  type CFunction,
} from '@tenon/core/internal'
import { kernels } from '../kernels/choose.ts'
import { nativeKernels } from '../kernels/native.ts'
import { segmentOver } from './open.ts'

/** A page that the file lost while it was mapped reads as zeros instead of ending the process. */
const GUARDED = 2

let open: CFunction | undefined
let close: CFunction | undefined

/** A file as private memory, unmapped when it is closed. */
export class MappedFile extends ManagedLifetime {
  readonly path: string
  readonly segment: Segment
  readonly #buffer: ArrayBuffer
  readonly #address: number

  constructor(path: string, descriptor: number, byteSize: number) {
    super()
    this.path = path
    open ??= coreFunction('tn_mapping_open', 'int32_t', ['int32_t', 'uint64_t', 'uintptr_t', 'uint32_t', 'uintptr_t'])
    const out = new BigUint64Array(1)
    checkStatus(open(descriptor, 0, byteSize, GUARDED, addressOf(out)), `mapping ${path}`)
    this.#address = Number(out[0])
    this.#buffer = bufferOver(this.#address, byteSize)
    const block = new Block(this.gate, new DataView(this.#buffer), Buffer.from(this.#buffer), this.#address)
    this.segment = new Segment(block, 0, byteSize, 0)
  }

  protected override get label(): string {
    return `the mapped file ${this.path}`
  }

  protected override release(): void {
    const byteSize = this.segment.byteSize
    // Views of it become empty, so that none reaches the memory any more.
    this.#buffer.transfer(0)
    close ??= coreFunction('tn_mapping_close', 'int32_t', ['uintptr_t', 'uintptr_t'])
    checkStatus(close(this.#address, byteSize), `unmapping ${this.path}`)
  }
}

/** Whether this machine maps files: elsewhere they are read. */
const canMap = (): boolean => process.platform === 'linux' && kernels() === nativeKernels

/**
 * The bytes of a file: mapped, or read into memory of the garbage collector.
 *
 * @throws what the file system says. @throws {NativeError} if it can't be mapped.
 */
export function openFile(path: string, mode: 'map' | 'read'): { segment: Segment; mapping: MappedFile | undefined } {
  const descriptor = openSync(path, 'r')
  try {
    const stat = fstatSync(descriptor)
    if (mode === 'map' && canMap() && stat.isFile() && stat.size > 0) {
      const mapping = new MappedFile(path, descriptor, stat.size)
      return { segment: mapping.segment, mapping }
    }
    const bytes = readFileSync(descriptor)
    return { segment: segmentOver(bytes, 'the file'), mapping: undefined }
  } finally {
    closeSync(descriptor)
  }
}
