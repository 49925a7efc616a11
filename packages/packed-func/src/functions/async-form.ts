import { checkOptions, inspectAsText, wrongType } from '@tenon/core/internal'

/** The options of an asynchronous call: see {@link PackedFunc.with}. */
export interface AsyncOptions {
  /** Stops kernels that check for it (`TVMFFIEnvCheckSignals`). A call that has not begun is not made. */
  readonly signal?: AbortSignal | undefined
}

type Run<Values, Result> = (values: Values, signal: AbortSignal | undefined) => Promise<Result>

/**
 * A function with options for its asynchronous calls. It cannot be called synchronously, because nothing could abort the signal
 * while the thread is in the call.
 */
export class AsyncForm<Values extends readonly unknown[], Result> {
  static {
    inspectAsText(this)
  }

  readonly #name: string
  readonly #run: Run<Values, Result>
  readonly #signal: AbortSignal | undefined

  /** @internal @throws {ArgumentError} if an option is not valid. */
  constructor(name: string, options: AsyncOptions, run: Run<Values, Result>) {
    const { signal } = checkOptions(options, ['signal'])
    if (signal !== undefined && !(signal instanceof AbortSignal)) throw wrongType('signal', 'an AbortSignal', signal)
    this.#name = name
    this.#run = run
    this.#signal = signal
  }

  /**
   * Calls the function on another thread.
   *
   * @throws the signal's reason, if it was aborted before the call; otherwise the error that the kernel raises when it stops.
   */
  async(...values: Values): Promise<Result> {
    return this.#run(values, this.#signal)
  }

  /** The function, and its options if it has some: `[ffi.Function sum] with a signal`. */
  toString(): string {
    return this.#signal === undefined ? this.#name : `${this.#name} with a signal`
  }
}
