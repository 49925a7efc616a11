import { serveDriver } from './server/serve-driver.ts'

/** The reference CPU driver in a process or a worker of its own. */
serveDriver()
