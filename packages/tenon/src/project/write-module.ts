import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Artifact, Project } from '@tenon/build/internal'
import type { LeftOut } from '../cli/describe-library.ts'
import { projectModule } from '../pack/project-module.ts'

/** The files of a module, and the kernels that it does not export. */
export interface WrittenModule {
  /** The absolute paths of the script and of its declarations. */
  readonly files: readonly string[]
  readonly left: readonly LeftOut[]
}

/**
 * Writes `dist/index.js` and `dist/index.d.ts` of a project: the functions of its libraries, with their types. The module opens the
 * libraries in `build`. Files that would not change are left as they are.
 *
 * @param artifacts the built libraries, for any platform
 * @throws {InputError} if no library describes a kernel, or two libraries have kernels of the same name
 */
export function writeProjectModule({ directory }: Project, artifacts: readonly Artifact[]): WrittenModule {
  const { script, declarations, left } = projectModule(
    artifacts.map(({ target: { name }, path }) => ({
      name,
      path,
      place: {
        imports: `import { projectLibrary as $projectLibrary } from 'tenon/project'`,
        path: `$projectLibrary(import.meta.url, '${name}')`,
        changes: true,
      },
    })),
  )
  const texts = { 'index.js': script, 'index.d.ts': declarations }
  mkdirSync(join(directory, 'dist'), { recursive: true })
  const files = Object.entries(texts).map(([name, text]) => replaceFile(join(directory, 'dist', name), text))
  return { files, left }
}

/** A program that reads the file at the same time finds the old or the new one. */
function replaceFile(path: string, text: string): string {
  if (existsSync(path) && readFileSync(path, 'utf8') === text) return path
  const temporary = `${path}.${process.pid}`
  writeFileSync(temporary, text)
  renameSync(temporary, path)
  return path
}
