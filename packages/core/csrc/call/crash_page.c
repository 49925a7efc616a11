/* The JSON file and the page of a crash. Only functions that handlers of signals may call are used. */
#include "crash_page.h"

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "crash_text.h"

/* Below this address nothing is mapped. */
#define NULL_PAGE 4096

/* The frames of native code and of JavaScript on the page; the file has all. */
#define PAGE_FRAMES 24
#define PAGE_CALLERS 8

static const char *name_of(int32_t number) {
  switch (number) {
    case SIGSEGV: return "SIGSEGV";
    case SIGBUS: return "SIGBUS";
    case SIGILL: return "SIGILL";
    case SIGFPE: return "SIGFPE";
    case SIGABRT: return "SIGABRT";
    case SIGTRAP: return "SIGTRAP";
    default: return "SIGSYS";
  }
}

static const char *const accesses[] = {"unknown", "read", "write", "call"};
static const char *const verbs[] = {"accessing", "reading", "writing", "calling"};

static int is_exact(const tn_crash_t *crash, uint32_t index) { return (crash->exact >> index & 1) != 0; }

static const tn_module_t *find_module(const uint8_t *modules, uint64_t at) {
  if (modules == NULL) return NULL;
  for (;;) {
    const tn_module_t *module = (const tn_module_t *)(const void *)modules;
    if (module->size == 0) return NULL;
    if (at >= module->start && at < module->end) return module;
    modules += module->size;
  }
}

static const tn_module_t *module_of(const tn__crash_report_t *report, uint32_t index) {
  return find_module(report->modules, report->crash.pcs[index] - (is_exact(&report->crash, index) ? 0 : 1));
}

static const char *path_of(const tn_module_t *module) { return (const char *)(module + 1); }

const char *tn__crash_text_of(const tn_crash_call_t *call, uint32_t index, size_t *size) {
  size_t start = 0;
  for (uint32_t i = 0;; i++) {
    const size_t left = sizeof call->texts - start;
    *size = call->sizes[i] < left ? call->sizes[i] : left;
    if (i == index) return call->texts + start;
    start += *size;
  }
}

/* --- The file ----------------------------------------------------------------------------------------------------- */

static void member(tn__text_t *out, const char *name) {
  tn__text_add(out, ",\n  \"");
  tn__text_add(out, name);
  tn__text_add(out, "\": ");
}

static void text_member(tn__text_t *out, const char *name, const char *value) {
  member(out, name);
  tn__text_quoted(out, value, strlen(value));
}

static void hex_member(tn__text_t *out, const char *name, uint64_t value) {
  tn__text_add(out, name);
  tn__text_byte(out, '"');
  tn__text_hex(out, value);
  tn__text_byte(out, '"');
}

static void write_frame(tn__text_t *out, const tn__crash_report_t *report, uint32_t index) {
  const uint64_t pc = report->crash.pcs[index];
  const tn_module_t *module = module_of(report, index);
  hex_member(out, index == 0 ? "\n    { \"pc\": " : ",\n    { \"pc\": ", pc);
  tn__text_add(out, is_exact(&report->crash, index) ? ", \"exact\": true" : ", \"exact\": false");
  if (module != NULL) {
    tn__text_add(out, ", \"library\": ");
    tn__text_quoted(out, path_of(module), module->path_length);
    hex_member(out, ", \"offset\": ", pc - module->bias);
    tn__text_add(out, ", \"buildId\": \"");
    tn__text_bytes(out, module->build_id, module->build_id_size);
    tn__text_add(out, "\", \"identity\": \"");
    tn__text_number(out, module->byte_size);
    tn__text_byte(out, ' ');
    tn__text_number(out, module->inode);
    tn__text_byte(out, ' ');
    tn__text_signed(out, module->changed);
    tn__text_byte(out, '"');
  }
  tn__text_add(out, " }");
}

/* A list with the lines of a text. */
static void write_lines(tn__text_t *out, const char *text, size_t size) {
  tn__text_byte(out, '[');
  for (size_t at = 0; at < size;) {
    const size_t length = tn__text_line(text + at, size - at);
    if (at > 0) tn__text_add(out, ", ");
    tn__text_quoted(out, text + at, length);
    at += length + 1;
  }
  tn__text_byte(out, ']');
}

static void write_call(tn__text_t *out, const tn_crash_call_t *call) {
  static const char *const names[TN_CRASH_TEXTS] = {"{ \"kernel\": ", ", \"convention\": ", ", \"types\": ",
                                                    ", \"stack\": "};
  member(out, "call");
  for (uint32_t i = 0; i < TN_CRASH_TEXTS; i++) {
    size_t size;
    const char *text = tn__crash_text_of(call, i, &size);
    tn__text_add(out, names[i]);
    if (i < TN_CRASH_TYPES) tn__text_quoted(out, text, size);
    else write_lines(out, text, size);
  }
  tn__text_add(out, " }");
}

static void write_report(tn__text_t *out, const tn__crash_report_t *report, uint64_t seconds) {
  const tn_crash_t *crash = &report->crash;
  tn__text_add(out, "{\n  \"format\": \"tenon-crash\",\n  \"version\": 1");
  text_member(out, "signal", name_of(crash->signal));
  if (crash->address != UINT64_MAX) {
    member(out, "address");
    hex_member(out, "", crash->address);
    text_member(out, "access", accesses[crash->access & 3]);
  }
  member(out, "stackOverflow");
  tn__text_add(out, crash->is_stack != 0 ? "true" : "false");
  text_member(out, "exception", crash->exception);
  text_member(out, "thread", report->thread);
  member(out, "time");
  tn__text_number(out, seconds);
  member(out, "process");
  tn__text_number(out, (uint64_t)getpid());
  member(out, "threadId");
  tn__text_number(out, (uint64_t)syscall(SYS_gettid));
  tn__text_add(out, ",\n  ");
  tn__text_add(out, report->texts->about);
  if (report->call != NULL) write_call(out, report->call);
  member(out, "frames");
  tn__text_byte(out, '[');
  for (uint32_t i = 0; i < crash->frames && i < TN_CRASH_FRAMES; i++) write_frame(out, report, i);
  tn__text_add(out, "\n  ]\n}\n");
  tn__text_flush(out);
}

static void name_file(tn__crash_report_t *report, const struct timespec *now) {
  tn__text_t path = {.file = -1};
  tn__text_add(&path, report->texts->directory);
  tn__text_add(&path, "/tenon-crash-");
  tn__text_number(&path, (uint64_t)getpid());
  tn__text_byte(&path, '-');
  tn__text_number(&path, (uint64_t)now->tv_sec * 1000000000 + (uint64_t)now->tv_nsec);
  tn__text_add(&path, ".json");
  memcpy(report->path, path.bytes, path.used);
  report->path[path.used] = '\0';
}

void tn__crash_write_file(tn__crash_report_t *report) {
  struct timespec now = {0};
  clock_gettime(CLOCK_REALTIME, &now);
  name_file(report, &now);
  const int file = open(report->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) {
    report->error = errno;
    return;
  }
  tn__text_t out = {.file = file};
  write_report(&out, report, (uint64_t)now.tv_sec);
  report->is_complete = !out.has_failed;
  close(file);
}

/* --- The page ----------------------------------------------------------------------------------------------------- */

static void print_place(tn__text_t *out, const tn_crash_t *crash) {
  if (crash->is_stack != 0) {
    tn__text_add(out, " because its stack is full");
  } else if (crash->address != UINT64_MAX) {
    tn__text_byte(out, ' ');
    tn__text_add(out, verbs[crash->access & 3]);
    tn__text_add(out, " at address ");
    tn__text_hex(out, crash->address);
    if (crash->address != 0 && crash->address < NULL_PAGE) {
      tn__text_add(out, ", a null pointer + ");
      tn__text_number(out, crash->address);
    }
  }
}

/* The name of the kernel and the types of its operands, in parentheses. */
static void print_call(tn__text_t *out, const tn_crash_call_t *call) {
  size_t size;
  const char *text = tn__crash_text_of(call, TN_CRASH_KERNEL, &size);
  tn__text_printable(out, text, size);
  tn__text_byte(out, '(');
  text = tn__crash_text_of(call, TN_CRASH_TYPES, &size);
  for (size_t at = 0; at < size;) {
    const size_t length = tn__text_line(text + at, size - at);
    if (at > 0) tn__text_add(out, ", ");
    tn__text_printable(out, text + at, length);
    at += length + 1;
  }
  tn__text_byte(out, ')');
}

/* The frames up to the core, which called the kernel. */
static void print_frames(tn__text_t *out, const tn__crash_report_t *report) {
  const tn_crash_t *crash = &report->crash;
  const tn_module_t *core = find_module(report->modules, (uint64_t)(uintptr_t)tn__crash_write_page);
  for (uint32_t i = 0; i < crash->frames && i < PAGE_FRAMES; i++) {
    const tn_module_t *module = module_of(report, i);
    if (i > 0 && module != NULL && module == core) return;
    tn__text_add(out, "  at ");
    if (module == NULL) {
      tn__text_hex(out, crash->pcs[i]);
    } else {
      size_t first = module->path_length;
      while (first > 0 && path_of(module)[first - 1] != '/') first--;
      tn__text_printable(out, path_of(module) + first, module->path_length - first);
      tn__text_byte(out, '+');
      tn__text_hex(out, crash->pcs[i] - module->bias);
    }
    tn__text_byte(out, '\n');
  }
  if (crash->frames > PAGE_FRAMES) tn__text_add(out, "  ...\n");
}

/* The frames of JavaScript. */
static void print_callers(tn__text_t *out, const tn_crash_call_t *call) {
  size_t size;
  const char *text = tn__crash_text_of(call, TN_CRASH_STACK, &size);
  uint32_t count = 0;
  for (size_t at = 0; at < size && count < PAGE_CALLERS; count++) {
    const size_t length = tn__text_line(text + at, size - at);
    tn__text_add(out, "  called at ");
    tn__text_printable(out, text + at, length);
    tn__text_byte(out, '\n');
    at += length + 1;
  }
}

static void print_path(tn__text_t *out, const tn__crash_report_t *report) {
  const char *path = report->path;
  if (path[0] == '\0') return;
  if (report->error != 0) {
    tn__text_add(out, "  no report: ");
    tn__text_printable(out, path, strlen(path));
    tn__text_add(out, " cannot be created (errno ");
    tn__text_number(out, (uint64_t)report->error);
    tn__text_add(out, ")\n");
  } else {
    tn__text_add(out, report->is_complete ? "  report: " : "  the report is incomplete: ");
    tn__text_printable(out, path, strlen(path));
    tn__text_add(out, "\n  Functions and lines: npx tenon report ");
    tn__text_printable(out, path, strlen(path));
    tn__text_byte(out, '\n');
  }
}

void tn__crash_write_page(const tn__crash_report_t *report, int file) {
  tn__text_t page = {.file = file};
  tn__text_add(&page, "tenon: ");
  tn__text_add(&page, name_of(report->crash.signal));
  print_place(&page, &report->crash);
  tn__text_add(&page, " in ");
  if (report->call == NULL) tn__text_add(&page, "a native call");
  else print_call(&page, report->call);
  tn__text_add(&page, " (process ");
  tn__text_number(&page, (uint64_t)getpid());
  tn__text_add(&page, ", ");
  tn__text_add(&page, report->thread);
  tn__text_add(&page, ")\n");
  print_frames(&page, report);
  if (report->call != NULL) print_callers(&page, report->call);
  print_path(&page, report);
  if (report->is_last) tn__text_add(&page, "  further crashes of this process are not reported\n");
  tn__text_flush(&page);
}

#endif
