import { readBinary } from '@tenon/binary'
import { isCallable } from '../signatures/is-callable.ts'
import { readSignatures, type FoundSignature } from '../signatures/read-signatures.ts'
import { refuseUnreadable } from '../signatures/refuse-unreadable.ts'
import { leadingPositionals, parseArguments } from './arguments.ts'
import { callByHand, isByHand, type HandCall } from './call-by-hand.ts'
import { conventions, deviceConventions } from './call-conventions.ts'
import { callKernel } from './call-kernel.ts'
import { mayBeTensorFlow, startTensorFlow } from './call-tensorflow.ts'
import type { CallFlags } from './call-flags.ts'
import type { Definition, Values } from './definition.ts'
import { refuseIsolateFlags } from './isolate-flags.ts'
import { kernelFlags, kernelUsage, refuseKernelFlags, unknownFlagHint } from './kernel-flags.ts'
import type { Invocation, SubCommand } from './sub-command.ts'
import { parseRepeat } from './timing.ts'
import { commandUsage } from './usage.ts'

const args = {
  library: { type: 'positional', description: 'the shared library' },
  symbol: {
    type: 'positional',
    description: 'the name of the kernel; with --help, its signature and flags are printed',
  },
  arg: {
    type: 'string',
    repeatable: true,
    valueHint: 'x.npy',
    description:
      'an operand, read from a .npy file: in order, or x=x.npy by name; strings are words.txt@lines or words.json@json; a packed function without signature also takes int:3, float:1e-5, bool:true, str:text, none',
  },
  out: {
    type: 'string',
    repeatable: true,
    valueHint: 'y=y.npy',
    description: 'the .npy file of a result, by name; that of strings as words.txt@lines or words.json@json',
  },
  attr: {
    type: 'string',
    repeatable: true,
    valueHint: 'name=value',
    description:
      'an attribute; without a signature its type is needed: eps=f32:1e-5, n=s64:3, exact=pred:true, mode=str:text, axes=s32[]:1,2',
  },
  result: {
    type: 'string',
    repeatable: true,
    valueHint: 'f32[2,4]:y.npy',
    description:
      'a result in order, if the signature does not determine it: type, shape and .npy file, or no file to print it',
  },
  opaque: { type: 'string', valueHint: 'text', description: 'the opaque string of a host-unified call' },
  abi: {
    type: 'enum',
    valueHint: 'convention',
    options: [...conventions, ...deviceConventions, 'packed'],
    description: 'the calling convention, if the library does not mark it',
  },
  stage: {
    type: 'string',
    repeatable: true,
    valueHint: 'instantiate=symbol',
    description: 'the handler of another stage of a typed call: instantiate, prepare or initialize',
  },
  registered: {
    type: 'boolean',
    description:
      'the symbol is a name under which the library registers a typed handler, or a function of --abi, itself',
  },
  alias: {
    type: 'string',
    repeatable: true,
    valueHint: 'operand=result',
    description: 'a result that shares the memory of an operand, both by their numbers from 0',
  },
  'host-scratch': {
    type: 'boolean',
    description: 'give typed handlers host memory when they ask for device memory, which XLA refuses on the host',
  },
  'cuda-driver': {
    type: 'string',
    valueHint: 'libcuda.so.1',
    description: 'the library of the CUDA driver, for --abi cuda, cuda-status and cuda-typed',
  },
  'allow-newer-api': {
    type: 'boolean',
    description: 'call a typed handler that was built for a newer XLA FFI than tenon supports',
  },
  isolate: {
    type: 'boolean',
    description: 'run the kernel in a process of its own; a crash there is an error with exit code 3',
  },
  deadline: {
    type: 'string',
    valueHint: '1s',
    description: 'with --isolate, the longest time of a run: 500ms, 1s, 2min, or inf; by default 30s',
  },
  memory: {
    type: 'string',
    valueHint: '512MiB',
    description: 'with --isolate, the private memory that the kernel may have; by default without limit',
  },
  guard: {
    type: 'boolean',
    description:
      'with --isolate, make operands read-only, and a write beside an operand or result an error; up to 63 bytes behind it are not checked',
  },
  workers: {
    type: 'string',
    valueHint: 'n',
    description: 'with --isolate, the number of processes that share the runs of --repeat; by default 1',
  },
  repeat: { type: 'string', valueHint: 'n', description: 'run it n more times and print the duration of a run' },
  json: { type: 'boolean', description: 'print one JSON document' },
} as const satisfies Definition

const meta = { name: 'call', description: 'Call a kernel of a library with arrays from .npy files' }

/** A call whose kernel was found, and whose command line was read. */
export interface CommandCall extends HandCall {
  readonly values: Values<Definition>
  /** The definition of the flags that are not attributes. */
  readonly options: Definition
  /** What the library states about the kernel. */
  readonly found: FoundSignature | undefined
  /** The signature of the kernel, if the call uses it. */
  readonly described: FoundSignature | undefined
}

/** Makes a command `tenon call`, which runs a kernel on arrays from files. @param run runs the call */
export function makeCallCommand(run: (call: CommandCall) => void | Promise<void>): SubCommand {
  return {
    meta,
    args,
    start(rawArgs) {
      const [library, symbol] = leadingPositionals(rawArgs, args)
      if (library !== undefined && symbol !== undefined) return startKernel(library, symbol, rawArgs, run)
      return {
        usage: (style) => commandUsage(meta, args, style),
        run: () => void parseArguments(rawArgs, args, 'Run tenon call --help for the list.'),
      }
    },
  }
}

/** The command without `--isolate`. */
export const callCommand: SubCommand = makeCallCommand(callHere)

/** Runs the kernel in this process. @throws {UsageError} for flags of isolated calls */
export function callHere(call: CommandCall): void {
  const { described, flags } = call
  refuseIsolateFlags(flags)
  if (described !== undefined) callKernel({ ...call, found: described })
  else callByHand(call)
}

function startKernel(
  library: string,
  symbol: string,
  rawArgs: readonly string[],
  runCall: (call: CommandCall) => void | Promise<void>,
): Invocation {
  // Refuses other files before the system's loader sees them.
  const info = readBinary(library)
  if (mayBeTensorFlow(info, symbol, rawArgs)) return startTensorFlow({ library, symbol, rawArgs, options: args })
  const [found] = readSignatures(library, info, { name: symbol })
  const own = found === undefined ? {} : kernelFlags(found.signature, args)
  const callable = found !== undefined && isCallable(found.signature) ? found : undefined
  return {
    usage: (style) =>
      callable === undefined
        ? commandUsage(meta, args, style)
        : kernelUsage(callable.signature, { own, options: args }, style),
    run() {
      const hint = unknownFlagHint(symbol, callable?.signature)
      const values: Values<Definition> = parseArguments(rawArgs, { ...args, ...own }, hint)
      const flags: CallFlags = values as Values<typeof args>
      const repeat = flags.repeat === undefined ? 0 : parseRepeat(flags.repeat)
      const described = callable !== undefined && !isByHand(flags, callable.signature) ? callable : undefined
      if (described === undefined && found !== undefined) {
        if (flags.abi === undefined) refuseUnreadable(found)
        refuseKernelFlags(found.signature, args, values)
      }
      return runCall({ found, described, known: found?.signature, options: args, values, flags, info, repeat })
    },
  }
}
