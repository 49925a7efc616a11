import { refused, type HostileRequest } from './hostile-request.ts'

const json = JSON.stringify({ inputs: [{ name: 'x', datatype: 'FP32', shape: [2], data: [1, 2] }] })

const post = (...lines: readonly string[]): string =>
  ['POST /v2/models/floats/infer HTTP/1.1', 'host: localhost', 'connection: close', ...lines, '', ''].join('\r\n')

const get = (first: string, ...lines: readonly string[]): string => [first, ...lines, '', ''].join('\r\n')

const chunked = 'transfer-encoding: chunked'
const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`
const notHttp = 'the request must be HTTP/1.1'
const tooLarge = 'the body must have at most 1048576 bytes'

/** Sizes and frames that HTTP does not have, and bodies beyond the limits. */
export const framing: readonly HostileRequest[] = [
  refused('content-length of 2^40', 413, tooLarge, post(`content-length: ${2 ** 40}`), json),
  refused('content-length of 2^53', 413, tooLarge, post(`content-length: ${2 ** 53}`), json),
  refused('content-length of 2^63', 413, tooLarge, post('content-length: 9223372036854775808'), json),
  refused('content-length of 2^64 - 1', 413, tooLarge, post('content-length: 18446744073709551615'), json),
  refused('content-length of 2^64', 400, notHttp, post('content-length: 18446744073709551616'), json),
  refused('content-length of 100 digits', 400, notHttp, post(`content-length: ${'9'.repeat(100)}`), json),
  refused('content-length one above the limit', 413, tooLarge, post(`content-length: ${2 ** 20 + 1}`)),
  refused('content-length -1', 400, notHttp, post('content-length: -1'), json),
  refused('content-length +5', 400, notHttp, post('content-length: +5'), json),
  refused('content-length 1e3', 400, notHttp, post('content-length: 1e3'), json),
  refused('content-length 0x10', 400, notHttp, post('content-length: 0x10'), json),
  refused('content-length 5.0', 400, notHttp, post('content-length: 5.0'), json),
  refused('content-length NaN', 400, notHttp, post('content-length: NaN'), json),
  refused('content-length "5, 5"', 400, notHttp, post('content-length: 5, 5'), json),
  refused('an empty content-length', 400, notHttp, post('content-length:'), json),
  refused('two content-lengths', 400, notHttp, post('content-length: 5', 'content-length: 6'), json),
  refused('content-length and chunks', 400, notHttp, post('content-length: 5', chunked), '0\r\n\r\n'),
  refused('chunks and content-length', 400, notHttp, post(chunked, 'content-length: 5'), '0\r\n\r\n'),
  refused('no body', 400, 'the request must be JSON', post('content-length: 0')),
  refused('neither a size nor chunks', 400, 'the request must be', post(), json),
  refused(
    'a size with a byte of the next request',
    400,
    'the request must be JSON',
    post(`content-length: ${json.length + 1}`),
    json,
    '}',
  ),
  refused(
    'a body one byte longer than its size',
    400,
    'the request must be',
    post(`content-length: ${json.length - 1}`),
    json,
  ),
  refused('a size of a chunk without digits', 400, notHttp, post(chunked), 'zz\r\n'),
  refused('a negative size of a chunk', 400, notHttp, post(chunked), '-1\r\n'),
  refused('a chunk of 2^64 bytes', 400, notHttp, post(chunked), '10000000000000000\r\n'),
  refused('a chunk longer than its size', 400, notHttp, post(chunked), '2\r\n{}{}\r\n0\r\n\r\n'),
  refused('a chunk without its end', 400, notHttp, post(chunked), '2\r\n{}0\r\n\r\n'),
  refused('extensions of chunks without end', 400, notHttp, post(chunked), `1;${'x'.repeat(20_000)}\r\n{\r\n0\r\n\r\n`),
  refused('trailers without end', 431, notHttp, post(chunked), `0\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`),
  refused(
    'more bytes in chunks than the limit',
    413,
    tooLarge,
    post(chunked),
    chunk(' '.repeat(65_536)).repeat(17),
    '0\r\n\r\n',
  ),
  refused('70,000 chunks of one byte', 413, 'chunks', post(chunked), chunk(' ').repeat(70_000), '0\r\n\r\n'),
  refused('chunks that are not the last encoding', 400, notHttp, post('transfer-encoding: chunked, gzip'), '0\r\n\r\n'),
  refused('an unknown transfer-encoding', 400, notHttp, post('transfer-encoding: rot13'), json),
  refused(
    'chunks of an unknown transfer-encoding',
    400,
    notHttp,
    post('transfer-encoding: rot13, chunked'),
    '0\r\n\r\n',
  ),
  refused('two transfer-encodings', 400, notHttp, post(chunked, 'transfer-encoding: identity'), '0\r\n\r\n'),
  refused('a header beyond 16 KiB', 431, notHttp, post(`x: ${'y'.repeat(20_000)}`)),
  refused('a path beyond 16 KiB', 431, notHttp, get(`GET /${'y'.repeat(20_000)} HTTP/1.1`, 'host: localhost')),
  refused('5,000 headers', 431, notHttp, post(...Array.from({ length: 5000 }, (_, i) => `x${i}: y`))),
  refused('a header without a colon', 400, notHttp, post('content-length 5')),
  refused('a header without a name', 400, notHttp, post(': 5')),
  refused('a space before the colon', 400, notHttp, post('content-length : 5')),
  refused('a header over two lines', 400, notHttp, post('x: y', ' z')),
  refused('NUL in a header', 400, notHttp, post('x: \0')),
  refused('a line feed alone', 400, notHttp, 'POST /v2/models/floats/infer HTTP/1.1\nhost: localhost\n\n'),
  refused('no Host', 400, 'Host', get('GET /v2 HTTP/1.1', 'connection: close')),
  refused(
    'two Hosts',
    403,
    'Host',
    get('GET /v2 HTTP/1.1', 'host: example.com', 'host: localhost', 'connection: close'),
  ),
  refused('an empty Host', 403, 'Host', get('GET /v2 HTTP/1.1', 'host:', 'connection: close')),
  refused(
    'the Host of another machine',
    403,
    'Host',
    get('GET /v2 HTTP/1.1', 'host: example.com', 'connection: close'),
  ),
  refused('the Origin of a web page', 403, 'web pages', post('origin: https://example.com', 'content-length: 0')),
  refused('the Origin null', 403, 'web pages', post('origin: null', 'content-length: 0')),
  refused(
    'an expectation that nobody has',
    417,
    'Expect',
    post('expect: 200-ok', `content-length: ${json.length}`),
    json,
  ),
  refused('HTTP/9.9', 400, notHttp, get('GET /v2 HTTP/9.9')),
  refused('HTTP/2 without TLS', 400, notHttp, 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  refused(
    'a client of TLS',
    400,
    notHttp,
    Buffer.from([0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3, 0x0d, 0x0a, 0x0d, 0x0a]),
  ),
  refused('NUL bytes', 400, notHttp, '\0\0\0\0\r\n\r\n'),
  refused('an unknown verb', 400, notHttp, get('FOO /v2 HTTP/1.1', 'host: localhost')),
  refused('a verb in small letters', 400, notHttp, get('get /v2 HTTP/1.1', 'host: localhost')),
  refused('no verb', 400, notHttp, get(' /v2 HTTP/1.1', 'host: localhost')),
]

/** Requests that never become complete. Each takes the time that a request may take. */
export const unfinished: readonly HostileRequest[] = [
  refused('half of the first line', 408, 'too long', 'POST /v2'),
  refused('headers without end', 408, 'too long', 'POST /v2 HTTP/1.1\r\nhost: localhost\r\n'),
  refused('a body one byte longer than it comes', 408, 'too long', post(`content-length: ${json.length + 1}`), json),
  refused('a body of which nothing comes', 408, 'too long', post('content-length: 100')),
  refused('a chunk of which half comes', 408, 'too long', post(chunked), '10\r\n{'),
  refused('chunks without the last one', 408, 'too long', post(chunked), chunk(json)),
  refused(
    'binary inputs of which half comes',
    408,
    'too long',
    post('content-length: 100', 'inference-header-content-length: 10'),
    '{',
  ),
  refused(
    'compressed bytes of which half comes',
    408,
    'too long',
    post('content-length: 100', 'content-encoding: gzip'),
    Buffer.from([0x1f, 0x8b, 8, 0]),
  ),
  {
    ...refused('a half-closed connection in the headers', 400, notHttp, 'POST /v2 HTTP/1.1\r\nhost:'),
    isHalfClosed: true,
  },
  {
    ...refused('a half-closed connection in the body', 400, notHttp, post('content-length: 100'), '{'),
    isHalfClosed: true,
  },
]
