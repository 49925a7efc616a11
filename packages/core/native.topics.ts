import type { NativePackage } from '@tenon/build'

/** The topics of the C core: a topic includes headers of its own and of lower levels only. */
export const topics = {
  directory: 'csrc',
  shared: 'csrc/include',
  levels: [['base'], ['call'], ['pools', 'tstring', 'tvm', 'xla'], ['host', 'node']],
  headers: {
    'status.def': 'base',
    'tenon.h': 'base',
    'tenon_call.h': 'call',
    'tenon_host.h': 'host',
    'tenon_nnapi.h': 'pools',
    'tenon_pools.h': 'pools',
    'tenon_tstring.h': 'tstring',
    'tenon_tvm.h': 'tvm',
    'tenon_xla.h': 'xla',
  },
} as const satisfies NativePackage['topics']
