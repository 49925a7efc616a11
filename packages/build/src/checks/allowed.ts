import { names } from '../names.ts'
import type { Platform } from '../platform.ts'

/** What every process of a system has. Names may end in `*`. */
export interface AllowedNames {
  /** The symbols that compilers and start files use. */
  readonly symbols: readonly string[]
  /** The symbols that the compiler's own part of the C library exports from every library. */
  readonly exports: readonly string[]
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

/** The functions that old versions of glibc have in each library instead of in libc.so.6. They use the errno of libc.so.6. */
const stats = ['stat', 'lstat', 'fstat', 'fstatat', 'mknod', 'mknodat'].flatMap((name) => [name, `${name}64`])

const glibc: AllowedNames = {
  symbols: elfSymbols,
  exports: ['errno', '__GI_*', ...stats, ...stats.map((name) => `__${name}`)],
  libraries: ['libc.so.6', 'libm.so.6', 'libpthread.so.0', 'libdl.so.2', 'librt.so.1', 'ld-linux*'],
  cxxLibraries: ['libstdc++.so.6', 'libgcc_s.so.1'],
}

const musl: AllowedNames = {
  symbols: elfSymbols,
  exports: ['_fini', '_init'],
  libraries: ['libc.so', 'libc.musl-*'],
  cxxLibraries: ['libstdc++.so.6', 'libgcc_s.so.1'],
}

const macos: AllowedNames = {
  symbols: [
    ...everywhere,
    '__bzero',
    '__chkstk_darwin',
    '_availability_version_check',
    '_tlv_bootstrap',
    'bzero',
    'dyld_stub_binder',
    'sys_icache_invalidate',
    'memset_pattern*',
  ],
  exports: [],
  libraries: ['/usr/lib/libSystem.B.dylib'],
  cxxLibraries: ['/usr/lib/libc++.1.dylib'],
}

/** MinGW and zig link start files, a printf, the unwinder and the C++ runtime into every DLL that uses them. */
const windows: AllowedNames = {
  symbols: [
    ...everywhere,
    ...names(`
      _* abort AcquireSRWLockExclusive calloc CloseHandle CreateEventA CreateSemaphoreA DeleteCriticalSection
      EnterCriticalSection exit fflush FlsAlloc FlsGetValue FlsSetValue fputc fputs fputwc free FreeLibrary fwrite
      getc GetCurrentProcess GetCurrentProcessId GetCurrentThread GetCurrentThreadId GetLastError GetModuleHandleA
      GetModuleHandleW GetProcAddress GetStartupInfoA GetSystemTimeAsFileTime GetSystemTimePreciseAsFileTime
      GetThreadId InitializeCriticalSection InitOnceExecuteOnce IsDBCSLeadByteEx isxdigit LeaveCriticalSection
      LoadLibraryA LoadLibraryW localeconv malloc memchr MultiByteToWideChar QueryPerformanceCounter
      QueryPerformanceFrequency RaiseException realloc ReleaseSRWLockExclusive Rtl* setlocale
      SetUnhandledExceptionFilter signal Sleep SleepConditionVariableSRW strerror strlen strncmp SwitchToThread
      TerminateProcess Tls* TryAcquireSRWLockExclusive TryEnterCriticalSection ungetc UnhandledExceptionFilter
      vfprintf VirtualProtect VirtualQuery WaitForSingleObjectEx WakeAllConditionVariable WakeConditionVariable
      wcslen WideCharToMultiByte
    `),
  ],
  exports: ['_GCC_specific_handler', '_Unwind_*', '__unw_*', 'unw_*'],
  libraries: ['KERNEL32.dll', 'ucrtbase.dll', 'api-ms-win-crt-*', 'msvcrt.dll'],
  cxxLibraries: [],
}

/** Returns what every process of a platform has. */
export function allowedNames({ os, libc }: Platform): AllowedNames {
  if (os === 'darwin') return macos
  if (os === 'win32') return windows
  return libc === 'musl' ? musl : glibc
}
