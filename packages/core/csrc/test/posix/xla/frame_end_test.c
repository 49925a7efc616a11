/* frame.c does not read behind the end of a descriptor, where a protected page begins. */
#include <string.h>

#include "check.h"
#include "tenon.h"
#include "xla/support.h"

static tn_xla_error_t *do_nothing(tn_xla_call_frame_t *frame) {
  (void)frame;
  return NULL;
}

enum { NO_ATTRIBUTE = 0 };

/* Ends with an attribute of the kind, whose bytes are not a multiple of 8, or with a buffer. */
static void put_example(descriptor_t *d, int32_t last) {
  put_header(d, 3, 1, 0, last == NO_ATTRIBUTE ? 0 : 1, (tn_xla_bundle_v1_t){NULL, NULL, NULL, do_nothing});
  put_buffer(d, TN_XLA_F32, 3, (const int64_t[]){2, 3, 4});
  if (last == TN_XLA_SCALAR) put_scalar(d, "name", TN_XLA_S16, &(int16_t){1});
  if (last == TN_XLA_ARRAY) {
    put_name(d, TN_XLA_ARRAY, "array");
    put_u32s(d, TN_XLA_S16, 0);
    put_u64(d, 3);
    put(d, (const int16_t[]){1, -2, 3}, 6);
  }
  if (last == TN_XLA_STRING) {
    put_name(d, TN_XLA_STRING, "a longer name");
    put_u64(d, 5);
    put(d, "bytes", 5);
  }
  if (last == TN_XLA_DICTIONARY) {
    put_name(d, TN_XLA_DICTIONARY, "inner");
    put_u32s(d, 1, 0);
    put_scalar(d, "n", TN_XLA_U8, &(uint8_t){1});
  }
}

TEST(every_truncation_of_a_descriptor_is_refused_without_reading_behind_it) {
  static const int32_t last[] = {NO_ATTRIBUTE, TN_XLA_SCALAR, TN_XLA_ARRAY, TN_XLA_STRING, TN_XLA_DICTIONARY};
  const size_t page = tn_page_size();
  char *pages = NULL;
  CHECK(tn_pages_open(page, (void **)&pages) == TN_OK);
  for (size_t i = 0; i < sizeof last / sizeof *last; i++) {
    descriptor_t d;
    put_example(&d, last[i]);
    size_t needed = 0;
    for (size_t size = 0; size <= d.size; size++) {
      /* As near to the protected page as the alignment of descriptors allows. */
      char *copy = pages + page - (size + 7) / 8 * 8;
      memset(pages, 0, page);
      memcpy(copy, d.bytes, size);
      CHECK(tn_xla_frame_size(copy, size, &needed) == (size == d.size ? TN_OK : TN_INVALID_ARGUMENT));
      if (size == d.size) continue;
      CHECK(strstr(tn_last_error(), "the descriptor ends inside") != NULL ||
            strstr(tn_last_error(), "an attribute must have a name") != NULL);
    }
  }
  CHECK(tn_pages_close(pages, page) == TN_OK);
}
