# Finds Tenon's C headers: find_package(Tenon CONFIG REQUIRED), then target_link_libraries(kernels PRIVATE Tenon::headers).
# `npx tenon include --cmake` prints the directory of this file, for Tenon_DIR.

if(NOT TARGET Tenon::headers)
  add_library(Tenon::headers INTERFACE IMPORTED)
  get_filename_component(Tenon_INCLUDE_DIR "${CMAKE_CURRENT_LIST_DIR}/../include" ABSOLUTE)
  set_target_properties(Tenon::headers PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${Tenon_INCLUDE_DIR}")
endif()
