import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'

import { names, type NativePackage, type NativeTarget } from '@tenon/build'

const nodeHeaders = join(dirname(createRequire(import.meta.url).resolve('node-api-headers')), 'include')
const includes = ['csrc', '../../packages/core/include', relative(import.meta.dirname, nodeHeaders)]

/** The functions of Node.js that the addons use. */
const nodeApi = names(`
  napi_call_function napi_create_int32 napi_create_reference napi_define_properties napi_delete_reference
  napi_get_cb_info napi_get_reference_value napi_get_typedarray_info napi_get_undefined napi_get_value_double
  napi_get_value_int32 napi_is_exception_pending napi_throw_error napi_typeof
`)

const unusedByPackedFunctions = new Set([
  'napi_create_int32',
  'napi_delete_reference',
  'napi_get_typedarray_info',
  'napi_get_value_int32',
])

/** The hand-written addons, which are peers in benchmarks and are never shipped (Linux and macOS). See csrc/addon.h. */
const addons: NativeTarget[] = [
  {
    name: 'custom_call_addon',
    kind: 'shared',
    sources: ['csrc/custom_call_addon.c'],
    includes,
    imports: [],
    unresolved: nodeApi,
    exports: ['napi_register_module_v1', 'node_api_module_get_api_version_v1'],
  },
  {
    name: 'packed_func_addon',
    kind: 'shared',
    sources: ['csrc/packed_func_addon.c'],
    includes,
    imports: ['malloc'],
    unresolved: [
      ...nodeApi.filter((name) => !unusedByPackedFunctions.has(name)),
      'napi_close_handle_scope',
      'napi_create_external',
      'napi_create_function',
      'napi_create_int64',
      'napi_get_value_external',
      'napi_get_value_int64',
      'napi_get_value_string_utf8',
      'napi_open_handle_scope',
    ],
    exports: ['napi_register_module_v1', 'node_api_module_get_api_version_v1'],
  },
]

export default {
  // On Windows, an addon must be linked with node.exe.
  targets: process.platform === 'win32' ? [] : addons,
} satisfies NativePackage
