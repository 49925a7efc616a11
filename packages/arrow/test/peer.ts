import { dirname, join } from 'node:path'
import { NativeLibrary } from '@tenon/core'
import { coreLibrary } from '@tenon/core/internal'
import type { NativeScope } from '@tenon/scope'

/** The producer and consumer in C, which only tests load. */
export const peerPath: string = join(dirname(coreLibrary().path), 'libarrow_peer.so')
const library = NativeLibrary.open(peerPath)

const declare = library.function.bind(library)

export const peer = {
  released: declare('peer_released', { result: 'int32', parameters: ['int32'] }),
  makeArray: declare('peer_make_array', { result: 'int32', parameters: ['int64', 'pointer'] }),
  makeSchema: declare('peer_make_schema', { result: 'int32', parameters: ['pointer'] }),
  makeStream: declare('peer_make_stream', { result: 'int32', parameters: ['int64', 'int64', 'pointer'] }),
  takeArray: declare('peer_take_array', { result: 'void', parameters: ['pointer'] }),
  takeChild: declare('peer_take_child', { result: 'void', parameters: [] }),
  sumTaken: declare('peer_sum_taken', { result: 'int64', parameters: [] }),
  releaseTaken: declare('peer_release_taken', { result: 'void', parameters: [] }),
  releaseTakenOnThread: declare('peer_release_taken_on_thread', { result: 'int32', parameters: [] }),
  consumeStream: declare('peer_consume_stream', { result: 'int32', parameters: ['pointer', 'int64', 'pointer'] }),
  lastError: declare('peer_last_error', { result: 'text', parameters: [] }),
}

/** The addresses of the functions that release structs in memory of a test. */
export const releaseOf = {
  schema: Number(library.symbol('peer_release_schema')),
  array: Number(library.symbol('peer_release_array')),
}

/** How many structs of each kind were released so far. */
export const counts = (): { schemas: number; arrays: number; streams: number } => ({
  schemas: peer.released(0),
  arrays: peer.released(1),
  streams: peer.released(2),
})

/** The structs of a batch of the peer, whose only column x is first, first + 1, ... */
export function makeBatch(
  scope: NativeScope,
  first = 0n,
): { schema: ReturnType<NativeScope['allocate']>; array: ReturnType<NativeScope['allocate']> } {
  const [schema, array] = [scope.allocate(72, 8), scope.allocate(80, 8)]
  peer.makeSchema(schema)
  peer.makeArray(first, array)
  return { schema, array }
}

export function makeStream(scope: NativeScope, count: bigint, failAt = -1n): ReturnType<NativeScope['allocate']> {
  const stream = scope.allocate(40, 8)
  peer.makeStream(count, failAt, stream)
  return stream
}
