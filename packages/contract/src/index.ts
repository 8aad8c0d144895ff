/** What needs TypeBox is apart: `@leadtap/contract/schemas` and `@leadtap/contract/openapi`. */
export {
  countText,
  DOOR_ID,
  dateText,
  dayText,
  MAX_COUNTED_LEADS,
  MAX_COUNTED_WAITING,
  PHRASES,
  type TimeContext,
  timeText,
  UNASSIGNED_ID,
} from './connection-phrases.ts';
export { CSV_START, escapeFormula, toCsvRow, unescapeFormula } from './csv-cells.ts';
export {
  exampleHook,
  exampleHookEvent,
  exampleNewLead,
  exampleProblem,
  exampleSubscribedHook,
  exampleWrittenLeads,
  sampleLead,
  testLeadFrom,
} from './examples.ts';
export { foldText } from './fold-text.ts';
export { formatCount } from './format-count.ts';
export {
  HEADERS,
  type HeaderName,
  type HeaderValues,
  headerSpelling,
} from './headers.ts';
export {
  IMPORT_FIELDS,
  type ImportField,
  type ImportRule,
  LEAD_FIELDS,
  type LeadField,
  type LeadFieldName,
  type LeadFieldTable,
  type LeadFieldType,
} from './lead-fields.ts';
export {
  IDEMPOTENCY_KEY_DAYS,
  MAX_HEADER_BYTES,
  MAX_HOOK_BYTES,
  MAX_HOOK_NAME_LENGTH,
  MAX_HOOK_URL_LENGTH,
  MAX_HOOKS_PER_USER,
  MAX_IDEMPOTENCY_KEY_LENGTH,
  MAX_INTAKE_BYTES,
  MAX_INTAKE_LEADS,
  MAX_LEADS_PER_PAGE,
  MAX_SEARCH_LENGTH,
  MAX_WAIT_S,
  MIN_LEADS_PER_PAGE,
  MIN_WAIT_S,
  RATE_LIMITS,
  USER_LIMITS_TEXT,
  USER_WINDOWS,
} from './limits.ts';
export type { OpenApiDocument } from './openapi.ts';
export type { Parameter, Response, Schema } from './openapi-types.ts';
export { PLATFORM_LIST, PLATFORM_PACKAGES, PLATFORMS, type PlatformId } from './platforms.ts';
export {
  type InvalidHook,
  PROBLEM_CODES,
  PROBLEM_MEDIA_TYPE,
  PROBLEMS,
  type ProblemCode,
  type ProblemEntry,
  problemType,
} from './problems.ts';
export {
  CLIENT_HEADER,
  CONNECTION_HANDLED_PATH,
  CONNECTION_LOG_PATH,
  CONNECTION_PATH,
  CONNECTION_SEND_PATH,
  CONNECTIONS_PATH,
  CONSOLE_CLIENT,
  FIND_LEADS_PATH,
  HOOK_SENDS,
  HOOKS_HEADER,
  HOOKS_PATH,
  type HookSend,
  LEADS_PATH,
  NEW_LEADS_PATH,
  SINCE_EXAMPLE,
  SINCE_FORMS,
  SINCE_PATTERN,
} from './query.ts';
export type {
  ConnectionAction,
  ConnectionHour,
  ConnectionLevel,
  ConnectionLog,
  ConnectionState,
  Connections,
  FindLeadsQuery,
  Hook,
  HookChange,
  HookEvent,
  InConnection,
  Lead,
  LeadConnections,
  LeadError,
  LeadStatus,
  LogEntry,
  LogKind,
  NewLeadsQuery,
  OutConnection,
  ParameterError,
  Problem,
  SubscribedHook,
  WrittenLead,
  WrittenLeads,
} from './schemas.ts';
export type {
  Refusal,
  RequestError,
  StatusFacts,
  StatusJson,
  StatusProblem,
  SystemFact,
} from './status.ts';
