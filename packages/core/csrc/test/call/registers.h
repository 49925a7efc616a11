/* How many arguments of a native call are passed in registers. Windows on x64 counts integers and doubles together. */
#ifndef TENON_TEST_REGISTERS_H
#define TENON_TEST_REGISTERS_H

#if defined(_WIN32)
enum { INTEGER_REGISTERS = 4, VECTOR_REGISTERS = 4 };
#elif defined(__x86_64__)
enum { INTEGER_REGISTERS = 6, VECTOR_REGISTERS = 8 };
#else
enum { INTEGER_REGISTERS = 8, VECTOR_REGISTERS = 8 };
#endif

#endif
