import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Annotations, LibraryExports, Model, ReadOptions, ShimLibrary } from '@tenon/bind'
import { showProgress } from '../cli/progress.ts'
import type { BindTool } from './load-bind-tool.ts'

/** Headers, and what is bound of them. */
export interface BindingSource extends Pick<ReadOptions, 'flags' | 'include' | 'exclude' | 'headerFiles'> {
  /** Paths, or names that the compiler searches in its directories. */
  readonly headers: readonly string[]
  /** The path of the file of annotations. */
  readonly annotations?: string | undefined
  readonly stripPrefixes?: readonly string[] | undefined
}

/** A platform for which headers are read, by default this one with the name that Node.js gives it. */
export interface BindingTarget {
  readonly target?: ReadOptions['target']
  readonly libraries: readonly LibraryExports[]
  readonly shim?: { readonly libraries: readonly ShimLibrary[] } | undefined
}

/**
 * Reads the headers of a binding for each platform, and adds its annotations and names.
 *
 * @throws {ToolError} if the compiler refuses the headers, a declaration cannot be read, or an annotation does not fit
 */
export async function readModels(
  tool: BindTool,
  source: BindingSource,
  targets: readonly BindingTarget[],
): Promise<Model[]> {
  const { headers, flags = [], include = [], exclude = [], headerFiles = [], stripPrefixes = [] } = source
  const annotations = source.annotations === undefined ? undefined : tool.readAnnotations(source.annotations)
  const models: Model[] = []
  for (const { target, libraries, shim } of targets) {
    const progress = showProgress(`reading the headers${target === undefined ? '' : ` for ${target}`}`)
    const model = await tool
      .readModel(headers.map(headerName), {
        ...(target !== undefined && { target }),
        flags,
        libraries,
        include,
        exclude,
        headerFiles,
        macros: annotations?.macros ?? {},
        versions: annotations === undefined ? {} : tool.symbolVersions(annotations),
        ...(shim && { shim }),
      })
      .finally(() => progress.end())
    models.push(named(tool, annotated(tool, model, annotations), stripPrefixes))
  }
  return models
}

const annotated = (tool: BindTool, model: Model, annotations: Annotations | undefined): Model =>
  annotations === undefined ? model : tool.annotate(model, annotations)

const named = (tool: BindTool, model: Model, prefixes: readonly string[]): Model =>
  prefixes.length === 0 ? model : tool.stripPrefixes(model, prefixes)

/** A file, or a header that the compiler searches in its directories. */
const headerName = (header: string): string => (existsSync(header) ? resolve(header) : `<${header}>`)
