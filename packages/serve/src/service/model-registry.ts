import { ArgumentError } from '@tenon/core'
import { InvalidRequestError, ModelNotFoundError, ModelUnavailableError } from '../errors.ts'
import type { Model } from '../model/model.ts'
import type { PipelineModels } from '../pipeline/pipeline-scheduler.ts'
import type { LoadedModel } from '../repository/model-source.ts'
import { ServedModel } from './served-model.ts'
import { ModelStatistics } from './statistics.ts'
import type { Traffic } from './traffic.ts'

/** The states of a model, in the words of Triton. */
export type ModelState = 'READY' | 'LOADING' | 'UNLOADING' | 'UNAVAILABLE'

/** One model of a server. */
export interface ModelEntry {
  state: ModelState
  /** Why it is not available, or empty. */
  reason: string
  /** The lowest first. */
  versions: ReadonlyMap<string, ServedModel>
  /** What is closed when it is unloaded. */
  loaded: LoadedModel | undefined
  /** How requests without a version are distributed; undefined if all go to the highest version. */
  traffic: Traffic | undefined
  /** The statistics of each version since the server was started. */
  readonly statistics: Map<string, ModelStatistics>
  /** How often processes of those that were replaced or unloaded were started again. */
  pastRestarts: number
}

const newEntry = (): ModelEntry => ({
  state: 'UNAVAILABLE',
  reason: 'not loaded',
  versions: new Map(),
  loaded: undefined,
  traffic: undefined,
  statistics: new Map(),
  pastRestarts: 0,
})

/** Whether a model comes from the source, loaded or not. The others are those that the server has had from its start. */
export const isOfSource = ({ versions, loaded }: ModelEntry): boolean => versions.size === 0 || loaded !== undefined

/** The models of a server by name and version. */
export class ModelRegistry {
  readonly #entries = new Map<string, ModelEntry>()
  /** Counts the requests of steps of pipelines. */
  observer: PipelineModels['observer']

  /** Adds models that stay. @throws {ArgumentError} if two have the same name and version. */
  addAll(models: readonly Model[]): void {
    for (const name of new Set(models.map((model) => model.name))) {
      const entry = newEntry()
      const versions = serve(
        models.filter((model) => model.name === name),
        entry,
        this,
      )
      this.#entries.set(name, Object.assign(entry, { state: 'READY', reason: '', versions }))
    }
  }

  /** Whether a model of the source has an entry. */
  knows(name: string): boolean {
    const entry = this.#entries.get(name)
    return entry !== undefined && isOfSource(entry)
  }

  /** The entry of a name, which is made if there is none. */
  entry(name: string): ModelEntry {
    let entry = this.#entries.get(name)
    if (entry === undefined) {
      entry = newEntry()
      this.#entries.set(name, entry)
    }
    return entry
  }

  /** All names with their entries, in the order in which they were added. */
  entries(): IterableIterator<[string, ModelEntry]> {
    return this.#entries.entries()
  }

  /** All models that answer requests. */
  all(): ServedModel[] {
    return [...this.#entries.values()].flatMap(({ versions }) => [...versions.values()])
  }

  /** The versions of a model, the lowest first. @throws {ModelNotFoundError | ModelUnavailableError} */
  versions(name: string): string[] {
    return [...this.#versionsOf(name).keys()]
  }

  /** The model that answers the next request. @throws as {@link find} */
  next(name: string, version?: string): ServedModel {
    return this.find(name, version ?? this.#entries.get(name)?.traffic?.next())
  }

  /**
   * The model of a version, or that of the highest version.
   *
   * @throws {ModelNotFoundError | ModelUnavailableError} @throws {InvalidRequestError} if the version is not a number.
   */
  find(name: string, version?: string): ServedModel {
    const versions = this.#versionsOf(name)
    if (version === undefined) return highest(versions)
    if (!/^\d{1,19}$/.test(version)) throw notANumber(version)
    const found = versions.get(version)
    if (found !== undefined) return found
    throw new ModelNotFoundError(
      `Request for unknown model: the model ${name} has no version ${JSON.stringify(version)}`,
      { hint: `Its versions are ${this.versions(name).join(', ')}.` },
    )
  }

  #versionsOf(name: string): ReadonlyMap<string, ServedModel> {
    const entry = this.#entries.get(name)
    if (entry === undefined) {
      throw new ModelNotFoundError(`Request for unknown model: there is no model ${JSON.stringify(name.slice(0, 60))}`)
    }
    if (entry.versions.size > 0) return entry.versions
    throw new ModelUnavailableError(`Request for unknown model: the model ${name} is not loaded`, {
      hint: 'Load it, or send the request again later.',
    })
  }
}

/** The versions of one model, the lowest first. @param registry the other models of the server. @throws {ArgumentError} if two models have the same version. */
export function serve(
  models: readonly Model[],
  { statistics }: Pick<ModelEntry, 'statistics'>,
  registry?: ModelRegistry,
): ReadonlyMap<string, ServedModel> {
  const versions = new Map<string, ServedModel>()
  for (const model of models.toSorted((a, b) => compareVersions(a.version, b.version))) {
    const { name, version } = model
    if (versions.has(version)) {
      throw new ArgumentError(`models must have each name and version once, got version ${version} of ${name} twice`)
    }
    const counted = statistics.get(version) ?? new ModelStatistics()
    statistics.set(version, counted)
    versions.set(version, new ServedModel(model, counted, registry))
  }
  return versions
}

/** Has the text that clients of Triton look for. */
const notANumber = (version: string): InvalidRequestError =>
  new InvalidRequestError(`failed to get model version from specified version string '${version.slice(0, 60)}'`, {
    hint: 'Use decimal digits only.',
  })

const compareVersions = (a: string, b: string): number => (BigInt(a) < BigInt(b) ? -1 : 1)

/** @param versions at least one. */
function highest(versions: ReadonlyMap<string, ServedModel>): ServedModel {
  let last: ServedModel | undefined
  for (const served of versions.values()) last = served
  return last!
}
