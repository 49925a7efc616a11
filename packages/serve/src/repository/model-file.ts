import {
  array,
  boolean,
  integer,
  literal,
  minLength,
  minValue,
  number,
  optional,
  picklist,
  pipe,
  record,
  regex,
  strictObject,
  string,
  union,
  unknown,
} from 'valibot'
import type { KernelConvention } from '@tenon/core'
import { KERNEL_CONVENTIONS } from '@tenon/core/internal'
import { ModelLoadError } from '../errors.ts'
import { readJsonFile } from '../files/json-file.ts'
import type { ModelOptions } from '../model/model.ts'
import type { TrafficWeights } from '../service/traffic.ts'

const name = pipe(string(), minLength(1))
const count = pipe(number(), integer(), minValue(1))
const whole = pipe(number(), integer(), minValue(0))

const queuePolicy = strictObject({
  timeoutAction: optional(picklist(['reject', 'delay'])),
  defaultTimeoutMicroseconds: optional(whole),
  allowTimeoutOverride: optional(boolean()),
  maxQueueSize: optional(count),
})

const versionPolicy = union([
  literal('all'),
  strictObject({ latest: count }),
  strictObject({ specific: pipe(array(pipe(string(), regex(/^\d{1,19}$/))), minLength(1)) }),
])

const modelFile = strictObject({
  library: name,
  kernel: name,
  signature: optional(name),
  convention: optional(picklist(KERNEL_CONVENTIONS)),
  attributes: optional(record(string(), unknown())),
  maxBatchSize: optional(whole),
  batching: optional(
    strictObject({
      preferredBatchSize: optional(array(count)),
      maxQueueDelayMicroseconds: optional(whole),
      preserveOrdering: optional(boolean()),
      priorityLevels: optional(count),
      defaultPriorityLevel: optional(count),
      defaultQueuePolicy: optional(queuePolicy),
      priorityQueuePolicy: optional(record(string(), queuePolicy)),
    }),
  ),
  deadline: optional(pipe(number(), minValue(1))),
  instances: optional(count),
  idempotent: optional(boolean()),
  memory: optional(string()),
  guard: optional(boolean()),
  recycle: optional(count),
  versionPolicy: optional(versionPolicy),
  traffic: optional(record(string(), number())),
  warmUp: optional(array(record(string(), unknown()))),
  loadDeadline: optional(pipe(number(), minValue(1))),
})

/** All versions, as many as `latest` of the highest ones, or those that `specific` lists. */
export type VersionPolicy = 'all' | { readonly latest: number } | { readonly specific: readonly string[] }

/** The contents of `model.json`: a kernel of a library, and the options of its model and of its processes. */
export interface ModelFile extends Pick<
  ModelOptions,
  'attributes' | 'batching' | 'deadline' | 'idempotent' | 'instances' | 'maxBatchSize' | 'signature'
> {
  /** The file name in the folder of each version. */
  readonly library: string
  readonly kernel: string
  /** The convention of a symbol that the library does not mark. With a signature, the default is `typed`. */
  readonly convention?: KernelConvention
  /** The memory of one process, such as `512 MiB`. */
  readonly memory?: string
  readonly guard?: boolean
  /** The number of calls after which a process is replaced. */
  readonly recycle?: number
  /** The versions of the folder that are loaded. Default: `all`. */
  readonly versionPolicy?: VersionPolicy
  /** The weights of the versions for requests without a version. By default, all of these go to the highest version. */
  readonly traffic?: TrafficWeights
  /** Requests of `defineModel()`, which can name files. */
  readonly warmUp?: readonly Readonly<Record<string, unknown>>[]
  /** The longest time in which a process loads the library, in milliseconds. Default: 30,000. */
  readonly loadDeadline?: number
}

/** Reads `model.json`. @param path for messages. @throws {ModelLoadError} with the field that is missing, unknown or wrong. */
export const readModelFile = (text: string, path: string): ModelFile =>
  readJsonFile(modelFile, text, path, ModelLoadError, HINTS) as ModelFile

/** Instructions for fields with units. */
const HINTS: Readonly<Record<string, string>> = {
  deadline: 'Write a number of milliseconds, such as 5000.',
  loadDeadline: 'Write a number of milliseconds, such as 60000.',
  traffic: 'Write weights by version, such as { "1": 90, "2": 10 }.',
  versionPolicy: 'Write "all", { "latest": 2 } or { "specific": ["1", "3"] }.',
  memory: "Write a text with a unit, such as '512 MiB'.",
}
