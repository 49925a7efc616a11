import { createHash } from 'node:crypto'
import { globSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { Project } from '@tenon/build'
import type { BuildTool } from '../cli/build-tool.ts'
import type { LibraryPlace } from '../cli/generate-types.ts'
import { InputError } from '../cli/input-error.ts'
import { quote } from '../registered/quote.ts'
import type { FoundBuilds, PlatformBuild } from './find-builds.ts'
import { mainManifest, platformManifest, type Manifest, type ManifestSource } from './manifests.ts'
import { projectModule, type ProjectModule } from './project-module.ts'
import { writeTarball, type PackedFile } from './tarball.ts'

/** The folder of the tarballs, relative to the project. */
export const packedDirectory = 'dist/npm'

/** The file with the SHA-256 digests of the libraries of a platform package. */
export const digestsPath = 'lib/SHA256SUMS.json'

/** A package that was written. */
export interface PackedPackage {
  readonly name: string
  /** The absolute path of the tarball. */
  readonly path: string
  readonly byteSize: number
  readonly files: readonly string[]
}

/** The packages of a project, the main one first, and its module. */
export interface PackedProject {
  readonly packages: readonly PackedPackage[]
  readonly module: ProjectModule
}

/**
 * Writes the npm packages of a project to `dist/npm`, in place of those that are there: one with the module and its types, and one
 * for each platform with the libraries.
 *
 * @throws {InputError} if a file is missing or not valid, or no library describes a kernel
 */
export function packProject(tool: BuildTool, project: Project, { builds }: FoundBuilds): PackedProject {
  const { directory, name, version } = project
  const platforms = builds.map(({ platform }) => platform)
  const source: ManifestSource = { name, version, project: readManifest(directory), platforms }
  const described = builds.find(({ platform }) => platform === tool.hostPlatform) ?? builds[0]!
  const module = projectModule(
    described.libraries.map((library) => ({ ...library, place: packagedPlace(source, library.name) })),
  )
  const documents = readDocuments(directory)
  const packages = [
    packageOf(mainManifest(source), [
      ...documents,
      text('index.d.ts', module.declarations),
      text('index.js', module.script),
    ]),
    ...builds.map((build) =>
      packageOf(platformManifest(source, build.platform), [
        ...documents.filter(({ path }) => path !== 'README.md'),
        text('README.md', platformReadme(name, build)),
        ...libraryFiles(build),
      ]),
    ),
  ]
  return { packages: writePackages(join(directory, packedDirectory), packages), module }
}

const text = (path: string, content: string): PackedFile => ({ path, bytes: Buffer.from(content) })

/** The place of a library in the platform package that fits the process. */
function packagedPlace({ name, version, platforms }: ManifestSource, library: string): LibraryPlace {
  const names = platforms.map((platform) => quote(platform.name)).join(', ')
  const options = `package: ${quote(name)}, version: ${quote(version)}, platforms: [${names}], library: ${quote(library)}`
  return {
    imports: `import { platformLibrary as $platformLibrary } from 'tenon/core'`,
    path: `$platformLibrary(import.meta.url, { ${options} })`,
  }
}

function readManifest(directory: string): Manifest {
  return JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as Manifest
}

/** The README, which npm shows, and the license of a project. */
function readDocuments(directory: string): PackedFile[] {
  const names = globSync(['README.md', 'LICENSE', 'LICENSE.md', 'LICENSE.txt', 'NOTICE'], { cwd: directory }).toSorted()
  if (!names.includes('README.md')) {
    throw new InputError(`${directory} has no README.md, which npm shows for the package`, 'Write one.')
  }
  return names.map((path) => ({ path, bytes: readFileSync(join(directory, path)) }))
}

const platformReadme = (name: string, { platform, libraries }: PlatformBuild): string =>
  `# ${name}-${platform.name}

The libraries of \`${name}\` for ${platform.name}: ${libraries.map((library) => library.name).join(', ')}. Install \`${name}\`, which depends on
this package.
`

function libraryFiles({ libraries }: PlatformBuild): PackedFile[] {
  const files = libraries.map(({ path }) => ({ path: `lib/${basename(path)}`, bytes: readFileSync(path) }))
  const digests = Object.fromEntries(files.map(({ path, bytes }) => [basename(path), sha256(bytes)]))
  return [...files, text(digestsPath, `${JSON.stringify(digests, undefined, 2)}\n`)]
}

/** The SHA-256 digest of bytes in hexadecimal digits. */
export const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

interface UnwrittenPackage {
  readonly name: string
  readonly fileName: string
  readonly files: readonly PackedFile[]
}

function packageOf(manifest: Manifest, files: readonly PackedFile[]): UnwrittenPackage {
  const { name, version } = manifest as { readonly name: string; readonly version: string }
  return {
    name,
    // As npm pack names it.
    fileName: `${name.replace(/^@/, '').replaceAll('/', '-')}-${version}.tgz`,
    files: [text('package.json', `${JSON.stringify(manifest, undefined, 2)}\n`), ...files],
  }
}

/** Replaces the folder at once, so that it never has packages of two runs. */
function writePackages(directory: string, packages: readonly UnwrittenPackage[]): PackedPackage[] {
  const temporary = `${directory}.${process.pid}`
  mkdirSync(temporary, { recursive: true })
  try {
    for (const { fileName, files } of packages) writeFileSync(join(temporary, fileName), writeTarball(files))
    rmSync(directory, { recursive: true, force: true })
    renameSync(temporary, directory)
  } finally {
    rmSync(temporary, { recursive: true, force: true })
  }
  return packages.map(({ name, fileName, files }) => {
    const path = join(directory, fileName)
    return { name, path, byteSize: statSync(path).size, files: files.map((file) => file.path) }
  })
}
