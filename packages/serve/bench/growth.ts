import type { GrowthSuite } from '@tenon/bench'
import { createServer, defineModel, type Model } from '@tenon/serve'
import { createClient, type Client } from '@tenon/serve/client'

const same = (name: string): Model => defineModel({ name, signature: '(x: f32[n]) -> (y: f32[n])', run: ({ x }) => x })

/** One request for each of some models, or from each of some clients. */
async function open(models: number, clients: number): Promise<{ run(): Promise<unknown>; close(): Promise<unknown> }> {
  const names = Array.from({ length: models }, (_, i) => `model${i}`)
  const server = await createServer({ models: names.map(same), http: { port: 0 } })
  const all: Client[] = Array.from({ length: clients }, () => createClient(`http://${server.httpAddress}`))
  const requests = all.flatMap((client) => names.map((name) => () => client.infer(name, { x: new Float32Array(4) })))
  return {
    run: () => Promise.all(requests.map((request) => request())),
    close: async () => {
      await Promise.all(all.map((client) => client.closeAsync()))
      await server.closeAsync()
    },
  }
}

export const suite = {
  package: '@tenon/serve',
  rows: [
    { name: 'models of a server, a request for each', counts: [1, 10, 100], open: (count) => open(count, 1) },
    { name: 'clients of a server, a request from each', counts: [1, 10, 100, 1000], open: (count) => open(1, count) },
  ],
} satisfies GrowthSuite
