import { TenonError } from '@tenon/core'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Library, type IsolatedLibrary, type KernelOptions } from 'tenon'
import { ModelLoadError } from '../errors.ts'
import { defineModel, isModel, type Model } from '../model/model.ts'
import { readModelFile, type ModelFile } from './model-file.ts'
import type { LoadedModel, ModelOverrides, ModelSource } from './model-source.ts'

/** The files with a model in TypeScript or JavaScript. They are code of the server, and can do what it can. */
const MODULES = ['model.ts', 'model.mts', 'model.js', 'model.mjs']

/** The description of a model in JSON. */
const MODEL_FILE = 'model.json'

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
   * @throws {ModelLoadError} if it cannot be read, or has no folder for a model.
   */
  static open(directory: string, options: { readonly name?: string } = {}): ModelRepository {
    const path = resolve(directory)
    const isOne = [...MODULES, MODEL_FILE].some((file) => existsSync(join(path, file)))
    const repository = new ModelRepository(path, isOne ? (options.name ?? basename(path)) : undefined)
    if (repository.names().length > 0) return repository
    throw new ModelLoadError(`${directory} must have a folder for each model, but has none`, {
      hint: `Add ${join(directory, '<name>/model.json')} and ${join(directory, '<name>/1/<library>')}.`,
    })
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
    const opened: Opened[] = []
    const closeAsync = async (): Promise<void> => {
      await Promise.all(opened.map(({ library }) => library?.closeAsync()))
    }
    try {
      for await (const one of openVersions(name, this.#folderOf(name), overrides)) opened.push(one)
      const workerRestarts = (): number =>
        opened.reduce((sum, { library }) => sum + (library?.metrics().restarts ?? 0), 0)
      return { models: opened.map(({ model }) => model), workerRestarts, closeAsync }
    } catch (error) {
      await closeAsync()
      throw error
    }
  }

  #folderOf(name: string): string {
    return this.#only === undefined ? join(this.#directory, name) : this.#directory
  }
}

/** One version of a model, and the library of its kernel. */
interface Opened {
  readonly model: Model
  readonly library?: IsolatedLibrary
}

async function* openVersions(name: string, directory: string, overrides: ModelOverrides): AsyncGenerator<Opened> {
  const module = MODULES.find((file) => existsSync(join(directory, file)))
  const path = join(directory, MODEL_FILE)
  if (module !== undefined) yield { model: await importModel(name, join(directory, module)) }
  else if (existsSync(path)) {
    const file = { ...readModelFile(readFileSync(path, 'utf8'), path), ...overrides }
    const found = foldersIn(directory).filter((folder) => /^\d{1,19}$/.test(folder))
    if (found.length === 0) {
      throw new ModelLoadError(`${directory} must have a folder for each version, but has none`, {
        hint: `Put ${file.library} into ${join(directory, '1')}.`,
      })
    }
    for (const version of chooseVersions(found, file.versionPolicy, directory))
      yield openKernel(name, version, join(directory, version, file.library), file)
  } else {
    throw new ModelLoadError(`${directory} must contain ${MODEL_FILE} or one of ${MODULES.join(', ')}`, {
      hint: 'Serve a folder that has nothing but the folders of models.',
    })
  }
}

/** @throws {ModelLoadError} if a version that the policy lists has no folder. */
function chooseVersions(
  found: readonly string[],
  policy: ModelFile['versionPolicy'] = 'all',
  directory: string,
): readonly string[] {
  if (policy === 'all') return found
  if ('latest' in policy) {
    return found.toSorted((a, b) => (BigInt(a) < BigInt(b) ? -1 : 1)).slice(-policy.latest)
  }
  const missing = policy.specific.find((version) => !found.includes(version))
  if (missing === undefined) return [...new Set(policy.specific)]
  throw new ModelLoadError(
    `${directory} must have a folder for the version ${missing} of versionPolicy, but has none`,
    {
      hint: `Its versions are ${found.join(', ')}.`,
    },
  )
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

async function openKernel(name: string, version: string, path: string, file: ModelFile): Promise<Opened> {
  const { library: _, kernel, signature, convention: __, versionPolicy: ___, attributes, instances = 1, ...rest } = file
  const { memory, guard, recycle, loadDeadline = 30_000, ...others } = rest
  let library: IsolatedLibrary | undefined
  try {
    library = await Library.isolate(path, {
      workers: instances,
      restart: { limit: 5, window: 60_000, backoff: 30_000 },
      deadline: Number.POSITIVE_INFINITY,
      ...(memory === undefined ? {} : { memory }),
      ...(guard === undefined ? {} : { guard }),
      ...(recycle === undefined ? {} : { recycle }),
    })
    // First, because the kernels of some libraries are known only when they are loaded.
    await library.load({ deadline: loadDeadline })
    const model = defineModel({
      name,
      version,
      kernel: library.kernel(kernel, kernelOptions(library, file)),
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

/** The statements of `model.json` about a kernel that its library does not describe. */
function kernelOptions(library: IsolatedLibrary, { kernel, signature, convention }: ModelFile): KernelOptions {
  const own = library.kernels().find(({ name }) => name === kernel)
  const isDescribed = own !== undefined && own.source !== 'none'
  return {
    ...(signature === undefined || isDescribed ? {} : { signature }),
    ...(convention === undefined ? {} : { convention }),
  }
}

/** @throws {ModelLoadError} if the folder cannot be read. */
function foldersIn(directory: string): string[] {
  try {
    return readdirSync(directory)
      .filter((name) => !name.startsWith('.') && statSync(join(directory, name)).isDirectory())
      .toSorted()
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT'
    throw new ModelLoadError(`${directory} must be a folder with models${isMissing ? ', but does not exist' : ''}`, {
      hint: 'Check the path.',
      cause: error,
    })
  }
}
