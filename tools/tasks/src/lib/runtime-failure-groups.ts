import type { TestedRuntime } from '@tenon/config/runtimes'

/** Tests that fail in a runtime for one reason. */
interface FailureGroup {
  readonly runtimes: readonly TestedRuntime[]
  /** A row of the table in docs/runtimes.md. */
  readonly reason: string
  /** Whether they pass in some runs. */
  readonly isRare?: boolean
  /** The full names of the tests, or how those of several begin, by the folder of the package. */
  readonly tests: Readonly<Record<string, readonly string[]>>
}

/** The tests that fail in Bun and Deno, by reason. */
export const failureGroups: readonly FailureGroup[] = [
  {
    runtimes: ['deno'],
    reason: '`terminate()` resolves before the worker has ended, and does not end one that runs JavaScript',
    tests: {
      scope: ['an exit does not wait for', 'with the driver node-api the end of a worker'],
      'packed-func': ['a worker that is terminated in a', 'hazards calls that wait for'],
      tenon: ['isolated libraries withstand threads'],
    },
  },
  {
    runtimes: ['deno'],
    reason: '`terminate()` resolves before the worker has ended, and the test does not always wait so long',
    isRare: true,
    tests: {
      scope: ['no attempt ends the process or hangs with threads'],
      tstring: ['the process lives, and reads no memory of others, when a user ends'],
      'custom-call': ['the lifetime of a function target targets'],
    },
  },
  {
    runtimes: ['bun'],
    reason: 'koffi needs libuv, and is made for Node.js',
    tests: {
      core: [
        'a core without its exception',
        'a published package without koffi calls functions through koffi',
        'a published package without koffi throws',
        'another ABI version is refused',
        'another version is refused',
        'in a process of its own memory is kept as long as it is reached with {"TENON_DEBUG":"guard","TENON_DRIVER":"koffi"}',
        'in a process of its own memory is kept as long as it is reached with {"TENON_DRIVER":"koffi"}',
        'koffi is loaded for TENON_DRIVER=koffi',
        'the driver of koffi does what that of Node-API does (koffi)',
        'the place of the library is named',
        'useKoffi() gives way to TENON_DRIVER',
        'useKoffi() loads the core',
      ],
      scope: ['misuse that crashes a process with koffi alone throws an error a buffer'],
      'packed-func': ['functions are released when they are closed'],
      tenon: [
        'TypeScript blocks docs/koffi.md:110',
        'koffi loads without its',
        'tenon doctor TENON_DRIVER=koffi',
        'tenon doctor with a copy of the core a missing tenon.node is a warning, because',
      ],
    },
  },
  {
    runtimes: ['bun', 'deno'],
    reason: 'koffi needs libuv, and is made for Node.js',
    tests: {
      core: [
        'at another version, an application',
        'at the same version, it may',
        'at the same version, the',
        'where the core does not use',
      ],
      scope: [
        'misuse that crashes a process with koffi alone throws an error a view of',
        'without buffers over native',
      ],
      tenon: ['TypeScript blocks docs/koffi.md:32'],
    },
  },
  {
    runtimes: ['deno'],
    reason: 'koffi needs libuv, and is made for Node.js',
    tests: {
      scope: [
        'misuse that crashes a process with koffi alone throws an error a callback',
        'misuse that crashes a process with koffi alone throws an error a view larger',
      ],
    },
  },
  {
    runtimes: ['bun'],
    reason:
      'the test is about Node.js: its flags, libraries, reports and contexts, the words of its messages, or programs that run it',
    tests: {
      scope: ['TENON_DEBUG=leaks reports scopes', 'no attempt ends the process or hangs with memory'],
      tstring: ['bytes that lie about their size are refused if their buffer belongs'],
      'custom-call': ['attributes of a kernel that can be any values arrays'],
      'packed-func': [
        'a worker releases each object',
        'hazards calls and callbacks',
        'hazards calls that wait for functions',
      ],
      tenon: [
        'a kernel whose results are strings loads',
        'a new package that binds a C library is bound again',
        'attempts to end the process end with errors other contexts',
        'compiled code is not',
        'import tenon loads few',
        "kernels in TypeScript, with host: 'node' leave",
        'kernels of TensorFlow load the class',
      ],
    },
  },
  {
    runtimes: ['bun', 'deno'],
    reason:
      'the test is about Node.js: its flags, libraries, reports and contexts, the words of its messages, or programs that run it',
    tests: {
      core: [
        'a library that is cut off',
        'a preloaded allocator keeps',
        'a process with --permission',
        'in a process of its own views,',
      ],
      'packed-func': ['hazards an error of another'],
      tenon: [
        'Bun with the version',
        'Deno with the version',
        'Node.js 18',
        'Node.js 20',
        'Node.js 22.11',
        'Node.js an older',
        'a program that may start',
        'a program that may write',
        '--cpu-prof has',
      ],
    },
  },
  {
    runtimes: ['deno'],
    reason:
      'the test is about Node.js: its flags, libraries, reports and contexts, the words of its messages, or programs that run it',
    tests: {
      core: ['a library without one finds', 'a script that crashes tells'],
      'packed-func': ['hazards a library that handles'],
      isolate: ['a worker that rings without', 'workers that cannot be started'],
      tenon: [
        'Rollup a bundle with the core',
        'Vite for servers a bundle with the core',
        'attempts to end the process end with errors files',
        'compiled code is',
        'esbuild, CommonJS a bundle with the core',
        'esbuild, ES modules a bundle with the core',
        'reports that stdout cannot',
        'tenon call with a signature reads an operand from stdin',
        'tenon doctor --json',
        'tenon doctor a low limit',
        'the commands need @tenon/build',
      ],
    },
  },
  {
    runtimes: ['bun', 'deno'],
    reason: 'packages of kernels are tested by `node --test`',
    tests: {
      tenon: [
        'a new package of kernels finds writes',
        'a new package of kernels passes',
        'a new package that binds a C library is built',
        'docs/authoring.md docs/authoring.md:135',
        'docs/bind-package.md docs/bind-package.md:54',
        'tenon test runs programs',
      ],
    },
  },
  {
    runtimes: ['deno'],
    reason: 'packages that are links are not loaded by a program that is a text, and their types are checked',
    tests: {
      tenon: [
        'a new package that binds a C library is packed',
        'a package that binds a library of the system',
        'docs/authoring.md docs/authoring.md:270',
        'docs/bind-package.md docs/bind-package.md:90',
        'docs/native-builds.md docs/native-builds.md:127',
        'docs/native-builds.md docs/native-builds.md:132',
        'the packages of a project run where',
      ],
    },
  },
  {
    runtimes: ['deno'],
    reason: 'a child process that handles a signal is said to have been ended by it',
    tests: {
      tenon: [
        'a process that ends while it compiles by',
        'a process that ends while it compiles has its own',
        'a process that uses the module',
        'tenon bind writes the module again',
        'the page about serving shows',
      ],
    },
  },
  {
    runtimes: ['bun'],
    reason: 'native code does not see variables that the program sets in `process.env`',
    tests: {
      'packed-func': ['hazards a destructor that', 'hazards a signal that is'],
    },
  },
  {
    runtimes: ['deno'],
    reason: 'buffers over native memory can be posted to another thread',
    tests: {
      core: ['a raw view cannot be transferred'],
      scope: ['scopes that share a slab do'],
      'packed-func': ['objects cannot be posted', 'wrapping instanceof follows'],
      tenon: ['attempts to end the process end with errors threads'],
    },
  },
  {
    runtimes: ['deno'],
    reason: 'a file that is mapped without a scope cannot be shared between threads',
    tests: {
      scope: ['a file that is mapped without a scope'],
    },
  },
  {
    runtimes: ['bun'],
    reason: 'an object that cannot be cloned is refused with the words of the runtime',
    tests: {
      scope: ['confined scopes and segments', 'on another thread memory'],
      tstring: ['JSON and structured clone a'],
      'packed-func': [
        'a packed function is a JavaScript function cannot',
        'objects cannot be posted',
        'wrapping instanceof follows',
      ],
      tenon: ['a tensor cannot be posted'],
    },
  },
  {
    runtimes: ['bun'],
    reason: 'stacks have other sizes or limits',
    tests: {
      'packed-func': ['calls between JavaScript and native code can be nested as deep as the stack of V8 allows: 984'],
    },
  },
  {
    runtimes: ['bun', 'deno'],
    reason: 'stacks have other sizes or limits',
    tests: {
      'packed-func': [
        'calls between JavaScript and native code can be nested as deep as the stack of V8 allows: 1968',
        'calls between JavaScript and native code can be nested as deep as the stack of V8 allows: 3936',
        'calls between JavaScript and native code can be nested as deep as the stack of V8 allows: 7800',
        'calls between JavaScript and native code can be nested as deep as the stack of a',
      ],
    },
  },
  {
    runtimes: ['bun'],
    reason: 'a call for which the stack of JavaScript has no room leaves its operands in use, or takes long',
    isRare: true,
    tests: {
      'packed-func': [
        'a call for which the stack of JavaScript has no room leaves no marks, with a',
        'a call for which the stack of JavaScript has no room leaves no marks, with four',
        'a destructor that calls a TypeScript function runs after',
        'a destructor that calls a TypeScript function runs before',
        'a destructor that calls a TypeScript function runs when a call',
        'a destructor that calls a TypeScript function runs when a function',
        'a destructor that calls a TypeScript function runs when a job',
        'a destructor that calls a TypeScript function runs when an array',
        'a destructor that calls a TypeScript function runs when an object',
        'a destructor that calls a TypeScript function runs when another',
        'a destructor that calls a TypeScript function throws',
        'inspect and toString() of',
      ],
      scope: ['a stack that overflows in callbacks'],
    },
  },
  {
    runtimes: ['deno'],
    reason: 'the runtime warns of a stack that it cannot describe',
    isRare: true,
    tests: {
      'packed-func': ['inspect and toString() of'],
    },
  },
  {
    runtimes: ['bun'],
    reason: 'strings have other limits',
    tests: {
      tstring: ['a string that JavaScript'],
    },
  },
  {
    runtimes: ['deno'],
    reason: 'a read of a file needs a view, and does not keep it in use',
    tests: {
      scope: ['files and memory close()', 'no attempt ends the process or hangs that uses'],
    },
  },
  {
    runtimes: ['bun'],
    reason: 'the runtime prints a report of its own behind that of a crash, and names other callers',
    tests: {
      tenon: ['a crash in a native call', 'the sessions of the guide'],
    },
  },
  {
    runtimes: ['bun'],
    reason: 'drivers of models in other processes are refused',
    tests: {
      tenon: [
        'TypeScript blocks packages/nnapi/README.md:168',
        'TypeScript blocks packages/nnapi/README.md:274',
        'TypeScript blocks packages/nnapi/README.md:6',
        'without buffers over native memory, as in Electron the first example of packages/nnapi',
      ],
    },
  },
  {
    runtimes: ['bun'],
    reason: 'a terminated worker leaves the descriptors of the files that it was reading',
    isRare: true,
    tests: {
      tenon: ['isolated libraries withstand threads'],
    },
  },
  {
    runtimes: ['bun'],
    reason: 'objects take more memory',
    tests: {
      'custom-call': ['a prepared call takes at'],
    },
  },
  {
    runtimes: ['deno'],
    reason: 'the runtime takes memory and descriptors of its own meanwhile',
    isRare: true,
    tests: {
      'custom-call': ['guard mode the garbage collector'],
      tenon: ['100 crashes leave', '2000 crashes leave', 'isolated libraries withstand many'],
    },
  },
  {
    runtimes: ['bun'],
    reason: 'the exit of a process runs other destructors',
    tests: {
      scope: ['an exit while a call runs runs'],
    },
  },
  {
    runtimes: ['bun'],
    reason: 'the collector frees memory later than the test waits',
    isRare: true,
    tests: {
      'packed-func': ['an object that cannot be allocated in', 'arguments that a failing function'],
      tenon: ['attempts to end the process end with errors recursion'],
      core: ['a library that is refused needs'],
      scope: [
        'a file that is mapped without a scope stays',
        'an implicit scope runs no',
        'scopes that share a slab a managed',
      ],
    },
  },
  {
    runtimes: ['deno'],
    reason: 'the collector frees memory later than the test waits',
    isRare: true,
    tests: {
      core: ['a library that is refused needs', 'memory is freed when nothing'],
    },
  },
  {
    runtimes: ['deno'],
    reason: 'another test file in the same process has loaded the library before',
    isRare: true,
    tests: {
      tenon: ['Library.kernels() lists the handlers'],
    },
  },
]
