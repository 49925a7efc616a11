import { ArgumentError, TenonError } from '@tenon/core'
import { ModelLoadError } from '../errors.ts'
import type { Model } from '../model/model.ts'
import { definePipeline, type PipelineOptions } from '../pipeline/pipeline.ts'

/**
 * Reads `pipeline.json`: the options of `definePipeline()` without the name, which is that of the folder.
 *
 * @param path for messages. @throws {ModelLoadError} with the field that is missing, unknown or wrong.
 */
export function readPipelineFile(name: string, text: string, path: string): Model {
  try {
    const json: unknown = JSON.parse(text)
    if (typeof json !== 'object' || json === null || Array.isArray(json)) {
      throw new ArgumentError('the pipeline must be a JSON object', { hint: 'Write {"signature": ..., "steps": ...}.' })
    }
    if (Object.hasOwn(json, 'name')) {
      throw new ArgumentError('the pipeline must not have a name', { hint: 'The name is that of the folder.' })
    }
    // It checks all fields.
    return definePipeline({ ...json, name } as PipelineOptions<string, never>)
  } catch (error) {
    const isOwn = error instanceof TenonError
    throw new ModelLoadError(
      `failed to load '${name}': ${path}: ${isOwn ? error.sentence : (error as Error).message}`,
      {
        ...(isOwn && error.hint !== undefined ? { hint: error.hint } : {}),
        details: { path },
        cause: error,
      },
    )
  }
}
