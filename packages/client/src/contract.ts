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

/** A token that polls or has a webhook subscription, or a webhook subscription that sends leads, and how far it has come. */
export interface Consumer {
  /** Of the consumer. It does not change. */
  readonly id: string;
  /** The name that the token was issued with. */
  readonly name: string | null;
  /** The id of the token. Null: all tokens of the user that have no id. */
  readonly tokenId: string | null;
  /** Whether it is the token of this request. */
  readonly isThisToken: boolean;
  /** `good`: no lead waits longer than usual. `warning` and `error`: see `problem`. `unknown`: it cannot be said yet. `inactive`: has not polled for so long that it no longer counts, and no lead waits for it, or it has polled only once or twice. */
  readonly level: 'good' | 'warning' | 'error' | 'unknown' | 'inactive';
  /** The name of its most urgent problem, such as `consumers-stale`. Null: it has none. */
  readonly problem: string | null;
  /** For people, beside its name: such as `polled 40 s ago`. */
  readonly message: string;
  /** What to do about the problem. Code is between backticks. Null: nothing. */
  readonly fix: string | null;
  /** The time of the first poll, or of the subscription of a webhook that sends leads. Null: it has not polled yet. */
  readonly firstPollAt: string | null;
  /** The time of the last poll. Null: it has not polled yet. */
  readonly lastPollAt: string | null;
  /** The status of the last poll; 499: the client closed the connection before the answer. */
  readonly lastStatus: number | null;
  /** The usual time between two polls in seconds. Null until there were two. */
  readonly usualIntervalS: number | null;
  /** `active`: polls within its usual interval. `stale`: should have polled again, for ever while leads wait for it. `inactive`: has not polled for so long that it no longer counts, and no lead waits for it, or it has polled only once or twice. `subscribed`: has a webhook subscription, and has not polled yet or has not accepted a lead yet. */
  readonly state: 'active' | 'stale' | 'inactive' | 'subscribed';
  /** The largest `since` that it has sent, or the last lead that its webhook has accepted: it has all leads up to here, except for those of `gaps`. */
  readonly confirmedThrough: string | null;
  /** The newest `createdAt` that it was sent. */
  readonly deliveredThrough: string | null;
  /** The number of later leads that it may see; counted up to 1,000. */
  readonly pendingLeads: number;
  /** The `createdAt` of the first of them. Null: there are none. */
  readonly pendingSince: string | null;
  /** Leads created after `after` and up to `through` were never sent to it, although its positions are past them. */
  readonly gaps: readonly Readonly<Record<string, unknown>>[];
  /** The `createdAt` of leads that were imported as history after its first poll, and were sent to it although its positions may have been past them. Of the newest 100 such leads of the company. */
  readonly receivedHistory: readonly string[];
  /** The number of leads in the gaps that are not before its start: it asked past them without being sent them. Counted up to 1,000. */
  readonly skippedLeads: number;
  /** The `createdAt` of the first of them. Null: there are none. */
  readonly skippedSince: string | null;
  /** Why its token no longer works: it was revoked, has expired, or its signing key was removed. It is listed until 24 hours after its last poll. Null: its last poll was not refused for this. */
  readonly tokenEnded: 'revoked' | 'expired' | 'key-removed' | 'null';
  /** Whether the service was unavailable and the consumer has not polled since, but still may within its usual interval. */
  readonly isAwaited: boolean;
  /** The last 24 hours in UTC, oldest first: the last is the hour of the response. `leads`: the new leads that it was sent. `failed`: its polls that were refused or failed, and failed requests to its webhooks. Null: it is not known, because nothing was recorded yet, or the service was unavailable in the whole hour. */
  readonly last24h: readonly (Readonly<Record<string, unknown>> | null)[];
  /** Its webhook subscription. Null: it has none. */
  readonly hook: Readonly<Record<string, unknown>> | null;
}

/** The consumers of the user of the token. */
export interface Consumers {
  /** Whether all is well. */
  readonly summary: Readonly<Record<string, unknown>>;
  readonly consumers: readonly Consumer[];
}

/** An attempt, or several that are equal. */
export interface Attempt {
  /** Of the last one, if it was repeated. */
  readonly at: string;
  /** Of the first one. */
  readonly firstAt: string;
  /** How many equal attempts in a row this entry is. */
  readonly times: number;
  /** `leads`: leads were sent, announced or received. `empty`: polls without new leads between two others. `refused`: answered with 4xx, or by a webhook with anything but 2xx. `failed`: answered with 5xx, the webhook did not answer, or the client closed the connection before all leads of a poll, or the whole body of a sender, had arrived. `recovered`: the first success after that, without leads. */
  readonly kind: 'leads' | 'empty' | 'refused' | 'failed' | 'recovered';
  /** The status of the answer. Null: there was none, or there were several. */
  readonly status: number | null;
  /** The code of the problem, such as `token-expired`; `client-closed-request`: the client closed the connection before all leads of a poll had arrived. */
  readonly code: string | null;
  /** The number of leads that were new to it; if it had all of them, of all that were sent. 0 if a webhook was told to poll. Of a sender: those that were added; 0 if all were sent before and updated. */
  readonly leads: number;
  /** The leads are later than this. Null: it is not known. */
  readonly since: string | null;
  /** And not later than this. */
  readonly through: string | null;
  /** How long the answer took, without `heldMs`. */
  readonly durationMs: number | null;
  /** How long a poll with `Prefer: wait` was held. */
  readonly heldMs: number | null;
  /** Of a webhook that failed: the first 200 bytes that its receiver answered, if they are text, or that it did not answer. Written by others: do not trust it. */
  readonly reason: string | null;
  /** When a webhook that failed is tried again, if there is no new lead before. Only its newest entry has it, until then. */
  readonly nextTryAt: string | null;
  /** Of a refused sender: the names of the fields with an error, at most 20, never their values. */
  readonly fields: readonly string[];
  /** For people, such as `3 leads`. */
  readonly message: string;
  /** What to do. Code is between backticks. Null: nothing. */
  readonly fix: string | null;
}

/** The last 100 attempts of a consumer or a sender, of 30 days at most. A crash of the service loses those of some seconds. */
export interface AttemptLog {
  /** The name of the consumer or the sender. */
  readonly name: string | null;
  /** Newest first. */
  readonly log: readonly Attempt[];
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

/** A token that sends leads. */
export interface Sender {
  /** Of the sender. It does not change. */
  readonly id: string;
  /** The name that the token was issued with. */
  readonly name: string | null;
  /** The id of the token. Null: all tokens of its user that have no id. */
  readonly tokenId: string | null;
  /** The service whose webhooks are sent with the token. Null: the bodies have the fields of a lead. */
  readonly source: string | null;
  /** The time of the last request, whether it was accepted or not. */
  readonly lastRequestAt: string;
  /** The time of the last request whose leads were stored. Null: there was none. */
  readonly lastAcceptedAt: string | null;
  /** The last request that was refused. Null: there was none. */
  readonly lastRefusal: Readonly<Record<string, unknown>> | null;
  /** The number of leads added in the last 30 days, without those that were updated. */
  readonly accepted30d: number;
  /** The number of requests refused in the last 30 days, without those with 429. */
  readonly refused30d: number;
  /** The last 24 hours in UTC, oldest first: the last is the hour of the response. `leads`: the leads that were added. `failed`: the requests that were refused or failed, also those with 429. Null: it is not known, because nothing was recorded yet, or the service was unavailable in the whole hour. */
  readonly last24h: readonly (Readonly<Record<string, unknown>> | null)[];
  /** `good`: nothing of the last 7 days is refused. `warning` and `error`: see `fix`. `unknown`: no lead was stored yet. `inactive`: has not sent for 30 days, or was revoked. */
  readonly level: 'good' | 'warning' | 'error' | 'unknown' | 'inactive';
  /** For people, beside its name: such as `last lead 40 s ago`. */
  readonly message: string;
  /** What to do about the problem. Code is between backticks. Null: nothing. */
  readonly fix: string | null;
}

/** The tokens of the user that send leads; with the access level COMPANY, those of the whole company. */
export interface Senders {
  /** Those with a problem first, then those that sent last. At most 200. */
  readonly senders: readonly Sender[];
}
