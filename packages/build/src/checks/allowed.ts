import type { Platform } from '../platform.ts'

/** What every process of a system has. Names may end in `*`. */
export interface AllowedNames {
  /** The symbols that compilers and start files use. */
  readonly symbols: readonly string[]
  /** The libraries that every process of the system has. */
  readonly libraries: readonly string[]
  /** The C++ runtime of the process, for targets with C++ sources. */
  readonly cxxLibraries: readonly string[]
}

/** The functions of the C library for which compilers replace loops and assignments, and the check of the stack. */
const everywhere = ['memcmp', 'memcpy', 'memmove', 'memset', '__stack_chk_fail', '__stack_chk_guard']

const elfSymbols = [
  ...everywhere,
  '_ITM_deregisterTMCloneTable',
  '_ITM_registerTMCloneTable',
  '__cxa_finalize',
  '__deregister_frame_info',
  '__getauxval',
  '__gmon_start__',
  '__register_frame_info',
  '__tls_get_addr',
]

const glibc: AllowedNames = {
  symbols: elfSymbols,
  libraries: ['libc.so.6', 'libm.so.6', 'libpthread.so.0', 'libdl.so.2', 'ld-linux*'],
  cxxLibraries: ['libstdc++.so.6', 'libgcc_s.so.1'],
}

const musl: AllowedNames = {
  symbols: elfSymbols,
  libraries: ['libc.so', 'libc.musl-*'],
  cxxLibraries: ['libstdc++.so.6', 'libgcc_s.so.1'],
}

const macos: AllowedNames = {
  symbols: [
    ...everywhere,
    '__bzero',
    '__chkstk_darwin',
    '_tlv_bootstrap',
    'bzero',
    'dyld_stub_binder',
    'memset_pattern*',
  ],
  libraries: ['/usr/lib/libSystem.B.dylib'],
  cxxLibraries: ['/usr/lib/libc++.1.dylib'],
}

/** MinGW links its start files, its printf and the emulation of POSIX threads into every DLL. */
const windows: AllowedNames = {
  symbols: [
    ...everywhere,
    'CloseHandle',
    'CreateEventA',
    'CreateSemaphoreA',
    'DeleteCriticalSection',
    'EnterCriticalSection',
    'FreeLibrary',
    'GetCurrentProcess',
    'GetCurrentProcessId',
    'GetCurrentThread',
    'GetCurrentThreadId',
    'GetLastError',
    'GetModuleHandleA',
    'GetModuleHandleW',
    'GetProcAddress',
    'GetStartupInfoA',
    'GetSystemTimeAsFileTime',
    'InitializeCriticalSection',
    'IsDBCSLeadByteEx',
    'LeaveCriticalSection',
    'LoadLibraryA',
    'LoadLibraryW',
    'MultiByteToWideChar',
    'QueryPerformanceCounter',
    'Rtl*',
    'SetUnhandledExceptionFilter',
    'Sleep',
    'TerminateProcess',
    'Tls*',
    'UnhandledExceptionFilter',
    'VirtualProtect',
    'VirtualQuery',
    'WideCharToMultiByte',
    '_*',
    'abort',
    'calloc',
    'exit',
    'fputc',
    'fputs',
    'fputwc',
    'free',
    'fwrite',
    'getc',
    'localeconv',
    'malloc',
    'realloc',
    'setlocale',
    'signal',
    'strerror',
    'strlen',
    'strncmp',
    'ungetc',
    'vfprintf',
    'wcslen',
  ],
  libraries: ['KERNEL32.dll', 'ucrtbase.dll', 'api-ms-win-crt-*', 'msvcrt.dll'],
  cxxLibraries: [],
}

/** Returns what every process of a platform has. */
export function allowedNames({ os, libc }: Platform): AllowedNames {
  if (os === 'darwin') return macos
  if (os === 'win32') return windows
  return libc === 'musl' ? musl : glibc
}
