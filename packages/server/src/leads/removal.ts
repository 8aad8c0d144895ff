/** The part of the port that deletes leads: erasing a person, and pruning leads that are older than they may be kept. */
import { createHash } from 'node:crypto';

/** Identifies a lead in the order of the table. */
export interface LeadKey {
  readonly companyId: string;
  readonly createdAt: number;
  readonly id: string;
}

/** A lead as an operator recognises it before it is erased. */
export interface RemovableLead extends LeadKey {
  readonly name: string | null;
  readonly email: string | null;
  readonly phone1: string | null;
  readonly phone2: string | null;
}

/** How a person is found. A lead matches if one of the values matches. */
export interface Contact {
  /** Compared without regard to case and to white space around them. */
  readonly emails: readonly string[];
  /** Compared by their digits, with both phone numbers of a lead. */
  readonly phones: readonly string[];
}

export interface ScanResult {
  readonly leads: readonly RemovableLead[];
  /** The last lead that was compared. Undefined at the end of the table. */
  readonly last: LeadKey | undefined;
}

export interface VacuumReport {
  /** False: something that was to be done could not be done. `remains` says what, and how to do it. */
  readonly isComplete: boolean;
  /** Where bytes of deleted leads may still be, and what removes them. A sentence each. */
  readonly remains: readonly string[];
}

export interface LeadRemoval {
  /** The leads with one of these ids, of one company or of all, sorted by company and `createdAt`. */
  findByIds(ids: readonly string[], companyId?: string): Promise<readonly RemovableLead[]>;
  /** Compares the next leads after a key, of one company or of all. Reads the table from end to end, part by part. */
  scan(contact: Contact, after: LeadKey | undefined, companyId?: string): Promise<ScanResult>;
  /**
   * Deletes these leads and stores hashes of their ids in one transaction. Until `allowErased`, `writeLeads` rejects the
   * ids. Returns how many leads were deleted.
   */
  erase(leads: readonly LeadKey[]): Promise<number>;
  /** How many leads of a company were created before this time. */
  countOlder(companyId: string, before: number): Promise<number>;
  /** Deletes the oldest leads of a company that were created before this time, at most `limit`. Their ids are not stored. */
  prune(companyId: string, before: number, limit: number): Promise<number>;
  /**
   * Removes deleted rows from the files of the database. `full` true rewrites the table or the file, false does not;
   * undefined is the default of the engine: to rewrite only if polls are answered meanwhile.
   */
  vacuum(full?: boolean): Promise<VacuumReport>;
}

export const normalizeEmail = (email: string): string => email.trim().toLowerCase();

/** `00` at the start means the same as `+`. `(0)` after the country code, as in `+33 (0)6`, is not part of the number. */
export const normalizePhone = (phone: string): string =>
  phone
    .replace(/([0-9][^0-9]*)\( *0 *\)/, '$1')
    .replace(/[^0-9]/g, '')
    .replace(/^00/, '');

/** An id may be personal data, an e-mail address for one, so only its hash is kept. PostgreSQL computes the same in a trigger. */
export const hashErasedId = (id: string): string => createHash('sha256').update(id).digest('hex');
