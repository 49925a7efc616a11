#include "throwing.h"

#include <new>
#include <stdexcept>

void throw_bad_array_new_length() { throw std::bad_array_new_length(); }
void throw_bad_alloc() { throw std::bad_alloc(); }
void throw_logic_error(const char *text) { throw std::logic_error(text); }
