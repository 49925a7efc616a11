import { loadPeer } from './load-peer.ts'
import { UsageError } from './usage-error.ts'

/**
 * The exports of `@tenon/serve` that `tenon serve` uses. They are described here, because that package depends on this one, and packages
 * must not depend on each other in a circle.
 */
export interface ServePackage {
  readonly ModelRepository: { open(directory: string, options: { readonly name?: string }): object }
  createServer(options: ServerOptions & { readonly repository: object }): Promise<object>
  runUntilSignal(server: object, options: RunOptions): Promise<'drained' | 'not drained' | 'interrupted' | 'crash loop'>
}

/** Where a server listens. */
interface ListenOptions {
  readonly host: string
  readonly port: number
}

/** The options of a server that have a flag. */
export interface ServerOptions {
  readonly modelControl: 'none' | 'explicit'
  readonly http: ListenOptions & { readonly allowedOrigins: readonly string[] }
  readonly grpc: ListenOptions | false
  readonly allowClientSharedMemory?: string
  readonly maxRequestBytes?: number
  readonly maxInFlightBytes?: number
  readonly tls?: { readonly cert: string; readonly key: string; readonly clientCa?: string; readonly crl?: string }
  readonly access?: string
  readonly allowPlainTokens: boolean
  readonly monitoring?: ListenOptions
  readonly log: { readonly sample: number; readonly stacks: boolean; readonly format?: 'json' | 'text' }
}

/** The times of the end of a server, in milliseconds. */
export interface RunOptions {
  readonly drainDelay: number
  readonly drainTimeout: number
}

/** Loads `@tenon/serve`. @throws {UsageError} with the command that installs it */
export async function loadServer(): Promise<ServePackage> {
  const server = await loadPeer('@tenon/serve')
  if (server !== undefined) return server as ServePackage
  throw new UsageError('tenon serve needs @tenon/serve, which is not installed', 'Install it: npm install @tenon/serve')
}
