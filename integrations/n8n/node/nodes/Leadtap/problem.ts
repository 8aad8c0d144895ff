import type { Problem } from '@leadtap/contract';
import { type INode, type JsonObject, type JsonValue, NodeApiError } from 'n8n-workflow';

/** The longest window of the service. Nothing that a proxy says makes the trigger pause for longer. */
const LONGEST_PAUSE_S = 3600;

export interface Answer {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/**
 * What the service says is wrong and what to do, with what n8n needs to decide when to poll again: the status, and the
 * headers for the sake of Retry-After. It looks for them in a `response`.
 */
export function apiErrorOf(node: INode, { statusCode, headers, body }: Answer): NodeApiError {
  const response: JsonObject = { status: statusCode, headers: { ...headers }, data: body as JsonValue };
  return new NodeApiError(node, { response }, { httpCode: String(statusCode), ...inItsWords(body) });
}

/** Nothing if the answer is not from Leadtap: n8n has a general sentence for each status. */
function inItsWords(body: unknown): { message?: string; description?: string } {
  const problem = problemOf(body);
  if (!problem) return {};
  const { title, detail, code, requestId } = problem;
  return { message: title, description: `${detail} (${code}, request ${requestId})` };
}

export function problemOf(body: unknown): Problem | undefined {
  const problem = (body ?? {}) as Partial<Problem>;
  return problem.title && problem.detail ? (problem as Problem) : undefined;
}

/** How long the service asks to wait; 0 if it does not. */
export function retryAfterMsOf(error: unknown): number {
  const { response } = ((error instanceof NodeApiError && error.errorResponse) || {}) as {
    response?: { headers?: Record<string, string> };
  };
  const seconds = Number(response?.headers?.['retry-after']);
  return seconds > 0 ? Math.min(seconds, LONGEST_PAUSE_S) * 1000 : 0;
}
