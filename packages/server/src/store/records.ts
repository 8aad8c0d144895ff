/** What a store keeps, in the words of the field. Times are milliseconds since 1970. */

export type AccessLevel = 'COMPANY' | 'BRANCH' | 'DEPARTMENT';

export interface User {
  readonly id: string;
  readonly companyId: string;
  readonly email: string | null;
  readonly name: string | null;
  /** `PROFESSIONAL`, or another upper-case word. */
  readonly plan: string;
  readonly accessLevel: AccessLevel;
  /** Never null for the access levels BRANCH and DEPARTMENT. */
  readonly branchId: string | null;
  /** Never null for the access level DEPARTMENT. */
  readonly departmentId: string | null;
}

/** The part of a company's leads that a user may see: the whole, one branch of it, or one department. */
export type Scope =
  | { readonly level: 'COMPANY'; readonly companyId: string }
  | { readonly level: 'BRANCH'; readonly companyId: string; readonly branchId: string }
  | { readonly level: 'DEPARTMENT'; readonly companyId: string; readonly departmentId: string };

export interface Status {
  readonly value: string;
  readonly label: string;
  readonly color: string;
  readonly final: boolean;
}

/** What the operator says about a lead; everything else Leadtap adds. */
export interface LeadFields {
  readonly firstName: string | null;
  readonly lastName: string | null;
  /** Null: made of the first and the last name when the lead is rendered. */
  readonly fullName: string | null;
  readonly phone1: string | null;
  readonly phone2: string | null;
  readonly email: string | null;
  readonly address: string | null;
  readonly postalCode: string | null;
  readonly addressNotes: string | null;
  readonly appointmentDateTime: number | null;
  readonly timeslot: string | null;
  readonly customFields: Readonly<Record<string, unknown>>;
  readonly images: readonly string[];
  readonly sameDay: boolean;
}

/** A lead as a poll reads it, with the names that its places and status have now. */
export interface LeadRecord extends LeadFields {
  readonly id: string;
  readonly status: Status;
  readonly companyName: string;
  readonly branchName: string | null;
  readonly departmentName: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly automationTriggerId: string;
  readonly automationCreatedAt: number;
}

/**
 * A lead on its way in. A field that is absent keeps its value when the lead exists already, and takes the
 * default (null, empty, the status NEW or else the first of its company) when it does not.
 */
export interface LeadInput {
  readonly companyId: string;
  /** The operator's own id. Absent: one is made. The same id in the same company again is an update. */
  readonly id?: string;
  readonly branchId?: string | null;
  readonly departmentId?: string | null;
  readonly statusValue?: string;
  /** Only for leads imported as history: the time they keep. */
  readonly createdAt?: number;
  readonly fields: Partial<LeadFields>;
}

export interface IssuedToken {
  readonly id: string;
  readonly userId: string;
  readonly name: string | null;
  readonly issuedAt: number;
  readonly expiresAt: number;
}

export interface Department {
  readonly id: string;
  readonly name: string;
}

export interface Branch {
  readonly id: string;
  readonly name: string;
  readonly departments: readonly Department[];
}

/** A user in an organisation file. A name or an e-mail address that is absent stays as it is; null clears it. */
export type UserInput = Omit<User, 'companyId' | 'name' | 'email'> & Partial<Pick<User, 'name' | 'email'>>;

export interface Company {
  readonly id: string;
  readonly name: string;
  /** Absent: the company keeps its catalogue, and a new company gets the default one. */
  readonly statuses?: readonly Status[];
  readonly branches: readonly Branch[];
  readonly users: readonly UserInput[];
}

export interface Organisation {
  readonly companies: readonly Company[];
}

/** Custom fields and other JSON objects: neither null nor an array. */
export const isJsonObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
