/** Writes the reference of all public entry points to `dist/pages/reference/`, one folder for each. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path/posix'
import { Application, type ProjectReflection, type TypeDocOptions } from 'typedoc'
import type { PluginOptions } from 'typedoc-plugin-markdown'
import { root } from './link-target.ts'
import { referenceIndex } from './reference-groups.ts'
import { staged } from './stage.ts'

/** The packages with a reference, in the order of its list. */
const packages = [
  'binary',
  'core',
  'scope',
  'custom-call',
  'packed-func',
  'tstring',
  'tensorflow',
  'arrow',
  'weights',
  'pools',
  'isolate',
  'nnapi',
  'build',
  'tenon',
  'serve',
]

interface Manifest {
  readonly name: string
  readonly exports: Readonly<Record<string, string | { readonly '@tenon/source'?: string }>>
}

interface Entry {
  /** The specifier that a program imports: `@tenon/scope/linker`. */
  readonly name: string
  readonly source: string
}

/** The entry points that users import. Those of the umbrella that only pass a part on are in the part's reference. */
function publicEntries(): readonly Entry[] {
  return packages.flatMap((folder) => {
    const directory = join(root, 'packages', folder)
    const { name, exports } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as Manifest
    return Object.entries(exports).flatMap(([path, target]) => {
      if (typeof target === 'string' || path.endsWith('internal') || path.endsWith('-process')) return []
      const source = join(directory, target['@tenon/source']!)
      const isPassedOn = folder === 'tenon' && path !== '.' && existsSync(join(root, 'packages', path.split('/')[1]!))
      return isPassedOn && path !== './build' ? [] : [{ name: join(name, path), source }]
    })
  })
}

/** Types that the reference of an entry mentions and that the entry does not export, by name, each with its source file. */
type OtherTypes = Map<string, string>

/**
 * Writes the reference. Types that an entry mentions and does not export, such as those of options, are in its namespace `types`.
 *
 * @throws {Error} if TypeDoc finds an error, or a name without a comment.
 */
export async function writeReference(): Promise<void> {
  const entries = publicEntries()
  const others = new Map(entries.map(({ name }) => [name, new Map<string, string>()]))
  for (;;) {
    const { app, reflection } = await convert(entries, others)
    // Added types mention further ones.
    if (addOtherTypes(app, reflection, others)) continue
    app.validate(reflection)
    if (app.logger.hasWarnings() || app.logger.hasErrors()) throw new Error('The reference has problems.')
    await app.generateOutputs(reflection)
    writeFileSync(join(staged, 'reference/index.md'), referenceIndex(entries.map(({ name }) => name)))
    return
  }
}

/** Reads the sources of all entries. */
async function convert(
  entries: readonly Entry[],
  others: ReadonlyMap<string, OtherTypes>,
): Promise<{ readonly app: Application; readonly reflection: ProjectReflection }> {
  const entryFolder = join(import.meta.dirname, '../dist/entries')
  rmSync(entryFolder, { recursive: true, force: true })
  const entryPoints = entries.map(({ name, source }) => {
    const file = join(entryFolder, `${name}.ts`)
    mkdirSync(dirname(file), { recursive: true })
    const types = [...others.get(name)!].map(([type, from]) => `export type { ${type} } from ${JSON.stringify(from)}\n`)
    const lines = [`/** @module ${name} */`, `export * from ${JSON.stringify(source)}`]
    if (types.length > 0) {
      const comment = '/** Types of parameters and results that the entry does not export. @module */'
      writeFileSync(join(entryFolder, `${name}.types.ts`), `${comment}\n${types.join('')}`)
      lines.push(`export * as types from ${JSON.stringify(join(entryFolder, `${name}.types.ts`))}`)
    }
    writeFileSync(file, `${lines.join('\n')}\n`)
    return file
  })
  const options: TypeDocOptions & PluginOptions = {
    plugin: ['typedoc-plugin-markdown'],
    entryPoints,
    tsconfig: join(import.meta.dirname, '../tsconfig.json'),
    out: join(staged, 'reference'),
    readme: 'none',
    name: 'Reference',
    excludeInternal: true,
    excludePrivate: true,
    disableSources: true,
    githubPages: false,
    hideBreadcrumbs: true,
    hidePageHeader: true,
    useHTMLEncodedBrackets: true,
    sanitizeComments: true,
    entryFileName: 'index',
    outputFileStrategy: 'members',
    skipErrorChecking: true,
    router: 'member',
    logLevel: 'Warn',
    packagesRequiringDocumentation: ['tenon', ...packages.map((folder) => `@tenon/${folder}`)],
    requiredToBeDocumented: ['Variable', 'Class', 'Interface', 'TypeAlias'],
    validation: { notExported: true, notDocumented: true, invalidLink: true },
  }
  const app = await Application.bootstrapWithPlugins(options as TypeDocOptions)
  const reflection = await app.convert()
  if (reflection === undefined) throw new Error('the reference could not be made')
  return { app, reflection }
}

/**
 * Types that no entry point exports. The members of base classes are those of their classes in the reference, and the others are
 * helpers of a type's declaration.
 */
const INNER = new Set([
  ...['ManagedLifetime', 'ManagedScope', 'ArenaScope', 'UnclosableScope', 'MappedAccess', 'AlignedAccess'],
  ...['DeviceResource', 'StreamQueue', 'CudaDriver', 'KindError', 'NativeContainer', 'Adopted', 'Marked'],
  ...['AnyScope', 'ResourceScope', 'Member', 'SegmentToken', 'FreeElement', 'dereference', 'Observed', 'ResultOfType'],
  ...['ArrayOf', 'ScalarValues', 'Abi', 'AbiTables', 'StructType', 'ShippedTarget', 'TargetBase'],
  ...['Kinds', 'Required', 'Call', 'ByStage', 'IsSingle', 'ResultOf', 'ResultTensors'],
  ...['ABSL_CODES', 'MISMATCH', 'RemoteValue'],
  ...['ExportPlace', 'FencedOutcome', 'operandLifetimes', 'types', 'Models'],
  ...['Batching', 'Outputs', 'InputsOf', 'ScalarLayouts', 'SignatureOf', 'OperandTypes'],
  ...['ResultTypes', 'InputOfType', 'OutputOfType'],
])

/** Adds the types that each entry mentions and does not have. @returns whether there are any. */
function addOtherTypes(app: Application, project: ProjectReflection, others: ReadonlyMap<string, OtherTypes>): boolean {
  let isAdded = false
  const visit = (value: unknown, types: OtherTypes): void => {
    if (typeof value !== 'object' || value === null) return
    const { type, target, name, refersToTypeParameter } = value as Record<string, unknown>
    if (type === 'reference' && typeof target === 'object' && target !== null && refersToTypeParameter !== true) {
      const { packageName, packagePath } = target as { readonly packageName: string; readonly packagePath: string }
      const isOurs = /^(@tenon\/|tenon$)/.test(packageName)
      if (isOurs && !INNER.has(String(name)) && !types.has(String(name))) {
        types.set(String(name), join(root, 'packages', packageName.replace('@tenon/', ''), packagePath))
        isAdded = true
      }
    }
    for (const part of Object.values(value)) visit(part, types)
  }
  const { children = [] } = app.serializer.projectToObject(project, root as never)
  for (const entry of children) visit(entry, others.get(entry.name)!)
  return isAdded
}
