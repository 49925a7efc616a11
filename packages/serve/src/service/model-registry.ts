import { ArgumentError } from '@tenon/core'
import { ModelNotFoundError } from '../errors.ts'
import type { Model } from '../model/model.ts'
import { ServedModel } from './served-model.ts'

/** The models of a server by name and version. */
export class ModelRegistry {
  readonly #models = new Map<string, Map<string, ServedModel>>()

  /** @throws {ArgumentError} if two models have the same name and version. */
  constructor(models: readonly Model[]) {
    for (const model of models) {
      const { name, version } = model
      const versions = this.#models.get(name) ?? new Map<string, ServedModel>()
      if (versions.has(version)) {
        throw new ArgumentError(`models must have each name and version once, got version ${version} of ${name} twice`)
      }
      versions.set(version, new ServedModel(model))
      this.#models.set(name, versions)
    }
  }

  /** All models in the order in which they were given. */
  all(): ServedModel[] {
    return [...this.#models.values()].flatMap((versions) => [...versions.values()])
  }

  /** The versions of a model, the lowest first. @throws {ModelNotFoundError} */
  versions(name: string): string[] {
    return [...this.#versionsOf(name).keys()].toSorted(compareVersions)
  }

  /** The model of a version, or that of the highest version. @throws {ModelNotFoundError} */
  find(name: string, version?: string): ServedModel {
    const versions = this.#versionsOf(name)
    const found = versions.get(version ?? this.versions(name).at(-1)!)
    if (found !== undefined) return found
    throw new ModelNotFoundError(
      `Request for unknown model: the model ${name} has no version ${JSON.stringify(version)}`,
      {
        hint: `Its versions are ${this.versions(name).join(', ')}.`,
      },
    )
  }

  #versionsOf(name: string): Map<string, ServedModel> {
    const versions = this.#models.get(name)
    if (versions !== undefined) return versions
    throw new ModelNotFoundError(`Request for unknown model: there is no model ${JSON.stringify(name.slice(0, 60))}`)
  }
}

const compareVersions = (a: string, b: string): number => (BigInt(a) < BigInt(b) ? -1 : 1)
