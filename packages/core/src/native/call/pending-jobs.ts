import { shared } from './shared.ts'

/** The continuation of a job. Its closure keeps the memory of the job reachable. */
export type Settle = (status: number) => void

/** The jobs of this thread that are not over, by their ids. Native code may have freed a job that is not among them. */
export const pendingJobs: Map<number, Settle> = shared('jobs', () => new Map<number, Settle>())

/** Runs functions in the asynchronous context, such as the stores of AsyncLocalStorage, in which a job was started; by ids of jobs. */
export const jobContexts: Map<number, (run: () => void) => void> = shared('contexts of jobs', () => new Map())
