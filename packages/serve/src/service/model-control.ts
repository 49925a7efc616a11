import { ArgumentError, TenonError, UnsupportedError } from '@tenon/core'
import { ModelLoadError, ModelNotFoundError, ModelUnavailableError } from '../errors.ts'
import type { Model } from '../model/model.ts'
import type { LoadedModel, ModelOverrides, ModelSource } from '../repository/model-source.ts'
import { cutOff } from '../protocol/wrong-field.ts'
import { callLater } from './call-later.ts'
import { isOfSource, serve, type ModelEntry, type ModelRegistry } from './model-registry.ts'
import type { ServedModel } from './served-model.ts'
import { warmUpAll } from './warm-up.ts'
import { Traffic, type TrafficWeights } from './traffic.ts'

/** One line of the index of a repository. */
export interface IndexLine {
  readonly name: string
  readonly version: string
  readonly state: string
  readonly reason: string
}

/** The time from a crash loop of a model to the next attempt to load it, in milliseconds. Each further one takes twice as long, up to the longest. */
const RELOAD_DELAY = 30_000
const LONGEST_DELAY = 600_000

/** The crash loops of a model that follow each other. */
interface CrashLoops {
  count: number
  /** When the last attempt to load it again is due, in milliseconds of `Date.now()`. */
  reloadsAt: number
}

/** Loads and unloads models while a server runs. The changes of one model follow each other. */
export class ModelControl {
  readonly #registry: ModelRegistry
  readonly #source: ModelSource | undefined
  /** Whether requests of clients may load and unload. */
  readonly isExplicit: boolean
  readonly #byteLimit: number
  /** The last change of each model. */
  readonly #changes = new Map<string, Promise<unknown>>()
  /** Functions that take back what waits to be loaded again. */
  readonly #reloads = new Map<string, () => void>()
  /** The model that each pipeline which is loaded waits for. */
  readonly #loadedFirst = new Map<string, string>()
  readonly #crashLoops = new Map<string, CrashLoops>()
  #isClosed = false

  /** @param byteLimit the most bytes of the inputs of a request. */
  constructor(registry: ModelRegistry, source: ModelSource | undefined, isExplicit: boolean, byteLimit: number) {
    this.#byteLimit = byteLimit
    this.#registry = registry
    this.#source = source
    this.isExplicit = isExplicit
    for (const name of source?.names() ?? []) registry.entry(name)
  }

  /** The names of all models, loaded or not. */
  names(): ReadonlySet<string> {
    const names = new Set(Array.from(this.#registry.entries(), ([name]) => name))
    try {
      for (const name of this.#source?.names() ?? []) names.add(name)
    } catch {
      // The folder cannot be read now, and the models that were found before are in the registry.
    }
    return names
  }

  /** All models with their states. @param isOnlyReady without those that do not answer. */
  index(isOnlyReady: boolean): IndexLine[] {
    const names = new Set(this.#source?.names())
    for (const name of names) this.#registry.entry(name)
    const lines = [...this.#registry.entries()].flatMap(([name, { state, reason, versions }]) => {
      if (versions.size === 0) return names.has(name) ? [{ name, version: '', state, reason }] : []
      return [...versions].map(([version, { fault }]) =>
        fault === undefined
          ? { name, version, state, reason }
          : { name, version, state: 'UNAVAILABLE' as const, reason: fault },
      )
    })
    return isOnlyReady ? lines.filter(({ state }) => state === 'READY') : lines
  }

  /**
   * Compares the pipelines that the server has from its start with the models of their steps, which may be loaded later if clients load them.
   *
   * @throws {ModelLoadError} for the first one that does not fit.
   */
  checkPipelines(): void {
    for (const served of this.#registry.all()) {
      try {
        served.checkSteps()
      } catch (error) {
        const isLater = this.isExplicit && error instanceof ModelUnavailableError
        if (!isLater) throw loadFailure(served.model.name, undefined, error)
      }
    }
  }

  /** Warms up the models that the server has from its start. @throws (rejects with) {ModelLoadError} for the first one that fails. */
  async warmUp(): Promise<void> {
    await warmUpAll(this.#registry.all(), this.#byteLimit)
  }

  /** Loads all models of the source. @throws (rejects with) {ModelLoadError} for the first one that cannot be loaded, and if there is none. */
  async loadAll(): Promise<void> {
    const names = this.#source?.names()
    if (names?.length === 0) {
      throw new ModelLoadError('the repository must have a folder for each model, but has none', {
        hint: "Add <name>/model.json and <name>/1/<library>, or start with modelControl: 'explicit', with which clients load models later.",
      })
    }
    for (const name of names ?? []) await this.#loadOnce(name)
  }

  /**
   * Loads a model, or loads it again. The old versions answer until the new ones can, and end after their last request.
   *
   * @throws (rejects with) {ModelLoadError} if it cannot be loaded. What was loaded before stays.
   * @throws {UnsupportedError} if clients may not load models.
   */
  async load(name: string, overrides: ModelOverrides): Promise<void> {
    this.checkExplicit()
    // Names come from clients, and an unknown one must not become an entry.
    if (!this.#has(name)) throw new ModelLoadError(`failed to load '${cutOff(name)}': the repository has no such model`)
    await this.#inTurn(name, async () => {
      await this.#load(name, overrides)
      this.#crashLoops.delete(name)
    })
  }

  /** Unloads a model after its last request. @throws {ModelNotFoundError | ModelLoadError | UnsupportedError} */
  async unload(name: string): Promise<void> {
    this.checkExplicit()
    // Its files may be gone already: KServe's agent removes them first.
    if (!this.#has(name) && !this.#registry.knows(name)) {
      throw new ModelNotFoundError(`Request for unknown model: there is no model ${JSON.stringify(name.slice(0, 60))}`)
    }
    checkFromSource(name, this.#registry.entry(name), 'unload')
    await this.#inTurn(name, () => this.#unload(name, 'unloaded'))
  }

  /** The weights of the versions of a model, or undefined if requests without a version go to the highest one. @throws {ModelNotFoundError | ModelUnavailableError} */
  traffic(name: string): TrafficWeights | undefined {
    this.#registry.versions(name)
    return this.#registry.entry(name).traffic?.weights
  }

  /**
   * Distributes the next requests without a version among the versions of a model.
   *
   * @param weights undefined lets all of them go to the highest version again.
   * @throws {ArgumentError} if the weights are not valid. @throws {ModelNotFoundError | ModelUnavailableError}
   */
  setTraffic(name: string, weights: unknown): void {
    const versions = this.#registry.versions(name)
    const { versions: all } = this.#registry.entry(name)
    if (weights !== undefined)
      checkWithoutSequences(
        name,
        [...all.values()].map(({ model }) => model),
      )
    this.#registry.entry(name).traffic = weights === undefined ? undefined : new Traffic(name, weights, versions)
  }

  /** Unloads all models that the source has loaded. */
  async closeAsync(): Promise<void> {
    this.#isClosed = true
    for (const served of this.#registry.all()) served.endWarmUp()
    for (const name of this.#reloads.keys()) this.#cancelReload(name)
    const names = Array.from(this.#registry.entries(), ([name]) => name)
    await Promise.all(names.map((name) => this.#inTurn(name, () => this.#unload(name, 'the server is closed'))))
    for (const { scheduler } of this.#registry.all()) scheduler.endSequences()
  }

  #has(name: string): boolean {
    return this.#source!.names().includes(name)
  }

  /** @throws {UnsupportedError} if requests of clients may not change models. */
  checkExplicit(): void {
    if (this.isExplicit && this.#source !== undefined) return
    throw new UnsupportedError('models must not be loaded by requests, because the server was not told so', {
      hint: "Start the server with --model-control explicit, or with modelControl: 'explicit'.",
    })
  }

  #inTurn(name: string, change: () => Promise<void>): Promise<void> {
    const before = this.#changes.get(name) ?? Promise.resolve()
    const after = before.then(change, change)
    this.#changes.set(
      name,
      after.catch(() => {}),
    )
    return after
  }

  /** @param isRepeated whether a model is loaded again by the server itself, which keeps the weights of its versions. */
  async #load(name: string, overrides: ModelOverrides, isRepeated = false): Promise<void> {
    const entry = this.#registry.entry(name)
    const before = { ...entry }
    checkFromSource(name, entry, 'load')
    entry.state = 'LOADING'
    let loaded: LoadedModel | undefined
    try {
      loaded = await this.#source!.load(name, overrides)
      await this.#loadSteps(name, loaded.models)
      const versions = serve(loaded.models, entry, this.#registry)
      const traffic = trafficOf(name, [...versions.keys()], loaded, isRepeated ? entry.traffic : undefined)
      await warmUpAll([...versions.values()], this.#byteLimit)
      checkSteps(name, versions.values())
      const of = loaded
      for (const served of versions.values()) served.onFault = () => this.#reloadLater(name, of, overrides)
      // Not before: a model that crashed and cannot be loaded now is still loaded again later.
      this.#cancelReload(name)
      Object.assign(entry, { state: 'READY', reason: '', versions, loaded, traffic })
      countRestarts(entry, before)
    } catch (error) {
      await loaded?.closeAsync()
      Object.assign(entry, before, before.versions.size > 0 ? {} : { reason: 'the model cannot be loaded' })
      throw error
    }
    await retire(before)
  }

  /** Loads a model that is not loaded. */
  async #loadOnce(name: string): Promise<void> {
    const isLoaded = (): boolean => this.#registry.entry(name).loaded !== undefined
    if (!isLoaded()) await this.#inTurn(name, async () => (isLoaded() ? undefined : this.#load(name, {})))
  }

  /** Loads the models of the steps of pipelines, as far as the source has them. @throws (rejects with) {ModelLoadError} */
  async #loadSteps(name: string, models: readonly Model[]): Promise<void> {
    const steps = new Set(models.flatMap(({ graph }) => graph?.steps.map(({ model }) => model) ?? []))
    if (steps.size === 0) return
    const available = new Set(this.#source!.names())
    for (const step of steps) {
      if (!available.has(step) || this.#registry.entry(step).versions.size > 0) continue
      // Two pipelines that need each other would wait for each other.
      for (let next: string | undefined = step; next !== undefined; next = this.#loadedFirst.get(next)) {
        if (next === name) throw new ModelLoadError(`failed to load '${name}': it must not be a step of itself`)
      }
      this.#loadedFirst.set(name, step)
      try {
        await this.#loadOnce(step)
      } catch (error) {
        throw loadFailure(name, `the model ${step} of a step cannot be loaded`, error)
      } finally {
        this.#loadedFirst.delete(name)
      }
    }
  }

  #cancelReload(name: string): void {
    this.#reloads.get(name)?.()
    this.#reloads.delete(name)
  }

  /** Loads a model again whose processes crashed too often, with what its client has changed. The next crash loop does the same. */
  #reloadLater(name: string, loaded: LoadedModel, overrides: ModelOverrides): void {
    if (this.#isClosed) return
    const reloadNow = async (): Promise<void> => {
      // It was unloaded, or loaded by a client, while this waited for its turn.
      if (this.#isClosed || this.#registry.entry(name).loaded !== loaded) return
      await this.#load(name, overrides, true)
    }
    const reload = (): void => {
      this.#reloads.delete(name)
      this.#inTurn(name, reloadNow).catch(() => this.#reloadLater(name, loaded, overrides))
    }
    // Another version of the model may have crashed before.
    this.#cancelReload(name)
    this.#reloads.set(name, callLater(reload, this.#delayOf(name)))
  }

  /** The time until a model is loaded again. It grows while the model crashes again soon after that. */
  #delayOf(name: string): number {
    const now = Date.now()
    const loops = this.#crashLoops.get(name) ?? { count: 0, reloadsAt: now }
    if (now - loops.reloadsAt > LONGEST_DELAY) loops.count = 0
    // Versions that crash meanwhile are loaded with the others.
    if (loops.count === 0 || now >= loops.reloadsAt) loops.count++
    const delay = Math.min(RELOAD_DELAY * 2 ** (loops.count - 1), LONGEST_DELAY)
    loops.reloadsAt = now + delay
    this.#crashLoops.set(name, loops)
    return delay
  }

  async #unload(name: string, reason: string): Promise<void> {
    this.#cancelReload(name)
    const entry = this.#registry.entry(name)
    const before = { ...entry }
    if (before.loaded === undefined) return
    this.#crashLoops.delete(name)
    Object.assign(entry, { state: 'UNLOADING', versions: new Map(), loaded: undefined, traffic: undefined })
    countRestarts(entry, before)
    await retire(before)
    Object.assign(entry, { state: 'UNAVAILABLE', reason })
  }
}

/** @throws {ArgumentError} if requests of a sequence would go to different versions. */
function checkWithoutSequences(name: string, models: readonly Model[]): void {
  if (models.every(({ sequence }) => sequence === undefined)) return
  throw new ArgumentError(`traffic must be for a model without sequences, got ${name}`, {
    hint: 'Let clients name the version in the path of all requests of a sequence.',
  })
}

/** Compares pipelines with the models of their steps. @throws {ModelLoadError} */
function checkSteps(name: string, versions: Iterable<ServedModel>): void {
  try {
    for (const served of versions) served.checkSteps()
  } catch (error) {
    throw loadFailure(name, undefined, error)
  }
}

/** @param reason what failed; the error itself without it. */
function loadFailure(name: string, reason: string | undefined, error: unknown): unknown {
  if (!(error instanceof TenonError)) return error
  const { sentence, hint } = error
  return new ModelLoadError(`failed to load '${name}': ${reason === undefined ? sentence : `${reason}: ${sentence}`}`, {
    ...(hint === undefined ? {} : { hint }),
    cause: error,
  })
}

/** @throws {ModelLoadError} for a model that the server has had from its start. */
function checkFromSource(name: string, entry: ModelEntry, change: 'load' | 'unload'): void {
  if (isOfSource(entry)) return
  throw new ModelLoadError(
    `failed to ${change} '${name}': the server has a model of this name that is not in the repository`,
    {
      hint: 'Rename one of them, or leave it out of the option models.',
    },
  )
}

/**
 * The distribution of requests among versions that were loaded.
 *
 * @param kept the one before, which stays if the model has all versions of it.
 * @throws {ModelLoadError} if the weights of its description are not valid.
 */
function trafficOf(
  name: string,
  versions: readonly string[],
  { traffic, models }: LoadedModel,
  kept: Traffic | undefined,
): Traffic | undefined {
  if (kept !== undefined && Object.keys(kept.weights).every((version) => versions.includes(version))) return kept
  if (traffic === undefined) return undefined
  try {
    checkWithoutSequences(name, models)
    return new Traffic(name, traffic, versions)
  } catch (error) {
    throw loadFailure(name, undefined, error)
  }
}

/** Counts the restarts of what was loaded before, whose own count ends with it. */
function countRestarts(entry: ModelEntry, { loaded }: ModelEntry): void {
  entry.pastRestarts += loaded?.workerRestarts?.() ?? 0
}

/** Waits for the last request of versions that get no new ones, and closes them. */
async function retire({ versions, loaded }: ModelEntry): Promise<void> {
  // Their last requests may crash, which is nothing to load the model again for.
  for (const served of versions.values()) {
    served.onFault = undefined
    served.endWarmUp()
  }
  await Promise.all([...versions.values()].map((served) => served.whenIdle()))
  for (const { scheduler } of versions.values()) scheduler.endSequences()
  await loaded?.closeAsync()
}
