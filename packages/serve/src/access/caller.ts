import { UnauthenticatedError } from '../errors.ts'

/**
 * The requirement of a path or a method. `nothing` also answers callers without credentials; `caller` needs credentials; the others need a permission:
 * `infer` and `load` for a model, `metrics` and `shared-memory` for a part of the server.
 */
export type Need = 'nothing' | 'caller' | 'infer' | 'load' | 'metrics' | 'shared-memory'

/** The sender of a request. */
export interface Caller {
  /** Its name in the log, such as `token:ci`. Undefined if the server does not tell callers apart. */
  readonly name: string | undefined
  /**
   * Checks whether the caller may send a request. The model does not have to exist, so that the answer says nothing of it.
   *
   * @param model the model that the request names. Without it, `infer` and `load` need the permission for at least one model.
   * @throws {PermissionDeniedError} @throws {UnauthenticatedError} if its credentials are not valid any more.
   */
  check(need: Need, model?: string): void
  /** Whether a model may appear in lists for the caller. */
  sees(model: string): boolean
}

/** The caller of every request to a server without access control. */
export const ANYONE: Caller = { name: undefined, check: () => {}, sees: () => true }

/** The caller of a request without credentials, on a server with access control. */
export const NOBODY: Caller = {
  name: undefined,
  check(need) {
    if (need !== 'nothing') throw missingCredentials()
  },
  sees: () => false,
}

/** The error of a request without credentials. */
export const missingCredentials = (): UnauthenticatedError =>
  new UnauthenticatedError('the request must have credentials', {
    hint: 'Send the header "Authorization: Bearer <token>", or use a certificate that the server knows.',
  })
