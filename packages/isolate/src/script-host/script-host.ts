import { pathToFileURL } from 'node:url'
import { encode } from '@msgpack/msgpack'
import type { Segment } from '@tenon/core'
import { CONSTANTS, fileIdentity, LAYOUTS, STATUS } from '@tenon/core/internal'
import { check, out, outAddress, sharing } from '@tenon/pools/internal'
import { KeptStrings } from './kept-strings.ts'
import { operandSize, readOperand, type TakenRequest, type RequestOperand } from './taken-request.ts'
import { ScriptHostError } from './script-host-error.ts'
import { LoadedKernel, readKernelRequest, type ScriptCall } from './script-kernel.ts'
import { ScriptMemory } from './script-memory.ts'

const { offsets: HELLO, size: HELLO_SIZE } = LAYOUTS.tn_host_hello_t
const { offsets: MEMORY, size: MEMORY_SIZE } = LAYOUTS.tn_host_memory_t

/** Room for the name and the message of an error, and for the encoding, in a body whose rest has the stack. */
const MOST_TEXT = 4096
const MOST_STACK = CONSTANTS.TN_HOST_BODY_SIZE - 3 * MOST_TEXT

type Modules = Readonly<Record<string, unknown>>

/** The modules, kernels and memories of a worker in Node.js, by the ids of its client. */
export class ScriptHost {
  readonly #modules = new Map<number, Modules>()
  readonly #kernels = new Map<number, LoadedKernel>()
  readonly #memories = new Map<number, ScriptMemory>()
  readonly #kept = new KeptStrings()
  readonly #call: ScriptCall = { isCancelled: () => sharing().tn_host_is_cancelled() !== 0 }

  /** Answers a request. Returns a promise only for a request that has to wait. */
  serve(request: TakenRequest): Promise<void> | undefined {
    try {
      return this.#serve(request)?.catch((error: unknown) => refuse(request, error))
    } catch (error) {
      refuse(request, error)
      return undefined
    }
  }

  #serve(request: TakenRequest): Promise<void> | undefined {
    switch (request.operation) {
      case CONSTANTS.TN_HOST_RUN:
        return this.#run(request)
      case CONSTANTS.TN_HOST_HELLO:
        return void request.succeed({ body: hello() })
      case CONSTANTS.TN_HOST_LOAD:
        return this.#load(request)
      case CONSTANTS.TN_HOST_KERNEL:
        return void this.#prepare(request)
      case CONSTANTS.TN_HOST_RELEASE_KERNEL:
        this.#kernels.delete(request.target)
        return void request.succeed()
      case CONSTANTS.TN_HOST_MEMORY:
        return void this.#receive(request)
      case CONSTANTS.TN_HOST_RELEASE_MEMORY:
        this.#memories.get(request.target)?.close()
        this.#memories.delete(request.target)
        return void request.succeed()
      case CONSTANTS.TN_HOST_FETCH:
        this.#kept.fetch(request.target, request.body(), this.#segmentOf(request.operand(0)))
        return void request.succeed()
      case CONSTANTS.TN_HOST_RELEASE_VALUE:
        this.#kept.release(request.target)
        return void request.succeed()
      default:
        throw new ScriptHostError(`a worker in Node.js does not have the operation ${request.operation}`)
    }
  }

  async #load(request: TakenRequest): Promise<void> {
    const [path, file] = Buffer.from(this.#bodyOf(request)).toString().split('\0') as [string, string?]
    let loaded: Modules
    try {
      loaded = (await import(pathToFileURL(path).href)) as Modules
      if (file !== undefined && fileIdentity(path) !== file) {
        throw new ScriptHostError(`the file ${path} was replaced after the library was opened`)
      }
    } catch (error) {
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
      const failure = { error: CONSTANTS.TN_HOST_LOAD_ERROR, status: STATUS.LOAD_FAILED.value }
      return request.fail({ ...failure, body: Buffer.from(text) })
    }
    this.#modules.set(request.target, loaded)
    request.succeed()
  }

  #prepare(request: TakenRequest): void {
    const read = readKernelRequest(this.#bodyOf(request))
    const module = this.#modules.get(read.library)
    if (module === undefined) throw new ScriptHostError(`there is no module ${read.library}`)
    this.#kernels.set(request.target, new LoadedKernel(module, read))
    request.succeed()
  }

  #receive(request: TakenRequest): void {
    const { target } = request
    check(sharing().tn_host_receive_memory(target, outAddress()), 'receiving memory')
    const descriptor = out.i32[0]!
    const body = request.body()
    if (body.length < MEMORY_SIZE) throw new ScriptHostError('the description of the memory is too short')
    const view = new DataView(body.buffer)
    const byteSize = Number(view.getBigUint64(MEMORY.byte_size, true))
    const isWritable = view.getUint32(MEMORY.is_writable, true) !== 0
    // Memory that becomes writable is announced again.
    this.#memories.get(target)?.close()
    this.#memories.set(target, new ScriptMemory(descriptor, byteSize, isWritable))
    request.succeed()
  }

  #run(request: TakenRequest): Promise<void> | undefined {
    const kernel = this.#kernels.get(request.target)
    if (kernel === undefined) throw new ScriptHostError(`there is no kernel ${request.target}`)
    const segments = this.#operandsOf(request).map((operand) => this.#segmentOf(operand))
    if (segments.length !== kernel.count) {
      throw new ScriptHostError(`the kernel must have ${kernel.count} operands and results, got ${segments.length}`)
    }
    if (request.length > 0) kernel.resize(dimensionsIn(this.#bodyOf(request)))
    const fail = (error: unknown): void =>
      request.fail({
        error: CONSTANTS.TN_HOST_SCRIPT_ERROR,
        status: STATUS.KERNEL_FAILED.value,
        body: encodeError(error),
      })
    try {
      const values = kernel.valuesOf(segments)
      const start = process.hrtime.bigint()
      const end = (): void => {
        const nanoseconds = process.hrtime.bigint() - start
        const long = kernel.takeStrings(segments, values)
        request.succeed({ nanoseconds, ...(long.length > 0 ? this.#kept.keep(long) : {}) })
      }
      const returned: unknown = kernel.run(values, this.#call)
      return returned instanceof Promise ? returned.then(end).catch(fail) : void end()
    } catch (error) {
      return void fail(error)
    }
  }

  #operandsOf(request: TakenRequest): RequestOperand[] {
    const { count, flags } = request
    if ((flags & CONSTANTS.TN_HOST_MANY) === 0) return Array.from({ length: count }, (_, i) => request.operand(i))
    const list = this.#segmentOf(request.operand(0))!.view()
    return Array.from({ length: count }, (_, i) => readOperand(list, i * operandSize))
  }

  #bodyOf(request: TakenRequest): Uint8Array {
    const { flags, count, length } = request
    if ((flags & CONSTANTS.TN_HOST_LONG_BODY) === 0) return request.body()
    const isMany = (flags & CONSTANTS.TN_HOST_MANY) !== 0
    const view = this.#segmentOf(request.operand(isMany ? 1 : count))!.view()
    return new Uint8Array(view.buffer.slice(view.byteOffset, view.byteOffset + length))
  }

  /** @throws {BoundsError} if the operand lies outside of its memory. */
  #segmentOf(operand: RequestOperand): Segment | null {
    if (operand === null) return null
    const memory = this.#memories.get(operand.memory)
    if (memory === undefined) throw new ScriptHostError(`there is no memory ${operand.memory}`)
    return memory.segment.asSlice(operand.offset, operand.length)
  }
}

/** The dimensions in the body of a run. @throws {ScriptHostError} if it has a part of one. */
function dimensionsIn(body: Uint8Array): BigInt64Array {
  const { buffer, byteOffset, length } = body
  if (length % 8 !== 0) throw new ScriptHostError(`the body of a run must have whole dimensions, got ${length} bytes`)
  return new BigInt64Array(buffer.slice(byteOffset, byteOffset + length))
}

function hello(): Uint8Array {
  const view = new DataView(new ArrayBuffer(HELLO_SIZE))
  view.setUint32(HELLO.version, CONSTANTS.TN_HOST_VERSION, true)
  view.setBigUint64(HELLO.process, BigInt(process.pid), true)
  return new Uint8Array(view.buffer)
}

function refuse(request: TakenRequest, error: unknown): void {
  const status = error instanceof ScriptHostError ? error.status : STATUS.INVALID_ARGUMENT.value
  const text = error instanceof Error ? error.message : String(error)
  request.fail({ error: CONSTANTS.TN_HOST_REQUEST_ERROR, status, body: Buffer.from(text) })
}

/** Encodes an error as `[name, message, stack]`. A script can throw anything, and its texts can be long. */
function encodeError(error: unknown): Uint8Array {
  const isError = error instanceof Error
  const [name, message] = isError ? [error.name, error.message] : ['Error', String(error)]
  return encode([
    cut(name, MOST_TEXT),
    cut(message, MOST_TEXT),
    cut((isError ? error.stack : undefined) ?? '', MOST_STACK),
  ])
}

function cut(text: unknown, most: number): string {
  const bytes = Buffer.from(String(text))
  return bytes.length <= most ? String(text) : bytes.subarray(0, most).toString()
}
