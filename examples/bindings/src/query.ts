/** A query whose rows have the order of a language. An argument is one more statement, whose failure is an error. */
import { textOf } from 'tenon/scope/bind'
import * as sqlite from '../dist/sqlite/index.js'

const database = sqlite.sqlite3_open(':memory:')
sqlite.sqlite3_create_collation(database, 'de', sqlite.SQLITE_UTF8, (_, n, a, m, b) =>
  (textOf(a, n) ?? '').localeCompare(textOf(b, m) ?? '', 'de'),
)
sqlite.sqlite3_exec(database, `create table city (name); insert into city values ('Ulm'), ('Öhringen'), ('Oldenburg')`)
const cities = sqlite.sqlite3_prepare_v2(database, 'select name from city where name <> ? order by name collate de')
sqlite.sqlite3_bind_text(cities, 1, 'Ulm')
while (sqlite.sqlite3_step(cities) === sqlite.SQLITE_ROW) console.log(sqlite.sqlite3_column_text(cities, 0))
sqlite.sqlite3_exec(database, process.argv[2] ?? 'select 1')
database.close()
