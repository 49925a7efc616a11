import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse, parseAllDocuments } from 'yaml'

/** A JSON object. */
export type Json = Readonly<Record<string, unknown>>

/** A manifest, and the file that contains it. */
export interface Manifest {
  readonly file: string
  readonly content: Json
}

/** The part of a custom resource definition that says how its objects look. */
interface Definition {
  readonly spec: {
    readonly group: string
    readonly names: { readonly kind: string }
    readonly versions: readonly { readonly name: string; readonly schema: { readonly openAPIV3Schema: Json } }[]
  }
}

/** The folder of a checkout of KServe with its custom resource definitions. */
export const DEFINITIONS = 'config/crd/full'

/** Reads all manifests of a folder. */
export function readManifests(folder: string): Manifest[] {
  return yamlFiles(folder).flatMap((file) =>
    parseAllDocuments(readFileSync(join(folder, file), 'utf8')).map((document) => ({
      file,
      content: document.toJS() as Json,
    })),
  )
}

const yamlFiles = (folder: string): string[] => readdirSync(folder).filter((name) => name.endsWith('.yaml'))

/** Validates manifests as the API server of Kubernetes does for custom resources, but refuses unknown fields. */
export class Resources {
  readonly #ajv = new Ajv({
    strict: false,
    allErrors: true,
    formats: { int32: true, int64: true, 'date-time': true },
  })
  readonly #schemas = new Map<string, Json>()
  readonly #compiled = new Map<string, ValidateFunction>()

  /** @param checkout that of KServe. */
  constructor(checkout: string) {
    const folder = join(checkout, DEFINITIONS)
    for (const file of yamlFiles(folder).filter((name) => name.startsWith('serving.kserve.io_'))) {
      const { spec } = parse(readFileSync(join(folder, file), 'utf8')) as Definition
      for (const { name, schema } of spec.versions) {
        this.#schemas.set(`${spec.group}/${name} ${spec.names.kind}`, schema.openAPIV3Schema)
      }
    }
  }

  /** @throws with all mistakes of a manifest, or if KServe has no such resource. */
  check(content: Json): void {
    const { errors } = this.#validate(content)
    if (errors.length > 0) throw new Error(errors.map(describe).join('\n'))
  }

  /** Whether a manifest has no mistake. */
  accepts(content: Json): boolean {
    return this.#validate(content).errors.length === 0
  }

  #validate(content: Json): { readonly errors: readonly ErrorObject[] } {
    const kind = `${String(content['apiVersion'])} ${String(content['kind'])}`
    let validate = this.#compiled.get(kind)
    if (validate === undefined) {
      const schema = this.#schemas.get(kind)
      if (schema === undefined)
        throw new Error(`KServe has no ${kind}. It has ${[...this.#schemas.keys()].join(', ')}.`)
      validate = this.#ajv.compile(closed(schema) as Json)
      this.#compiled.set(kind, validate)
    }
    return { errors: validate(content) ? [] : validate.errors! }
  }
}

const describe = ({ instancePath, message, params }: ErrorObject): string =>
  `${instancePath || 'the manifest'} ${message ?? ''} ${JSON.stringify(params)}`

/** A schema of Kubernetes as one of JSON that refuses unknown fields, so that a field that is not spelled correctly is a mistake. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed)
  if (typeof schema !== 'object' || schema === null) return schema
  const { 'x-kubernetes-int-or-string': isEither, ...rest } = schema as Json
  const fields = Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, closed(value)]))
  if (isEither === true) return { ...fields, anyOf: [{ type: 'integer' }, { type: 'string' }] }
  const isOpen = 'additionalProperties' in fields || fields['x-kubernetes-preserve-unknown-fields'] === true
  return 'properties' in fields && fields['type'] === 'object' && !isOpen
    ? { ...fields, additionalProperties: false }
    : fields
}

/** Maps whose keys are free, so that any spelling is correct. */
const FREE = new Set(['annotations', 'labels', 'limits', 'matchLabels', 'metadata', 'requests'])

/** Copies of a manifest that each have one field with a letter more, with the path of the field. */
export function* misspelled(content: Json): Generator<readonly [path: string, copy: Json]> {
  for (const path of fieldsOf(content)) {
    const copy = structuredClone(content) as Record<string, unknown>
    const parent = path.slice(0, -1).reduce((value, key) => value[key] as Record<string, unknown>, copy)
    const key = path.at(-1)!
    parent[`${key}s`] = parent[key]
    delete parent[key]
    yield [path.join('.'), copy]
  }
}

function* fieldsOf(value: unknown, path: readonly string[] = []): Generator<readonly string[]> {
  if (typeof value !== 'object' || value === null) return
  for (const [key, field] of Object.entries(value)) {
    const next = [...path, key]
    // The kind and its version select the schema.
    if (!Array.isArray(value) && key !== 'apiVersion' && key !== 'kind') yield next
    if (!FREE.has(key)) yield* fieldsOf(field, next)
  }
}
