import { type Lead, NEW_LEADS_PATH } from '@leadtap/contract';
import type { Connection } from '../integrations/new-leads.ts';

export interface Page {
  readonly leads: readonly Lead[];
  readonly headers: Headers;
}

export class Refused extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`answered with ${status}`);
    this.status = status;
  }
}

/** The request that a platform's plain HTTP step sends. */
export async function readPage(
  { baseUrl, token }: Connection,
  query: { readonly since?: string } = {},
): Promise<Page> {
  const answer = await fetch(`${baseUrl}${NEW_LEADS_PATH}?${new URLSearchParams(query)}`, {
    headers: { authorization: `Bearer ${token}` },
  });
  if (!answer.ok) throw new Refused(answer.status);
  const leads: Lead[] = JSON.parse(await answer.text());
  return { leads, headers: answer.headers };
}
