/** Reads a file and a page of this process with curl, whose options are variadic arguments. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { readFileSync } from 'node:fs'
import { MemorySegment, NativeScope } from 'tenon/scope'
import { upcallStub } from 'tenon/scope/linker'
import { textOf } from 'tenon/scope/bind'
import * as curl from './curl/index.js'

const scope = NativeScope.ofConfined()
let received = ''
const write = upcallStub(
  (data: MemorySegment, size: bigint, count: bigint) => {
    received += textOf(data, Number(size * count))
    return size * count
  },
  { result: 'uint64', parameters: ['pointer', 'uint64', 'uint64', 'pointer'] },
  scope,
)

assert.equal(curl.curl_global_init(curl.CURL_GLOBAL_ALL), curl.CURLE_OK)
const easy = curl.curl_easy_init()
const set = (option: number, value: string | number | bigint | MemorySegment): void =>
  assert.equal(curl.curl_easy_setopt(easy, option, value), curl.CURLE_OK)
const ownText = readFileSync(fileURLToPath(import.meta.url), 'utf8')
set(curl.CURLOPT_WRITEFUNCTION, write)
set(curl.CURLOPT_URL, pathToFileURL(fileURLToPath(import.meta.url)).href)
assert.equal(curl.curl_easy_perform(easy), curl.CURLE_OK)
assert.equal(received, ownText)

// A bigint is a `curl_off_t`.
received = ''
set(curl.CURLOPT_RESUME_FROM_LARGE, 4n)
assert.equal(curl.curl_easy_perform(easy), curl.CURLE_OK)
assert.equal(received, ownText.slice(4))
set(curl.CURLOPT_RESUME_FROM_LARGE, 0n)
set(curl.CURLOPT_URL, pathToFileURL(fileURLToPath(new URL('missing', import.meta.url))).href)
const code = curl.curl_easy_perform(easy)
assert.equal(code, curl.CURLE_FILE_COULDNT_READ_FILE)
assert.equal(curl.curl_easy_strerror(code), "Couldn't read a file:// file")

// The event loop, which serves the page, goes on while curl waits on another thread.
const server = createServer(({ headers }, response) => response.writeHead(418).end(`hello ${headers['user-agent']}`))
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
received = ''
set(curl.CURLOPT_URL, `http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
set(curl.CURLOPT_USERAGENT, 'tenon')
set(curl.CURLOPT_NOPROXY, '*')
assert.equal(await curl.curl_easy_perform.async(easy), curl.CURLE_OK)
assert.equal(received, 'hello tenon')
const status = BigInt64Array.of(0n)
assert.equal(curl.curl_easy_getinfo(easy, curl.CURLINFO_RESPONSE_CODE, MemorySegment.ofBuffer(status)), curl.CURLE_OK)
assert.equal(status[0], 418n)
curl.curl_easy_cleanup(easy)
server.close()
scope.close()
