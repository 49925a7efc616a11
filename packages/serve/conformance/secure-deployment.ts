import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'

const folder = join(import.meta.dirname, '../../../deploy/kubernetes')

const read = (path: string): unknown => parse(readFileSync(join(folder, path), 'utf8'))

/** The field by which entries of a list of Kubernetes are the same. Other lists are replaced. */
const KEYS: Readonly<Record<string, string>> = {
  containers: 'name',
  ports: 'containerPort',
  volumeMounts: 'mountPath',
  volumes: 'name',
}

type Fields = Readonly<Record<string, unknown>>

/** The deployment of deploy/kubernetes/secure: that of deploy/kubernetes with the patch, as kustomize merges them. */
export const secureDeployment = (): unknown => merge(read('deployment.yaml'), read('secure/deployment.yaml'))

function merge(base: unknown, patch: unknown, name = ''): unknown {
  if (Array.isArray(base) && Array.isArray(patch)) return mergeLists(base as Fields[], patch as Fields[], KEYS[name])
  if (!isFields(base) || !isFields(patch)) return patch
  const changed = Object.entries(patch).map(([key, value]) => [key, key in base ? merge(base[key], value, key) : value])
  return { ...base, ...(Object.fromEntries(changed) as Fields) }
}

function mergeLists(base: readonly Fields[], patch: readonly Fields[], key: string | undefined): readonly Fields[] {
  if (key === undefined) return patch
  const find = (list: readonly Fields[], one: Fields): Fields | undefined =>
    list.find((other) => other[key] === one[key])
  return [
    ...base.map((one) => {
      const change = find(patch, one)
      return change === undefined ? one : (merge(one, change) as Fields)
    }),
    ...patch.filter((one) => find(base, one) === undefined),
  ]
}

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
