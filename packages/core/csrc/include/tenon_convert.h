/* Conversions between float32 and the element types of at most 16 bits.
 *
 * An element type is the number that XLA's PrimitiveType has for it. */
#ifndef TENON_CONVERT_H
#define TENON_CONVERT_H

#include "tenon.h"

#define TN_CONVERT_FROM_PACKED 1u /* elements of `from` of less than a byte fill each byte from its low bits */
#define TN_CONVERT_TO_PACKED 2u   /* the same for `to`; other bits of its last byte become 0 */

/* Converts `count` elements, which are adjacent and aligned, and do not overlap. Both types are float32 or one of csrc/convert/types.def.
 *
 * Numbers are rounded to the nearest one of the type, ties to even. What is too large becomes infinity, or the largest number of a type
 * without infinity, and integers are clamped. NaN becomes 0 in a type without NaN. TN_UNSUPPORTED: another type. */
TN_API int32_t tn_convert(const void *from, uint32_t from_type, void *to, uint32_t to_type, uint64_t count, uint32_t flags);

#endif
