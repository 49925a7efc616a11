import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { compile, type CompileOptions } from '@tenon/build'
import { Library } from '../library.ts'

/**
 * Compiles a source in C, C++ or CUDA, or finds its library in the cache, and opens the library. Nothing is downloaded.
 *
 * @throws (rejects with) {CompileError} with the messages of the compiler; also if there is no compiler, it does not end within `timeout`,
 * or the cache cannot be used
 * @throws (rejects with) {TenonError} with the code TENON_ARGUMENT if an argument is not valid
 * @throws (rejects with) {LoadError} if the library cannot be opened
 * @throws (rejects with) the reason of `signal` when it is aborted
 * @example
 * using library = await loadInline(source, { name: 'kernels.ts' })
 * const twice = library.kernel('twice')
 * twice(x).shape // [2, 4]
 */
export async function loadInline(source: string, options: CompileOptions = {}): Promise<Library> {
  const { path } = await compile(source, withHeaders(options))
  return Library.open(path)
}

/** The headers of the core that calls the kernels come before those that the program finds. */
function withHeaders(options: CompileOptions): CompileOptions {
  if (Object(options) !== options) return options
  const { includes = [] } = options
  if (!Array.isArray(includes)) return options
  const core = createRequire(import.meta.url).resolve('@tenon/core/package.json')
  const headers = join(dirname(core), 'include')
  return { ...options, includes: [...(includes as readonly string[]), headers] }
}
