/* Libraries whose functions the program exports as well. */
#pragma once

/* The flags with which a file is opened so that its calls of its own functions reach them: RTLD_DEEPBIND if the program itself
 * exports one of them, as Node.js does with those of zlib and OpenSSL, or 0. The loader would use the program's functions in their
 * place, and a library of another version would work on structs that they do not know. For a shim of tenon bind, the functions of
 * the libraries that it names count as well. */
int tn__own_symbols_flag(const char *path);
