import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Binding, KernelPackage, PlatformName } from '@tenon/build/internal'
import { describeLibrary } from '../cli/describe-library.ts'
import type { BuiltLibrary, ProjectModule } from '../pack/project-module.ts'
import { exportsOf, librariesFor } from './bound-libraries.ts'
import { declarationsOf, reportLines, summaryOf } from './describe-models.ts'
import { loadBindTool } from './load-bind-tool.ts'
import { type BindingSource, readModels } from './read-models.ts'

/** The built libraries of a project for a platform. */
export interface BoundPlatform {
  readonly platform: PlatformName
  readonly libraries: readonly BuiltLibrary[]
}

/**
 * Writes the module of a project that binds a C library: what `tenon bind` writes for its headers, on each platform.
 *
 * @throws {UsageError} if `@tenon/bind` is not installed
 * @throws {ToolError} if the compiler refuses the headers, a declaration cannot be read, or an annotation does not fit
 * @throws {InputError} if a library of this system is missing
 */
export async function bindingModule(
  { directory }: KernelPackage,
  binding: Binding,
  platforms: readonly [BoundPlatform, ...BoundPlatform[]],
): Promise<ProjectModule> {
  const tool = await loadBindTool('the binding in tenon.config.ts')
  const all = platforms.map(({ platform, libraries }) => ({
    platform,
    libraries,
    system: librariesFor(binding.systemLibraries ?? [], platform),
  }))
  const [first, ...rest] = await readModels(
    tool,
    sourceOf(directory, binding),
    all.map(({ platform, libraries, system }) => ({
      target: platform,
      libraries: [...libraries.map(({ path }) => path), ...system].map((file) => exportsOf(file, platform)),
    })),
  )
  const models = [first!, ...rest] as const
  const { code, declarations } = tool.writeModule(models, {
    libraries: Object.fromEntries(
      all.map(({ platform, libraries, system }) => [platform, [...libraries.map(({ place }) => place), ...system]]),
    ),
    from: 'tenon',
  })
  return {
    script: code,
    declarations,
    names: [...declarationsOf(declarations).keys()],
    left: kernelsIn(platforms[0].libraries),
    binding: {
      summary: models.map((model) => `${models.length > 1 ? `${model.target}: ` : ''}${summaryOf(model)}`),
      report: reportLines(models),
    },
  }
}

function sourceOf(directory: string, binding: Binding): BindingSource {
  const { headers, annotations, includes = [], defines = {}, ...source } = binding
  return {
    ...source,
    // The others are those that the compiler searches.
    headers: headers.map((header) => (existsSync(join(directory, header)) ? join(directory, header) : header)),
    annotations: annotations && join(directory, annotations),
    flags: [
      ...includes.flatMap((folder) => ['-I', join(directory, folder)]),
      ...Object.entries(defines).map(([name, value]) => `-D${name}=${value}`),
    ],
  }
}

/** The kernels of libraries, which the module does not export. */
function kernelsIn(libraries: readonly BuiltLibrary[]): ProjectModule['left'] {
  const names = libraries.flatMap(({ path }) => {
    const { kernels, functions } = describeLibrary(path, { registered: false, mayBeEmpty: true }).exported
    return [...kernels, ...functions].map(({ name }) => name)
  })
  return names.length === 0
    ? []
    : [{ reason: 'the package exports the functions of its binding, and no kernels', names }]
}
