/** What a store throws. */

/** The database is unreachable, locked or full. The same call may succeed later. */
export class StoreUnavailableError extends Error {
  override readonly name = 'StoreUnavailableError';
}

/** The client disconnected, so its poll was aborted. */
export class ClientDisconnectedError extends Error {
  override readonly name = 'ClientDisconnectedError';
}

/** The file of a backup exists already, or cannot be written. */
export class BackupTargetError extends Error {
  override readonly name = 'BackupTargetError';
}

/** The schema is newer than this program, or must be migrated first. */
export class SchemaVersionError extends Error {
  override readonly name = 'SchemaVersionError';
  readonly found: number;
  readonly expected: number;

  constructor(found: number, expected: number) {
    super(`the schema is at version ${found}, this program needs version ${expected}`);
    this.found = found;
    this.expected = expected;
  }
}

/** The database is damaged, or was not created by Leadtap. */
export class UnusableDatabaseError extends Error {
  override readonly name = 'UnusableDatabaseError';
}

/** Another version of Leadtap made the database, with a schema that this one cannot migrate. */
export class OtherSchemaError extends UnusableDatabaseError {
  constructor() {
    super(
      'another version of Leadtap made the database: export it with that version, and import it into a new one',
    );
  }
}
