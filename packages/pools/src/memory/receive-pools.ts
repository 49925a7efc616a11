import { ArgumentError } from '@tenon/core'
import { checkName, checkOptions, describe, wrongType } from '@tenon/core/internal'
import { PoolsError, refused } from '../error-status.ts'
import { closeDescriptor, discardDescriptor, duplicateDescriptor } from './descriptor.ts'
import { checkTimeout, connectToListener, receiveMessage } from './foreign-channel.ts'
import { describeAttached, importPool, rightsOf } from './import-pool.ts'
import { peerUser } from './local-socket.ts'
import type { Pool } from './pool.ts'
import type { PoolRights } from './pool-facts.ts'
import { readable } from './readable.ts'

type Kind = 'shared' | 'file' | 'device-blob'

interface Wanted {
  readonly kind: Kind
  readonly rights: PoolRights | undefined
  readonly label: string
}

/** The most bytes of a message. */
const BYTES = 65_536

const KINDS: ReadonlySet<unknown> = new Set(['shared', 'file', 'device-blob'])
const RIGHTS: ReadonlySet<unknown> = new Set([undefined, 'writable', 'frozen', 'read-only'])

/**
 * Receives one message with descriptors from another program, such as `socket.send_fds()` of Python sends, and makes pools of them.
 * Each descriptor is examined as those of a driver's clients are: its kind, its seals, its size and its rights. If one is refused, no pool
 * is made, and all descriptors of the message are closed.
 *
 * @param socket the path of a UNIX socket at which the other program listens, or the descriptor of a connected one, which stays the
 * caller's and is non-blocking afterwards. The other program belongs to the same user, or to root.
 * @returns a pool for each descriptor, in order, which the caller closes, and the bytes that came with them, at most 64 KiB.
 * @throws {PoolsError} P5, P9, P15, P17 if memory is refused, P18 if it has other rights; `INVALID_ARGUMENT` if there are more than 16
 * descriptors; `DEVICE_UNAVAILABLE` if nobody listens or the other program leaves; `MISSED_DEADLINE_TRANSIENT` after the timeout.
 * @example
 * const { pools, bytes } = await receivePools('/run/user/1000/camera.sock', { rights: 'writable' })
 * new TextDecoder().decode(bytes) // '640x480'
 * pools[0].byteSize // 307200
 * for (const pool of pools) pool.close()
 */
export async function receivePools<Rights extends PoolRights = PoolRights>(
  socket: string | number,
  options?: {
    /**
     * The kind of every descriptor, by default `shared`: memory that is sealed against shrinking. A `device-blob` may be a dma-buf too.
     * A `file` is one of this machine, and is mapped to be read unless `rights` is `writable`.
     */
    readonly kind?: 'shared' | 'file' | 'device-blob'
    /** The rights that every pool must have. By default any. */
    readonly rights?: Rights
    /** How long the other program may take, in ms; by default 2000. */
    readonly timeout?: number
    /** The name of the pools in messages. */
    readonly label?: string
  },
): Promise<{ readonly pools: readonly Pool<Rights>[]; readonly bytes: Uint8Array<ArrayBuffer> }> {
  const known = checkOptions(options, ['kind', 'rights', 'timeout', 'label'])
  const { kind = 'shared', rights, timeout = 2000, label = '' } = known
  if (!KINDS.has(kind)) throw new ArgumentError(`kind must be 'shared', 'file' or 'device-blob', got ${describe(kind)}`)
  if (!RIGHTS.has(rights))
    throw new ArgumentError(`rights must be 'writable', 'frozen' or 'read-only', got ${describe(rights)}`)
  if (typeof label !== 'string') throw wrongType('label', 'a string', label)
  const end = performance.now() + checkTimeout(timeout)
  const channel = openChannel(socket, timeout)
  const descriptors: number[] = []
  try {
    const user = peerUser(channel)
    if (user !== 0 && user !== process.getuid!())
      throw new PoolsError(
        'INVALID_ARGUMENT',
        `the other program must belong to the same user or to root, got user ${user}`,
      )
    await readable(channel, end === Infinity ? undefined : end - performance.now())
    const late = (): PoolsError =>
      new PoolsError('MISSED_DEADLINE_TRANSIENT', `no message with pools arrived within ${timeout} ms`)
    const { bytes } = receiveMessage(channel, BYTES, descriptors, 'receiving pools', late)
    const pools = makeAll(descriptors, (descriptor, i) => makePool(descriptor, { kind, rights, label }, i))
    // A copy, because the buffer is as large as the largest message.
    return { pools: pools as Pool<Rights>[], bytes: new Uint8Array(bytes) }
  } finally {
    closeDescriptor(channel)
    descriptors.forEach(discardDescriptor)
  }
}

function openChannel(socket: string | number, timeout: number): number {
  if (typeof socket !== 'number')
    return connectToListener(
      checkName(socket, 'socket'),
      timeout,
      () => new PoolsError('DEVICE_UNAVAILABLE', `no program listens at ${socket}`),
    )
  if (Number.isInteger(socket) && socket >= 0) return duplicateDescriptor(socket)
  throw new ArgumentError(`socket must be a path or the descriptor of a socket, got ${describe(socket)}`)
}

/** Makes a pool of each descriptor, which the pool owns then, and which leaves the list. If one fails, the others are closed. */
function makeAll(descriptors: number[], make: (descriptor: number, index: number) => Pool): readonly Pool[] {
  const pools: Pool[] = []
  try {
    while (descriptors.length > 0) {
      pools.push(make(descriptors[0]!, pools.length))
      descriptors.shift()
    }
    return pools
  } catch (error) {
    for (const pool of pools) pool.close()
    throw error
  }
}

function makePool(descriptor: number, options: Wanted, index: number): Pool {
  const { kind, rights: wanted, label } = options
  try {
    const info = describeAttached(kind, descriptor)
    // Seals decide about memory, but a file that may be written is writable only if the caller asks for it.
    const facts = { kind, isWritable: wanted === 'writable' }
    const rights = rightsOf(info, facts)
    if (wanted !== undefined && rights !== wanted)
      throw refused('P18', `the memory must be ${wanted}, got memory that is ${rights}`)
    const pool = importPool({ ...facts, attachment: descriptor, byteSize: info.byteSize, label, keep: true })
    if (kind === 'file') pool.addCloseAction(() => pool.checkWritten())
    return pool
  } catch (error) {
    if (!(error instanceof PoolsError)) throw error
    const { status, sentence, rule } = error
    throw new PoolsError(status, `descriptors[${index}]: ${sentence}`, {
      rule,
      path: `descriptors[${index}]`,
      hint: rule === 'P15' ? HINTS[kind] : error.hint,
    })
  }
}

const HINTS = {
  shared:
    'Create the memory with memfd_create() and MFD_ALLOW_SEALING, and seal it with F_SEAL_SHRINK before it is sent.',
  'device-blob': 'Send a dma-buf, or memory of memfd_create() that is sealed with F_SEAL_SHRINK.',
  file: 'Open a regular file of a local file system for reading, and send its descriptor.',
} as const
