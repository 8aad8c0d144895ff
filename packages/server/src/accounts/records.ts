/** Companies, their users and their tokens, as a store keeps them. Times are milliseconds since 1970. */

export type AccessLevel = 'COMPANY' | 'BRANCH' | 'DEPARTMENT';

/** Only users on this plan may poll. */
export const PROFESSIONAL = 'PROFESSIONAL';

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

/** What a token may do with the rights of its user. */
export type TokenScope = 'leads:read' | 'leads:write';

/** What `token issue --source` accepts. */
export const LEAD_SOURCES = [
  'calendly',
  'elementor',
  'facebook',
  'form',
  'google-ads',
  'jotform',
  'tally',
  'typeform',
  'webflow',
] as const;

export type LeadSource = (typeof LEAD_SOURCES)[number];

/** The service whose webhooks a token sends, and the fields that labels of its answers stand for. */
export interface TokenSource {
  readonly name: string;
  readonly map: Readonly<Record<string, string>>;
}

/** What a valid token says about who sends it. Its requests belong to a connection. */
export interface VerifiedToken {
  readonly userId: string;
  /** Absent if the identity provider gives none; such a token cannot be revoked alone. */
  readonly tokenId?: string | undefined;
  /** The program that an identity provider has issued it to: `azp`, or `client_id`. */
  readonly client?: string | undefined;
  /** When the token is no longer accepted, in milliseconds. Absent: never. */
  readonly expiresAt?: number | undefined;
  /** What the token may do. Absent: it may read leads. */
  readonly scopes?: readonly TokenScope[];
  /** The service whose webhooks are sent with the token. Absent: the bodies have the fields of a lead. */
  readonly source?: TokenSource;
  /** Of times without an offset in the leads. Absent: that of the service. */
  readonly timeZone?: string;
}

export interface Status {
  readonly value: string;
  readonly label: string;
  readonly color: string;
  readonly final: boolean;
}

export interface IssuedToken {
  readonly id: string;
  readonly userId: string;
  readonly name: string | null;
  readonly issuedAt: number;
  readonly expiresAt: number;
  /** What the token may do: `leads:read`, `leads:write`. */
  readonly scopes: readonly string[];
  /** The key that signed it. Absent if that was not recorded. */
  readonly keyId?: string;
  /** What else it says. */
  readonly settings?: Pick<VerifiedToken, 'source' | 'timeZone'>;
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

/** A map key for an id that is unique within its company. No id contains a NUL. */
export const idInCompany = (companyId: string, id: string): string => `${companyId}\0${id}`;
