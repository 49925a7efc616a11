import { readFileSync } from 'node:fs'
import { join } from 'node:path/posix'
import { root } from './link-target.ts'

/** A page of the site: where its text is in the repository, and where it is on the site. */
export interface Page {
  /** The Markdown file, relative to the root of the repository. */
  readonly source: string
  /** The address on the site, without an extension. */
  readonly address: string
  /** The name in the navigation. */
  readonly title: string
  /** Words that readers search for and that the page does not have. */
  readonly words?: readonly string[]
}

/** Some pages under one heading of the navigation. */
export interface Section {
  readonly title: string
  readonly pages: readonly Page[]
}

/** A page of docs. Without a title, its name is its first heading. */
const guide = (name: string, title?: string, ...words: readonly string[]): Page => {
  const source = `docs/${name}.md`
  return { source, address: `guides/${name.replace(/README$/, 'index')}`, title: title ?? headingOf(source), words }
}

const headingOf = (source: string): string => {
  const [, heading] = /^# (.+)$/m.exec(readFileSync(join(root, source), 'utf8')) ?? []
  if (heading === undefined) throw new Error(`${source} must have a heading of the first level`)
  return heading.replaceAll('`', '')
}

const readme = (name: string, title: string, ...words: readonly string[]): Page => ({
  source: `packages/${name}/README.md`,
  address: `packages/${name}`,
  title,
  words,
})

/**
 * All pages but the first one, the reference and the errors, in the order in which the site leads through them: this is the order of the
 * navigation, and each page names the next one at its end.
 */
export const sections: readonly Section[] = [
  {
    title: 'Start',
    pages: [
      guide('first-kernel', 'A first kernel'),
      guide('bind', 'Bind a C library', 'libjpeg', 'jpeg', 'header', 'bindings', 'FFI'),
      guide('c-functions', 'C functions'),
      guide('signatures', 'Signatures'),
      guide('inline', 'Inline sources'),
      guide('command', 'The tenon command', 'CLI'),
    ],
  },
  {
    title: 'Memory',
    pages: [
      guide('memory', 'The memory model', 'lifetime', 'use after free', 'leak'),
      guide('sharing-memory', 'Sharing memory', 'SharedArrayBuffer', 'mmap', 'worker_threads'),
      guide('tensor-protocol', 'The tensor protocol', 'DLPack'),
      guide('string-tensors', 'String tensors'),
    ],
  },
  {
    title: 'Isolation and defects',
    pages: [
      guide('isolation', 'Isolation', 'worker', 'sandbox', 'child process'),
      guide('debug-crash', 'Debug a crash', 'segfault', 'segmentation fault', 'core dump', 'gdb'),
      guide('profile-kernel', 'Profile a kernel', 'perf'),
    ],
  },
  {
    title: 'Serving',
    pages: [
      guide('serving', 'Serving kernels', 'HTTP', 'gRPC'),
      guide('serving-streams', 'Streams and sequences'),
      guide('serving-pipelines', 'Pipelines of models'),
      guide('serving-versions', 'Versions, canaries and warm-up'),
      guide('serving-access', 'Encryption, callers and logs'),
      guide('serving-operation', 'Operating a server', 'docker', 'container', 'kubernetes', 'k8s'),
      guide('serving-capacity', 'Capacity'),
      guide('serving-security', 'Security of serving'),
    ],
  },
  {
    title: 'Packages to ship',
    pages: [
      guide('authoring', 'From a C file to a package', 'npm', 'publish'),
      guide('bind-package', 'From a C header to a package', 'npm', 'publish'),
      guide('native-builds', 'CMake, Make and bundlers'),
      guide('deployment', 'Deployment', 'docker', 'Alpine', 'electron', 'webpack'),
      guide('one-file', 'One file to ship', 'single executable', 'SEA'),
      guide('runtimes', 'Node.js, Bun and Deno'),
    ],
  },
  {
    title: 'With other libraries',
    pages: [
      guide('cookbook/README', 'Cookbook', 'numpy'),
      guide('cookbook/onnxruntime', 'onnxruntime', 'onnx'),
      guide('cookbook/tfjs', 'TensorFlow.js'),
      guide('cookbook/ndarray', 'ndarray'),
      guide('cookbook/arrow-duckdb', 'DuckDB and Arrow'),
      guide('cookbook/polars', 'polars'),
      guide('cookbook/safetensors', 'Safetensors into a kernel'),
      guide('cookbook/images', 'Images', 'jpeg', 'png'),
      guide('cookbook/fastify', 'Fastify', 'express'),
      guide('cookbook/shared', 'SharedArrayBuffer'),
      guide('cookbook/wasm', 'WebAssembly'),
    ],
  },
  {
    title: 'In depth',
    pages: [
      guide('packed-functions', 'Packed functions and classes'),
      guide('custom-calls', 'Custom calls in depth'),
      guide('cuda', 'CUDA', 'GPU', 'nvidia'),
      guide('designs', 'The five designs'),
    ],
  },
  {
    title: 'Before you choose',
    pages: [
      guide('limits', 'What Tenon does not do', 'windows', 'macOS'),
      guide('benchmarks', 'Benchmarks', 'performance', 'speed'),
      guide('proof', 'Proof'),
      guide('migration', 'Moving to Tenon', 'ffi-napi', 'node-addon-api'),
      guide('koffi', 'koffi beside Tenon'),
      { source: 'SECURITY.md', address: 'security', title: 'Security' },
    ],
  },
  {
    title: 'Packages',
    pages: [
      readme('tenon', 'tenon'),
      readme('core', '@tenon/core'),
      readme('scope', '@tenon/scope'),
      readme('custom-call', '@tenon/custom-call'),
      readme('packed-func', '@tenon/packed-func'),
      readme('tstring', '@tenon/tstring'),
      readme('tensorflow', '@tenon/tensorflow'),
      readme('arrow', '@tenon/arrow'),
      readme('weights', '@tenon/weights', 'numpy', 'weights of a model'),
      readme('pools', '@tenon/pools'),
      readme('isolate', '@tenon/isolate'),
      readme('nnapi', '@tenon/nnapi'),
      readme('serve', '@tenon/serve'),
      readme('build', '@tenon/build'),
      readme('bind', '@tenon/bind'),
      readme('binary', '@tenon/binary'),
    ],
  },
  {
    title: 'The project',
    pages: [
      { source: 'docs/architecture.md', address: 'architecture', title: 'How Tenon is built' },
      { source: 'docs/calls.md', address: 'calls', title: 'How a call works' },
      { source: 'docs/scope-design.md', address: 'scope-design', title: "Panama's design" },
      { source: 'CONTRIBUTING.md', address: 'contributing', title: 'Contributing' },
      { source: 'docs/releasing.md', address: 'releasing', title: 'Releasing' },
    ],
  },
]

/** The folder of the error pages, one for each code, and the page that lists them. */
export const ERRORS = 'docs/errors'
