/* The texts of a report of a crash. The functions are for handlers of signals. */
#pragma once

#include <stdbool.h>

#include "base/status.h"
#include "tenon_call.h"

/* The longest absolute path of a directory, and the longest members of a JSON object, in bytes. */
#define TN__CRASH_DIRECTORY 768
#define TN__CRASH_ABOUT 4096

/* The texts of a report that are known beforehand. */
typedef struct {
  char directory[TN__CRASH_DIRECTORY + 1];
  char about[TN__CRASH_ABOUT + 1];
} tn__crash_texts_t;

typedef struct {
  const tn__crash_texts_t *texts;
  tn_crash_t crash;
  const tn_crash_call_t *call; /* null if it is not known */
  const char *thread;          /* which kind of thread it is */
  const uint8_t *modules;      /* a list of tn_module_t, or null */
  bool is_last;                /* no other crash of this process is reported */
  int error;                   /* errno of the file, which could not be created, or 0 */
  bool is_complete;            /* the file */
  char path[TN__CRASH_DIRECTORY + 128]; /* of the file; empty before tn__crash_write_file() */
} tn__crash_report_t;

/* Writes a JSON file into the directory. */
void tn__crash_write_file(tn__crash_report_t *report);

/* Writes a page to a file such as standard error. */
void tn__crash_write_page(const tn__crash_report_t *report, int file);

/* One of the texts of a call, as far as it is in the memory of the call. */
const char *tn__crash_text_of(const tn_crash_call_t *call, uint32_t index, size_t *size);
