import { spawnSync } from 'node:child_process'
import { closeSync, existsSync, mkdtempSync, openSync, read, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Whether a file system of this process can be mounted: as root, where the kernel has FUSE. */
export const canMount = process.platform === 'linux' && process.getuid!() === 0 && existsSync('/dev/fuse')

// Operations of the protocol (linux/fuse.h), and the size of an answer's header.
const [LOOKUP, GETATTR, OPEN, INIT, FORGET] = [1, 3, 14, 26, 2]
const ANSWER_HEADER = 16
const ENOSYS = 38

/** The most that one request has. */
const BUFFER = 1 << 20

/**
 * A file system with one file, `file` of 1 MiB, which answers what is needed to open it, and then nothing any more: whoever
 * asks it for a page or for the file's size waits for ever.
 */
export class SilentFileSystem {
  readonly path: string
  readonly #directory: string
  readonly #device: number
  #isSilent = false
  #isClosed = false

  constructor() {
    this.#directory = mkdtempSync(join(tmpdir(), 'tenon-fuse-'))
    this.path = join(this.#directory, 'file')
    this.#device = openSync('/dev/fuse', 'r+')
    const options = 'fd=3,rootmode=40000,user_id=0,group_id=0'
    const { status, stderr } = spawnSync('mount', ['-i', '-t', 'fuse', '-o', options, 'tenon', this.#directory], {
      stdio: ['ignore', 'ignore', 'pipe', this.#device],
    })
    if (status !== 0) throw new Error(`mount failed: ${String(stderr)}`)
    this.#listen()
  }

  /** From now on nothing is answered. */
  silence(): void {
    this.#isSilent = true
  }

  /** Ends it: whoever waits is told of an error. Idempotent. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    closeSync(this.#device)
    spawnSync('umount', ['-l', this.#directory])
    rmSync(this.#directory, { recursive: true, force: true })
  }

  #listen(): void {
    const buffer = Buffer.alloc(BUFFER)
    read(this.#device, buffer, 0, BUFFER, null, (error, length) => {
      if (error !== null || this.#isClosed) return
      if (!this.#isSilent) this.#answer(buffer.subarray(0, length))
      this.#listen()
    })
  }

  #answer(request: Buffer): void {
    const operation = request.readUInt32LE(4)
    const node = request.readBigUInt64LE(16)
    if (operation === FORGET) return
    const body = this.#bodyOf(operation, node)
    const answer = Buffer.alloc(ANSWER_HEADER + (body?.length ?? 0))
    answer.writeUInt32LE(answer.length, 0)
    answer.writeInt32LE(body === undefined ? -ENOSYS : 0, 4)
    request.copy(answer, 8, 8, 16)
    body?.copy(answer, ANSWER_HEADER)
    writeSync(this.#device, answer)
  }

  #bodyOf(operation: number, node: bigint): Buffer | undefined {
    switch (operation) {
      case INIT: {
        // Version 7.31, with the smallest limits.
        const body = Buffer.alloc(64)
        body.writeUInt32LE(7, 0)
        body.writeUInt32LE(31, 4)
        body.writeUInt32LE(65_536, 8)
        body.writeUInt32LE(4096, 20)
        return body
      }
      case LOOKUP: {
        const entry = Buffer.alloc(40)
        entry.writeBigUInt64LE(2n, 0)
        return Buffer.concat([entry, attributes(2n)])
      }
      case GETATTR:
        return Buffer.concat([Buffer.alloc(16), attributes(node)])
      case OPEN:
        return Buffer.alloc(16)
      default:
        return undefined
    }
  }
}

/** The attributes of the directory (node 1) or of the file. */
function attributes(node: bigint): Buffer {
  const body = Buffer.alloc(88)
  body.writeBigUInt64LE(node, 0)
  body.writeBigUInt64LE(1n << 20n, 8)
  body.writeUInt32LE(node === 1n ? 0o40755 : 0o100644, 60)
  body.writeUInt32LE(1, 64)
  body.writeUInt32LE(4096, 76)
  return body
}
