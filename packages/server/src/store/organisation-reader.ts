import type { Company, Status, User } from './records.ts';

/** A company as it is stored, without its users. */
export interface StoredCompany extends Omit<Company, 'users' | 'statuses'> {
  /** In the order of the catalogue. */
  readonly statuses: readonly Status[];
}

/** Reads the organisation page by page. All lists are sorted by id, byte by byte, so that the same data has one order. */
export interface OrganisationReader {
  /** The companies after this id, with their branches and departments. */
  readCompanies(afterId: string | undefined, limit: number): Promise<readonly StoredCompany[]>;
  readCompany(id: string): Promise<StoredCompany | undefined>;
  /** The users of a company after this id. */
  readUsers(companyId: string, afterId: string | undefined, limit: number): Promise<readonly User[]>;
}
