/* A function of DuckDB, address_of(FLOAT), whose result is the address of the vector that DuckDB passes to it. */
#include <stdint.h>

void *duckdb_create_scalar_function(void);
void duckdb_scalar_function_set_name(void *function, const char *name);
void *duckdb_create_logical_type(int type);
void duckdb_destroy_logical_type(void **type);
void duckdb_scalar_function_add_parameter(void *function, void *type);
void duckdb_scalar_function_set_return_type(void *function, void *type);
void duckdb_scalar_function_set_function(void *function, void (*run)(void *, void *, void *));
int duckdb_register_scalar_function(void *connection, void *function);
void duckdb_destroy_scalar_function(void **function);
uint64_t duckdb_data_chunk_get_size(void *chunk);
void *duckdb_data_chunk_get_vector(void *chunk, uint64_t column);
void *duckdb_vector_get_data(void *vector);

enum { FLOAT = 10, UBIGINT = 9 };

static void address_of(void *info, void *input, void *output) {
  (void)info;
  uint64_t *to = duckdb_vector_get_data(output);
  const void *from = duckdb_vector_get_data(duckdb_data_chunk_get_vector(input, 0));
  const uint64_t count = duckdb_data_chunk_get_size(input);
  for (uint64_t i = 0; i < count; i++) to[i] = (uintptr_t)from;
}

/* Returns 0 if the connection has the function. */
int register_address_of(void *connection) {
  void *function = duckdb_create_scalar_function(), *from = duckdb_create_logical_type(FLOAT);
  void *to = duckdb_create_logical_type(UBIGINT);
  duckdb_scalar_function_set_name(function, "address_of");
  duckdb_scalar_function_add_parameter(function, from);
  duckdb_scalar_function_set_return_type(function, to);
  duckdb_scalar_function_set_function(function, address_of);
  const int status = duckdb_register_scalar_function(connection, function);
  duckdb_destroy_logical_type(&from);
  duckdb_destroy_logical_type(&to);
  duckdb_destroy_scalar_function(&function);
  return status;
}
