import { TenonError } from '@tenon/core'
import { join } from 'node:path'
import { Library, type IsolatedLibrary, type KernelOptions } from 'tenon'
import { ModelLoadError } from '../errors.ts'
import { defineModel, type Model } from '../model/model.ts'
import { foldersIn } from './folders-in.ts'
import type { ModelFile } from './model-file.ts'
import type { LoadedModel } from './model-source.ts'

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
  const opened: Opened[] = []
  const closeAsync = async (): Promise<void> => {
    await Promise.all(opened.map(({ library }) => library.closeAsync()))
  }
  try {
    for (const version of chooseVersions(found, file.versionPolicy, directory))
      opened.push(await openKernel(name, version, join(directory, version, file.library), file))
  } catch (error) {
    await closeAsync()
    throw error
  }
  const { traffic } = file
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

async function openKernel(name: string, version: string, path: string, file: ModelFile): Promise<Opened> {
  const {
    library: _,
    kernel,
    signature,
    convention: __,
    versionPolicy: ___,
    traffic: ____,
    attributes,
    instances = 1,
    ...rest
  } = file
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
