import { basename } from 'node:path'
import { ArgumentError, IsolationError, QueueFullError, TenonError, UnsupportedError } from '@tenon/core'
import { KernelCrashError, KernelDeadlineError, KernelMemoryError } from 'tenon/isolate'
import {
  InvalidRequestError,
  ModelLoadError,
  ModelNotFoundError,
  ModelUnavailableError,
  PipelineStepError,
  PermissionDeniedError,
  RequestTooLargeError,
  UnauthenticatedError,
} from '../errors.ts'
import { faultOf } from './fault-of.ts'

/** The kinds of failures of a request, which both transports have statuses for. */
export type FailureKind =
  | 'invalid'
  | 'unauthenticated'
  | 'denied'
  | 'exists'
  | 'unsupported'
  | 'not-found'
  | 'too-large'
  | 'unavailable'
  | 'deadline'
  | 'failed'

/** A failure as a client may know it. */
export interface Failure {
  readonly kind: FailureKind
  /** Without paths and addresses of this machine. */
  readonly message: string
}

/** The most characters of a message. A message of gRPC is a header, and clients accept headers of 8 KiB. */
const MOST_CHARACTERS = 500

/**
 * Describes an error for a client. The message of a request's own error is passed on. Those of kernels and functions are passed on
 * too, because clients need them; what Tenon says of workers is shortened, because it has addresses and paths.
 */
export function describeFailure(error: unknown, model?: string): Failure {
  const { kind, message } = describeSafely(error, model)
  const cut = message.length > MOST_CHARACTERS ? `${message.slice(0, MOST_CHARACTERS)}...` : message
  // gRPC cannot send half of a character, which the end of a cut can be.
  return { kind, message: cut.toWellFormed() }
}

/** A function can throw an error whose members throw. */
function describeSafely(error: unknown, model: string | undefined): Failure {
  try {
    return describe(error, model)
  } catch {
    return { kind: 'failed', message: nameOf(model) }
  }
}

const nameOf = (model: string | undefined): string =>
  model === undefined ? 'the server failed' : `the model ${model} failed`

function describe(error: unknown, model: string | undefined): Failure {
  const fault = faultOf(error)
  if (fault !== undefined)
    return { kind: 'unavailable', message: fault.replace('the model', `the model ${model ?? ''}`.trim()) }
  if (error instanceof PipelineStepError) return describeStep(error)
  if (error instanceof InvalidRequestError) {
    const { kind } = error.details
    return { kind: kind === 'exists' || kind === 'not-found' ? kind : 'invalid', message: textOf(error) }
  }
  if (error instanceof UnauthenticatedError) return { kind: 'unauthenticated', message: textOf(error) }
  if (error instanceof PermissionDeniedError) return { kind: 'denied', message: textOf(error) }
  if (error instanceof UnsupportedError) return { kind: 'unsupported', message: withoutPaths(textOf(error), error) }
  if (error instanceof ModelLoadError) return { kind: 'failed', message: withoutPaths(error.sentence, error) }
  if (error instanceof ModelNotFoundError) return { kind: 'not-found', message: textOf(error) }
  if (error instanceof RequestTooLargeError) return { kind: 'too-large', message: textOf(error) }
  if (error instanceof ModelUnavailableError || error instanceof QueueFullError)
    return { kind: 'unavailable', message: textOf(error) }
  if (error instanceof KernelDeadlineError) {
    return {
      kind: 'deadline',
      message: `the model ${model} did not answer within ${String(error.details['deadline'])} ms`,
    }
  }
  if (error instanceof IsolationError) return describeEnd(error, model)
  const name = nameOf(model)
  if (error instanceof TenonError && !(error instanceof ArgumentError))
    return { kind: 'failed', message: `${name}: ${withoutPaths(error.sentence, error)}` }
  return { kind: 'failed', message: name }
}

/** Describes the error of a step, with its number and its pipeline. */
function describeStep({ cause, details }: PipelineStepError): Failure {
  const { pipeline, step, model } = details
  // The deadline is that of the whole pipeline.
  const isOfAll = cause instanceof KernelDeadlineError && cause.details['kernel'] === pipeline
  const { kind, message } = describeSafely(cause, String(isOfAll ? pipeline : model))
  return { kind, message: `step ${String(step)} (${String(model)}) of the pipeline ${String(pipeline)}: ${message}` }
}

function describeEnd(error: IsolationError, model: string | undefined): Failure {
  if (error instanceof KernelMemoryError)
    return { kind: 'failed', message: `the model ${model} needed more memory than it may have` }
  const { signal, exitCode } = error.details
  const how =
    typeof signal === 'string' ? ` by ${signal}` : exitCode === undefined ? '' : ` with exit code ${String(exitCode)}`
  if (error instanceof KernelCrashError)
    return { kind: 'failed', message: `the model ${model} ended its process${how}` }
  return { kind: 'failed', message: `the model ${model} lost its process` }
}

/** An absolute path or URL of a file. Its last part is the name of the file. */
const PATH = /(?<![\w.~/-])(?:file:\/\/)?\/(?:[^\s/:'"]+\/)*([^\s/:'"]+)/g
/** The same in quotes, where it can have spaces. */
const QUOTED_PATH = /(["'`])(?:file:\/\/)?\/(?:[^/"'`\n]+\/)*([^/"'`\n]+)\1/g
/** Smaller numbers are rarely addresses. */
const ADDRESS = /\b0x[0-9a-f]{10,16}\b/gi

/** Replaces the paths of the server by the names of their files, and removes addresses. */
function withoutPaths(text: string, error: TenonError): string {
  let short = text
  // A path can have spaces or be relative, so those that errors name come first.
  for (let cause: unknown = error; cause instanceof TenonError; cause = cause.cause) {
    const { path } = cause.details
    if (typeof path === 'string' && path.includes('/')) short = short.replaceAll(path, basename(path))
  }
  return short.replaceAll(QUOTED_PATH, '$1$2$1').replaceAll(PATH, '$1').replaceAll(ADDRESS, 'an address')
}

const textOf = ({ sentence, hint }: TenonError): string => (hint === undefined ? sentence : `${sentence}. ${hint}`)
