import { openGrpc, openHttp, type Client } from './clients.ts'
import type { Comparison, Contestant } from './measure.ts'
import { startFastapi, startServer, type ServerProcess } from './processes.ts'
import { grpcRequest, httpRequest } from './requests.ts'
import type { LoadPlan } from './result.ts'

/** The streams at the same time on a connection of gRPC. */
const STREAMS = 4

/** The name of an echo server in the tables. */
const ECHO = 'echo of the same bytes'

/** The comparisons in their order, each of which starts its servers. @param hasFastapi whether the server of FastAPI can run. */
export function comparisonsOf(hasFastapi: boolean): Readonly<Record<string, () => Promise<Comparison>>> {
  const http = async (name: string, elements: number, loads: readonly LoadPlan[]): Promise<Comparison> => {
    const request = httpRequest('identity', [elements])
    const one = (title: string, server: ServerProcess): Contestant => overHttp(title, server, request)
    const contestants = [
      one(ECHO, await startServer('echo')),
      one('tenon', await startServer('infer')),
      one('tenon, isolated kernel', await startServer('isolated')),
    ]
    if (hasFastapi) contestants.push(one('FastAPI', await startFastapi()))
    return { name, contestants, loads }
  }
  const https = async (name: string, elements: number, loads: readonly LoadPlan[]): Promise<Comparison> => {
    const request = httpRequest('identity', [elements])
    const one = (title: string, server: ServerProcess): Contestant => overHttp(title, server, request, true)
    const contestants = [one(ECHO, await startServer('https-echo')), one('tenon', await startServer('https-infer'))]
    return { name, contestants, loads }
  }
  const grpc = async (name: string, elements: number, loads: readonly LoadPlan[]): Promise<Comparison> => {
    const request = grpcRequest('identity', [elements])
    const one = (title: string, server: ServerProcess): Contestant => overGrpc(title, server, request)
    const contestants = [one(ECHO, await startServer('grpc-echo')), one('tenon', await startServer('grpc-infer'))]
    return { name, contestants, loads }
  }
  return {
    'http 4 KiB': () => http('http 4 KiB', 1024, loadsOf(32, 500, 1000, 2000, 3000)),
    'http 1 MiB': () => http('http 1 MiB', 2 ** 18, loadsOf(8, 100)),
    'https 4 KiB': () => https('https 4 KiB', 1024, loadsOf(32, 2000)),
    'grpc 4 KiB': () => grpc('grpc 4 KiB', 1024, loadsOf(32, 500, 1000, 2000)),
    'grpc 1 MiB': () => grpc('grpc 1 MiB', 2 ** 18, loadsOf(4, 50)),
    workers: async () => {
      const server = await startServer('workers')
      const one = (title: string, model: string): Contestant => overHttp(title, server, httpRequest(model, [1024]))
      return {
        name: 'workers',
        contestants: [one('one worker', 'workers1'), one('two workers', 'workers2')],
        loads: [{ clients: 8 }],
      }
    },
    batches: async () => {
      const server = await startServer('batching')
      const one = (title: string, model: string): Contestant => overHttp(title, server, httpRequest(model, [1, 1024]))
      return {
        name: 'batches',
        contestants: [
          one('no batches', 'single'),
          one('batches of up to 32', 'batched'),
          one('batches of up to 32, queue delay of 2 ms', 'delayed'),
        ],
        loads: [1, 2, 4, 8, 16, 32].map((clients) => ({ clients })),
      }
    },
  }
}

/** Some rates, and then as many requests as possible. */
const loadsOf = (clients: number, ...rates: readonly number[]): LoadPlan[] => [
  ...rates.map((rate) => ({ clients, rate })),
  { clients },
]

function overHttp(name: string, server: ServerProcess, request: Buffer, isEncrypted = false): Contestant {
  return { name, server, request, open: (clients) => openHttp(server.port, clients, isEncrypted) }
}

function overGrpc(name: string, server: ServerProcess, request: Buffer): Contestant {
  const open = (clients: number): Promise<readonly Client[]> =>
    openGrpc(server.port, Math.ceil(clients / STREAMS), Math.min(clients, STREAMS))
  return { name, server, request, open }
}
