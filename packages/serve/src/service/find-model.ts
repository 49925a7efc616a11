import { ModelUnavailableError } from '../errors.ts'
import type { ServedModel } from './served-model.ts'
import type { ServerState } from './server-state.ts'

/** The model of a request. @throws {ModelUnavailableError} if the server is closing. @throws {ModelNotFoundError} */
export function findModel({ life, registry }: ServerState, name: string, version: string | undefined): ServedModel {
  if (life.isOpen) return registry.next(name, version)
  throw new ModelUnavailableError('the server is closing', { hint: 'Send the request again later.' })
}
