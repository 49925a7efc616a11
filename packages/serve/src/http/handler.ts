import type { Answer } from './answer.ts'
import type { Exchange } from './exchange.ts'
import type { StreamAnswer } from './send-stream.ts'

/** Answers the requests of one path. @throws (rejects with) the error to answer. */
export type Handler = (exchange: Exchange) => Answer | Promise<Answer | StreamAnswer>
