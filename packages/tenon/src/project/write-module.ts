import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { hostPlatformName } from '@tenon/binary'
import type { Artifact, PlatformName, Project } from '@tenon/build/internal'
import { bindingModule } from '../binding/binding-module.ts'
import { projectModule, type ProjectModule } from '../pack/project-module.ts'

/** The files of a module, the kernels that it does not export, and what is bound of headers. */
export interface WrittenModule extends Pick<ProjectModule, 'left' | 'binding'> {
  /** The absolute paths of the script and of its declarations. */
  readonly files: readonly string[]
}

/**
 * Writes `dist/index.js` and `dist/index.d.ts` of a project: the functions of its libraries, with their types. The module opens the
 * libraries in `build`. Files that would not change are left as they are.
 *
 * @param artifacts the built libraries for this machine
 * @throws {InputError} if no library describes a kernel, or two libraries have kernels of the same name
 * @throws {ToolError} if the headers of a binding, or their annotations, cannot be read
 */
export async function writeProjectModule(project: Project, artifacts: readonly Artifact[]): Promise<WrittenModule> {
  const { directory, config } = project
  const libraries = artifacts.map(({ target: { name }, path }) => ({
    name,
    path,
    place: {
      imports: `import { projectLibrary as $$projectLibrary } from 'tenon/project'`,
      path: `$$projectLibrary(import.meta.url, '${name}')`,
      changes: true,
    },
  }))
  const { script, declarations, left, binding } =
    config.binding === undefined
      ? projectModule(libraries)
      : await bindingModule(project, config.binding, [{ platform: hostPlatformName() as PlatformName, libraries }])
  const texts = { 'index.js': script, 'index.d.ts': declarations }
  mkdirSync(join(directory, 'dist'), { recursive: true })
  const files = Object.entries(texts).map(([name, text]) => replaceFile(join(directory, 'dist', name), text))
  return { files, left, ...(binding && { binding }) }
}

/** A program that reads the file at the same time finds the old or the new one. */
function replaceFile(path: string, text: string): string {
  if (existsSync(path) && readFileSync(path, 'utf8') === text) return path
  const temporary = `${path}.${process.pid}`
  writeFileSync(temporary, text)
  renameSync(temporary, path)
  return path
}
