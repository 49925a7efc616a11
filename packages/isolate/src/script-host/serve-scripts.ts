import { bufferOver, CONSTANTS } from '@tenon/core/internal'
import { check, out, outAddress, sharing } from '@tenon/pools/internal'
import { TakenRequest } from './taken-request.ts'
import { ScriptHost } from './script-host.ts'

/**
 * Serves the client that has started this process as a worker, until the client ends it. Between calls the event loop does not
 * run, so timers of scripts only fire while a call waits for a promise.
 *
 * @throws {PoolsError} if this process was not started as a worker.
 */
export async function serveScripts(): Promise<never> {
  const functions = sharing()
  check(functions.tn_host_attach(outAddress()), 'attaching to the client')
  const command = bufferOver(Number(out.u64[0]), CONSTANTS.TN_HOST_COMMAND_SIZE)
  const host = new ScriptHost()
  for (;;) {
    check(functions.tn_host_take(outAddress(), -1), 'waiting for a request')
    const slot = out.u32[0]!
    const served = host.serve(new TakenRequest(command, slot))
    if (served !== undefined) await served
    check(functions.tn_host_answer(slot), 'answering')
  }
}
