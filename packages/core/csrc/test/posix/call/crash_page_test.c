/* crash_page.c, crash_text.h: the texts of reports, whatever the memory of the process contains. */
#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "call/crash_page.h"
#include "call/crash_text.h"
#include "check.h"

static char written[1 << 20];

/* A file without a name, which becomes `written`. */
static int new_file(void) {
  char path[] = "/tmp/tenon-crash-page-XXXXXX";
  const int file = mkstemp(path);
  unlink(path);
  return file;
}

static void take(int file) {
  const ssize_t length = pread(file, written, sizeof written - 1, 0);
  written[length < 0 ? 0 : length] = '\0';
  close(file);
}

static bool is_written(const char *expected) {
  if (strcmp(written, expected) == 0) return true;
  check_fail(__FILE__, __LINE__, "expected: %.300s\ngot: %.300s", expected, written);
  return false;
}

static bool has(const char *text) {
  if (strstr(written, text) != NULL) return true;
  check_fail(__FILE__, __LINE__, "\"%s\" is not in: %.600s", text, written);
  return false;
}

TEST(numbers_of_reports_have_all_their_digits) {
  tn__text_t text = {.file = new_file()};
  tn__text_number(&text, 0);
  tn__text_byte(&text, ' ');
  tn__text_number(&text, UINT64_MAX);
  tn__text_byte(&text, ' ');
  tn__text_signed(&text, INT64_MIN);
  tn__text_byte(&text, ' ');
  tn__text_signed(&text, 12);
  tn__text_byte(&text, ' ');
  tn__text_hex(&text, 0);
  tn__text_byte(&text, ' ');
  tn__text_hex(&text, 0xfedcba9876543210u);
  tn__text_byte(&text, ' ');
  tn__text_bytes(&text, (const uint8_t[]){0, 0x1f, 0xff}, 3);
  tn__text_flush(&text);
  take(text.file);
  CHECK(is_written("0 18446744073709551615 -9223372036854775808 12 0x0 0xfedcba9876543210 001fff"));
}

TEST(texts_of_reports_have_no_control_characters_and_are_json) {
  static const char added[] = "a\"b\\c\n\x1b[2J\x7f\xc2\x9b\xc3\xa9\xc2\xa0\xc2";
  tn__text_t text = {.file = new_file()};
  tn__text_quoted(&text, added, sizeof added - 1);
  tn__text_printable(&text, added, sizeof added - 1);
  tn__text_quoted(&text, "", 0);
  tn__text_flush(&text);
  take(text.file);
  CHECK(is_written("\"a\\\"b\\\\c??[2J??\xc3\xa9\xc2\xa0\xc2\"a\"b\\c??[2J??\xc3\xa9\xc2\xa0\xc2\"\""));
}

TEST(a_long_text_is_written_in_parts_and_a_file_that_fails_ends_it) {
  tn__text_t text = {.file = new_file()};
  for (int i = 0; i < 5000; i++) tn__text_byte(&text, (char)('a' + i % 26));
  tn__text_flush(&text);
  take(text.file);
  CHECK(!text.has_failed && strlen(written) == 5000 && written[4999] == 'a' + 4999 % 26);
  tn__text_t closed = {.file = -1};
  for (int i = 0; i < 5000; i++) tn__text_byte(&closed, 'a');
  tn__text_flush(&closed);
  CHECK(closed.has_failed);
}

static tn__crash_texts_t texts = {.directory = "/tmp", .about = "\"node\": \"v24\""};
static tn_crash_call_t call;

static void describe(const char *kernel, const char *convention, const char *types, const char *stack) {
  const char *all[TN_CRASH_TEXTS] = {kernel, convention, types, stack};
  size_t used = 0;
  for (int i = 0; i < TN_CRASH_TEXTS; i++) {
    call.sizes[i] = (uint32_t)strlen(all[i]);
    memcpy(call.texts + used, all[i], call.sizes[i]);
    used += call.sizes[i];
  }
}

/* A list of one module at 0x1000 to 0x2000, which is loaded 0x800 above its addresses. */
static const uint8_t *one_module(void) {
  static struct {
    tn_module_t module;
    char path[24];
    tn_module_t last;
  } list = {{.size = sizeof(tn_module_t) + 24,
             .path_length = 12,
             .bias = 0x800,
             .start = 0x1000,
             .end = 0x2000,
             .byte_size = 5,
             .inode = 6,
             .changed = -7,
             .build_id_size = 2,
             .build_id = {0xab, 0x0c}},
            "/opt/libodd\".so",
            {0}};
  return (const uint8_t *)&list;
}

static tn__crash_report_t report;

static void new_report(void) {
  report = (tn__crash_report_t){.texts = &texts, .thread = "a thread", .modules = one_module()};
  report.crash = (tn_crash_t){.signal = SIGBUS, .address = UINT64_MAX, .frames = 3, .exact = 1, .pcs = {0x1000, 0x2000, 0x3000}};
}

static void write_page(void) {
  const int file = new_file();
  tn__crash_write_page(&report, file);
  take(file);
}

static void write_file(void) {
  tn__crash_write_file(&report);
  const int file = open(report.path, O_RDONLY);
  unlink(report.path);
  take(file);
}

TEST(a_frame_is_in_the_file_of_its_instruction_or_of_its_call) {
  new_report();
  write_page();
  /* The second frame is that of a call, before the end of the module. */
  CHECK(has("tenon: SIGBUS in a native call (process ") && has(", a thread)\n  at libodd\"+0x800\n  at libodd\"+0x1800\n  at 0x3000\n"));
  write_file();
  CHECK(has("    { \"pc\": \"0x2000\", \"exact\": false, \"library\": \"/opt/libodd\\\"\", \"offset\": \"0x1800\", \"buildId\": "
            "\"ab0c\", \"identity\": \"5 6 -7\" },\n    { \"pc\": \"0x3000\", \"exact\": false }\n  ]\n}\n"));
  CHECK(has("\"thread\": \"a thread\"") && has("\"node\": \"v24\",\n  \"frames\": [") && strstr(written, "address") == NULL);
}

TEST(a_page_has_the_first_frames_and_callers_and_a_file_has_all) {
  new_report();
  report.crash.frames = 1000;
  for (int i = 0; i < TN_CRASH_FRAMES; i++) report.crash.pcs[i] = 0x10000u + (unsigned)i;
  describe("k", "typed", "", "1\n2\n3\n4\n5\n6\n7\n8\n9");
  report.call = &call;
  write_page();
  CHECK(has(" in k() (") && has("  at 0x10017\n  ...\n  called at 1\n") && has("  called at 8\n"));
  CHECK(strstr(written, "0x10018") == NULL && strstr(written, "called at 9") == NULL);
  write_file();
  CHECK(has("\"types\": [], \"stack\": [\"1\", \"2\", \"3\", \"4\", \"5\", \"6\", \"7\", \"8\", \"9\"] }") && has("\"pc\": \"0x1003f\""));
  CHECK(strstr(written, "0x10040") == NULL);
}

TEST(a_call_that_a_kernel_has_overwritten_stays_in_its_memory) {
  new_report();
  report.call = &call;
  memset(&call, 0xff, sizeof call);
  write_page();
  CHECK(has("tenon: SIGBUS in \xff\xff"));
  write_file();
  CHECK(has(", \"convention\": \"\", \"types\": [], \"stack\": [] }"));
  CHECK(strlen(written) < TN_CRASH_TEXT_SIZE + 2000);
  memset(&call, '"', sizeof call);
  write_file();
  CHECK(has("\"kernel\": \"\\\"\\\"") && strlen(written) < 2 * TN_CRASH_TEXT_SIZE + 2000);
}

TEST(a_page_says_why_there_is_no_file) {
  static tn__crash_texts_t missing = {.directory = "/tmp/tenon-no-such-directory"};
  new_report();
  report.texts = &missing;
  report.is_last = true;
  tn__crash_write_file(&report);
  write_page();
  CHECK(has("  no report: /tmp/tenon-no-such-directory/tenon-crash-") && has(".json cannot be created (errno 2)\n"));
  CHECK(has("  further crashes of this process are not reported\n"));
}
#endif
