/**
 * Copies a database and checks the copy, in a thread, because both block their thread for as long as the database is large.
 * VACUUM INTO is one read transaction: it contains all that was committed before it began, waits for no writer, and copies no
 * bytes of deleted rows.
 */
const { parentPort, workerData } = require('node:worker_threads');

const { driver, source, target } = workerData;
const { DatabaseSync } = require(driver);

function inDatabase(file, work) {
  const database = new DatabaseSync(file);
  try {
    database.exec('PRAGMA busy_timeout = 10000');
    return work(database);
  } finally {
    database.close();
  }
}

try {
  inDatabase(source, (database) => database.prepare('VACUUM INTO ?').run(target));
  const rows = inDatabase(target, (database) => database.prepare('PRAGMA integrity_check').all());
  parentPort.postMessage({ faults: rows.map((row) => row.integrity_check).filter((line) => line !== 'ok') });
} catch ({ code, errcode, message }) {
  parentPort.postMessage({ error: { code, errcode, message } });
}
