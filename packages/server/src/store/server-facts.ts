/** What a database server tells about itself, for the doctor. A database in a file has no server. */
export interface ServerFacts {
  /** The clock of the server, which stamps the leads, less the clock of this machine. */
  readonly clockAheadMs: number;
  /** How many connections it lets this role have at once. */
  readonly connectionLimit: number;
  /** A standby takes no leads, and its locks say nothing about the writers of its primary. */
  readonly isStandby: boolean;
  /** False: a crash may lose leads that were acknowledged. */
  readonly isDurable: boolean;
  /** In which our own transactions begin. */
  readonly isolation: string;
  readonly encoding: string;
  /** Roles that the schema is made for and that do not exist. */
  readonly missingRoles: readonly string[];
}
