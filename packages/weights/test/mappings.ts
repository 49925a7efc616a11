import { addressOf, coreFunctions } from '@tenon/core/internal'

/** The mappings of this process. */
export function mappingCount(): bigint {
  const out = new BigUint64Array(2)
  coreFunctions().tn_mapping_totals(addressOf(out), addressOf(out) + 8)
  return out[0]!
}
