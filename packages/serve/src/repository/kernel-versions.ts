import { TenonError } from '@tenon/core'
import { join } from 'node:path'
import { Library, type IsolatedLibrary, type KernelOptions } from 'tenon'
import { ModelLoadError } from '../errors.ts'
import { defineModel, type Model, type ModelOptions } from '../model/model.ts'
import { foldersIn } from './folders-in.ts'
import type { ModelFile } from './model-file.ts'
import type { LoadedModel } from './model-source.ts'
import { readWarmUpFiles } from './warm-up-files.ts'

/** One version of a model, and the library of its kernel. */
interface Opened {
  readonly model: Model
  readonly library: IsolatedLibrary
}

/**
 * Opens the versions of a kernel that its `model.json` chooses.
 *
 * @param directory has a folder for each version. @throws (rejects with) {ModelLoadError} Nothing stays open then.
 */
export async function openKernels(name: string, directory: string, file: ModelFile): Promise<LoadedModel> {
  const found = foldersIn(directory).filter((folder) => /^\d{1,19}$/.test(folder))
  if (found.length === 0) {
    throw new ModelLoadError(`${directory} must have a folder for each version, but has none`, {
      hint: `Put ${file.library} into ${join(directory, '1')}.`,
    })
  }
  const { traffic, warmUp } = file
  const described = warmUp === undefined ? file : { ...file, warmUp: readWarmUpFiles(warmUp, directory) }
  const opened: Opened[] = []
  const closeAsync = async (): Promise<void> => {
    await Promise.all(opened.map(({ library }) => library.closeAsync()))
  }
  try {
    for (const version of chooseVersions(found, file.versionPolicy, directory))
      opened.push(await openKernel(name, version, join(directory, version, file.library), described))
  } catch (error) {
    await closeAsync()
    throw error
  }
  return {
    models: opened.map(({ model }) => model),
    ...(traffic === undefined ? {} : { traffic }),
    workerRestarts: () => opened.reduce((sum, { library }) => sum + library.metrics().restarts, 0),
    closeAsync,
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

/** The fields of `model.json` that are options of a model. */
const MODEL_FIELDS = [
  'attributes',
  'batching',
  'deadline',
  'idempotent',
  'maxBatchSize',
  'signature',
  'warmUp',
] as const satisfies readonly (keyof ModelFile)[]

/** Some fields of an object, as far as it has them. */
function pick<From extends object, const Name extends keyof From>(
  from: From,
  names: readonly Name[],
): Partial<Pick<From, Name>> {
  const picked: Partial<Pick<From, Name>> = {}
  for (const name of names) if (from[name] !== undefined) picked[name] = from[name]
  return picked
}

async function openKernel(name: string, version: string, path: string, file: ModelFile): Promise<Opened> {
  const { kernel, instances = 1, loadDeadline = 30_000 } = file
  let library: IsolatedLibrary | undefined
  try {
    library = await Library.isolate(path, {
      workers: instances,
      restart: { limit: 5, window: 60_000, backoff: 30_000 },
      deadline: Number.POSITIVE_INFINITY,
      ...pick(file, ['guard', 'memory', 'recycle']),
    })
    // First, because the kernels of some libraries are known only when they are loaded.
    await library.load({ deadline: loadDeadline })
    const model = defineModel({
      name,
      version,
      kernel: library.kernel(kernel, kernelOptions(library, file)),
      memory: library.memory,
      instances,
      // It checks the warm-up requests.
      ...(pick(file, MODEL_FIELDS) as object as Partial<ModelOptions>),
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
