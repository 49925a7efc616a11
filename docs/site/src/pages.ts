/** A page of the site: where its text is in the repository, and where it is on the site. */
export interface Page {
  /** The Markdown file, relative to the root of the repository. */
  readonly source: string
  /** The address on the site, without an extension. */
  readonly address: string
  /** The name in the navigation. */
  readonly title: string
}

/** Some pages under one heading of the navigation. */
export interface Section {
  readonly title: string
  readonly pages: readonly Page[]
}

const guide = (name: string, title: string): Page => ({ source: `docs/${name}.md`, address: `guides/${name}`, title })

const readme = (name: string, title: string): Page => ({
  source: `packages/${name}/README.md`,
  address: `packages/${name}`,
  title,
})

/** All pages but the first one, the reference and the errors, in the order of the navigation. */
export const sections: readonly Section[] = [
  {
    title: 'Guides',
    pages: [
      guide('first-kernel', 'A first kernel'),
      guide('command', 'The tenon command'),
      guide('bind', 'Bind a C library'),
      guide('signatures', 'Signatures'),
      guide('c-functions', 'C functions'),
      guide('memory', 'The memory model'),
      guide('isolation', 'Isolation'),
      guide('profile-kernel', 'Profile a kernel'),
      guide('debug-crash', 'Debug a crash'),
      guide('sharing-memory', 'Sharing memory'),
      guide('designs', 'The five designs'),
      guide('packed-functions', 'Packed functions and classes'),
      guide('custom-calls', 'Custom calls in depth'),
      { source: 'docs/cookbook/safetensors.md', address: 'cookbook/safetensors', title: 'Safetensors into a kernel' },
      guide('string-tensors', 'String tensors'),
      guide('cuda', 'CUDA'),
    ],
  },
  {
    title: 'Your own kernels',
    pages: [
      guide('authoring', 'From a C file to a package'),
      guide('bind-package', 'From a C header to a package'),
      guide('native-builds', 'CMake, Make and bundlers'),
      guide('inline', 'Inline sources'),
    ],
  },
  {
    title: 'In production',
    pages: [
      guide('serving', 'Serving kernels'),
      guide('serving-streams', 'Streams and sequences'),
      guide('serving-pipelines', 'Pipelines of models'),
      guide('serving-versions', 'Versions, canaries and warm-up'),
      guide('serving-access', 'Encryption, callers and logs'),
      guide('serving-operation', 'Operating a server'),
      guide('serving-security', 'Security of serving'),
      guide('benchmarks', 'Benchmarks'),
      guide('proof', 'Proof'),
      guide('migration', 'Moving to Tenon'),
      guide('koffi', 'koffi beside Tenon'),
      guide('deployment', 'Deployment'),
      guide('runtimes', 'Node.js, Bun and Deno'),
      guide('one-file', 'One file to ship'),
      guide('limits', 'What Tenon does not do'),
      guide('cookbook/arrow-duckdb', 'DuckDB and Arrow'),
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
      readme('weights', '@tenon/weights'),
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
