/** The leads in a body: fields of a lead, or the answers of a form service. */
import type { TokenSource } from '../accounts/records.ts';
import type { MediaType } from '../http/body.ts';
import type { ParseOptions } from '../leads/parse-lead.ts';
import type { IntakeContent } from './accept.ts';
import { parseBody, parseWebhook } from './body.ts';
import { contentOfWebhook } from './sources.ts';

export interface SentBody {
  readonly bytes: Buffer;
  readonly mediaType: MediaType;
  /** The whole header: that of a multipart form names its boundary. */
  readonly contentType: string;
}

interface ContentOptions extends ParseOptions {
  /** Between the steps of a large body. */
  readonly pause?: (() => Promise<void>) | undefined;
  /** Other names of fields, for bodies with fields of a lead. */
  readonly names?: Readonly<Record<string, string>>;
}

/** Throws 400, 415 or 422 for a body without leads. */
export async function parseContent(
  { bytes, mediaType, contentType }: SentBody,
  source: TokenSource | undefined,
  { pause, names, ...options }: ContentOptions,
): Promise<IntakeContent> {
  if (!source) return parseBody(mediaType, bytes, contentType, names);
  const webhook = await parseWebhook(mediaType, bytes, contentType);
  await pause?.();
  return contentOfWebhook(webhook, source, options);
}
