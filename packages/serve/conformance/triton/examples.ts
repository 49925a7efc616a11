import { KEY_PREFIX } from './fixture.ts'

/** One run of an example of `triton-inference-server/client`, or of a script of this folder. */
export interface Example {
  readonly file: string
  /** Whether the file is in this folder instead of upstream's. */
  readonly isOwn?: boolean
  readonly protocol: 'http' | 'grpc'
  readonly args?: readonly string[]
  /** The fixture of the run. Default: `all`, which serves every model. */
  readonly fixture?: 'ownHttp' | 'ownGrpc' | 'seven' | 'eight'
  /** Whether the keys of its shared memory get the prefix that the server requires. */
  readonly sharesMemory?: boolean
}

const http = (file: string, ...args: string[]): Example => ({ file, protocol: 'http', args })
const grpc = (file: string, ...args: string[]): Example => ({ file, protocol: 'grpc', args })
const sharing = (example: Example): Example => ({ ...example, sharesMemory: true })

const compressed = (algorithm: string): string[] => [
  '--request-compression-algorithm',
  algorithm,
  '--response-compression-algorithm',
  algorithm,
]

const own = (protocol: 'http' | 'grpc', fixture: 'ownHttp' | 'ownGrpc'): Example => ({
  file: 'every_method.py',
  isOwn: true,
  protocol,
  fixture,
  args: ['--protocol', protocol, '--key-prefix', KEY_PREFIX],
})

/** The runs in their order. Model control is last, as in Triton's own tests, because it unloads models. */
export const examples: readonly Example[] = [
  http('simple_http_health_metadata.py'),
  http('simple_http_infer_client.py'),
  http('simple_http_infer_client.py', ...compressed('gzip')),
  http('simple_http_infer_client.py', ...compressed('deflate')),
  http('simple_http_async_infer_client.py'),
  http('simple_http_aio_infer_client.py'),
  http('simple_http_aio_infer_client.py', ...compressed('gzip')),
  http('simple_http_aio_infer_client.py', ...compressed('deflate')),
  http('simple_http_string_infer_client.py'),
  sharing(http('simple_http_shm_client.py')),
  sharing(http('simple_http_shm_string_client.py')),
  sharing(http('reuse_infer_objects_client.py', '--protocol', 'http')),
  grpc('simple_grpc_health_metadata.py'),
  grpc('simple_grpc_infer_client.py'),
  grpc('simple_grpc_infer_client.py', '--grpc-compression-algorithm', 'gzip'),
  grpc('simple_grpc_infer_client.py', '--client-timeout', '10'),
  grpc('simple_grpc_async_infer_client.py'),
  grpc('simple_grpc_aio_infer_client.py'),
  grpc('simple_grpc_aio_infer_client.py', '--grpc-compression-algorithm', 'gzip'),
  grpc('simple_grpc_string_infer_client.py'),
  grpc('simple_grpc_custom_args_client.py'),
  grpc('simple_grpc_keepalive_client.py'),
  grpc('simple_grpc_keepalive_client.py', '--grpc-keepalive-time', '100', '--grpc-keepalive-permit-without-calls'),
  grpc('grpc_explicit_byte_content_client.py'),
  grpc('grpc_explicit_int8_content_client.py'),
  grpc('grpc_explicit_int_content_client.py'),
  grpc('grpc_client.py'),
  sharing(grpc('simple_grpc_shm_client.py')),
  sharing(grpc('simple_grpc_shm_string_client.py')),
  sharing(grpc('reuse_infer_objects_client.py', '--protocol', 'grpc')),
  http('simple_http_sequence_sync_infer_client.py'),
  http('simple_http_sequence_sync_infer_client.py', '--dyna'),
  grpc('simple_grpc_sequence_sync_infer_client.py'),
  grpc('simple_grpc_sequence_sync_infer_client.py', '--dyna'),
  grpc('simple_grpc_sequence_stream_infer_client.py'),
  grpc('simple_grpc_sequence_stream_infer_client.py', '--dyna'),
  grpc('simple_grpc_aio_sequence_stream_infer_client.py'),
  grpc('simple_grpc_aio_sequence_stream_infer_client.py', '--dyna'),
  grpc('simple_grpc_custom_repeat.py'),
  own('http', 'ownHttp'),
  own('grpc', 'ownGrpc'),
  { ...http('simple_http_model_control.py'), fixture: 'seven' },
  { ...grpc('simple_grpc_model_control.py'), fixture: 'eight' },
]

const IMAGES = 'needs pictures and the weights of a network'
const CUDA = 'needs a GPU and CUDA IPC'

/** Examples that do not run, with the reasons. An example that is neither here nor above fails the command. */
export const leftOut: ReadonlyMap<string, string> = new Map([
  ['ensemble_image_client.py', IMAGES],
  ['grpc_image_client.py', IMAGES],
  ['image_client.py', IMAGES],
  ['memory_growth_test.py', 'has fixed ports, and measures the memory of the client'],
  ['simple_grpc_cudashm_client.py', CUDA],
  ['simple_http_cudashm_client.py', CUDA],
])
