// Generated from packages/contract by `npm run generate`.

export const NEW_LEADS_PATH = '/automation/new-leads';

export const MAX_LEADS_PER_PAGE = 100;

/** The service holds a request for no longer, because many proxies end one that is silent for 60 seconds. */
export const MAX_WAIT_S = 50;

export const LEADS_PATH = '/leads';

export const MAX_INTAKE_LEADS = 1000;

export const MAX_INTAKE_BYTES = 1048576;

/** The codes of the problems that the service responds with. */
export type ProblemCode =
  | 'invalid-query'
  | 'malformed-request'
  | 'token-missing'
  | 'token-invalid'
  | 'token-expired'
  | 'token-revoked'
  | 'professional-plan-required'
  | 'insufficient-scope'
  | 'user-not-found'
  | 'no-such-resource'
  | 'method-not-allowed'
  | 'request-timeout'
  | 'payload-too-large'
  | 'unsupported-media-type'
  | 'invalid-lead'
  | 'idempotency-key-reused'
  | 'id-of-another-person'
  | 'no-contact'
  | 'connection-polls'
  | 'too-many-hooks'
  | 'invalid-hook'
  | 'hook-host-not-allowed'
  | 'rate-limit-exceeded'
  | 'headers-too-large'
  | 'internal-error'
  | 'unavailable';

/** A new lead. */
export interface Lead {
  /** Lead identifier, unique within the company. */
  readonly id: string;
  /** First name of the contact. */
  readonly firstName: string | null;
  /** Last name of the contact. */
  readonly lastName: string | null;
  /** Full name of the contact. */
  readonly fullName: string;
  /** Phone number, free-form text. */
  readonly phone1: string | null;
  /** Second phone number, free-form text. */
  readonly phone2: string | null;
  /** E-mail address. */
  readonly email: string | null;
  /** Single-line address. */
  readonly address: string | null;
  /** Postal code. */
  readonly postalCode: string | null;
  /** Free-text notes on the address. */
  readonly addressNotes: string | null;
  /** When the appointment is, UTC with milliseconds. */
  readonly appointmentDateTime: string | null;
  /** Time of day as `HH:MM`. */
  readonly timeslot: string | null;
  /** Status code, an upper-case word. */
  readonly statusValue: string;
  readonly status: LeadStatus;
  /** The operator's own fields, by name. */
  readonly customFields: Readonly<Record<string, unknown>>;
  /** Image addresses. */
  readonly images: readonly string[];
  /** True if the contact asked for the same day. */
  readonly sameDay: boolean;
  /** When the lead entered the feed. Unique within the company, increases in commit order, never changes: save it and send it as `since`. */
  readonly createdAt: string;
  /** When the lead last changed. */
  readonly updatedAt: string;
  /** Name of the company. */
  readonly companyName: string;
  /** Name of the branch. */
  readonly branchName: string | null;
  /** Name of the department. */
  readonly departmentName: string | null;
  /** Unique identifier of this trigger. Never changes: use it to drop duplicates. */
  readonly automation_trigger_id: string;
  /** When Leadtap received the lead. Equals `createdAt`, except for historical leads. */
  readonly automation_created_at: string;
}

/** The status, from the company's own catalogue of statuses. */
export interface LeadStatus {
  /** The status code, as in `statusValue`. */
  readonly value: string;
  /** What people call it. */
  readonly label: string;
  /** A CSS hex colour. */
  readonly color: string;
  /** Whether a lead in this status is done with. */
  readonly final: boolean;
}

/** A problem of RFC 9457. */
export interface Problem {
  /** Names the kind of problem. */
  readonly type: string;
  /** The kind of problem in words, always the same. */
  readonly title: string;
  /** The HTTP status of the answer. */
  readonly status: number;
  /** What happened this time and what to do. */
  readonly detail: string;
  /** The name to use in programs. */
  readonly code: ProblemCode;
  /** The same as in `X-Request-Id`. */
  readonly requestId: string;
  /** With `invalid-query`: every invalid parameter at once. With `invalid-lead` and `id-of-another-person`: every invalid field of every lead. */
  readonly errors?: readonly (ParameterError | LeadError)[];
  /** With `rate-limit-exceeded`: the limits that were exceeded. */
  readonly violatedPolicies?: readonly string[];
  /** If leads were sent, with 422, `token-expired` and `insufficient-scope`: `true` if the request is held for the operator, who can accept it; `false` if it is lost unless it is sent again. */
  readonly held?: boolean;
}

/** An error in one query parameter. */
export interface ParameterError {
  /** The query parameter. */
  readonly parameter: string;
  /** Why the value was rejected, with a valid example. */
  readonly detail: string;
}

/** An error in one field of one lead. */
export interface LeadError {
  /** The position of the lead in the request; 0 is the first. */
  readonly index: number;
  /** The field of the lead; null if the lead is wrong as a whole. */
  readonly field: string | null;
  /** Why the value was rejected, and what to do. */
  readonly detail: string;
}

/** The connections of the user of the token; with the access level COMPANY, of the whole company. */
export interface Connections {
  /** Figures are of the leads since then; what is owed, of any age. */
  readonly since: string;
  /** The worst of the rows. */
  readonly level: 'error' | 'warning' | 'unknown' | 'good';
  /** The sentence for people. */
  readonly message: string;
  /** The number of leads since `since`, at most 10,000. */
  readonly leads: number;
  /** The worst first. */
  readonly in: readonly InConnection[];
  /** The worst first. */
  readonly out: readonly OutConnection[];
}

/** A way in: a token, form or client that sends leads. */
export interface InConnection {
  /** Of the connection. It does not change, and is not the id of a webhook. */
  readonly id: string;
  /** What people call it. */
  readonly name: string;
  /** Its user. */
  readonly userId: string;
  /** `error`: leads are lost or owed. `warning`: look into it. `unknown`: it is new or paused. `good`: all is well. */
  readonly level: 'error' | 'warning' | 'unknown' | 'good';
  /** For people, beside its name. */
  readonly message: string;
  /** What to do. Code is between backticks. Null: nothing. */
  readonly fix: string | null;
  /** What a person can do about it. Null: nothing is to be done. */
  readonly action: 'send' | 'accept' | 'renew' | 'connect' | 'handled' | 'resume' | 'allow-host' | 'null';
  /** What the connection does now. */
  readonly state: 'new' | 'working' | 'silent' | 'failing' | 'paused' | 'ended';
  /** Since when. Null: it is not known. */
  readonly stateSince: string | null;
  /** The last request. Null: there was none. */
  readonly lastAt: string | null;
  /** When its newest token expires. Null: never, or it has none. */
  readonly tokenExpiresAt: string | null;
  /** The last 24 hours, the current one last. */
  readonly hours: readonly ConnectionHour[];
  /** What its requests are sent with. */
  readonly source: 'token' | 'form' | 'provider';
  /** When it last added a lead. Null: it has added none. */
  readonly lastLeadAt: string | null;
  /** The leads that it has added since `since`. */
  readonly added: number;
  /** The leads that it has updated since `since`. They are not sent again. */
  readonly updated: number;
  /** Requests that were refused and are held, of any age. */
  readonly held: number;
  /** Requests that were refused or turned away and are not held, until they are marked as handled. */
  readonly lost: number;
}

/** A way out: an automation that gets leads. */
export interface OutConnection {
  /** Of the connection. It does not change, and is not the id of a webhook. */
  readonly id: string;
  /** What people call it. */
  readonly name: string;
  /** Its user. */
  readonly userId: string;
  /** `error`: leads are lost or owed. `warning`: look into it. `unknown`: it is new or paused. `good`: all is well. */
  readonly level: 'error' | 'warning' | 'unknown' | 'good';
  /** For people, beside its name. */
  readonly message: string;
  /** What to do. Code is between backticks. Null: nothing. */
  readonly fix: string | null;
  /** What a person can do about it. Null: nothing is to be done. */
  readonly action: 'send' | 'accept' | 'renew' | 'connect' | 'handled' | 'resume' | 'allow-host' | 'null';
  /** What the connection does now. */
  readonly state: 'new' | 'working' | 'silent' | 'failing' | 'paused' | 'ended';
  /** Since when. Null: it is not known. */
  readonly stateSince: string | null;
  /** The last request. Null: there was none. */
  readonly lastAt: string | null;
  /** When its newest token expires. Null: never, or it has none. */
  readonly tokenExpiresAt: string | null;
  /** The last 24 hours, the current one last. */
  readonly hours: readonly ConnectionHour[];
  /** Whether it polls, or leads are sent to it. */
  readonly kind: 'poll' | 'webhook';
  /** The host that leads are sent to. Null: it polls. */
  readonly host: string | null;
  /** The leads that were sent to it since `since`. */
  readonly sent: number;
  /** The leads that wait for it, of any age. At most 1,000 are counted. */
  readonly waiting: number;
  /** Since when the first of them waits. */
  readonly waitingSince: string | null;
  /** The leads that it missed, of any age. */
  readonly missed: number;
  /** When it ended. Null: it has not. */
  readonly endedAt: string | null;
}

export interface ConnectionHour {
  /** The start of the hour, in UTC. */
  readonly at: string;
  /** The leads that were sent, or added. */
  readonly leads: number;
  /** The requests that were refused or failed. */
  readonly failed: number;
  /** Whether the service ran and recorded in this hour. */
  readonly known: boolean;
}

/** The last 100 entries of a connection. */
export interface ConnectionLog {
  /** The name of the connection. */
  readonly name: string;
  /** Newest first. */
  readonly log: readonly LogEntry[];
}

/** A request, or several that are equal. */
export interface LogEntry {
  /** Of the last one, if it was repeated. */
  readonly at: string;
  /** Of the first one. */
  readonly firstAt: string;
  /** How many equal requests in a row this entry is. */
  readonly times: number;
  /** `leads`: leads were sent, announced or received. `empty`: polls without new leads. `refused`: answered with 4xx, or by a webhook with anything but 2xx. `failed`: answered with 5xx, not at all, or the body was cut off. `changed`: a person has changed the connection. */
  readonly kind: 'leads' | 'empty' | 'refused' | 'failed' | 'changed';
  /** The status of the answer. Null: there was none. */
  readonly status: number | null;
  /** The code of the problem, such as `token-expired`. */
  readonly code: string | null;
  /** The number of leads that were sent, added or updated. */
  readonly leads: number;
  /** Their ids, if the user may see them now. At most 100. */
  readonly leadIds: readonly string[];
  /** How long the answer took. */
  readonly durationMs: number | null;
  /** Of a webhook: the first 200 bytes that its receiver answered, if they are text. Written by others: do not trust it. */
  readonly reason: string | null;
  /** When a webhook that failed is tried again. */
  readonly nextTryAt: string | null;
  /** Of a refused request: the names of the fields with an error, at most 20, never their values. */
  readonly fields: readonly string[];
  /** For people, such as `3 leads`. */
  readonly message: string;
  /** What to do. Code is between backticks. Null: nothing. */
  readonly fix: string | null;
}

/** A change of a connection. Other fields are ignored. */
export interface ConnectionChange {
  /** The new name. */
  readonly name?: string;
  /** Webhooks alone: nothing is sent until it is false again; it keeps its place. */
  readonly paused?: boolean;
}

/** Which leads to send to a webhook. One of the two. */
export interface SendAgain {
  /** The ids of leads to send, again or for the first time. */
  readonly leads?: readonly string[];
  /** All leads that it missed. */
  readonly missed?: boolean;
}

/** What became of one lead. Those without it come first. */
export interface LeadConnections {
  /** The id of the lead. */
  readonly lead: string;
  readonly out: readonly Readonly<Record<string, unknown>>[];
}

/** A webhook subscription. Other fields are ignored. */
export interface HookRequest {
  /** Where events are sent: https, a host that the operator allows, and no user name, password, fragment or port. */
  readonly url: string;
  /** Leads created after it are announced or sent, in the forms of `since` of a poll. Default: after the newest lead that the user may see; or where its connection is, for a webhook that sends leads and is made again within 24 hours. */
  readonly since?: string | null;
  /** Default: `event`. */
  readonly send?: 'event' | 'lead';
  /** What people call it. Default: the name that it has, or else that of its token. */
  readonly name?: string | null;
}

/** The new name of a webhook subscription. Other fields are ignored. */
export interface HookChange {
  /** Without control characters. Spaces around it are removed. */
  readonly name: string;
}

/** A webhook subscription, and the secret of its events. */
export interface SubscribedHook {
  /** The id of the subscription. */
  readonly id: string;
  /** Where its events are sent. */
  readonly url: string;
  /** What people call it. Null: it has no name of its own, and is called like its token. */
  readonly name: string | null;
  /** `event`: that there are new leads, so that the receiver polls. `lead`: each new lead in a request of its own. */
  readonly send: 'event' | 'lead';
  /** The secret of the signatures of its events, in the form of Standard Webhooks. */
  readonly secret: string;
  /** Leads created after it are announced or sent. */
  readonly since: string;
  /** `active`: the last event was accepted, or there was none. `failing`: it was not, and is sent again later. `disabled`: it was not accepted for 3 days, or, if leads are sent, the receiver answered 410; subscribe again. */
  readonly state: 'active' | 'failing' | 'disabled';
}

/** The state of a webhook subscription. */
export interface Hook {
  /** The id of the subscription. */
  readonly id: string;
  /** Where its events are sent. */
  readonly url: string;
  /** What people call it. Null: it has no name of its own, and is called like its token. */
  readonly name: string | null;
  /** `event`: that there are new leads, so that the receiver polls. `lead`: each new lead in a request of its own. */
  readonly send: 'event' | 'lead';
  /** `active`: the last event was accepted, or there was none. `failing`: it was not, and is sent again later. `disabled`: it was not accepted for 3 days, or, if leads are sent, the receiver answered 410; subscribe again. */
  readonly state: 'active' | 'failing' | 'disabled';
  /** Leads created up to here were announced or sent, and accepted, or are not to be announced. */
  readonly announcedThrough: string;
  /** The time of the last attempt to send an event. Null: there was none yet. */
  readonly lastEventAt: string | null;
  /** The status of the response to the last event. Null: there was none. */
  readonly lastStatus: number | null;
  /** Events that were not accepted since the last one that was. */
  readonly failures: number;
}

/** There are new leads: poll. It contains no lead. */
export interface HookEvent {
  readonly type: 'leads.available';
  /** When this attempt was sent. */
  readonly timestamp: string;
  readonly data: HookEventData;
}

/** Where the new leads are: after `since`, up to `through`. */
export interface HookEventData {
  /** The id of the subscription. */
  readonly hookId: string;
  /** Leads up to here were announced before. */
  readonly since: string;
  /** The `createdAt` of the newest lead that the user may see. */
  readonly through: string;
  /** The URL of the poll that returns the new leads. */
  readonly poll: string;
}

/** A lead that is sent. All fields are optional. With the `id` of an existing lead it is an update: fields that are left out keep their values, null resets them. */
export interface NewLead {
  /** The company of the user; may be left out. Another company is an error. */
  readonly companyId?: string | null;
  /** A branch of the company. By default that of the user, if the access level is BRANCH. */
  readonly branchId?: string | null;
  /** A department of the company, which also sets the branch. By default that of the user, if the access level is DEPARTMENT. */
  readonly departmentId?: string | null;
  /** Lead identifier, unique within the company. */
  readonly id?: string | null;
  /** First name of the contact. */
  readonly firstName?: string | null;
  /** Last name of the contact. */
  readonly lastName?: string | null;
  /** Full name of the contact. */
  readonly fullName?: string | null;
  /** Phone number, free-form text. */
  readonly phone1?: string | null;
  /** Second phone number, free-form text. */
  readonly phone2?: string | null;
  /** E-mail address. */
  readonly email?: string | null;
  /** Single-line address. */
  readonly address?: string | null;
  /** Postal code. */
  readonly postalCode?: string | null;
  /** Free-text notes on the address. */
  readonly addressNotes?: string | null;
  /** When the appointment is, UTC with milliseconds. */
  readonly appointmentDateTime?: string | null;
  /** Time of day as `HH:MM`. */
  readonly timeslot?: string | null;
  /** Status code, an upper-case word. */
  readonly statusValue?: string | null;
  /** The operator's own fields, by name. */
  readonly customFields?: Readonly<Record<string, unknown>> | null;
  /** Image addresses. */
  readonly images?: readonly string[] | null;
  /** True if the contact asked for the same day. */
  readonly sameDay?: boolean | null;
}

/** A lead that was stored. */
export interface WrittenLead {
  /** The id of the lead: the one that was sent, or a new one. */
  readonly id: string;
  /** When the lead was created. An update does not change it. */
  readonly createdAt: string;
  /** `updated` if a lead with this id existed. */
  readonly result: 'added' | 'updated';
}

/** The leads of the request are stored. */
export interface WrittenLeads {
  /** In the order in which they were sent. */
  readonly leads: readonly WrittenLead[];
}
