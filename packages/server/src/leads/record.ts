/** A lead as a store keeps it. Times are milliseconds since 1970. */
import type { LeadFieldName, LeadFieldTable } from '@leadtap/contract';
import type { Status } from '../accounts/records.ts';

/** The part of a company's leads that a user may see: the whole, one branch of it, or one department. */
export type LeadScope =
  | { readonly level: 'COMPANY'; readonly companyId: string }
  | { readonly level: 'BRANCH'; readonly companyId: string; readonly branchId: string }
  | { readonly level: 'DEPARTMENT'; readonly companyId: string; readonly departmentId: string };

/** The place that narrows a scope; null does not. */
export const placeOf = (scope: LeadScope) => ({
  branchId: scope.level === 'BRANCH' ? scope.branchId : null,
  departmentId: scope.level === 'DEPARTMENT' ? scope.departmentId : null,
});

/** What a store keeps for each type of field. */
interface StoredTypes {
  readonly id: string;
  readonly triggerId: string;
  readonly text: string;
  readonly email: string;
  readonly instant: number;
  readonly timeOfDay: string;
  readonly statusCode: string;
  readonly status: Status;
  readonly object: Readonly<Record<string, unknown>>;
  readonly urls: readonly string[];
  readonly boolean: boolean;
}

/** The fields of a lead that have a default: what its writer says about it. Leadtap adds everything else. */
export type LeadFields = {
  readonly [Name in LeadFieldName as LeadFieldTable[Name] extends { default: unknown } ? Name : never]:
    | StoredTypes[LeadFieldTable[Name]['type']]
    | (LeadFieldTable[Name] extends { default: null } ? null : never);
};

/** A lead as a poll reads it, with the current names of its places and its status. `status.value` is its `statusValue`. */
export type LeadRecord = LeadFields & {
  readonly [Name in Exclude<LeadFieldName, keyof LeadFields | 'statusValue'>]:
    | StoredTypes[LeadFieldTable[Name]['type']]
    | (LeadFieldTable[Name]['nullable'] extends true ? null : never);
};

/** A lead with the ids of its places, where the wire has their names. */
export interface StoredLead {
  readonly companyId: string;
  readonly branchId: string | null;
  readonly departmentId: string | null;
  readonly lead: LeadRecord;
}

/**
 * A lead as the store takes it. It has four names on its way in:
 *
 * 1. `InputLine`: the bytes of a line of NDJSON, a row of CSV or an item of a JSON array, with its number (imports only);
 * 2. `ParsedLine`: that line with its `ParsedLead`, which is a `LeadInput` or a list of `ValidationIssue`s;
 * 3. `LeadInput`;
 * 4. `LeadResult`: what the store did with it (added, updated or rejected).
 *
 * A field that is absent keeps its value when the lead exists already, and takes the default (null, empty, the status NEW or else
 * the first of its company) when it does not.
 */
export interface LeadInput {
  readonly companyId: string;
  /**
   * The operator's own id. The same id in the same company again is an update. Without one, the import makes a UUID, so that a
   * retried batch adds no lead twice; over HTTP it is derived from the `Idempotency-Key`; otherwise, the store makes a UUID.
   */
  readonly id?: string;
  readonly branchId?: string | null;
  readonly departmentId?: string | null;
  /** The value of a status of the company, or else a label or a value in any case. */
  readonly statusValue?: string;
  /** Only for leads imported as history: the time they keep. */
  readonly createdAt?: number;
  /** The lead has no content: it is rejected if its company has no lead with this id, instead of added. */
  readonly onlyUpdate?: true;
  readonly fields: Partial<LeadFields>;
}
