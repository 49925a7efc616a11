/** One of the servers that `http.ts` compares, in a process of its own: `echo` or `infer`. Prints its port. */
import { createServer as createHttpServer } from 'node:http'
import { createServer, defineModel } from '../src/index.ts'

async function start(kind: string | undefined): Promise<number> {
  if (kind === 'infer') {
    const identity = defineModel({ name: 'identity', signature: '(x: f32[n]) -> (y: f32[n])', run: ({ x }) => x })
    return (await createServer({ models: [identity], http: { port: 0 } })).port
  }
  // Sends the same bytes back, and checks nothing.
  const echo = createHttpServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks)
      response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': body.length })
      response.end(body)
    })
  })
  await new Promise<void>((resolve) => echo.listen(0, '127.0.0.1', resolve))
  return (echo.address() as { port: number }).port
}

process.send!(await start(process.argv[2]))
