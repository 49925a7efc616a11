import { globSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

import { packageDirectory } from '../package-directory.ts'
import { ToolError } from '../tool-error.ts'
import { checkPackageName } from './check-config.ts'

/** What {@link newProject} makes. */
export interface NewProjectOptions {
  /** The name of the npm package, such as `my-kernels` or `@me/my-kernels`. */
  readonly name: string
  /** The version of `tenon` on which the project depends. */
  readonly tenon: string
  /** The content of the package. By default a kernel. */
  readonly kind?: 'kernel' | 'binding'
  /** The directory to make. By default the last part of the name, in the working directory. */
  readonly directory?: string
}

/** The directory and the files that {@link newProject} has made. */
export interface NewProject {
  /** The absolute path. */
  readonly directory: string
  /** The paths of the files relative to the directory, sorted. */
  readonly files: readonly string[]
}

/**
 * Makes a package with one kernel in C, its test and its configuration, or with a C library that `tenon bind` binds.
 *
 * @throws {ToolError} if the name is not that of a package, or the directory has files already
 */
export function newProject({ name, tenon, kind = 'kernel', directory: given }: NewProjectOptions): NewProject {
  const templates = join(packageDirectory, 'templates', kind)
  checkPackageName(name)
  const last = name.split('/').at(-1)!
  const directory = resolve(given ?? last)
  refuseFiles(directory)
  const library = last.replaceAll(/[^a-z\d]+/g, '_').replace(/^(?=\d)/, 'kernels_')
  const words: Readonly<Record<string, string>> = { name, library, tenon, build: ownVersion() }
  const files = globSync('**/*.template', { cwd: templates }).map((template) => {
    const text = readFileSync(join(templates, template), 'utf8')
    // npm leaves files named .gitignore out of packages.
    const path = template
      .replaceAll('\\', '/')
      .replace(/\.template$/, '')
      .replace(/^gitignore$/, '.gitignore')
    mkdirSync(dirname(join(directory, path)), { recursive: true })
    writeFileSync(
      join(directory, path),
      text.replaceAll(/\{\{(\w+)\}\}/g, (_, word: string) => words[word]!),
    )
    return path
  })
  return { directory, files: files.toSorted() }
}

/** A folder of a new repository is no reason to refuse. */
function refuseFiles(directory: string): void {
  try {
    const files = readdirSync(directory).filter((file) => file !== '.git')
    if (files.length === 0) return
    throw new ToolError(
      `${directory} must be empty or absent, but contains ${files.slice(0, 3).join(', ')}.\nChoose another name.`,
    )
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return
    if (code === 'ENOTDIR') throw new ToolError(`${directory} is a file.\nChoose another name.`)
    throw error
  }
}

function ownVersion(): string {
  return (JSON.parse(readFileSync(join(packageDirectory, 'package.json'), 'utf8')) as { version: string }).version
}
