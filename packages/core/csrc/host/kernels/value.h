/* The values of packed functions, as requests and answers carry them. The client's side of these bytes is in TypeScript.
 *
 * Values are MessagePack: nil, bool, int (64 bits; an unsigned one above INT64_MAX is refused), float (32 or 64), str,
 * bin, array (an ffi.Array) and map (an ffi.Map), nested at most TN__VALUE_DEEPEST deep, and these extension types, whose
 * numbers are little-endian and not aligned:
 *
 *   1  tensor     u32 operand of the request, u8 code, u8 bits, u16 lanes, i64 dimensions...   over the whole operand
 *   2  shape      i64 dimensions...
 *   3  data type  u8 code, u8 bits, u16 lanes
 *   4  device     i32 type, i32 id
 *   5  function   u32 id of a function of the client, which can be called until the request is answered
 *   6  part       u32 part of the kept value, u8 code, u8 bits, u16 lanes, i64 dimensions...   only in results
 *   7  copy       u8 code, u8 bits, u16 lanes, u32 rank, i64 dimensions..., bytes              a tensor by value
 *
 * All tensors are row-major, lie on the CPU, and have (product of dimensions * bits * lanes + 7) / 8 bytes. In a request
 * the operand of type 1 has at least as many. Each operand may occur several times.
 *
 * TN_HOST_RUN of a packed or a legacy function
 *   request  an array of the arguments, which may have the types 1, 2, 3, 4, 5 and 7
 *   answer   TN_OK: the result, a value that may have the types 1 (the function returned this operand, from its first
 *            byte), 2, 3, 4, 6 and 7. A tensor of at most TN__VALUE_COPIED bytes is a copy if it fits, any other is a part.
 *            - `value` of the slot is 0: the body is the whole result.
 *            - `value` is the id of a kept value, and the flag TN_HOST_LONG_BODY is clear: the body is the result, which has
 *              parts, numbered from 1.
 *            - `value` is the id of a kept value, and TN_HOST_LONG_BODY is set: the result does not fit into the body, which
 *              is a u64, the size of the result in bytes. Part 0 is the result itself.
 *   error    TN_HOST_PACKED_ERROR: [kind, message, traceback, causes, id]. `traceback` has the most recent call first.
 *            `causes` is an array of [kind, message, traceback, id], the nearest first. `id` is nil, or the id with which
 *            the client raised this very error during the same run. Texts are cut, and may contain invalid UTF-8.
 *
 * TN_HOST_FETCH
 *   request  target: the kept value; body: u32 part; one operand, writable, of exactly the size of the part
 *   answer   empty; the operand has the bytes
 *
 * TN_HOST_RELEASE_VALUE
 *   request  target: the kept value; no body
 *
 * A call of a function of the client (TN_HOST_CALLBACK)
 *   body     [id of the function, arguments], where `arguments` is an array of values of the types 1, 2, 3, 4 and 7
 *   answer   TN_HOST_RETURNED with the body [0, result], whose result may have the types 1 (an operand of the same request,
 *            from its first byte), 2, 3, 4, 5 and 7, or [1, kind, message, traceback, id], where `id` is nil or a u32 of the
 *            client's choice
 *   Arguments that do not fit, and functions that are called when their request has been answered, raise an error in the
 *   kernel. Functions may be called on any thread; such calls wait for each other.
 *
 * The answers of other requests
 *   TN_HOST_RUN of an XLA convention   no body. TN_HOST_XLA_ERROR and TN_HOST_EXCEPTION: `code` is the XLA code, `value` the
 *                                      stage (TN_XLA_INSTANTIATE, ...), the body the message, which is cut if it does not
 *                                      fit. Untyped functions have the stage TN_XLA_EXECUTE, and without an exception TN_XLA_INTERNAL.
 *   TN_HOST_KERNEL                     the same: the handler of the instantiate stage runs when the kernel is made.
 *                                      A typed handler of a version that Tenon does not have is a TN_HOST_REQUEST_ERROR with the
 *                                      status TN_VERSION_MISMATCH and the code major << 16 | minor. If it does not answer the
 *                                      question for its version, the code is -1, `value` the XLA code of the error that it
 *                                      returned instead (0 for none), and the body the text of that error.
 *   Others                             no body, or TN_HOST_REQUEST_ERROR or TN_HOST_LOAD_ERROR with a message. A name that
 *                                      a library does not export or register is a TN_HOST_REQUEST_ERROR with the status
 *                                      TN_NOT_FOUND. */
#ifndef TENON_HOST_VALUE_H
#define TENON_HOST_VALUE_H

#include "kept_values.h"
#include "message_pack.h"
#include "packed_runtime.h"

#define TN__VALUE_DEEPEST 64
#define TN__VALUE_COPIED 4096

enum {
  TN__VALUE_TENSOR = 1,
  TN__VALUE_SHAPE = 2,
  TN__VALUE_DTYPE = 3,
  TN__VALUE_DEVICE = 4,
  TN__VALUE_FUNCTION = 5,
  TN__VALUE_PART = 6,
  TN__VALUE_COPY = 7,
};

/* --- value_reader.c ------------------------------------------------------------------------------------------------ */

typedef struct {
  const tn__request_t *request; /* whose operands were reached */
  tn__pack_reader_t bytes;
  int (*make_function)(uint32_t id, TVMFFIAny *out); /* makes a function of the client: 0 and an owned value, or -1 */
  const char *wrong; /* after a failure: what was wrong */
} tn__value_reader_t;

/* Reads a value, which the caller owns. False, and `wrong`, if the bytes are not one. */
bool tn__value_read(tn__value_reader_t *reader, TVMFFIAny *out);

/* Reads the start of an array, and then its items, which the caller owns and frees with tn__values_free(). */
typedef struct {
  TVMFFIAny *items;
  int32_t count;
} tn__values_t;

bool tn__values_read(tn__value_reader_t *reader, tn__values_t *out);
void tn__values_free(tn__values_t *values);

/* --- value_writer.c ------------------------------------------------------------------------------------------------ */

typedef struct {
  const tn__request_t *request;
  tn__pack_writer_t bytes;
  tn__kept_t *kept; /* receives the parts; null: large tensors are copied too */
} tn__value_writer_t;

/* Writes a borrowed value. 0, or -1 with an error raised. */
int tn__value_write(tn__value_writer_t *writer, const TVMFFIAny *value);

/* Writes an array of borrowed values. */
int tn__values_write(tn__value_writer_t *writer, const TVMFFIAny *values, int32_t count);

#endif
