import { requestOf } from './exchange.ts'
import { refused, type HostileRequest } from './hostile-request.ts'

const get = (path: string, status: number, error: string, method = 'GET'): HostileRequest =>
  refused(
    `${method} ${path.length > 60 ? `${path.slice(0, 40)} and more` : path}`,
    status,
    error,
    requestOf(path, '', {}, method),
  )

const unknownPath = 'there is no such path'
const unknownModel = 'Request for unknown model'
const encoded = 'the path must be encoded'

/** Paths that are not those of the protocol. */
export const paths: readonly HostileRequest[] = [
  get('/', 404, unknownPath),
  get('*', 404, unknownPath, 'OPTIONS'),
  get('//v2', 404, unknownPath),
  get('/v2/', 404, unknownPath),
  get('/V2', 404, unknownPath),
  get('/v2/../v2', 404, unknownPath),
  get('/v2/models', 404, unknownPath),
  get('/v2/models//infer', 404, unknownPath, 'POST'),
  get('/v2/models/double/infer/', 404, unknownPath, 'POST'),
  get('/v2/models/double/versions//infer', 404, unknownPath, 'POST'),
  get('/v2%2fhealth%2flive', 404, unknownPath),
  get('/%76%32', 404, unknownPath),
  get('/v2;x=y', 404, unknownPath),
  get('/v2#x', 404, unknownPath),
  get('/v2\\health', 404, unknownPath),
  get('http://localhost/v2', 404, unknownPath),
  get('/v2/models/double/versions/1/versions/1', 404, unknownPath),
  get(`/${'a/'.repeat(5000)}`, 404, unknownPath),
  get(`/v2/models/${'%41'.repeat(4000)}`, 404, unknownModel),
  get(`/v2/models/${'a'.repeat(15_000)}`, 404, unknownModel),
  get(`/v2/models/double/versions/${'1'.repeat(15_000)}`, 400, 'version'),
  get('/v2/models/%zz', 400, encoded),
  get('/v2/models/%', 400, encoded),
  get('/v2/models/%c3%28', 400, encoded),
  get('/v2/models/%ed%a0%80', 400, encoded),
  get('/v2/models/double/versions/%ff', 400, encoded),
  get('/v2/models/%00', 404, unknownModel),
  get('/v2/models/double%00', 404, unknownModel),
  get('/v2/models/%2e%2e%2f%2e%2e%2fetc%2fpasswd', 404, unknownModel),
  get('/v2/models/..%2fdouble', 404, unknownModel),
  get('/v2/models/%2564ouble', 404, unknownModel),
  get('/v2/models/__proto__', 404, unknownModel),
  get('/v2/models/constructor/config', 404, unknownModel),
  get('/v2/models/DOUBLE', 404, unknownModel),
  get('/v2/models/double/versions/2', 404, unknownModel),
  get('/v2/models/double/versions/01', 404, unknownModel),
  get('/v2/models/double/versions/-1', 400, 'version'),
  get('/v2/models/double/versions/1e0', 400, 'version'),
  get('/v2/models/double/versions/__proto__', 400, 'version'),
  get('/v2/models/double/infer', 405, 'must be POST'),
  get('/v2', 405, 'must be GET', 'POST'),
  get('/v2', 405, 'must be GET', 'DELETE'),
  get('/v2', 405, 'must be GET', 'OPTIONS'),
  get('/v2/health/live', 405, 'must be GET', 'TRACE'),
  get('/metrics', 405, 'must be GET', 'PUT'),
  get('/v2/systemsharedmemory/region/%00/status', 404, 'there is no region'),
  get('/v2/cudasharedmemory/region/a/status', 404, 'there is no region'),
]
