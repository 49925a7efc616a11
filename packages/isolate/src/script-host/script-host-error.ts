import { STATUS } from '@tenon/core/internal'

/** A request that the worker refuses. The message becomes the answer. */
export class ScriptHostError extends Error {
  /** A status of the core. */
  readonly status: number

  constructor(message: string, status: number = STATUS.INVALID_ARGUMENT.value) {
    super(message)
    this.status = status
  }
}
