/** An entry point of the reference, and what it is for. */
interface GroupedEntry {
  /** The specifier that a program imports. */
  readonly name: string
  readonly purpose: string
}

/** The entry points for one task. */
interface ReferenceGroup {
  readonly task: string
  readonly entries: readonly GroupedEntry[]
}

const entry = (name: string, purpose: string): GroupedEntry => ({ name, purpose })

/** All entry points of the reference, in the order of its first page and of its navigation. */
export const referenceGroups: readonly ReferenceGroup[] = [
  {
    task: 'Open libraries and call kernels',
    entries: [
      entry('tenon', '`Library`, `tensor()` and inline sources'),
      entry('@tenon/core', 'tensors, element types, memory and libraries'),
      entry('@tenon/core/errors', 'all classes of errors'),
      entry('@tenon/custom-call', "handlers of XLA's custom calls"),
      entry('@tenon/packed-func', 'packed functions and classes of TVM'),
      entry('@tenon/tensorflow', "kernels of TensorFlow's C API"),
    ],
  },
  {
    task: 'Call C libraries',
    entries: [
      entry('@tenon/scope/linker', 'C functions, callbacks and their signatures'),
      entry('@tenon/scope/bind', 'the base of the modules of `tenon bind`'),
      entry('@tenon/core/koffi', 'memory and functions that koffi uses as well'),
      entry('tenon/koffi', 'the same, as an entry point of `tenon`'),
    ],
  },
  {
    task: 'Own memory and share it',
    entries: [
      entry('@tenon/scope', 'scopes, segments, layouts and allocators'),
      entry('@tenon/pools', 'shared memory, and pools by handle'),
      entry('@tenon/tstring', 'string tensors of TensorFlow'),
      entry('@tenon/arrow', "columns of Arrow's C data interface"),
      entry('@tenon/weights', 'safetensors, GGUF, `.npz` and `.npy` files'),
    ],
  },
  {
    task: 'Run kernels in other processes',
    entries: [
      entry('@tenon/isolate', 'workers, and the errors of their calls'),
      entry('@tenon/nnapi', 'models and drivers of NNAPI'),
      entry('@tenon/nnapi/hidl', 'the interfaces of older drivers'),
    ],
  },
  {
    task: 'Answer requests of other machines',
    entries: [
      entry('@tenon/serve', 'servers, models and batches'),
      entry('@tenon/serve/client', 'the client for Node.js and browsers'),
    ],
  },
  {
    task: 'Build, package and ship',
    entries: [
      entry('tenon/build', 'kernels from a string, compiled anew when their file changes'),
      entry('tenon/bundler', 'plugins for bundlers'),
      entry('tenon/project', 'the library of a project that `tenon build` builds'),
      entry('@tenon/build', 'compilers, projects of kernels and their npm packages'),
    ],
  },
  {
    task: 'Test and debug',
    entries: [
      entry('tenon/testing', 'comparison of tensors within a tolerance'),
      entry('@tenon/scope/testing', 'tests that find scopes left open'),
      entry('@tenon/core/testing', 'programs in processes of their own, for tests'),
      entry('@tenon/binary', 'readers of ELF, Mach-O and PE files'),
      entry('@tenon/binary/debug-info', 'functions and lines at addresses of libraries'),
      entry('@tenon/binary/private-directory', 'directories that only their user can write'),
    ],
  },
]

/** The address of the reference of an entry point. */
export const referenceAddress = (name: string): string => `/reference/${name}/`

/**
 * The first page of the reference.
 *
 * @param names the entry points that have a reference.
 * @throws {Error} if one of them is in no group, or a group has another one.
 */
export function referenceIndex(names: readonly string[]): string {
  const grouped = referenceGroups.flatMap(({ entries }) => entries.map(({ name }) => name))
  const missing = names.filter((name) => !grouped.includes(name))
  const others = grouped.filter((name, i) => !names.includes(name) || grouped.indexOf(name) !== i)
  if (missing.length + others.length > 0)
    throw new Error(
      `docs/site/src/reference-groups.ts must have each entry point once; missing: ${missing.join(', ')}; unknown or repeated: ${others.join(', ')}`,
    )
  const groups = referenceGroups.map(({ task, entries }) =>
    [
      `## ${task}`,
      '',
      '| entry point | for |',
      '| --- | --- |',
      ...entries.map(({ name, purpose }) => `| [\`${name}\`](${referenceAddress(name)}) | ${purpose} |`),
      '',
    ].join('\n'),
  )
  return `# Reference\n\nEvery exported name, by task. Each part is also an entry point of \`tenon\`: \`@tenon/scope/linker\` is \`tenon/scope/linker\`. The
[guides](/guides/first-kernel) explain how the parts are used together.\n\n${groups.join('\n')}`
}
