import type { Tensor, TensorType } from '@tenon/core'
import {
  checkOptions,
  ManagedLifetime,
  wrongValue,
  type Gate,
  type IsolatedRunOptions,
  type RemoteCall,
  type RemoteHost,
  type RemoteKernel,
  type RemoteWorker,
} from '@tenon/core/internal'
import { SharedMemory } from '@tenon/pools'
import { checkCallOptions } from './host/settings.ts'
import type { CloseOptions, IsolateHealth, IsolateMetrics } from './host/options.ts'
import type { WorkerCall } from './host/worker-call.ts'
import type { WarmUp } from './host/warm-ups.ts'
import { Workers } from './host/workers.ts'
import type { SplitOptions } from './isolate-options.ts'
import { loadCall } from './load-call.ts'
import { StagedCall } from './staged-call.ts'
import { StagingFrames } from './staging-frames.ts'

/** The lifetime of the kernels of one library. Calls hold it open. */
class KernelsLifetime extends ManagedLifetime {
  protected readonly label: string

  constructor(path: string) {
    super()
    this.label = `the isolated library ${path}`
  }

  /** Refuses new calls. */
  override seal(): void {
    this.gate.open = false
  }

  /** The workers are closed after the last call. */
  protected override release(): void {}
}

/** The library of some workers. */
export interface LibraryLocation {
  /** The absolute path. */
  readonly path: string
  /** Returns the identity of the file that workers may load. They refuse another one. */
  readonly file?: () => string | undefined
}

/** The workers of one library, and the shared memory of its calls. */
export class WorkerHost implements RemoteHost {
  readonly path: string
  readonly file: (() => string | undefined) | undefined
  readonly allocator: SharedMemory
  readonly isRelaying: boolean
  readonly #lifetime: KernelsLifetime
  readonly #workers: Workers
  readonly #frames: StagingFrames
  #closing: Promise<void> | undefined

  private constructor({ path, file }: LibraryLocation, workers: Workers, memory: SharedMemory, isRelaying: boolean) {
    this.path = path
    this.file = file
    this.allocator = memory
    this.isRelaying = isRelaying
    this.#lifetime = new KernelsLifetime(path)
    this.#workers = workers
    this.#frames = new StagingFrames(memory)
  }

  /**
   * Starts the workers, which load the library for their first call, or for {@link load}.
   *
   * @throws {ArgumentError | UnsupportedError | CrashLoopError} as {@link Workers.open}
   */
  static async open(library: LibraryLocation, { ofWorkers, isRelaying, isGuarded }: SplitOptions): Promise<WorkerHost> {
    const memory = SharedMemory.open({ label: 'isolated calls', guard: isGuarded })
    try {
      return new WorkerHost(library, await Workers.open(ofWorkers), memory, isRelaying)
    } catch (error) {
      memory.close()
      throw error
    }
  }

  get gate(): Gate {
    return this.#lifetime.gate
  }

  /** @throws {ScopeClosedError} after close */
  checkOpen(): void {
    this.#lifetime.checkOpen()
  }

  newTensor(type: TensorType): Tensor {
    return this.allocator.newTensor(type)
  }

  checkRunOptions(options: IsolatedRunOptions): void {
    checkCallOptions(options)
  }

  run<T>(call: RemoteCall<T>): T {
    return this.#workers.run(this.#stage(call))
  }

  runAsync<T>(call: RemoteCall<T>): Promise<T> {
    return this.#workers.runAsync(this.#stage(call))
  }

  async runBatch<T>(calls: readonly (() => RemoteCall<T>)[]): Promise<PromiseSettledResult<T>[]> {
    const staged = calls.map((make): WorkerCall<T> | PromiseRejectedResult => {
      try {
        return this.#stage(make())
      } catch (reason) {
        return { status: 'rejected', reason }
      }
    })
    const settled = await this.#workers.runBatch(staged.filter((one): one is WorkerCall<T> => !('status' in one)))
    let next = 0
    return staged.map((one) => ('status' in one ? one : settled[next++]!))
  }

  /** Loads the library in all workers. @throws see {@link Workers.load} */
  async load(deadline: number | undefined): Promise<void> {
    this.checkOpen()
    const call = loadCall(this, deadline)
    checkCallOptions(call)
    await this.#workers.load(call)
  }

  /** Warms up the workers. @throws see {@link Workers.warmUp} */
  async warmUp(warmUp: WarmUp): Promise<() => void> {
    this.checkOpen()
    return this.#workers.warmUp(warmUp)
  }

  hasWorker(worker: RemoteWorker): boolean {
    return this.#workers.has(worker)
  }

  forget(kernel: RemoteKernel): void {
    this.#workers.forget(kernel)
    this.#frames.forget(kernel)
  }

  health(): IsolateHealth {
    return this.#workers.health()
  }

  metrics(): IsolateMetrics {
    return this.#workers.metrics()
  }

  /** Replaces all workers, also after a crash loop. @throws (rejects with) {ScopeClosedError} after close */
  async restart(): Promise<void> {
    this.checkOpen()
    await this.#workers.restart()
  }

  /**
   * Refuses new calls, waits for those in progress, and ends the workers. A second call waits for the first one.
   *
   * @throws (rejects with) {ArgumentError | ArgumentRangeError} if the deadline is not valid.
   */
  async closeAsync(options?: CloseOptions): Promise<void> {
    const { deadline = Infinity } = checkOptions(options, ['deadline'], 'the options of closeAsync()')
    if (typeof deadline !== 'number' || !(deadline > 0)) {
      throw wrongValue('deadline', 'a number of milliseconds above 0', deadline)
    }
    this.#closing ??= this.#close(deadline)
    await this.#closing
  }

  async #close(deadline: number): Promise<void> {
    this.#lifetime.seal()
    await this.#workers.closeAsync({ deadline })
    this.#frames.close()
    this.gate.alive = false
    if (this.allocator.isAlive && this.allocator.usage.usedBytes === 0) this.allocator.close()
  }

  #stage<T>(call: RemoteCall<T>): StagedCall<T> {
    try {
      return new StagedCall(this, this.#frames, call)
    } catch (error) {
      call.ended?.()
      throw error
    }
  }
}
