import { constants } from 'node:os'
import { addressOf, coreFunctions, keepAlive, LAYOUTS, makeStub, type Stub } from '@tenon/core/internal'
import { readWords } from '../import/native-words.ts'
import { sweepPassed } from '../import/passed-batches.ts'

/** The functions that fill the structs of an exported stream. */
export interface StreamSource {
  /** Fills an `ArrowSchema`. */
  fillSchema(address: number): void
  /** Fills an `ArrowArray`, which is released, and stays so at the end of the stream. */
  fillNext(address: number): void
}

/** The sources of this thread's streams, by the numbers that are the first words of their private data. */
const sources = new Map<number, StreamSource>()
let last = 0

export function addSource(source: StreamSource): number {
  sources.set(++last, source)
  return last
}

export function removeSource(id: number): void {
  sources.delete(id)
}

/** Makes a struct one that is released. Consumers that do not look at the number of an error then find no struct. */
function clearStruct(address: number, byteSize: number): void {
  const zeros = new Uint8Array(byteSize)
  coreFunctions().tn_memory_copy(address, addressOf(zeros), byteSize)
  keepAlive(zeros)
}

/** The functions of all streams that this thread exports. They live as long as the thread, because consumers can call them until its end. */
interface Stubs {
  readonly getSchema: Stub
  readonly getNext: Stub
}

let stubs: Stubs | undefined

export function streamStubs(): Stubs {
  return (stubs ??= {
    getSchema: stubOf('get_schema', LAYOUTS.tn_arrow_schema_t.size, (source, out) => source.fillSchema(out)),
    getNext: stubOf('get_next', LAYOUTS.tn_arrow_array_t.size, (source, out) => {
      sweepPassed()
      source.fillNext(out)
    }),
  })
}

const { EIO } = constants.errno
const { private_data: PRIVATE } = LAYOUTS.tn_arrow_stream_t.offsets

function stubOf(name: string, byteSize: number, fill: (source: StreamSource, out: number) => void): Stub {
  const run = (stream: bigint, out: bigint): number => {
    const address = Number(stream)
    clearStruct(Number(out), byteSize)
    try {
      const [at] = readWords(address + PRIVATE, 1)
      const source = sources.get(readWords(at!, 1)[0]!)
      if (source === undefined) throw new Error('the stream is released')
      fill(source, Number(out))
      return 0
    } catch (error) {
      const text = Buffer.from(String((error as Error | undefined)?.message ?? error))
      coreFunctions().tn_arrow_fail(address, addressOf(text), text.length)
      keepAlive(text)
      return EIO
    }
  }
  const signature = { result: 'int32', parameters: ['uint64', 'uint64'] } as const
  return makeStub(
    signature,
    run as Parameters<typeof makeStub>[1],
    { refusedResult: EIO },
    `${name} of an Arrow stream`,
  )
}
