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
    reason: 'Deno runs the text of a worker or program as a script, in which `import` is a syntax error',
    tests: {
      core: [
        'a library that the loader',
        'a preloaded allocator keeps',
        'a watch of the worker, with',
        'a worker can be terminated',
        'workers may be terminated',
      ],
      scope: [
        'an exit does not wait for',
        'an exit while a call runs gives up while',
        'mapped files lose the pages',
        'no attempt ends the process or hangs of',
        'no attempt ends the process or hangs that',
        'no attempt ends the process or hangs with threads',
        'with the driver koffi a function',
        'with the driver koffi process.exit() in',
        'with the driver koffi the end',
        'with the driver koffi, a worker',
        'with the driver node-api a function',
        'with the driver node-api process.exit() in',
        'with the driver node-api the end',
        'with the driver node-api, a worker',
      ],
      tstring: [
        'the process lives, and reads no memory of others, when a user ends',
        'the process lives, and reads no memory of others, when a user reads images',
      ],
      'custom-call': [
        'a handler whose future never settles a worker',
        'a terminated worker waits',
        'a worker can be terminated',
        'guard mode the garbage collector',
        'guard mode views, closed',
        'the lifetime of a function target targets',
      ],
      'packed-func': [
        '16 workers leave no memory',
        'a destructor that calls a function',
        'a worker releases each object',
        'a worker that calls process.exit()',
        'a worker that ends by itself',
        'a worker that is terminated',
        'hazards calls that wait for',
        'objects that native code',
        'workers can be terminated',
      ],
    },
  },
  {
    runtimes: ['bun'],
    reason: 'koffi needs libuv, and is made for Node.js',
    tests: {
      core: [
        'a core without its exception',
        'a watch of the main thread, with the driver koffi,',
        'a watch of the worker, with the driver koffi,',
        'a worker can be terminated while it watches (koffi)',
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
      scope: [
        'with the driver koffi, a worker can be terminated',
        'misuse that crashes a process with koffi alone throws an error a buffer',
        'with the driver koffi a call',
        'with the driver koffi a full',
        'with the driver koffi a function',
        'with the driver koffi a late',
        'with the driver koffi a stack',
        'with the driver koffi a stub',
        'with the driver koffi an',
        'with the driver koffi calls',
        'with the driver koffi closing',
        'with the driver koffi errors',
        'with the driver koffi functions',
        'with the driver koffi process.exit()',
        'with the driver koffi the',
        'with the driver koffi, an',
      ],
    },
  },
  {
    runtimes: ['bun', 'deno'],
    reason: 'koffi needs libuv, and is made for Node.js',
    tests: {
      core: [
        'a published package without koffi calls functions through koffi',
        'a published package without koffi throws',
        'at another version, an application',
        'at the same version, it may',
        'at the same version, the',
        'where the core does not use',
      ],
      scope: [
        'misuse that crashes a process with koffi alone throws an error a view of',
        'without buffers over native',
      ],
    },
  },
  {
    runtimes: ['deno'],
    reason: 'koffi needs libuv, and is made for Node.js',
    tests: {
      core: ['a published package without koffi calls functions through Node-API'],
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
      core: ['a preloaded allocator keeps', 'a process with --permission'],
      scope: ['TENON_DEBUG=leaks reports scopes', 'no attempt ends the process or hangs with memory'],
      tstring: ['bytes that lie about their size are refused if their buffer belongs'],
      'custom-call': ['attributes of a kernel that can be any values arrays'],
      'packed-func': [
        'a worker releases each object',
        'guard mode calls of packed functions report',
        'hazards calls and callbacks',
        'hazards calls that wait for functions',
      ],
    },
  },
  {
    runtimes: ['bun', 'deno'],
    reason:
      'the test is about Node.js: its flags, libraries, reports and contexts, the words of its messages, or programs that run it',
    tests: {
      core: ['a library that is cut off', 'in a process of its own views,'],
      'packed-func': ['hazards an error of another'],
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
    reason: 'packages without a `package.json` above the program are not found',
    tests: {
      core: [
        'a core of another version',
        'a process loads the library',
        'a process with --permission',
        'a published package loads',
        'a published package looks',
        'a published package never',
        'a published package without its',
        'the libraries of a published',
      ],
    },
  },
  {
    runtimes: ['deno'],
    reason: 'buffers over native memory can be posted to another thread',
    tests: {
      core: ['a raw view cannot be transferred'],
      scope: ['memory for later arenas of arenas with', 'scopes that share a slab do'],
      'packed-func': ['objects cannot be posted', 'wrapping instanceof follows'],
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
    },
  },
  {
    runtimes: ['bun'],
    reason: 'buffers have at most 4 GiB, and strings other limits',
    tests: {
      tstring: ['a string that JavaScript'],
    },
  },
  {
    runtimes: ['deno'],
    reason: 'a read of a file into a view does not keep the view in use',
    tests: {
      scope: ['files and memory close()'],
    },
  },
  {
    runtimes: ['bun'],
    reason: 'tracing channels of `node:diagnostics_channel` publish nothing',
    tests: {
      isolate: ['diagnostics channels calls'],
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
      scope: ['an implicit scope runs no', 'scopes that share a slab a managed'],
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
]
