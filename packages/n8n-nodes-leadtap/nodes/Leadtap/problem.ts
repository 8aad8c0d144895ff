import type { Problem } from '@leadtap/contract';
import { type INode, type JsonObject, NodeApiError } from 'n8n-workflow';

/** How n8n's HTTP client tells of an answer that is not a success. */
interface FailedRequest {
  readonly response?: {
    readonly status: number;
    readonly headers: Readonly<Record<string, string>>;
    readonly data: JsonObject | string;
  };
}

/**
 * What n8n needs to decide when to poll again: the status and the headers, for Retry-After. They are handed over by
 * themselves, because the failed request would bring the access token along, and because n8n before 2.36 forgets an
 * error that another one is made from.
 */
export function apiErrorOf(node: INode, error: unknown): NodeApiError {
  const { response } = error as FailedRequest;
  if (!response) return new NodeApiError(node, error as JsonObject);
  const { status, headers, data } = response;
  const answer = { response: { status, headers: { ...headers }, data } };
  return new NodeApiError(node, answer, { httpCode: String(status), ...inWordsOfTheService(data) });
}

/** What is wrong and what to do. If the answer is not from Leadtap, n8n has a general sentence for each status. */
function inWordsOfTheService(data: Partial<Problem> | string) {
  if (typeof data !== 'object' || !data?.title || !data.detail) return {};
  const { title, detail, code, requestId } = data;
  return { message: title, description: `${detail} (${code}, request ${requestId})` };
}
