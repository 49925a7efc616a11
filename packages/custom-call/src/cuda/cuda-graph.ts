import { ArgumentError, type Hold } from '@tenon/core'
import { addressOf, holdAll, releaseAll } from '@tenon/core/internal'
import type { Tensors } from '../call/call-target.ts'
import { PreparedCall } from '../call/prepared-call.ts'
import { writePointers } from '../call/run-call.ts'
import { enterCore } from '../native/enter-core.ts'
import { checkIs } from './check-is.ts'
import { CudaStream } from './cuda-stream.ts'
import { DeviceResource } from './device-resource.ts'

/**
 * The device work of a call, recorded once. A launch takes one driver call, regardless of how much work the handler
 * enqueued. The graph holds the tensors and the call open until you close it. Created by {@link captureGraph}.
 *
 * @example
 * using graph = captureGraph(saxpy, [dx, dy], [dy])
 * graph.launch()
 * await stream.finished()
 */
export class CudaGraph extends DeviceResource {
  readonly stream: CudaStream
  readonly #end: () => void

  /** @internal Takes over the captured graph, which it destroys. @param end releases what the graph has captured. */
  constructor(stream: CudaStream, graph: number, end: () => void) {
    const { device } = stream
    super(device, 'CudaGraph', 'graphExecDestroy', () => {
      try {
        return device.driver.read('graphInstantiate', 'instantiating a graph', graph, 0)
      } finally {
        device.functions.graphDestroy(graph)
      }
    })
    this.stream = stream
    this.#end = end
  }

  protected override release(): void {
    try {
      super.release()
    } finally {
      this.#end()
    }
  }

  /** Enqueues the recorded work on the stream. @throws {CudaError} if the driver refuses. @throws {ScopeClosedError} after close. */
  launch(): void {
    this.checkOpen()
    const { device, stream } = this
    stream.enter()
    device.run('graphLaunch', 'launching a graph', this.address, stream.address)
    stream.keep([this])
  }
}

/**
 * Records the work that a handler enqueues for these tensors, without executing the work. The handler's prepare and
 * initialize stages run as usual. The handler must declare that its work can be replayed, which means that it enqueues the
 * same operations each time, and does not allocate or wait.
 *
 * @param call a call that was prepared for a {@link CudaStream}.
 * @throws {ArgumentError} for any other call, or if the handler lacks the trait. @throws {XlaError} if the handler fails.
 * @throws {CudaError} if the driver refuses. @throws the errors of the call's `run`.
 * @example
 * using graph = captureGraph(saxpy, [dx, dy], [dy])
 * for (let i = 0; i < 1000; i++) graph.launch()
 * await stream.finished()
 */
export function captureGraph(call: PreparedCall, operands: Tensors, results: Tensors): CudaGraph {
  checkIs(call, PreparedCall, 'call')
  call.checkOpen()
  const { target, shape } = call
  const [stream] = target.streams
  if (!(stream instanceof CudaStream)) {
    throw new ArgumentError(`${shape.name} must be prepared for a CUDA stream to be captured`, {
      hint: 'Give prepare() the stream: device.openStream().',
    })
  }
  if (!target.isCapturable) {
    throw new ArgumentError(`${shape.name} does not declare that its work can be captured`, {
      hint: 'Build it with the trait command_buffer_compatible, or vouch for it with commandBufferCompatible: true.',
    })
  }
  stream.enter()
  const list = call.listOf(operands, results)
  const frame = call.newFrame()
  let holds: readonly Hold[] = []
  const end = (): void => {
    target.drop(frame)
    releaseAll(holds)
  }
  try {
    writePointers(call, frame, list)
    holds = holdAll([...list, stream])
    const out = new BigUint64Array(1)
    const status = enterCore('tn_cuda_capture', frame.address, addressOf(stream.record), addressOf(out))
    const graph = Number(out[0])
    if (status !== 0) {
      if (graph !== 0) stream.device.functions.graphDestroy(graph)
      throw target.failure(frame, status)
    }
    return new CudaGraph(stream, graph, end)
  } catch (error) {
    end()
    throw error
  }
}
