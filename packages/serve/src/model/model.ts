import {
  ArgumentError,
  formatSignature,
  parseSignature,
  type KernelSignature,
  type Parameter,
  type TensorType,
  UnsupportedError,
} from '@tenon/core'
import { checkName, checkOptions, isSignature, resolveAttributes, resolveCall, wrongType } from '@tenon/core/internal'
import type { IsolatedKernel } from 'tenon'
import { InvalidRequestError } from '../errors.ts'
import { readBatching, type Batching, type BatchingOptions } from '../scheduler/batching-options.ts'
import type { PipelineGraph } from '../pipeline/pipeline-graph.ts'
import { readSequenceOptions, type SequenceLimits, type SequenceOptions } from '../scheduler/sequence-options.ts'
import { functionRunner, streamRunner } from './function-runner.ts'
import { isOperation, kernelRunner } from './kernel-runner.ts'
import type { ModelFunction, ModelStream, Runner, StreamRunner } from './model-function.ts'
import { onceForEach, typesFor } from './model-tensor.ts'
import { SCOPES, type RequestMemory } from './request-memory.ts'
import { describeTensors, type TensorSpec } from './tensor-spec.ts'
import { readWarmUps, type WarmUp, type WarmUpRequest } from './warm-up.ts'

/** The options of {@link defineModel}. */
export interface ModelOptions<Signature extends string = string, State = never> {
  /** The name in the paths of requests. It must not contain `/`, and must not be `stats`. */
  readonly name: string
  /** Decimal digits. Default: `1`. */
  readonly version?: string
  /** A kernel of an isolated library. */
  readonly kernel?: IsolatedKernel<unknown>
  /** A function of this process, instead of a kernel. An async generator answers each request any number of times. */
  readonly run?: ModelFunction<Signature, State> | ModelStream<Signature, State>
  /** Whether `run` returns an async iterable, which is known if it is an `async function*`. Default: false for other functions. */
  readonly stream?: boolean
  /** The inputs and outputs in the signature language. Required for a function; by default, that of the kernel. */
  readonly signature?: Signature
  /** The attributes of the kernel. */
  readonly attributes?: Readonly<Record<string, unknown>>
  /**
   * The memory of the kernel's library (`library.memory`), into which requests are read, so that no operand is copied. Default for a function:
   * memory of this process.
   */
  readonly memory?: { arena(): RequestMemory }
  /** The longest time for one run in milliseconds. Default: 30,000. */
  readonly deadline?: number
  /**
   * The runs at the same time. Further requests wait. A stream runs until its end, also while it waits for its client. Default: 1, and 128 for
   * streams.
   */
  readonly instances?: number
  /** The most rows of one run, which several requests can share. The first axis of all inputs and outputs is then the same size. Default: 0, no batches. */
  readonly maxBatchSize?: number
  /** How requests wait and become batches. */
  readonly batching?: BatchingOptions
  /** Makes requests of one `sequence_id` run one behind the other, with a state of their own in the context. Only for functions. */
  readonly sequence?: SequenceOptions<State>
  /** Whether a request whose process ended may run once more. Default: true, and false for a model with sequences. */
  readonly idempotent?: boolean
  /** Requests that each worker answers before the model is ready, and that are not counted as inferences. A failed one fails the load. */
  readonly warmUp?: readonly WarmUpRequest[]
}

const OPTIONS = [
  'attributes',
  'batching',
  'deadline',
  'idempotent',
  'instances',
  'kernel',
  'maxBatchSize',
  'memory',
  'name',
  'run',
  'sequence',
  'signature',
  'stream',
  'version',
  'warmUp',
] as const

/** A kernel or a function that answers requests of the protocol, under a name and a version. Made by {@link defineModel}. */
export interface Model<Signature extends string = string> {
  readonly name: string
  readonly version: string
  /** The text of the inputs and outputs. The types of a client's requests come from it. */
  readonly signature: Signature
  readonly inputs: readonly TensorSpec[]
  readonly outputs: readonly TensorSpec[]
  readonly deadline: number
  readonly instances: number
  readonly batching: Batching
  readonly idempotent: boolean
  readonly warmUps: readonly WarmUp[]
  /** Undefined for a function. */
  readonly kernel: IsolatedKernel<unknown> | undefined
  /** The steps of a pipeline; undefined for other models. */
  readonly graph: PipelineGraph | undefined
  /** The memory of requests; undefined for that of the garbage collector. */
  readonly memory: { arena(): RequestMemory } | undefined
  /**
   * Checks the types of the inputs of one request, in the order of {@link inputs}.
   *
   * @throws {InvalidRequestError} with the input that contradicts the signature, and the reason.
   */
  check(types: readonly TensorType[]): void
  /**
   * Runs once.
   *
   * @param cancellation says when the signal of the context is aborted. With it, a kernel needs no signal of its own for each run.
   * @returns the outputs in the order of {@link outputs}, or a promise of them. @throws (or rejects with) what the kernel or function throws.
   */
  readonly run: Runner
  /** The limits of its sequences; undefined for a model without sequences. */
  readonly sequence: SequenceLimits | undefined
  /** Starts a stream of answers; undefined for a model that answers each request once. */
  readonly stream: StreamRunner | undefined
}

/**
 * Defines a model: a kernel or a function that answers requests of the Open Inference Protocol.
 *
 * @throws {ArgumentError} if an option is not valid, or the protocol cannot describe a parameter of the signature.
 * @throws {SignatureError} if the signature cannot be read.
 * @example
 * const double = defineModel({
 *   name: 'double',
 *   signature: '(x: f32[n]) -> (y: f32[n])',
 *   run: ({ x }) => tensor('f32', x.shape, x.toArray().map((value) => 2 * value)),
 * })
 */
export function defineModel<const Signature extends string, State = never>(
  options: ModelOptions<Signature, State>,
): Model<Signature> {
  const given = checkOptions<ModelOptions>(options as unknown as ModelOptions, OPTIONS)
  const name = checkModelName(given.name)
  const version = checkVersion(given.version ?? '1')
  const { kernel, run, memory } = given
  checkOneSource(name, kernel, run)
  const signature = signatureOf(name, given.signature, kernel)
  if (kernel !== undefined && given.signature !== undefined) checkAgainstKernel(signature, kernel.signature)
  // A signature among the options describes only the tensors of a kernel.
  // A kernel of TensorFlow checks its own attributes, some of which its operands determine.
  const attributes = isOperation(kernel)
    ? {}
    : resolveAttributes(kernel?.signature ?? signature, { ...given.attributes })
  const inputs = describeTensors(signature, 'operands')
  const outputs = describeTensors(signature, 'results')
  const batching = readBatching(given.maxBatchSize ?? 0, given.batching)
  if (batching.maxBatchSize > 0) checkFirstAxes(signature)
  const isStream = readStream(name, given)
  const sequence = readSequence(name, given)
  const model: Model<Signature> = Object.freeze({
    name,
    version,
    signature: (given.signature ?? formatSignature(signature)) as Signature,
    inputs,
    outputs,
    deadline: checkPositive(given.deadline ?? 30_000, 'deadline'),
    instances: checkCount(given.instances ?? (isStream ? STREAMS : 1), 'instances'),
    batching,
    idempotent: given.idempotent ?? sequence === undefined,
    sequence,
    warmUps: readWarmUps(given.warmUp),
    kernel,
    graph: undefined,
    memory: memory ?? (kernel === undefined ? SCOPES : undefined),
    check: onceForEach((types) => checkTypes(signature, types, attributes)),
    ...(kernel === undefined
      ? runnersOf(run!, isStream, signature, outputs)
      : { run: kernelRunner(kernel, given, signature, outputs), stream: undefined }),
  })
  return addModel(model)
}

/** The streams of a model at the same time, most of which wait for something. */
const STREAMS = 128

/** Whether a model answers with streams. @throws {ArgumentError} if the options contradict it. */
function readStream(name: string, { kernel, run, stream, maxBatchSize = 0 }: Partial<ModelOptions>): boolean {
  if (stream !== undefined && typeof stream !== 'boolean') throw wrongType('stream', 'true or false', stream)
  const kind = Object.prototype.toString.call(run)
  const isAsyncGenerator = kind === '[object AsyncGeneratorFunction]'
  if (kind === '[object GeneratorFunction]') {
    throw new ArgumentError(`the function run of the model ${name} must be async`, { hint: 'Write async function*.' })
  }
  if (isAsyncGenerator && stream === false) {
    throw new ArgumentError(`the option stream of the model ${name} must be true, because run is an async generator`)
  }
  if (!isAsyncGenerator && stream !== true) return false
  if (kernel !== undefined) {
    throw new ArgumentError(`the option stream of the model ${name} must be false, because a kernel answers once`, {
      hint: 'Call the kernel for each answer in run: async function* (inputs) { ... }.',
    })
  }
  if (maxBatchSize > 0) {
    throw new ArgumentError(`the model ${name} must be without maxBatchSize, because its answers are streams`, {
      hint: 'Requests of streams do not share runs.',
    })
  }
  return true
}

/** @throws {ArgumentError} if the options of a model contradict its sequences. */
function readSequence(
  name: string,
  { kernel, sequence, maxBatchSize = 0 }: Partial<ModelOptions>,
): SequenceLimits | undefined {
  if (sequence === undefined) return undefined
  if (kernel !== undefined) {
    throw new ArgumentError(`the model ${name} must be without the option sequence, because a kernel has no state`, {
      hint: 'Call the kernel in run, and keep the state in sequence.state of the context.',
    })
  }
  if (maxBatchSize > 0) {
    throw new ArgumentError(`the model ${name} must be without maxBatchSize, because it has sequences`, {
      hint: 'Requests of different sequences do not share runs.',
    })
  }
  return readSequenceOptions(sequence)
}

function runnersOf(
  run: ModelFunction | ModelStream,
  isStream: boolean,
  signature: KernelSignature,
  outputs: readonly TensorSpec[],
): Pick<Model, 'run' | 'stream'> {
  if (!isStream) return { run: functionRunner(run as ModelFunction, signature, outputs), stream: undefined }
  const refuse = (): never => {
    throw new UnsupportedError(`the model ${signature.name} answers with streams`)
  }
  return { run: refuse, stream: streamRunner(run as ModelStream, signature, outputs) }
}

/** The platform of a model in its metadata, as Triton names that of graphs of models. */
export const platformOf = ({ graph }: Model): string => (graph === undefined ? 'tenon_kernel' : 'ensemble')

const models = new WeakSet<object>()

/** Makes {@link isModel} true for a model. @returns the model */
export function addModel<Signature extends string>(model: Model<Signature>): Model<Signature> {
  models.add(model)
  return model
}

/** Whether a value was made by {@link defineModel}. */
export function isModel(value: unknown): value is Model {
  return typeof value === 'object' && value !== null && models.has(value)
}

function checkOneSource(name: string, kernel: unknown, run: unknown): void {
  if ((kernel === undefined) === (run === undefined)) {
    throw new ArgumentError(`the model ${name} must have either a kernel or the function run`, {
      hint: 'Pass kernel: library.kernel(name), or run: (inputs) => outputs.',
    })
  }
  if (kernel !== undefined && !isKernel(kernel)) {
    throw wrongType('kernel', 'a kernel of an isolated library', kernel, 'Open the library with Library.isolate(path).')
  }
  if (run !== undefined && typeof run !== 'function') throw wrongType('run', 'a function', run)
}

const isKernel = (value: unknown): value is IsolatedKernel<unknown> =>
  typeof value === 'function' && 'batch' in value && 'signature' in value && isSignature(value.signature)

function signatureOf(
  name: string,
  text: string | undefined,
  kernel: IsolatedKernel<unknown> | undefined,
): KernelSignature {
  if (text !== undefined) return parseSignature(name, text)
  if (kernel !== undefined) return kernel.signature
  throw new ArgumentError(`the model ${name} must have a signature, because it runs a function`, {
    hint: "Add the inputs and outputs, for example signature: '(x: f32[rows, 4]) -> (y: f32[rows, 4])'.",
  })
}

/** @throws {ArgumentError} if no request for the signature could be right for the kernel. */
function checkAgainstKernel(given: KernelSignature, own: KernelSignature): void {
  for (const role of ['operands', 'results'] as const) {
    const [wanted, found] = [own[role], given[role]].map((all) => all.filter(({ isToken }) => !isToken))
    // The kernel may repeat a parameter, or leave it out.
    const isFixed = wanted!.every(({ kind }) => kind === 'one')
    const isOther =
      isFixed && (wanted!.length !== found!.length || wanted!.some((parameter, i) => differ(parameter, found![i]!)))
    if (!isOther) continue
    throw new ArgumentError(
      `the signature of the model ${given.name} must have the ${role} of its kernel, got ${formatSignature(given)}`,
      { hint: `The kernel has ${formatSignature(own)}. Leave the signature out to use it.` },
    )
  }
}

/** Whether no tensor is right for both parameters. A kernel without strings in its own signature gets their bytes. */
function differ(own: Parameter, given: Parameter): boolean {
  if (own.stringLayout === undefined && given.stringLayout !== undefined) return false
  if (own.stringLayout !== given.stringLayout) return true
  if (own.dtypes.length > 0 && !given.dtypes.some((dtype) => own.dtypes.includes(dtype))) return true
  const [a, b] = [own.shape, given.shape].map((shape) =>
    shape?.some((size) => size !== null && typeof size === 'object' && 'group' in size) ? undefined : shape,
  )
  return a !== undefined && b !== undefined && a.length !== b.length
}

/** @throws {ArgumentError} unless the first axis of all inputs and outputs is the same size. */
function checkFirstAxes({ name, operands, results }: KernelSignature): void {
  const firsts = [...operands, ...results].map(({ shape }) => shape?.[0])
  if (firsts.every((first) => typeof first === 'string' && first === firsts[0])) return
  throw new ArgumentError(`the inputs and outputs of the model ${name} must have the same first axis to make batches`, {
    hint: "Name it in the option signature, for example '(x: f32[rows, 4]) -> (y: f32[rows, 4])', or omit maxBatchSize.",
  })
}

export function checkModelName(value: unknown): string {
  const name = checkName(value, 'name')
  if (name !== 'stats' && !name.includes('/')) return name
  throw new ArgumentError(
    `the name of a model must be without a slash and other than "stats", got ${JSON.stringify(name)}`,
    {
      hint: 'Use another name, because the name is a part of the path of requests.',
    },
  )
}

export function checkVersion(value: unknown): string {
  if (typeof value === 'string' && /^\d{1,19}$/.test(value)) return value
  throw wrongType('version', 'a text of decimal digits', value)
}

export function checkPositive(value: unknown, name: string): number {
  if (typeof value === 'number' && value > 0) return value
  throw wrongType(name, 'a number of milliseconds above 0', value)
}

function checkCount(value: unknown, name: string): number {
  if (Number.isSafeInteger(value) && (value as number) > 0) return value as number
  throw wrongType(name, 'a whole number above 0', value)
}

export function checkTypes(
  signature: KernelSignature,
  operands: readonly TensorType[],
  attributes: Readonly<Record<string, unknown>>,
): void {
  try {
    resolveCall(signature, { operands: typesFor(signature.operands, operands), attributes })
  } catch (error) {
    if (!(error instanceof ArgumentError)) throw error
    throw new InvalidRequestError(error.sentence, { details: error.details, cause: error })
  }
}
