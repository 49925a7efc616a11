import { shared } from './shared.ts'

/** The continuation of a job. Its closure keeps the memory of the job reachable. */
export type Settle = (status: number) => void

/** The jobs of this thread that are not over, by their ids. Native code may have freed a job that is not among them. */
export const pendingJobs: Map<number, Settle> = shared('jobs', () => new Map<number, Settle>())
