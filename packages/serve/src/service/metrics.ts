import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { ModelRegistry } from './model-registry.ts'
import type { ServedModel } from './served-model.ts'

/** Why a request failed, in the words of Triton. */
export type FailureReason = 'REJECTED' | 'CANCELED' | 'BACKEND' | 'OTHER'

const labelNames = ['model', 'version'] as const

/** The buckets of request times in seconds. */
const buckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** The most times of a model that wait for the histogram. Together they take a tenth of the time that they take one by one. */
const MOST_WAITING = 256

/** Values that are read from the server when the metrics are collected. */
export interface Gauges {
  readonly connections: () => number
  readonly inFlightBytes: () => number
}

/** The times of answered requests of a model in seconds. */
interface RequestTimes {
  readonly labels: ReturnType<typeof labelsOf>
  readonly seconds: number[]
}

/**
 * What Prometheus reads from a server. Triton's names have Triton's meaning (`metrics.md`), so that its dashboards work. A model's name
 * is a label only if the server has the model.
 */
export class Metrics {
  readonly #registry = new Registry()
  readonly #failures: Counter<'model' | 'version' | 'reason'>
  readonly #seconds: Histogram<'model' | 'version'>
  readonly #first: Histogram<'model' | 'version'>
  readonly #times = new WeakMap<Pick<ServedModel, 'model'>, RequestTimes>()
  /** Those that the histogram does not have yet. A model that was unloaded leaves its times here, and nothing else. */
  readonly #waiting = new Set<RequestTimes>()

  constructor(models: ModelRegistry, { connections, inFlightBytes }: Gauges) {
    const registers = [this.#registry]
    const counter = (name: string, help: string, valueOf: (served: ServedModel) => number): void => {
      const own = new Counter({
        name,
        help,
        labelNames,
        registers,
        collect: () => {
          own.reset()
          for (const served of models.all()) own.inc(labelsOf(served), valueOf(served))
        },
      })
    }
    const microseconds = (
      name: string,
      part: Parameters<ServedModel['statistics']['durationOf']>[0],
      help: string,
    ): void =>
      counter(`nv_inference_${name}_duration_us`, help, ({ statistics }) =>
        Math.round(statistics.durationOf(part).ns / 1000),
      )

    counter(
      'nv_inference_request_success',
      'Requests that were answered',
      ({ statistics }) => statistics.durationOf('success').count,
    )
    counter(
      'nv_inference_count',
      'Inferences, counted in rows of batches',
      ({ statistics }) => statistics.inferenceCount,
    )
    counter('nv_inference_exec_count', 'Runs of the model', ({ statistics }) => statistics.executionCount)
    microseconds('request', 'success', 'Time of answered requests in microseconds')
    microseconds('queue', 'queue', 'Time in the queue in microseconds')
    microseconds('compute_input', 'computeInput', 'Time for inputs in microseconds')
    microseconds('compute_infer', 'computeInfer', 'Time of runs in microseconds')
    microseconds('compute_output', 'computeOutput', 'Time for outputs in microseconds')
    const restarts: Counter<'model'> = new Counter({
      name: 'tenon_worker_restarts_total',
      help: 'Starts of worker processes after the end of others',
      labelNames: ['model'],
      registers,
      collect: () => {
        restarts.reset()
        for (const [model, { loaded, pastRestarts }] of models.entries()) {
          const count = loaded?.workerRestarts?.()
          if (count !== undefined || pastRestarts > 0) restarts.inc({ model }, pastRestarts + (count ?? 0))
        }
      },
    })
    const pending = new Gauge({
      name: 'nv_inference_pending_request_count',
      help: 'Requests that wait or run',
      labelNames,
      registers,
      collect: () => {
        pending.reset()
        for (const served of models.all()) pending.set(labelsOf(served), served.scheduler.pending)
      },
    })
    const weights: Gauge<'model' | 'version'> = new Gauge({
      name: 'tenon_traffic_weight',
      help: 'Weights of versions for requests without a version',
      labelNames,
      registers,
      collect: () => {
        weights.reset()
        for (const [model, { traffic }] of models.entries()) {
          for (const [version, weight] of Object.entries(traffic?.weights ?? {}))
            weights.set({ model, version }, weight)
        }
      },
    })
    const sequences = new Gauge({
      name: 'tenon_sequences',
      help: 'Sequences that have not ended',
      labelNames,
      registers,
      collect: () => {
        sequences.reset()
        for (const served of models.all()) {
          if (served.model.sequence !== undefined) sequences.set(labelsOf(served), served.scheduler.sequences)
        }
      },
    })
    const gauge = (name: string, help: string, read: () => number): void => {
      const own: Gauge = new Gauge({ name, help, registers, collect: () => own.set(read()) })
    }
    gauge('tenon_connections', 'Open connections', connections)
    gauge('tenon_in_flight_bytes', 'Bytes of the requests that are read or answered', inFlightBytes)
    this.#failures = new Counter({
      name: 'nv_inference_request_failure',
      help: 'Requests that failed',
      labelNames: [...labelNames, 'reason'],
      registers,
    })
    this.#first = new Histogram({
      name: 'nv_inference_first_response_histogram_ms',
      help: 'Time to the first answer of a stream in milliseconds',
      labelNames,
      buckets: [1, 5, 25, 100, 500, 2000, 5000],
      registers,
    })
    this.#seconds = new Histogram({
      name: 'tenon_request_seconds',
      help: 'Time of requests in seconds',
      labelNames,
      buckets,
      registers,
      collect: () => {
        for (const times of this.#waiting) this.#observe(times)
      },
    })
  }

  /** Counts an answered request. */
  addSuccess(served: Pick<ServedModel, 'model'>, seconds: number): void {
    let times = this.#times.get(served)
    if (times === undefined) this.#times.set(served, (times = { labels: labelsOf(served), seconds: [] }))
    if (times.seconds.length === 0) this.#waiting.add(times)
    times.seconds.push(seconds)
    if (times.seconds.length === MOST_WAITING) this.#observe(times)
  }

  #observe(times: RequestTimes): void {
    const histogram = this.#seconds.labels(times.labels)
    for (const seconds of times.seconds.splice(0)) histogram.observe(seconds)
    this.#waiting.delete(times)
  }

  /** Counts a stream that has begun. */
  addFirst(served: Pick<ServedModel, 'model'>, milliseconds: number): void {
    this.#first.labels(labelsOf(served)).observe(milliseconds)
  }

  addFailure(served: Pick<ServedModel, 'model'>, reason: FailureReason): void {
    this.#failures.inc({ ...labelsOf(served), reason })
  }

  /** The metrics in the text format of Prometheus, and its content type. */
  async text(): Promise<{ readonly text: string; readonly contentType: string }> {
    return { text: await this.#registry.metrics(), contentType: this.#registry.contentType }
  }
}

const labelsOf = ({ model: { name, version } }: Pick<ServedModel, 'model'>) => ({ model: name, version })
