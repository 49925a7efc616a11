/** Writes the reference of all public entry points to `dist/pages/reference/`, one folder for each. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path/posix'
import { Application, type ProjectReflection, type TypeDocOptions } from 'typedoc'
import type { PluginOptions } from 'typedoc-plugin-markdown'
import { root } from './link-target.ts'
import { staged } from './stage.ts'

/** The packages with a reference, in the order of its list. */
const packages = [
  'binary',
  'core',
  'scope',
  'custom-call',
  'packed-func',
  'tstring',
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

/** @throws {Error} if TypeDoc finds an error, or an exported name without a comment. */
export async function writeReference(): Promise<void> {
  const entryFolder = join(import.meta.dirname, '../dist/entries')
  rmSync(entryFolder, { recursive: true, force: true })
  const entryPoints = publicEntries().map(({ name, source }) => {
    const file = join(entryFolder, `${name}.ts`)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, `/** @module ${name} */\nexport * from ${JSON.stringify(source)}\n`)
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
  app.validate(reflection)
  const problems = missingExports(app, reflection)
  if (app.logger.hasWarnings() || app.logger.hasErrors() || problems.length > 0) {
    throw new Error(`The reference has problems.\n${problems.join('\n')}`)
  }
  await app.generateOutputs(reflection)
}

/**
 * Types that no entry point exports. The members of base classes are those of their classes in the reference, and the others are
 * helpers of a type's declaration.
 */
const INNER = new Set([
  ...['ManagedLifetime', 'ManagedScope', 'ArenaScope', 'UnclosableScope', 'MappedAccess', 'AlignedAccess'],
  ...['DeviceResource', 'StreamQueue', 'CudaDriver', 'KindError', 'NativeContainer', 'Adopted', 'Marked'],
  ...['AnyScope', 'ResourceScope', 'Member', 'SegmentToken', 'FreeElement', 'dereference', 'Observed', 'ResultOfType'],
  ...['ArrayOf', 'ViewClass', 'ScalarValues', 'Abi', 'AbiTables', 'StructType', 'ShippedTarget', 'TargetBase'],
  ...['Kinds', 'Required', 'Call', 'ByStage', 'IsSingle', 'ResultOf', 'ArgumentsFor', 'LastArguments', 'ResultTensors'],
  ...['XLA_CODES', 'AnyDescriptor', 'MISMATCH', 'Values', 'AcceptedAll', 'Converted', 'RemoteValue'],
  ...['ExportPlace', 'FencedOutcome', 'operandLifetimes', 'types', 'PoolsErrorOptions', 'Models'],
  ...['Batching', 'Outputs', 'InputsOf', 'NumberType', 'ScalarLayouts', 'Linked', 'SignatureOf', 'OperandTypes'],
  ...['ResultTypes', 'InputOfType', 'OutputOfType'],
])

/** The types that the reference mentions, but no entry point exports. */
function missingExports(app: Application, project: ProjectReflection): string[] {
  const missing = new Set<string>()
  const visit = (value: unknown, owner: string): void => {
    if (typeof value !== 'object' || value === null) return
    const { type, target, name, refersToTypeParameter } = value as Record<string, unknown>
    if (type === 'reference' && typeof target === 'object' && target !== null && refersToTypeParameter !== true) {
      const { packageName } = target as { readonly packageName: string }
      if (/^(@tenon\/|tenon$)/.test(packageName) && !INNER.has(String(name))) {
        missing.add(`${owner} mentions ${String(name)}, which ${packageName} does not export.`)
      }
    }
    const inner = typeof name === 'string' && 'kind' in value ? `${owner}.${name}` : owner
    for (const part of Object.values(value)) visit(part, inner)
  }
  visit(app.serializer.projectToObject(project, root as never), '')
  return [...missing]
}
