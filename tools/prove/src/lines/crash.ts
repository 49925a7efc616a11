/** Kernels that crash or never return, in a process that must go on with its work. */
import { type Line, returned } from '../line.ts'

/** The milliseconds that an endless kernel may run. */
const DEADLINE = 500

export const crash: readonly Line[] = [
  {
    name: 'crash/null-write',
    work: 'A native function writes to the null pointer. The service must get an error, and the next call must work.',
    expected: 'error',
    needs: ['writeNull', 'addOne'],
    run: async ({ writeNull }) => returned(await writeNull(1)),
  },
  {
    name: 'crash/endless-loop',
    work: 'A native function never returns. The service must get an error after half a second, and the next call must work.',
    expected: 'error',
    needs: ['spin', 'addOne'],
    limit: 6000,
    run: async ({ spin }) => returned(await spin(DEADLINE)),
  },
]
