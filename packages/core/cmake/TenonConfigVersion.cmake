# The version is that of the package, in whose folder this file is.
file(READ "${CMAKE_CURRENT_LIST_DIR}/../package.json" Tenon_PACKAGE)
string(REGEX MATCH "\"version\": *\"([0-9.]+)" Tenon_PACKAGE "${Tenon_PACKAGE}")
set(PACKAGE_VERSION "${CMAKE_MATCH_1}")

# Versions with the same first number are compatible, and before 1.0 those with the same first two.
if(PACKAGE_VERSION VERSION_EQUAL PACKAGE_FIND_VERSION)
  set(PACKAGE_VERSION_EXACT TRUE)
endif()
string(REGEX MATCH "^(0\\.[0-9]+|[0-9]+)" Tenon_OWN "${PACKAGE_VERSION}")
string(REGEX MATCH "^(0\\.[0-9]+|[0-9]+)" Tenon_WANTED "${PACKAGE_FIND_VERSION}")
if(Tenon_OWN STREQUAL Tenon_WANTED AND NOT PACKAGE_VERSION VERSION_LESS PACKAGE_FIND_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
endif()
