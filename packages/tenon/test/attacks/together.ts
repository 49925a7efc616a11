import type { Attempts } from './attempt.ts'
import { callbacks } from './callbacks.ts'
import { files } from './files.ts'
import { getters } from './getters.ts'
import { kernels } from './kernels.ts'
import { lifetimes } from './lifetimes.ts'
import { numbers } from './numbers.ts'
import { realms } from './realms.ts'
import { threads } from './threads.ts'

/** The attempts that leave the process as it was, so that others can follow in the same process. */
export const together: Readonly<Record<string, Attempts>> = {
  'lifetimes that end during calls': lifetimes,
  'arguments that run code': getters,
  'kernels whose arguments run code, change or overlap': kernels,
  'counts and offsets at their limits': numbers,
  'files that are cut off or changed': files,
  'other contexts, patched methods and buffers that change': realms,
  'recursion, garbage collection and errors in callbacks': callbacks,
  'threads that change memory or end': threads,
}
