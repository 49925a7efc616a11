/* How Windows unwinds tn__invoke() and tn__run_entry(): its handlers of frames call the personality routines of C++. */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <unwind.h>

#include "call/guard.h"

#if defined(__clang__)
/* The header of libunwind lacks it. */
extern EXCEPTION_DISPOSITION _GCC_specific_handler(PEXCEPTION_RECORD exception, void *frame, PCONTEXT context,
                                                   PDISPATCHER_CONTEXT dispatcher, _Unwind_Personality_Fn personality);
#endif

EXCEPTION_DISPOSITION tn__exception_handler(PEXCEPTION_RECORD exception, void *frame, PCONTEXT context,
                                            PDISPATCHER_CONTEXT dispatcher);

/* The handler in the unwind information of both (win64.S). It handles only exceptions of gcc and clang. */
EXCEPTION_DISPOSITION tn__exception_handler(PEXCEPTION_RECORD exception, void *frame, PCONTEXT context,
                                            PDISPATCHER_CONTEXT dispatcher) {
  const _Unwind_Personality_Fn personality = (_Unwind_Personality_Fn)(void (*)(void))tn__personality;
  return _GCC_specific_handler(exception, frame, context, dispatcher, personality);
}
