import { existsSync, readFileSync, statSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ModelLoadError } from '../errors.ts'
import { isModel, type Model } from '../model/model.ts'
import { foldersIn } from './folders-in.ts'
import { openKernels } from './kernel-versions.ts'
import { readModelFile } from './model-file.ts'
import type { LoadedModel, ModelOverrides, ModelSource } from './model-source.ts'
import { readPipelineFile } from './pipeline-file.ts'

/** The files with a model in TypeScript or JavaScript. They are code of the server, and can do what it can. */
const MODULES = ['model.ts', 'model.mts', 'model.js', 'model.mjs']

/** The description of a model in JSON. */
const MODEL_FILE = 'model.json'

/** The description of a pipeline in JSON. */
const PIPELINE_FILE = 'pipeline.json'

/**
 * The models of a folder: `models/<name>/model.json` with a folder for each version, which has the library, or
 * `models/<name>/model.ts`, whose default export is a model.
 *
 * @example
 * const repository = ModelRepository.open(folder)
 * repository.names() // ['softmax']
 */
export class ModelRepository implements ModelSource {
  readonly #directory: string
  /** The name of the only model, whose files are in the folder itself. */
  readonly #only: string | undefined

  private constructor(directory: string, only: string | undefined) {
    this.#directory = directory
    this.#only = only
  }

  /**
   * Opens a folder of models, or the folder of one model.
   *
   * @param options `name` is the name of the model in a folder of one model. Default: the name of the folder.
   * @throws {ModelLoadError} if it cannot be read.
   */
  static open(directory: string, options: { readonly name?: string } = {}): ModelRepository {
    const path = resolve(directory)
    const isOne = [...MODULES, MODEL_FILE].some((file) => existsSync(join(path, file)))
    const repository = new ModelRepository(path, isOne ? (options.name ?? basename(path)) : undefined)
    repository.names()
    return repository
  }

  /** The names of all models, in alphabetical order. @throws {ModelLoadError} if the folder cannot be read. */
  names(): readonly string[] {
    return this.#only === undefined ? foldersIn(this.#directory) : [this.#only]
  }

  /**
   * Loads all versions of a model.
   *
   * @param overrides replace fields of `model.json`. @throws (rejects with) {ModelLoadError} with the file and the field that is wrong.
   */
  async load(name: string, overrides: ModelOverrides = {}): Promise<LoadedModel> {
    // Names come from clients, and must not lead out of the folder.
    if (!this.names().includes(name)) {
      throw new ModelLoadError(`failed to load '${name}': the repository has no such model`)
    }
    const directory = this.#folderOf(name)
    const module = MODULES.find((file) => existsSync(join(directory, file)))
    if (module !== undefined) {
      return { models: [await importModel(name, join(directory, module))], closeAsync: async () => {} }
    }
    const pipeline = join(directory, PIPELINE_FILE)
    if (existsSync(pipeline)) {
      const model = readPipelineFile(name, readFileSync(pipeline, 'utf8'), pipeline)
      return { models: [model], closeAsync: async () => {} }
    }
    const path = join(directory, MODEL_FILE)
    if (existsSync(path)) {
      const file = { ...readModelFile(readFileSync(path, 'utf8'), path), ...overrides }
      return openKernels(name, directory, file)
    }
    throw new ModelLoadError(
      `${directory} must contain ${MODEL_FILE}, ${PIPELINE_FILE} or one of ${MODULES.join(', ')}`,
      {
        hint: 'Serve a folder that has nothing but the folders of models.',
      },
    )
  }

  #folderOf(name: string): string {
    return this.#only === undefined ? join(this.#directory, name) : this.#directory
  }
}

async function importModel(name: string, path: string): Promise<Model> {
  let model: unknown
  try {
    // Node.js keeps what it imported, so an edited file needs another URL. The modules that it imports stay as they are.
    const url = `${pathToFileURL(path).href}?${statSync(path).mtimeMs}`
    model = ((await import(url)) as { default?: unknown }).default
  } catch (error) {
    const reason = error instanceof Error ? error.message.split('\n')[0] : String(error)
    throw new ModelLoadError(`failed to load '${name}': ${path} cannot be imported: ${reason}`, { cause: error })
  }
  if (isModel(model) && model.name === name) return model
  throw new ModelLoadError(`failed to load '${name}': the default export of ${path} must be a model with this name`, {
    hint: `Write export default defineModel({ name: '${name}', ... }).`,
  })
}
