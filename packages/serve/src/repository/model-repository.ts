import { TenonError } from '@tenon/core'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Library, type IsolatedLibrary } from 'tenon'
import { ModelLoadError } from '../errors.ts'
import { defineModel, isModel, type Model } from '../model/model.ts'
import { readModelFile, type ModelFile } from './model-file.ts'

/** The files with a model in TypeScript or JavaScript. They are code of the server, and can do what it can. */
const MODULES = ['model.ts', 'model.mts', 'model.js', 'model.mjs']

/**
 * The models of a folder: `models/<name>/model.json` with a folder for each version, which has the library, or
 * `models/<name>/model.ts`, whose default export is a model.
 */
export class ModelRepository implements AsyncDisposable {
  readonly models: readonly Model[]
  readonly #libraries: readonly IsolatedLibrary[]

  private constructor(models: readonly Model[], libraries: readonly IsolatedLibrary[]) {
    this.models = models
    this.#libraries = libraries
  }

  /** Loads all models. @throws (rejects with) {ModelLoadError} for the first one that cannot be loaded. Nothing stays open then. */
  static async load(directory: string): Promise<ModelRepository> {
    const models: Model[] = []
    const libraries: IsolatedLibrary[] = []
    try {
      for (const name of foldersIn(resolve(directory))) {
        for await (const { model, library } of loadModel(name, join(resolve(directory), name))) {
          models.push(model)
          if (library !== undefined) libraries.push(library)
        }
      }
      if (models.length === 0) {
        throw new ModelLoadError(`${directory} must have a folder for each model, but has none`, {
          hint: 'Add models/<name>/model.json and models/<name>/1/<library>.',
        })
      }
      return new ModelRepository(models, libraries)
    } catch (error) {
      await Promise.all(libraries.map((library) => library.closeAsync()))
      throw error
    }
  }

  /** Closes the libraries of all models. */
  async closeAsync(): Promise<void> {
    await Promise.all(this.#libraries.map((library) => library.closeAsync()))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.closeAsync()
  }
}

interface Loaded {
  readonly model: Model
  readonly library?: IsolatedLibrary
}

async function* loadModel(name: string, directory: string): AsyncGenerator<Loaded> {
  const module = MODULES.find((file) => existsSync(join(directory, file)))
  const path = join(directory, 'model.json')
  if (module !== undefined) yield { model: await importModel(name, join(directory, module)) }
  else if (existsSync(path)) {
    const file = readModelFile(readFileSync(path, 'utf8'), path)
    const versions = foldersIn(directory).filter((folder) => /^\d{1,19}$/.test(folder))
    if (versions.length === 0) {
      throw new ModelLoadError(`${directory} must have a folder for each version, but has none`, {
        hint: `Put ${file.library} into ${join(directory, '1')}.`,
      })
    }
    for (const version of versions) yield openKernel(name, version, join(directory, version, file.library), file)
  } else {
    throw new ModelLoadError(`${directory} must contain model.json or one of ${MODULES.join(', ')}`)
  }
}

async function importModel(name: string, path: string): Promise<Model> {
  let model: unknown
  try {
    model = ((await import(pathToFileURL(path).href)) as { default?: unknown }).default
  } catch (error) {
    throw new ModelLoadError(`failed to load '${name}': ${path} cannot be imported`, { cause: error })
  }
  if (isModel(model) && model.name === name) return model
  throw new ModelLoadError(`failed to load '${name}': the default export of ${path} must be a model with this name`, {
    hint: `Write export default defineModel({ name: '${name}', ... }).`,
  })
}

async function openKernel(name: string, version: string, path: string, file: ModelFile): Promise<Loaded> {
  const { library: _, kernel, signature, attributes, memory, guard, instances = 1, ...others } = file
  let library: IsolatedLibrary | undefined
  try {
    library = await Library.isolate(path, {
      workers: instances,
      restart: { limit: 5, window: 60_000, backoff: 30_000 },
      deadline: Number.POSITIVE_INFINITY,
      ...(memory === undefined ? {} : { memory }),
      ...(guard === undefined ? {} : { guard }),
    })
    const model = defineModel({
      name,
      version,
      kernel: library.kernel(kernel),
      memory: library.memory,
      instances,
      ...(attributes === undefined ? {} : { attributes }),
      ...(signature === undefined ? {} : { signature }),
      ...others,
    })
    return { model, library }
  } catch (error) {
    await library?.closeAsync()
    if (!(error instanceof TenonError)) throw error
    const hint = error.hint === undefined ? {} : { hint: error.hint }
    throw new ModelLoadError(`failed to load '${name}': ${error.sentence}`, { ...hint, cause: error })
  }
}

/** @throws {ModelLoadError} if the folder cannot be read. */
function foldersIn(directory: string): string[] {
  try {
    return readdirSync(directory)
      .filter((name) => !name.startsWith('.') && statSync(join(directory, name)).isDirectory())
      .toSorted()
  } catch (error) {
    throw new ModelLoadError(`${directory} must be a folder with models`, { cause: error })
  }
}
