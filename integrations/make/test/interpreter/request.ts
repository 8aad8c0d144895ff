import type { Communication, ErrorDirective, ResponseDirectives } from './app.ts';
import { evaluate, evaluateText, type Variables } from './iml.ts';

/** The error types of Make that the app uses; what a scenario does about each stands in scenario.ts. */
export type ErrorType =
  | 'RuntimeError'
  | 'DataError'
  | 'RateLimitError'
  | 'ConnectionError'
  | 'InvalidConfigurationError'
  | 'InvalidAccessTokenError';

export class MakeError extends Error {
  readonly type: ErrorType;

  constructor(type: ErrorType, message: string) {
    super(message);
    this.name = 'MakeError';
    this.type = type;
  }
}

/** What response and pagination directives can see of an answer. */
export interface Answer {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** Sends one request, and gives its answer or throws what the error directives make of it. */
export async function send(
  { baseUrl = '', method = 'GET', headers = {}, body: content, response = {} }: Communication,
  url: string,
  variables: Variables,
): Promise<Answer> {
  const path = evaluateText(url, variables);
  const address = path.startsWith('/') ? evaluateText(baseUrl, variables) + path : path;
  const answer = await fetchAnswer(address, {
    method,
    headers: {
      ...(content !== undefined && { 'content-type': 'application/json' }),
      ...Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [name, evaluateText(value, variables)]),
      ),
    },
    ...(content !== undefined && { body: JSON.stringify(evaluate(content, variables)) }),
  });
  const body = parse(answer, response);
  const parsed = { ...answer, body };
  if (answer.statusCode >= 400) throw errorOf(parsed, response, variables);
  checkValid(parsed, response, variables);
  return parsed;
}

/** `valid` decides about answers below 400: what is false, empty or nothing is an error with its own message and type. */
function checkValid(answer: Answer, { valid }: ResponseDirectives, variables: Variables): void {
  const seen = { ...variables, ...answer };
  if (valid && !evaluate(valid.condition, seen))
    throw new MakeError(valid.type as ErrorType, evaluateText(valid.message, seen));
}

async function fetchAnswer(address: string, init: RequestInit): Promise<Answer> {
  try {
    const answer = await fetch(address, init);
    const body = await answer.text();
    return { statusCode: answer.status, headers: Object.fromEntries(answer.headers), body };
  } catch (error) {
    throw new MakeError('ConnectionError', String(error));
  }
}

/** The smallest range that holds the status decides; `*` is the largest. */
function typeOf(status: number, types: NonNullable<ResponseDirectives['type']>): string {
  const ranges = Object.entries(types).map(([range, type]) => {
    const [from = 1, to = range === '*' ? 999 : from] = range === '*' ? [] : range.split('-').map(Number);
    return { from, to, type };
  });
  const holding = ranges.filter(({ from, to }) => from <= status && status <= to);
  const [smallest] = holding.sort((a, b) => a.to - a.from - (b.to - b.from));
  if (!smallest) throw new Error(`no response type for ${status}: * is missing`);
  return smallest.type;
}

function parse(
  { statusCode, headers, body }: Answer,
  { type = { '*': 'automatic' } }: ResponseDirectives,
): unknown {
  const automatic = headers['content-type']?.startsWith('application/json') ? 'json' : 'text';
  const named = typeOf(statusCode, type);
  if ((named === 'automatic' ? automatic : named) !== 'json') return body;
  try {
    return JSON.parse(String(body));
  } catch {
    throw new MakeError('DataError', 'The answer is not JSON.');
  }
}

function errorOf(answer: Answer, { error }: ResponseDirectives, variables: Variables): MakeError {
  const general: ErrorDirective = error ?? { message: `[${answer.statusCode}]` };
  const directive = error?.[`${answer.statusCode}`] ?? general;
  const type = (directive.type ?? general.type ?? 'RuntimeError') as ErrorType;
  return new MakeError(type, evaluateText(directive.message, { ...variables, ...answer }));
}
