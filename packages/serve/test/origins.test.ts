import { describe, expect, test } from 'vitest'
import { double } from './models.ts'
import { Served } from './support.ts'

const page = 'https://example.org'

describe('web pages', () => {
  test('are refused unless their origin is allowed', async () => {
    const served = await Served.start([double], { http: { port: 0, allowedOrigins: [page] } })
    for (const origin of ['https://example.com', 'http://example.org', 'https://example.org:8443', 'null', '']) {
      for (const method of ['GET', 'OPTIONS']) {
        const { status, headers } = await served.send(method, '/v2', undefined, { origin })
        expect([origin, status, headers['access-control-allow-origin']]).toEqual([origin, 403, undefined])
      }
    }
    const { status, headers } = await served.send('GET', '/v2', undefined, { origin: page })
    expect([status, headers['access-control-allow-origin'], headers['vary']]).toEqual([200, page, 'origin'])
    expect((await served.send('GET', '/v2')).headers['access-control-allow-origin']).toBeUndefined()
  })

  test('may send what the client of Tenon sends, and read what it reads', async () => {
    const served = await Served.start([double], { http: { port: 0, allowedOrigins: [page] } })
    const { status, headers } = await served.send('OPTIONS', '/v2/models/double/infer', undefined, {
      origin: page,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'content-type,inference-header-content-length',
    })
    expect(status).toBe(204)
    expect(headers['access-control-allow-methods']).toBe('GET, POST')
    expect(headers['access-control-allow-headers']).toContain('inference-header-content-length')
    const error = await served.send('POST', '/v2/models/none/infer', '{}', { origin: page })
    expect([error.status, error.headers['access-control-allow-origin']]).toEqual([404, page])
    expect(error.headers['access-control-expose-headers']).toContain('inference-header-content-length')
    // Without an origin, OPTIONS is a verb like others.
    expect((await served.send('OPTIONS', '/v2')).status).toBe(405)
  })

  test('an origin has a scheme and a host, and no path', async () => {
    for (const origin of ['*', 'example.org', 'https://example.org/', 'null', '']) {
      await expect(Served.start([], { http: { port: 0, allowedOrigins: [origin] } })).rejects.toThrow(
        `allowedOrigins must have origins such as https://example.org, got "${origin}"`,
      )
    }
  })
})
